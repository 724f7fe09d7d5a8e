//! The vocabulary: pieces sorted by their bytes, searched by narrowing a range of them byte by byte.
//!
//! One table serves both sides of a joint vocabulary. It covers the union of the vocabulary's strings and the source
//! segmenter's pieces, because ids belong to *strings*: a segmenter's own numbering is never used.

/// Part of a piece in segmentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SourceKind {
    /// Never matched: control, unknown, byte, unused (in a unigram model), or not a piece of the segmenter.
    None = 0,
    /// Matched at its score.
    Normal = 1,
    /// Matched at a bonus score, and kept as it is by the normalizer.
    UserDefined = 2,
    /// Matched at its score and taken apart again; in BPE models only.
    Unused = 3,
}

/// How a piece is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TargetKind {
    /// Not a piece of the target's segmenter: its text, leading whitespace included.
    Foreign = 0,
    /// Its text, whitespace at the start of the output dropped.
    Normal = 1,
    /// The surface for unknown pieces.
    Unknown = 2,
    /// Nothing.
    Hidden = 3,
    /// One byte of a UTF-8 sequence.
    Byte = 4,
}

/// Score of a matched piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Score {
    /// Bits of a binary32.
    Normal(u32),
    /// Bits of a binary64.
    UserDefined(u64),
}

/// A view of a vocabulary section; see [`crate::blob::vocab`] for the arrays.
#[derive(Clone, Copy)]
pub struct Vocab<'b> {
    pub(crate) text: &'b str,
    pub(crate) offsets: &'b [[u8; 4]],
    pub(crate) scores: &'b [[u8; 4]],
    pub(crate) wide_scores: &'b [[u8; 8]],
    pub(crate) first: &'b [[u8; 2]],
    pub(crate) ids: &'b [[u8; 2]],
    pub(crate) entry_of_id: &'b [[u8; 2]],
    pub(crate) kinds: &'b [u8],
}

/// Sizes; not the pieces.
impl core::fmt::Debug for Vocab<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Vocab").field("entries", &self.len()).field("ids", &self.id_count()).finish()
    }
}

impl<'b> Vocab<'b> {
    /// Number of entries.
    pub const fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there is no entry at all.
    pub const fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Number of ids.
    pub const fn id_count(&self) -> usize {
        self.entry_of_id.len()
    }

