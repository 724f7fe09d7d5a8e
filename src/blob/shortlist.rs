//! A shortlist section: which row blocks of the output matrix a phrase needs, by its source ids.
//!
//! A phrase reads the blocks that are always read, and those listed for any of its source ids (a lexical shortlist, as
//! in Jean et al., "On Using Very Large Target Vocabulary for Neural Machine Translation" (2015), section 3.3, here of
//! blocks). The section is [`ShortlistHeader`], then without padding: a set of the blocks that are always read, a bit
//! each, bit 0 of byte 0 first; an offset into the lists for every [`GROUP`] source ids (`u32`); the bytes of each
//! source id's list (`u8`); the lists. A list has its blocks in ascending order, each as its distance from the one
//! before less one, the first as its number: below 128 in a byte, else in two, the high one first with bit 7 set.

use super::layout::{SectionKind, SpecHeader};
use super::record::{chunk, record};
use crate::error::BlobError;
use crate::kernel::ROWS;

/// Source ids that share an offset.
pub const GROUP: usize = 16;
/// Bytes of a list at most.
pub const MAX_LIST: usize = u8::MAX as usize;

record! {
    /// Start of a shortlist section.
    pub struct ShortlistHeader[16] {
        /// Rows of the output matrix in a block: 4.
        rows: u16 @ 0,
        /// Zero.
        reserved: u16 @ 2,
        /// Number of source ids.
        ids: u32 @ 4,
        /// Number of blocks in the output matrix.
        blocks: u32 @ 8,
        /// Bytes of the lists.
        lists_len: u32 @ 12,
    }
}

/// Row blocks of an output matrix of so many rows.
pub const fn block_count(target_vocab: u32) -> usize {
    target_vocab.div_ceil(ROWS as u32) as usize
}

/// Bytes of a set of the row blocks of an output matrix of so many rows, a bit each.
pub const fn set_bytes(target_vocab: u32) -> usize {
    block_count(target_vocab).div_ceil(8)
}

/// A checked shortlist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortlist<'b> {
    always: &'b [u8],
    offsets: &'b [[u8; 4]],
    lengths: &'b [u8],
    lists: &'b [u8],
}

impl<'b> Shortlist<'b> {
    /// Reads a section and walks all of its lists once.
    ///
    /// # Errors
    ///
    /// [`BlobError::Malformed`] with the source id whose list is at fault plus one, or zero.
    pub fn parse(section: &'b [u8], spec: &SpecHeader) -> Result<Self, BlobError> {
        let malformed =
            |index: usize| BlobError::Malformed { section: SectionKind::Shortlist as u32, index: index as u32 };
        let shortlist = Self::split(section, spec).ok_or(malformed(0))?;
        let blocks = block_count(spec.target_vocab);
        // No block past the last, and always the end of sentence: there is something to choose, and translations end.
        let beyond = (blocks..8 * shortlist.always.len()).any(|block| has(shortlist.always, block));
        if beyond || !has(shortlist.always, spec.eos_id as usize / ROWS) {
            return Err(malformed(0));
        }
        let mut start = 0;
        for (id, &len) in shortlist.lengths.iter().enumerate() {
            let offset = shortlist.offsets.get(id / GROUP).map(|offset| u32::from_le_bytes(*offset) as usize);
            if id % GROUP == 0 && offset != Some(start) {
                return Err(malformed(id + 1));
            }
            start += len as usize;
            let list = shortlist.list(id).ok_or(malformed(id + 1))?;
            let mut walk = Blocks { list, next: 0 };
            if walk.by_ref().any(|block| block >= blocks) || !walk.list.is_empty() {
                return Err(malformed(id + 1));
            }
        }
        if start == shortlist.lists.len() { Ok(shortlist) } else { Err(malformed(0)) }
    }

    /// Cuts the section into its arrays.
    fn split(section: &'b [u8], spec: &SpecHeader) -> Option<Self> {
        let header = ShortlistHeader::read(section, 0)?;
        let fits = header.rows as usize == ROWS
            && header.reserved == 0
            && header.ids == spec.source_vocab
            && header.blocks as usize == block_count(spec.target_vocab);
        let (_, rest) = section.split_at_checked(ShortlistHeader::SIZE)?;
        let (always, rest) = rest.split_at_checked(set_bytes(spec.target_vocab))?;
        let ids = header.ids as usize;
        let (offsets, rest) = rest.split_at_checked(4 * ids.div_ceil(GROUP))?;
        let (lengths, lists) = rest.split_at_checked(ids)?;
        let shortlist = Shortlist { always, offsets: offsets.as_chunks().0, lengths, lists };
        (fits && lists.len() == header.lists_len as usize).then_some(shortlist)
    }

