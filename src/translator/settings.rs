//! What a translator's user may choose.

use super::Translator;
use crate::blob::glossary::Glossary;
use crate::error::Error;

impl<'m> Translator<'m> {
    /// Ends translations after `count` target tokens, end of sentence included; at most the limit.
    pub const fn set_max_tokens(&mut self, count: usize) {
        let limit = self.limits.target_tokens as usize;
        self.max_tokens = if count == 0 {
            1
        } else if count > limit {
            limit
        } else {
            count
        };
    }

    /// Chooses the target language of phrases that do not start with a code (`>>xxx<<`), in place of the one chosen
    /// when the model was packed; `None` leaves them without.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownLanguage`] where the model has no such language: `Tokenizer::languages` lists them.
    pub fn set_target(&mut self, language: Option<&str>) -> Result<(), Error> {
        self.blob.tokenizer_mut().set_language(language)
    }

    /// Takes phrases and terms from `glossary` too, before the one in the blob.
    pub const fn set_glossary(&mut self, glossary: Glossary<'m>) {
        self.glossary = glossary;
    }

    /// Chooses the head of a decoder block's cross-attention that tells what a token is made from, in place of the one that the
    /// blob names.
    ///
    /// # Errors
    ///
    /// [`Error::Limits`] where the model has no such head.
    pub fn set_alignment_head(&mut self, block: usize, head: usize) -> Result<(), Error> {
        let heads = self.blob.spec().decoder_block(block).map_or(0, |block| block.heads as usize);
        if head >= heads {
            return Err(Error::Limits);
        }
        self.aligned_by = (block as u8, head as u8);
        Ok(())
    }

    /// Lets translations hold the unknown piece, which is never chosen else: for comparisons with searches that may choose it.
    pub const fn set_unknown_allowed(&mut self, allowed: bool) {
        self.unknown_allowed = allowed;
    }

    /// Ids that are never chosen.
    pub(super) const fn never(&self) -> [u16; 2] {
        let header = self.blob.spec().header();
        [header.pad_id, if self.unknown_allowed { header.pad_id } else { header.unk_id }]
    }

    /// Whether the blob has a shortlist.
    pub const fn has_shortlist(&self) -> bool {
        self.blob.shortlist().is_some()
    }

    /// Makes logits only of the ids in the blob's shortlist for the phrase, from the next step on; on at the start
    /// where it has one. Other ids
    /// are never chosen and no observer sees their logits; a beam search's log-probabilities are those among the rest.
    ///
    /// # Errors
    ///
    /// [`Error::NoShortlist`] where the blob has none.
    pub fn set_shortlist(&mut self, on: bool) -> Result<(), Error> {
        if on && !self.has_shortlist() {
            return Err(Error::NoShortlist);
        }
        self.shortlist = on;
        self.choose_rows();
        Ok(())
    }
}
