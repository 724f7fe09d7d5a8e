//! The guide section: what was learned about a model, beside its weights.
//!
//! [`GuideHeader`], then [`Knot`]s of the phrases' confidence and of the tokens', then [`StandIn`]s, then their texts, source
//! and target of each, without anything between.

use super::layout::SectionKind;
use super::record::record;
use crate::error::BlobError;

record! {
    /// Start of a guide section.
    pub struct GuideHeader[16] {
        /// Decoder block whose cross-attention tells what a token is made from.
        aligned_block: u8 @ 0,
        /// The head of it that does.
        aligned_head: u8 @ 1,
        /// Number of knots of the phrases' confidence, then of the tokens'.
        phrase_knots: u8 @ 2,
        /// See above.
        token_knots: u8 @ 3,
        /// Target tokens for each source token, and some more, beyond which a translation is cut: Q8.
        length_per_token: u16 @ 4,
        /// See above; whole tokens.
        length_more: u16 @ 6,
        /// Number of stand-ins.
        stand_ins: u16 @ 8,
        /// Zero.
        reserved: u16 @ 10,
        /// Bytes of text.
        text_len: u32 @ 12,
    }
}

record! {
    /// A point of a line of which confidence is read, by nats a token.
    pub struct Knot[4] {
        /// Negative log-probability in nats, Q7; more in each knot than in the one before.
        nats: u16 @ 0,
        /// Confidence, Q15; no more than in the knot before.
        confidence: u16 @ 2,
    }
}

record! {
    /// A word that a span is replaced by while the model translates.
    pub struct StandIn[4] {
        /// What it stands for: 0 names, 1 numbers.
        kind: u8 @ 0,
        /// Bytes of its source text.
        source_len: u8 @ 1,
        /// Bytes of what the model makes of it.
        target_len: u8 @ 2,
        /// Zero.
        reserved: u8 @ 3,
    }
}

/// What a stand-in stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StandInKind {
    /// Names, codes, addresses.
    Name = 0,
    /// Numbers.
    Number = 1,
}

/// One in Q15.
pub const SURE: u16 = 1 << 15;

/// A view of a guide section; of none, it knows nothing.
#[derive(Clone, Copy, Debug)]
pub struct Guide<'b> {
    header: GuideHeader,
    knots: &'b [u8],
    stand_ins: &'b [u8],
    text: &'b str,
}

/// What a guide section is written from.
#[derive(Clone, Copy, Debug)]
pub struct GuideParts<'a> {
    /// Block and head; lengths. Counts are computed.
    pub header: GuideHeader,
    /// Knots of the phrases' confidence.
    pub phrase: &'a [Knot],
    /// Knots of the tokens' confidence.
    pub token: &'a [Knot],
    /// Kind, source and target of each stand-in, the best first.
    pub stand_ins: &'a [(StandInKind, &'a str, &'a str)],
}

impl Guide<'static> {
    /// Of a blob without one: the first head of the last block, two target tokens for a source token and eight more, no
    /// confidence, no stand-ins.
    pub const fn absent(decoder_blocks: usize) -> Self {
        let header = GuideHeader {
            aligned_block: decoder_blocks.saturating_sub(1) as u8,
            aligned_head: 0,
            phrase_knots: 0,
            token_knots: 0,
            length_per_token: 2 << 8,
            length_more: 8,
            stand_ins: 0,
            reserved: 0,
            text_len: 0,
        };
        Guide { header, knots: &[], stand_ins: &[], text: "" }
    }
}

