//! Zip archives whose entries are stored as they are: what `torch.save` and `numpy.savez` write.
//!
//! Entries are borrowed from the file's bytes. Nothing is inflated, so that no file can ask for more memory than it is
//! long.

use std::collections::BTreeMap;
use std::io::{self, Cursor};

use zip::CompressionMethod;
use zip::read::ZipArchive;

/// The entries by name.
#[derive(Debug)]
pub(super) struct Archive<'a> {
    entries: BTreeMap<String, &'a [u8]>,
}

/// What a zip archive begins with.
pub(super) const MAGIC: &[u8] = b"PK\x03\x04";

impl<'a> Archive<'a> {
    /// Reads the directory and checks every entry's sum; fails with what was found.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let damaged = |error| format!("not a whole zip archive ({error})");
        let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
        let (mut entries, mut total) = (BTreeMap::new(), 0usize);
        for index in 0..zip.len() {
            let entry = zip.by_index_raw(index).map_err(damaged)?;
            let name = entry.name().map_err(damaged)?.into_owned();
            if entry.encrypted() || entry.compression() != CompressionMethod::Stored {
                return Err(format!("the entry {name:?} is compressed or encrypted"));
            }
            let start = entry.data_start().and_then(|start| usize::try_from(start).ok());
            let size = usize::try_from(entry.size()).ok();
            drop(entry);
            // Entries may claim the same bytes: reading them all would take the square of the file's length.
            total = total.saturating_add(size.unwrap_or(usize::MAX));
            if total > bytes.len() {
                return Err("its entries overlap".to_owned());
            }
            // Reading to the end is what compares the checksum.
            let whole = zip.by_index(index).map(|mut entry| io::copy(&mut entry, &mut io::sink()));
            if !matches!(whole, Ok(Ok(_))) {
                return Err(format!("the entry {name:?} is damaged"));
            }
            let data = start.zip(size).and_then(|(start, size)| bytes.get(start..)?.get(..size));
            let data = data.ok_or_else(|| format!("the entry {name:?} ends past the file"))?;
            if entries.insert(name.clone(), data).is_some() {
                return Err(format!("two entries go by {name:?}"));
            }
        }
        Ok(Self { entries })
    }

    /// The entry's bytes.
    pub(super) fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.entries.get(name).copied()
    }

    /// All entries, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a [u8])> {
        self.entries.iter().map(|(name, data)| (name.as_str(), *data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::pickle::zip;

    fn archive() -> Vec<u8> {
        zip([("a", vec![1; 1000]), ("b", vec![2; 3]), ("c", vec![])].map(|(name, data)| (name.to_owned(), data)))
            .unwrap()
    }

    #[test]
    fn entries_are_borrowed_by_name() {
        let bytes = archive();
        let archive = Archive::read(&bytes).unwrap();
        assert_eq!((archive.get("b"), archive.get("c"), archive.get("d")), (Some(&[2, 2, 2][..]), Some(&[][..]), None));
        assert_eq!(
            archive.iter().map(|(name, data)| (name, data.len())).collect::<Vec<_>>(),
            [("a", 1000), ("b", 3), ("c", 0)]
        );
    }

    /// Every entry of the directory describes the first one's bytes.
    #[test]
    fn overlapping_entries_are_refused() {
        let mut bytes = archive();
        let starts: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"PK\x01\x02")).collect();
        let &[first, ref others @ ..] = starts.as_slice() else { panic!("{starts:?}") };
        for &other in others {
            // Sum and sizes, and where the local header lies.
            for field in [16..28, 42..46] {
                bytes.copy_within(first + field.start..first + field.end, other + field.start);
            }
        }
        assert_eq!(Archive::read(&bytes).unwrap_err(), "its entries overlap");
    }

    #[test]
    fn any_changed_byte_gives_a_result() {
        let bytes = archive();
        for at in (0..40).chain(1020..bytes.len()) {
            for change in [1, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                if let Ok(archive) = Archive::read(&changed) {
                    assert!(archive.iter().all(|(_, data)| data.len() <= bytes.len()));
                }
            }
        }
    }
}
