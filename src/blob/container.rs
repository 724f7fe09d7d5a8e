//! The container: header, section table, checksums. Parse and emit.

use super::layout::{ALIGN, Header, MAGIC, SectionEntry, SectionKind, VERSION};
use crate::error::BlobError;

/// CRC-32 (ISO-HDLC, the one of zip and Ethernet): sections, logits and layer outputs are checked with it.
pub static CRC32: crc::Crc<u32, Table> = crc::Crc::<u32, Table>::new(&crc::CRC_32_ISO_HDLC);

/// A CRC that is still being computed.
pub type Digest = crc::Digest<'static, u32, Table>;

/// Goes on with a CRC over values of `N` bytes, several at a time: what a large table is for.
pub(crate) fn digest_values<const N: usize>(digest: &mut Digest, values: impl IntoIterator<Item = [u8; N]>) {
    let mut values = values.into_iter();
    let mut room = [[0; N]; 16];
    loop {
        let mut used = 0;
        for (place, value) in room.iter_mut().zip(&mut values) {
            *place = value;
            used += 1;
        }
        let Some(bytes @ [_, ..]) = room.get(..used) else { return };
        digest.update(bytes.as_flattened());
    }
}

/// 16 KB on a host, which checks the logits of whole test sets; 1 KB on a board.
#[cfg(feature = "std")]
type Table = crc::Table<16>;
#[cfg(not(feature = "std"))]
type Table = crc::Table<1>;

/// Most sections a blob can have.
const MAX_SECTIONS: u16 = 32;

/// A checked container: the header and where the sections lie.
#[derive(Clone, Copy)]
pub struct Container<'a> {
    bytes: &'a [u8],
    header: Header,
}

const fn in_table(index: usize) -> BlobError {
    BlobError::Malformed { section: 0, index: index as u32 + 1 }
}

impl<'a> Container<'a> {
    /// Reads the header without looking at checksums: enough to size an arena at compile time.
    pub const fn open(bytes: &'a [u8]) -> Result<Self, BlobError> {
        let Some(header) = Header::read(bytes, 0) else {
            return Err(BlobError::Truncated { need: Header::SIZE, found: bytes.len() });
        };
        if header.magic != MAGIC {
            return Err(BlobError::NotABlob);
        }
        if header.version != VERSION {
            return Err(BlobError::Version { found: header.version });
        }
        if header.section_count == 0 || header.section_count > MAX_SECTIONS || header.reserved != 0 {
            return Err(in_table(0));
        }
        match bytes.split_at_checked(header.total_len as usize) {
            Some((bytes, _)) => Ok(Container { bytes, header }),
            None => Err(BlobError::Truncated { need: header.total_len as usize, found: bytes.len() }),
        }
    }

    /// Checks every byte once: alignment, checksums, order of sections, padding.
    pub fn check(&self) -> Result<(), BlobError> {
        if !(self.bytes.as_ptr() as usize).is_multiple_of(ALIGN) {
            return Err(BlobError::Misaligned);
        }
        let crc_of = |from: usize, to: usize| self.bytes.get(from..to).map(|bytes| CRC32.checksum(bytes));
        if crc_of(0, Header::SIZE - 4) != Some(self.header.header_crc) {
            return Err(BlobError::Checksum { section: 0 });
        }
        let count = self.header.section_count as usize;
        let table_end = Header::SIZE + count * SectionEntry::SIZE;
        match crc_of(Header::SIZE, table_end) {
            None => return Err(in_table(0)),
            Some(crc) if crc != self.header.table_crc => return Err(BlobError::Checksum { section: 0 }),
            Some(_) => {}
        }
        let mut end = table_end;
        let mut seen = 0u32;
        for i in 0..count {
            let entry = self.entry(i).ok_or(in_table(i))?;
            let start = entry.offset as usize;
            let padding = self.bytes.get(end..start).ok_or(in_table(i))?;
            let known = SectionKind::ALL.iter().any(|&kind| kind as u32 == entry.kind);
            if !known || entry.kind == SectionKind::Signature as u32 {
                return Err(BlobError::Unsupported { section: entry.kind, index: 0 });
            }
            let bit = 1u32 << (entry.kind & 31);
            if padding.len() >= ALIGN || padding.iter().any(|&b| b != 0) || seen & bit != 0 {
                return Err(in_table(i));
            }
            seen |= bit;
            if !start.is_multiple_of(ALIGN) {
                return Err(in_table(i));
            }
            end = start.checked_add(entry.len as usize).ok_or(in_table(i))?;
            match crc_of(start, end) {
                None => return Err(in_table(i)),
                Some(crc) if crc != entry.crc => return Err(BlobError::Checksum { section: entry.kind }),
                Some(_) => {}
            }
        }
        if end == self.bytes.len() { Ok(()) } else { Err(in_table(count)) }
    }

