//! What of a linked firmware goes into flash.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use object::Endianness;
use object::elf::{FileHeader32, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};

/// A piece of flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where it lies.
    pub address: u32,
    /// What is there.
    pub bytes: Vec<u8>,
}

impl Piece {
    /// The first address behind it.
    pub fn end(&self) -> u32 {
        self.address + self.bytes.len() as u32
    }
}

/// The pieces of a firmware, by address: its load segments, where they are loaded from.
pub(super) fn read(elf: &Path) -> Result<Vec<Piece>> {
    let file = fs::read(elf).with_context(|| format!("cannot read `{}`", elf.display()))?;
    of(&file).with_context(|| format!("`{}`", elf.display()))
}

fn of(file: &[u8]) -> Result<Vec<Piece>> {
    let header = FileHeader32::<Endianness>::parse(file).context("no ELF file of 32 bits")?;
    let endian = header.endian()?;
    let mut pieces = Vec::new();
    for segment in header.program_headers(endian, file)? {
        let bytes = segment.data(endian, file).ok().context("a segment is cut off")?;
        if segment.p_type(endian) == PT_LOAD && !bytes.is_empty() {
            pieces.push(Piece { address: segment.p_paddr(endian), bytes: bytes.to_vec() });
        }
    }
    pieces.sort_by_key(|piece| piece.address);
    Ok(pieces)
}

/// Pieces as one, with what erased flash holds between them.
pub(super) fn join(pieces: &[Piece]) -> Option<Piece> {
    let mut joined = Piece { address: pieces.first()?.address, bytes: Vec::new() };
    for piece in pieces {
        joined.bytes.resize((piece.address - joined.address) as usize, 0xFF);
        joined.bytes.extend(&piece.bytes);
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two load segments out of order, one that only RAM has, one that is a note.
    fn elf() -> Vec<u8> {
        const EHDR: u32 = 52;
        const PHDR: u32 = 32;
        let data = EHDR + 4 * PHDR;
        let mut file = b"\x7FELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        for half in [2u16, 40] {
            file.extend(half.to_le_bytes());
        }
        for word in [1, 0, EHDR, 0, 0] {
            file.extend(word.to_le_bytes());
        }
        for half in [EHDR as u16, PHDR as u16, 4, 40, 0, 0] {
            file.extend(half.to_le_bytes());
        }
        for (kind, offset, address, len) in
            [(1, data, 0x1000_0100, 4), (1, data + 4, 0x1000_0000, 3), (1, data, 0x2000_0000, 0), (4, data, 0, 4)]
        {
            for word in [kind, offset, 0x2000_0000, address, len, 8, 4, 4] {
                file.extend(u32::to_le_bytes(word));
            }
        }
        file.extend(b"codevec");
        file
    }

    #[test]
    fn takes_what_is_loaded_by_where_it_is_loaded_from() {
        let pieces = of(&elf()).unwrap();
        let expected = [(0x1000_0000, "vec"), (0x1000_0100, "code")];
        let expected = expected.map(|(address, text)| Piece { address, bytes: text.into() });
        assert_eq!(pieces, expected);
        assert_eq!(pieces[1].end(), 0x1000_0104);
        let joined = join(&pieces).unwrap();
        assert_eq!((joined.address, joined.bytes.len()), (0x1000_0000, 0x104));
        assert_eq!((&joined.bytes[..4], &joined.bytes[0x100..]), (&b"vec\xFF"[..], &b"code"[..]));
        assert_eq!(join(&[]), None);
        assert!(of(b"no ELF").is_err());
    }
}