impl<'b> Guide<'b> {
    /// Reads and checks a section.
    ///
    /// # Errors
    ///
    /// [`BlobError::Malformed`] with 0 for the header and the lengths, 1 for the knots, 2 for the stand-ins and their texts.
    pub fn parse(bytes: &'b [u8]) -> Result<Self, BlobError> {
        let malformed = |index| BlobError::Malformed { section: SectionKind::Guide as u32, index };
        let guide = Self::split(bytes).ok_or(malformed(0))?;
        let falling = |knots: &'b [u8]| {
            let knots = || (0..knots.len() / Knot::SIZE).filter_map(|i| Knot::read(knots, i * Knot::SIZE));
            knots().all(|knot| knot.confidence <= SURE)
                && knots().zip(knots().skip(1)).all(|(a, b)| a.nats < b.nats && a.confidence >= b.confidence)
        };
        if !falling(guide.phrase_knots()) || !falling(guide.token_knots()) {
            return Err(malformed(1));
        }
        let (mut count, mut text_len) = (0, 0);
        for (_, source, target) in guide.all_stand_ins() {
            if source.is_empty() || target.is_empty() {
                return Err(malformed(2));
            }
            (count, text_len) = (count + 1, text_len + source.len() + target.len());
        }
        // No text that is not theirs.
        let whole = count == guide.header.stand_ins as usize && text_len == guide.text.len();
        if whole { Ok(guide) } else { Err(malformed(2)) }
    }

    fn split(bytes: &'b [u8]) -> Option<Self> {
        let header = GuideHeader::read(bytes, 0).filter(|header| header.reserved == 0)?;
        let (_, rest) = bytes.split_at_checked(GuideHeader::SIZE)?;
        let knots = header.phrase_knots as usize + header.token_knots as usize;
        let (knots, rest) = rest.split_at_checked(knots * Knot::SIZE)?;
        let (stand_ins, text) = rest.split_at_checked(header.stand_ins as usize * StandIn::SIZE)?;
        let text = core::str::from_utf8(text).ok()?;
        (text.len() == header.text_len as usize).then_some(Guide { header, knots, stand_ins, text })
    }

    /// The header record.
    pub const fn header(&self) -> &GuideHeader {
        &self.header
    }

    fn phrase_knots(&self) -> &'b [u8] {
        self.knots.get(..self.header.phrase_knots as usize * Knot::SIZE).unwrap_or_default()
    }

    fn token_knots(&self) -> &'b [u8] {
        self.knots.get(self.header.phrase_knots as usize * Knot::SIZE..).unwrap_or_default()
    }

    /// Confidence in a phrase whose tokens have so many nats on average, Q7; Q15. `None` where it was not calibrated.
    pub fn phrase_confidence(&self, nats: u32) -> Option<u16> {
        confidence(self.phrase_knots(), nats)
    }

    /// Confidence in a token of so many nats.
    pub fn token_confidence(&self, nats: u32) -> Option<u16> {
        confidence(self.token_knots(), nats)
    }

    /// Target tokens that a translation of so many source tokens may have.
    pub const fn most_tokens(&self, source_tokens: usize) -> usize {
        let per_token = self.header.length_per_token as usize;
        (source_tokens.saturating_mul(per_token) >> 8).saturating_add(self.header.length_more as usize)
    }

    /// Source and target of the stand-ins of a kind, the best first.
    pub fn stand_ins(&self, kind: StandInKind) -> impl Iterator<Item = (&'b str, &'b str)> {
        self.all_stand_ins().filter(move |(other, ..)| *other == kind).map(|(_, source, target)| (source, target))
    }

    fn all_stand_ins(&self) -> impl Iterator<Item = (StandInKind, &'b str, &'b str)> {
        let (records, mut rest) = (self.stand_ins, self.text);
        (0..self.header.stand_ins as usize).map_while(move |i| {
            let record = StandIn::read(records, i * StandIn::SIZE)?;
            let kind = match record.kind {
                _ if record.reserved != 0 => return None,
                0 => StandInKind::Name,
                1 => StandInKind::Number,
                _ => return None,
            };
            let (source, after) = rest.split_at_checked(record.source_len as usize)?;
            let (target, after) = after.split_at_checked(record.target_len as usize)?;
            rest = after;
            Some((kind, source, target))
        })
    }
}

/// On the lines between knots; level before the first and behind the last.
fn confidence(knots: &[u8], nats: u32) -> Option<u16> {
    let mut before: Option<Knot> = None;
    for i in 0..knots.len() / Knot::SIZE {
        let knot = Knot::read(knots, i * Knot::SIZE)?;
        if nats <= knot.nats as u32 {
            let Some(before) = before else { return Some(knot.confidence) };
            let (width, down) =
                ((knot.nats - before.nats) as u32, before.confidence.saturating_sub(knot.confidence) as u32);
            let lost = (down * (nats - before.nats as u32)).checked_div(width).unwrap_or(0);
            return Some(before.confidence.saturating_sub(lost as u16));
        }
        before = Some(knot);
    }
    before.map(|last| last.confidence)
}

