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
        let mut entries = BTreeMap::new();
        for index in 0..zip.len() {
            let entry = zip.by_index_raw(index).map_err(damaged)?;
            let name = entry.name().map_err(damaged)?.into_owned();
            if entry.encrypted() || entry.compression() != CompressionMethod::Stored {
                return Err(format!("the entry {name:?} is compressed or encrypted"));
            }
            let start = entry.data_start().and_then(|start| usize::try_from(start).ok());
            let size = usize::try_from(entry.size()).ok();
            drop(entry);
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