    /// The bytes of the list of a source id; none where there is no such id.
    fn list(&self, id: usize) -> Option<&'b [u8]> {
        let len = *self.lengths.get(id)? as usize;
        let offset = u32::from_le_bytes(*self.offsets.get(id / GROUP)?) as usize;
        let before = self.lengths.get(id / GROUP * GROUP..id)?;
        let start = before.iter().fold(offset, |start, &len| start.saturating_add(len as usize));
        self.lists.get(start..start.checked_add(len)?)
    }

    /// The blocks listed for a source id, in ascending order; none where there is no such id.
    pub fn blocks(&self, id: u16) -> impl Iterator<Item = usize> + 'b {
        Blocks { list: self.list(id as usize).unwrap_or_default(), next: 0 }
    }

    /// The set of blocks that are always read, a bit each.
    pub const fn always(&self) -> &'b [u8] {
        self.always
    }

    /// Makes `set` the blocks that a phrase of these source ids reads, a bit each; it has [`set_bytes`] bytes.
    pub fn fill(&self, ids: &[u16], set: &mut [u8]) {
        set.iter_mut().zip(self.always).for_each(|(set, &always)| *set = always);
        for block in ids.iter().flat_map(|&id| self.blocks(id)) {
            if let Some(set) = set.get_mut(block / 8) {
                *set |= 1 << (block % 8);
            }
        }
    }
}

/// Whether a set has a block.
pub fn has(set: &[u8], block: usize) -> bool {
    set.get(block / 8).is_some_and(|bits| bits >> (block % 8) & 1 != 0)
}

/// Walks a list; ends early at a number that is cut short.
struct Blocks<'b> {
    list: &'b [u8],
    next: usize,
}

impl Iterator for Blocks<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let gap = match chunk::<2>(self.list, 0) {
            Some(&[high, low]) if high >= 0x80 => {
                self.list = self.list.get(2..)?;
                (high as usize & 0x7f) << 8 | low as usize
            }
            _ => {
                let (&gap, rest) = self.list.split_first().filter(|(gap, _)| **gap < 0x80)?;
                self.list = rest;
                gap as usize
            }
        };
        let block = self.next + gap;
        self.next = block + 1;
        Some(block)
    }
}

/// What a shortlist section is written from.
#[derive(Clone, Copy, Debug)]
pub struct ShortlistParts<'a, L> {
    /// Rows of the output matrix.
    pub target_vocab: u32,
    /// The set of blocks that are always read, a bit each; [`set_bytes`] bytes.
    pub always: &'a [u8],
    /// Blocks of each source id in ascending order.
    pub lists: &'a [L],
}

/// Bytes of a list in a section.
pub fn list_len(blocks: &[u16]) -> usize {
    let mut next = 0;
    let long = |&block: &u16| block >= core::mem::replace(&mut next, block.saturating_add(1)).saturating_add(0x80);
    blocks.len() + blocks.iter().copied().filter(long).count()
}

impl<L: AsRef<[u16]>> ShortlistParts<'_, L> {
    fn lists_len(&self) -> usize {
        self.lists.iter().map(|list| list_len(list.as_ref())).sum()
    }

    /// Bytes [`Self::emit`] writes.
    pub fn emitted_len(&self) -> usize {
        let ids = self.lists.len();
        ShortlistHeader::SIZE + self.always.len() + 4 * ids.div_ceil(GROUP) + ids + self.lists_len()
    }

    /// Writes the section, or `None` where `out` is too short, a list has more than [`MAX_LIST`] bytes or does not ascend.
    pub fn emit(&self, out: &mut [u8]) -> Option<usize> {
        let (len, ids) = (self.emitted_len(), self.lists.len());
        let header = ShortlistHeader {
            rows: ROWS as u16,
            reserved: 0,
            ids: ids.try_into().ok()?,
            blocks: block_count(self.target_vocab).try_into().ok()?,
            lists_len: self.lists_len().try_into().ok()?,
        };
        let out = out.get_mut(..len)?;
        header.write(out, 0)?;
        let (always, rest) = out.get_mut(ShortlistHeader::SIZE..)?.split_at_mut_checked(self.always.len())?;
        always.copy_from_slice(self.always);
        let (offsets, rest) = rest.split_at_mut_checked(4 * ids.div_ceil(GROUP))?;
        let (lengths, lists) = rest.split_at_mut_checked(ids)?;
        let mut offset = 0;
        for (id, (list, length)) in self.lists.iter().zip(lengths).enumerate() {
            if id % GROUP == 0 {
                offsets
                    .get_mut(id / GROUP * 4..)?
                    .first_chunk_mut::<4>()?
                    .copy_from_slice(&(offset as u32).to_le_bytes());
            }
            let len = list_len(list.as_ref());
            *length = u8::try_from(len).ok()?;
            write_list(list.as_ref(), lists.get_mut(offset..offset + len)?)?;
            offset += len;
        }
        Some(len)
    }
}

fn write_list(blocks: &[u16], out: &mut [u8]) -> Option<()> {
    let mut out = out.iter_mut();
    let mut next = 0u16;
    for &block in blocks {
        let gap = block.checked_sub(next)?;
        match gap {
            0..0x80 => *out.next()? = gap as u8,
            0x80..0x8000 => {
                *out.next()? = 0x80 | (gap >> 8) as u8;
                *out.next()? = gap as u8;
            }
            _ => return None,
        }
        next = block.checked_add(1)?;
    }
    Some(())
}

#[cfg(test)]
mod tests;
