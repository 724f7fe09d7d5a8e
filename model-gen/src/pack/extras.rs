//! What was learned about a model once it was packed (guide, shortlist, glossary), kept beside its checkpoint so that packing it
//! again needs no phrases: a file of those sections in the container of a blob.

use crate::import::CheckpointDir;
use anyhow::{Context, Result};
use latimer::blob::container::Container;
use latimer::blob::layout::{Header, SectionKind};
use latimer::blob::{Parts, emit, emit_len};

/// The file's name.
pub const EXTRAS: &str = "extras.bin";

/// Sections that it may hold.
const KINDS: [SectionKind; 3] = [SectionKind::Guide, SectionKind::Shortlist, SectionKind::Glossary];

/// The sections of the file in a checkpoint's directory; none where there is no file.
pub(super) fn read(dir: &CheckpointDir) -> Result<Vec<(SectionKind, Vec<u8>)>> {
    let path = dir.path().join(EXTRAS);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        // Beside Marian's own models, whose path is a file.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("{}: cannot be read", path.display())),
    };
    let bytes = crate::aligned::AlignedBytes::copy_of(&bytes);
    let container = Container::open(&bytes).and_then(|container| container.check().map(|()| container));
    let container = container.with_context(|| {
        format!("{}: not what `model-gen extras` writes; make it anew, or remove it", path.display())
    })?;
    let held = KINDS.into_iter().filter_map(|kind| Some((kind, container.section(kind)?.to_vec())));
    Ok(held.collect())
}

/// The file for a blob; `None` where it has no such sections.
pub fn extras_of(blob: &[u8]) -> Result<Option<Vec<u8>>> {
    let container = Container::open(blob).context("not a blob of this format version")?;
    let sections: Vec<(SectionKind, &[u8])> =
        KINDS.into_iter().filter_map(|kind| Some((kind, container.section(kind)?))).collect();
    if sections.is_empty() {
        return Ok(None);
    }
    let parts = Parts { header: Header::default(), sections: &sections };
    let mut bytes = vec![0; emit_len(&parts)];
    emit(&parts, &mut bytes).context("the sections would be larger than 4 GiB")?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aligned::AlignedBytes;
    use crate::pack::{Options, pack, with_section};
    use crate::testing::{RandomSpec, write_random_checkpoint};
    use latimer::blob::guide::{GuideHeader, GuideParts};
    use latimer::{EngineKind, Model};

    #[test]
    fn what_was_learned_is_packed_again() {
        let dir = tempfile::tempdir().unwrap();
        write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
        let options = Options::new(EngineKind::Int8);
        let plain = pack(dir.path(), &options).unwrap().bytes;
        assert_eq!(extras_of(&plain).unwrap(), None);
        let header = GuideHeader { length_per_token: 300, length_more: 7, ..GuideHeader::default() };
        let parts = GuideParts { header, phrase: &[], token: &[], stand_ins: &[] };
        let mut section = vec![0; parts.emitted_len()];
        parts.emit(&mut section).unwrap();
        let guided = with_section(&plain, SectionKind::Guide, &section).unwrap();
        let extras = extras_of(&guided).unwrap().unwrap();
        std::fs::write(dir.path().join(EXTRAS), &extras).unwrap();
        let again = AlignedBytes::copy_of(&pack(dir.path(), &options).unwrap().bytes);
        assert_eq!(Model::from_bytes(&again).unwrap().blob().guide().header().length_more, 7);

        std::fs::write(dir.path().join(EXTRAS), &extras[..extras.len() - 1]).unwrap();
        let error = format!("{:#}", pack(dir.path(), &options).unwrap_err());
        assert!(error.contains(EXTRAS) && error.contains("make it anew"), "{error}");
    }
}