impl GuideParts<'_> {
    /// Bytes [`Self::emit`] writes.
    pub fn emitted_len(&self) -> usize {
        let text: usize = self.stand_ins.iter().map(|(_, source, target)| source.len() + target.len()).sum();
        let knots = self.phrase.len() + self.token.len();
        GuideHeader::SIZE + knots * Knot::SIZE + self.stand_ins.len() * StandIn::SIZE + text
    }

    /// Writes the section, or `None` where `out` is too short or a length does not fit its field.
    pub fn emit(&self, out: &mut [u8]) -> Option<usize> {
        let len = self.emitted_len();
        let out = out.get_mut(..len)?;
        let text: usize = self.stand_ins.iter().map(|(_, source, target)| source.len() + target.len()).sum();
        GuideHeader {
            phrase_knots: self.phrase.len().try_into().ok()?,
            token_knots: self.token.len().try_into().ok()?,
            stand_ins: self.stand_ins.len().try_into().ok()?,
            reserved: 0,
            text_len: text.try_into().ok()?,
            ..self.header
        }
        .write(out, 0)?;
        let mut at = GuideHeader::SIZE;
        for knot in self.phrase.iter().chain(self.token) {
            knot.write(out, at)?;
            at += Knot::SIZE;
        }
        for (kind, source, target) in self.stand_ins {
            let (source_len, target_len) = (source.len().try_into().ok()?, target.len().try_into().ok()?);
            StandIn { kind: *kind as u8, source_len, target_len, reserved: 0 }.write(out, at)?;
            at += StandIn::SIZE;
        }
        for text in self.stand_ins.iter().flat_map(|(_, source, target)| [source, target]) {
            out.get_mut(at..at + text.len())?.copy_from_slice(text.as_bytes());
            at += text.len();
        }
        Some(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const fn knot(nats: u16, confidence: u16) -> Knot {
        Knot { nats, confidence }
    }

    fn section(phrase: &[Knot], stand_ins: &[(StandInKind, &str, &str)]) -> Vec<u8> {
        let header = GuideHeader { length_per_token: 384, length_more: 5, ..GuideHeader::default() };
        let parts = GuideParts { header, phrase, token: &[knot(1, 2)], stand_ins };
        let mut bytes = std::vec![0; parts.emitted_len()];
        assert_eq!(parts.emit(&mut bytes), Some(bytes.len()));
        assert_eq!(parts.emit(&mut std::vec![0; bytes.len() - 1]), None);
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let words = [
            (StandInKind::Name, "Tom", "Tom"),
            (StandInKind::Number, "ten", "diez"),
            (StandInKind::Name, "Mary", "María"),
        ];
        let bytes = section(&[knot(10, 30_000), knot(20, 10_000), knot(30, 10_000)], &words);
        let guide = Guide::parse(&bytes).unwrap();
        assert!(guide.stand_ins(StandInKind::Name).eq([("Tom", "Tom"), ("Mary", "María")]));
        assert!(guide.stand_ins(StandInKind::Number).eq([("ten", "diez")]));
        let read = [0, 10, 15, 20, 25, 30, 31, u32::MAX].map(|nats| guide.phrase_confidence(nats).unwrap());
        assert_eq!(read, [30_000, 30_000, 20_000, 10_000, 10_000, 10_000, 10_000, 10_000]);
        assert_eq!(guide.token_confidence(7), Some(2));
        assert_eq!((guide.most_tokens(4), guide.most_tokens(usize::MAX)), (11, (usize::MAX >> 8) + 5));
        let absent = Guide::absent(3);
        assert_eq!((absent.header().aligned_block, absent.phrase_confidence(1), absent.most_tokens(4)), (2, None, 16));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let refused = |bytes: &[u8], index| {
            let section = SectionKind::Guide as u32;
            assert_eq!(Guide::parse(bytes).err(), Some(BlobError::Malformed { section, index }));
        };
        refused(&section(&[knot(10, 1), knot(10, 1)], &[]), 1);
        refused(&section(&[knot(10, 1), knot(20, 2)], &[]), 1);
        refused(&section(&[knot(10, SURE + 1)], &[]), 1);
        refused(&section(&[], &[(StandInKind::Name, "", "x")]), 2);
        let whole = section(&[knot(1, 1)], &[(StandInKind::Name, "é", "x")]);
        let changed = |at: usize, to: u8| {
            let mut bytes = whole.clone();
            bytes[at] = to;
            bytes
        };
        // Reserved fields of the header and of the stand-in, behind two knots.
        refused(&changed(10, 1), 0);
        refused(&changed(11, 1), 0);
        refused(&changed(16 + 2 * 4 + 3, 1), 2);
        // Text that no stand-in has.
        let mut longer = changed(12, 4);
        longer.push(b'y');
        refused(&longer, 2);
        for len in 0..whole.len() {
            refused(whole.get(..len).unwrap(), 0);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_safe_to_read(
            bytes in proptest::collection::vec(any::<u8>(), 0..80), counts in any::<[u8; 4]>()
        ) {
            let mut bytes = bytes;
            // Small counts, that most may fit.
            if bytes.len() > 16 {
                bytes[2] = counts[0] % 4;
                bytes[3] = counts[1] % 4;
                (bytes[8], bytes[9]) = (counts[2] % 3, 0);
                let used = 16 + 4 * (usize::from(bytes[2]) + usize::from(bytes[3]) + usize::from(bytes[8]));
                let text = bytes.len().saturating_sub(used) as u8;
                bytes[12..16].copy_from_slice(&[text, 0, 0, 0]);
            }
            if let Ok(guide) = Guide::parse(&bytes) {
                for nats in [0, 1, 1000, u32::MAX] {
                    prop_assert!(guide.phrase_confidence(nats).is_none_or(|c| c <= SURE));
                    prop_assert!(guide.token_confidence(nats).is_none_or(|c| c <= SURE));
                }
                prop_assert!(guide.stand_ins(StandInKind::Name).count() <= 3);
            }
        }
    }
}