    /// The header record.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The whole blob, without what follows it.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Entry `i` of the section table.
    pub const fn entry(&self, i: usize) -> Option<SectionEntry> {
        if i >= self.header.section_count as usize {
            return None;
        }
        SectionEntry::read(self.bytes, Header::SIZE + i * SectionEntry::SIZE)
    }

    /// The bytes of a section, or `None` where the blob lacks it.
    pub const fn section(&self, kind: SectionKind) -> Option<&'a [u8]> {
        let mut i = 0;
        while let Some(entry) = self.entry(i) {
            if entry.kind == kind as u32 {
                let Some((_, tail)) = self.bytes.split_at_checked(entry.offset as usize) else {
                    return None;
                };
                return match tail.split_at_checked(entry.len as usize) {
                    Some((section, _)) => Some(section),
                    None => None,
                };
            }
            i += 1;
        }
        None
    }

    /// [`Container::section`], with a missing one as an error.
    pub const fn required(&self, kind: SectionKind) -> Result<&'a [u8], BlobError> {
        match self.section(kind) {
            Some(section) => Ok(section),
            None => Err(BlobError::MissingSection { section: kind as u32 }),
        }
    }
}

/// What [`emit`] writes.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'p> {
    /// Engine, weight layout and model version; the other fields are computed.
    pub header: Header,
    /// Sections in the order they are to lie.
    pub sections: &'p [(SectionKind, &'p [u8])],
}

/// Bytes [`emit`] will write.
pub fn emit_len(parts: &Parts<'_>) -> usize {
    let table = Header::SIZE + parts.sections.len() * SectionEntry::SIZE;
    parts.sections.iter().fold(table, |end, (_, bytes)| end.next_multiple_of(ALIGN) + bytes.len())
}

/// Writes a blob and returns its length; `None` where `out` is too short or the blob would pass 4 GiB.
pub fn emit(parts: &Parts<'_>, out: &mut [u8]) -> Option<usize> {
    let total = emit_len(parts);
    let out = out.get_mut(..total)?;
    out.fill(0);
    let mut end = Header::SIZE + parts.sections.len() * SectionEntry::SIZE;
    let table_end = end;
    for (i, (kind, bytes)) in parts.sections.iter().enumerate() {
        let start = end.next_multiple_of(ALIGN);
        end = start + bytes.len();
        out.get_mut(start..end)?.copy_from_slice(bytes);
        let entry = SectionEntry {
            kind: *kind as u32,
            offset: u32::try_from(start).ok()?,
            len: u32::try_from(bytes.len()).ok()?,
            crc: CRC32.checksum(bytes),
        };
        entry.write(out, Header::SIZE + i * SectionEntry::SIZE)?;
    }
    let mut header = Header {
        magic: MAGIC,
        version: VERSION,
        total_len: u32::try_from(total).ok()?,
        section_count: u16::try_from(parts.sections.len()).ok()?,
        table_crc: CRC32.checksum(out.get(Header::SIZE..table_end)?),
        header_crc: 0,
        ..parts.header
    };
    header.write(out, 0)?;
    header.header_crc = CRC32.checksum(out.get(..Header::SIZE - 4)?);
    header.write(out, 0)?;
    Some(total)
}
