//! Sections of a blob that is packed already: one is replaced or added, the others stay as they are.

use anyhow::{Context, Result};
use latimer::blob::container::Container;
use latimer::blob::layout::SectionKind;
use latimer::blob::{Parts, emit, emit_len};

/// The blob with `section` as its section of `kind`, in place of an older one or after the others. The header stays as it
/// is, but for lengths and checksums.
///
/// The result is not parsed: `Model::from_bytes` says whether the section fits the model.
pub fn with_section(blob: &[u8], kind: SectionKind, section: &[u8]) -> Result<Vec<u8>> {
    let container = Container::open(blob).context("not a blob of this format version")?;
    let mut sections: Vec<(SectionKind, &[u8])> = Vec::new();
    for entry in (0..).map_while(|i| container.entry(i)) {
        let known = SectionKind::ALL.into_iter().find(|&known| known as u32 == entry.kind);
        let found = known.with_context(|| format!("section {} of the blob is of no known kind", entry.kind))?;
        let bytes = container.section(found).with_context(|| format!("section {found:?} lies outside of the blob"))?;
        sections.push((found, if found == kind { section } else { bytes }));
    }
    if !sections.iter().any(|(found, _)| *found == kind) {
        sections.push((kind, section));
    }
    let parts = Parts { header: *container.header(), sections: &sections };
    let mut bytes = vec![0; emit_len(&parts)];
    emit(&parts, &mut bytes).context("the blob would be larger than 4 GiB")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aligned::AlignedBytes;
    use crate::pack::{Options, pack};
    use crate::testing::{RandomSpec, write_random_checkpoint};
    use latimer::{EngineKind, Model};

    #[test]
    fn a_section_is_replaced_or_added_and_the_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
        let options = Options { model_version: 7, ..Options::new(EngineKind::Int8) };
        let blob = pack(dir.path(), &options).unwrap().bytes;
        let same = Container::open(&blob).unwrap().section(SectionKind::Meta).unwrap();
        assert_eq!(with_section(&blob, SectionKind::Meta, same).unwrap(), blob);

        let without = AlignedBytes::copy_of(&with_section(&blob, SectionKind::SelfTest, b"").unwrap());
        assert!(without.len() < blob.len());
        let golden = Container::open(&blob).unwrap().section(SectionKind::SelfTest).unwrap();
        assert_eq!(with_section(&without, SectionKind::SelfTest, golden).unwrap(), blob);

        let other = AlignedBytes::copy_of(&with_section(&blob, SectionKind::Meta, b"name=other\n").unwrap());
        let model = Model::from_bytes(&other).unwrap();
        assert_eq!((model.meta("name"), model.meta("recipe")), (Some("other"), None));
        assert_eq!(model.blob().container().header().model_version, 7);

        let added = with_section(&blob, SectionKind::Signature, b"signed").unwrap();
        assert_eq!(Container::open(&added).unwrap().section(SectionKind::Signature), Some(&b"signed"[..]));
        assert_eq!(
            with_section(b"no blob", SectionKind::Meta, b"").unwrap_err().to_string(),
            "not a blob of this format version"
        );
    }
}