    /// The piece with an id.
    pub fn piece(&self, id: u16) -> Option<&'b str> {
        self.text_of(self.entry_of(id)?)
    }

    /// Id of a piece given by its bytes.
    pub fn id(&self, piece: &[u8]) -> Option<u16> {
        let (entry, _) = self.prefixes(piece).find(|&(_, len)| len == piece.len())?;
        self.id_of(entry)
    }

    /// How the piece with an id is written out, and its text.
    pub(crate) fn target(&self, id: u16) -> Option<(TargetKind, &'b str)> {
        let entry = self.entry_of(id)?;
        Some((self.target_kind(entry)?, self.text_of(entry)?))
    }

    /// Entries whose text `text` starts with, shortest first, with the lengths in bytes.
    pub(crate) fn prefixes<'t>(&self, text: &'t [u8]) -> Prefixes<'b, 't> {
        Prefixes { vocab: *self, text, depth: 0, lo: 0, hi: self.len() }
    }

    /// Score of an entry in segmentation, or `None` where it is never matched.
    pub(crate) fn score(&self, entry: usize) -> Option<Score> {
        let score = self.score_bits(entry)?;
        match self.source_kind(entry)? {
            SourceKind::None | SourceKind::Unused => None,
            SourceKind::Normal => Some(Score::Normal(score)),
            SourceKind::UserDefined => Some(Score::UserDefined(self.wide_score(score)?)),
        }
    }

    /// The score as it stands in the table.
    pub(crate) fn score_bits(&self, entry: usize) -> Option<u32> {
        self.scores.get(entry).map(|score| u32::from_le_bytes(*score))
    }

    /// The entry whose text is all of `text`, if segmentation knows it.
    #[cfg(feature = "bpe")]
    pub(crate) fn matched(&self, text: &[u8]) -> Option<(usize, SourceKind)> {
        let (entry, _) = self.prefixes(text).find(|&(_, len)| len == text.len())?;
        Some((entry, self.source_kind(entry).filter(|kind| *kind != SourceKind::None)?))
    }

    /// Length of the longest user-defined piece that `text` starts with.
    pub(crate) fn user_defined_len(&self, text: &[u8]) -> Option<usize> {
        let user_defined = |&(entry, _): &(usize, usize)| self.source_kind(entry) == Some(SourceKind::UserDefined);
        self.prefixes(text).filter(user_defined).last().map(|(_, len)| len)
    }

    pub(crate) fn wide_score(&self, index: u32) -> Option<u64> {
        self.wide_scores.get(index as usize).map(|s| u64::from_le_bytes(*s))
    }

    pub(crate) fn text_of(&self, entry: usize) -> Option<&'b str> {
        let (start, end) = self.range(entry)?;
        self.text.get(start..end)
    }

    pub(crate) fn id_of(&self, entry: usize) -> Option<u16> {
        self.ids.get(entry).map(|id| u16::from_le_bytes(*id))
    }

    pub(crate) fn entry_of(&self, id: u16) -> Option<usize> {
        self.entry_of_id.get(usize::from(id)).map(|entry| u16::from_le_bytes(*entry).into())
    }

    pub(crate) fn first_entry(&self, byte: u16) -> Option<usize> {
        self.first.get(usize::from(byte)).map(|entry| u16::from_le_bytes(*entry).into())
    }

    pub(crate) fn source_kind(&self, entry: usize) -> Option<SourceKind> {
        match self.kinds.get(entry)? & 15 {
            0 => Some(SourceKind::None),
            1 => Some(SourceKind::Normal),
            2 => Some(SourceKind::UserDefined),
            3 => Some(SourceKind::Unused),
            _ => None,
        }
    }

    pub(crate) fn target_kind(&self, entry: usize) -> Option<TargetKind> {
        match self.kinds.get(entry)? >> 4 {
            0 => Some(TargetKind::Foreign),
            1 => Some(TargetKind::Normal),
            2 => Some(TargetKind::Unknown),
            3 => Some(TargetKind::Hidden),
            4 => Some(TargetKind::Byte),
            _ => None,
        }
    }

    fn range(&self, entry: usize) -> Option<(usize, usize)> {
        let start = self.offsets.get(entry)?;
        let end = self.offsets.get(entry.wrapping_add(1))?;
        Some((u32::from_le_bytes(*start) as usize, u32::from_le_bytes(*end) as usize))
    }

    /// Byte `depth` of an entry; `None`, which sorts first, at its end.
    fn byte(&self, entry: usize, depth: usize) -> Option<u8> {
        let (start, end) = self.range(entry)?;
        self.text.as_bytes().get(start..end)?.get(depth).copied()
    }

    /// First entry in `lo..hi` for which `before` is false, given that it is true for those before it only.
    fn partition(&self, mut lo: usize, mut hi: usize, before: impl Fn(usize) -> bool) -> usize {
        while lo < hi {
            let middle = lo.midpoint(hi);
            if before(middle) {
                lo = middle.wrapping_add(1);
            } else {
                hi = middle;
            }
        }
        lo
    }
}

/// Iterator over the entries that are prefixes of a text.
pub(crate) struct Prefixes<'b, 't> {
    vocab: Vocab<'b>,
    text: &'t [u8],
    /// All of `lo..hi` start with the first `depth` bytes of the text.
    depth: usize,
    lo: usize,
    hi: usize,
}

impl Iterator for Prefixes<'_, '_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        loop {
            let byte = *self.text.get(self.depth)?;
            self.narrow(byte)?;
            self.depth = self.depth.wrapping_add(1);
            // Among entries that start alike the shortest is first, so only that one can end here.
            let (start, end) = self.vocab.range(self.lo)?;
            if end.wrapping_sub(start) == self.depth {
                return Some((self.lo, self.depth));
            }
        }
    }
}

impl Prefixes<'_, '_> {
    /// Keeps the entries whose byte `depth` is `byte`; `None` where there are none.
    fn narrow(&mut self, byte: u8) -> Option<()> {
        let (vocab, depth) = (self.vocab, self.depth);
        if depth == 0 {
            let byte = u16::from(byte);
            (self.lo, self.hi) = (vocab.first_entry(byte)?, vocab.first_entry(byte.wrapping_add(1))?);
        } else {
            let byte = Some(byte);
            // Whole ranges often go on alike (the bytes of U+2581 above all), and short ones need no search.
            if vocab.byte(self.lo, depth) != byte {
                self.lo = vocab.partition(self.lo, self.hi, |entry| vocab.byte(entry, depth) < byte);
            }
            if self.lo < self.hi && vocab.byte(self.hi.wrapping_sub(1), depth) != byte {
                self.hi = vocab.partition(self.lo, self.hi, |entry| vocab.byte(entry, depth) <= byte);
            }
        }
        (self.lo < self.hi).then_some(())
    }
}
