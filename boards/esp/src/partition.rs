//! The partition table.
//!
//! ESP-IDF Programming Guide, "Partition Tables": at 0x8000 of flash lie entries of 32 bytes, each a magic 0x50aa, type, subtype,
//! offset, size, 16 bytes of label padded by zeros, and flags; what has another magic ends them. `partitions.csv` is its source.

/// A partition of flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Where it begins, in bytes from the start of flash.
    pub offset: usize,
    /// Its bytes.
    pub bytes: usize,
}

/// The partition of that label in the bytes of a table.
pub fn find(table: &[u8], label: &str) -> Option<Partition> {
    let (entries, _) = table.as_chunks::<32>();
    let mut entries = entries.iter().take_while(|entry| entry.starts_with(&[0xaa, 0x50]));
    let entry = entries.find(|entry| name(entry) == label.as_bytes())?;
    Some(Partition { offset: number(entry, 4)?, bytes: number(entry, 8)? })
}

fn name(entry: &[u8; 32]) -> &[u8] {
    let padded = &entry[12..28];
    padded.split(|&byte| byte == 0).next().unwrap_or(padded)
}

fn number(entry: &[u8; 32], at: usize) -> Option<usize> {
    let bytes = entry[at..].first_chunk()?;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(label: &str, offset: u32, bytes: u32) -> [u8; 32] {
        let mut entry = [0; 32];
        entry[..4].copy_from_slice(&[0xaa, 0x50, 1, 0x40]);
        entry[4..8].copy_from_slice(&offset.to_le_bytes());
        entry[8..12].copy_from_slice(&bytes.to_le_bytes());
        entry[12..12 + label.len()].copy_from_slice(label.as_bytes());
        entry
    }

    #[test]
    fn finds_a_partition_by_its_whole_label() {
        let table =
            [entry("factory", 0x10000, 0xf0000), entry("models", 0, 1), entry("model", 0x100000, 0x300000)].concat();
        let found = Partition { offset: 0x100000, bytes: 0x300000 };
        assert_eq!(find(&table, "model"), Some(found));
        assert_eq!(find(&table, "mode"), None);
        assert_eq!(find(&entry("sixteen letters!", 5, 6), "sixteen letters!"), Some(Partition { offset: 5, bytes: 6 }));
    }

    #[test]
    fn nothing_counts_behind_the_end() {
        // esptool writes a checksum of another magic there.
        let mut checksum = entry("model", 1, 2);
        checksum[..2].copy_from_slice(&[0xeb, 0xeb]);
        let table = [entry("factory", 0x10000, 0xf0000), checksum, entry("model", 3, 4)].concat();
        assert_eq!(find(&table, "model"), None);
        assert_eq!(find(&[0xff; 0xc00], "model"), None);
        assert_eq!(find(&[], "model"), None);
        assert_eq!(find(&entry("model", 3, 4)[..31], "model"), None);
    }
}
