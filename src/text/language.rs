//! Target languages of multilingual models: `>>xxx<<` at the start of a text is one piece, as in Hugging Face's
//! `MarianTokenizer`, and says which language is wanted.

use super::Tokenizer;
use crate::blob::tokenizer::source_flag;
use crate::error::Error;

const OPEN: &str = ">>";
const CLOSE: &str = "<<";

impl<'b> Tokenizer<'b> {
    /// The languages that the model can be asked for: the `xxx` of each `>>xxx<<` in the source vocabulary, in order
    /// of their ids. None in a model of one target language.
    pub fn languages(&self) -> impl Iterator<Item = &'b str> {
        self.language_ids().map(|(code, _)| code)
    }

    /// The language that texts without a code are put into, where there is one.
    pub fn language(&self) -> Option<&'b str> {
        inner(self.source.piece(self.language_id?)?)
    }

    /// Chooses the language for texts that do not start with a code; `None` leaves them without.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownLanguage`] where the language is not one of [`Tokenizer::languages`].
    pub fn set_language(&mut self, language: Option<&str>) -> Result<(), Error> {
        self.language_id = match language {
            None => None,
            Some(wanted) => {
                let (_, id) = self.language_ids().find(|&(code, _)| code == wanted).ok_or(Error::UnknownLanguage)?;
                Some(id)
            }
        };
        Ok(())
    }

    /// The language chosen when the model was packed.
    pub(super) const fn packed_language(&self) -> Option<u16> {
        match self.tables.source_flags & source_flag::DEFAULT_LANGUAGE {
            0 => None,
            _ => Some(self.tables.language_id),
        }
    }

    /// Takes a language chosen before, by the id of its code, or by default the one the model was packed for; returns
    /// the one that was chosen till now.
    pub(crate) const fn swap_language(&mut self, chosen: Option<Option<u16>>) -> Option<u16> {
        let language = match chosen {
            Some(language) => language,
            None => self.packed_language(),
        };
        core::mem::replace(&mut self.language_id, language)
    }

    /// The id of the code that a text starts with, or else of the chosen language, and the text without the code. A
    /// code that the vocabulary lacks is an unknown piece. Only models that know codes look for one.
    pub(crate) fn split_language<'t>(&self, text: &'t [u8]) -> (Option<u16>, &'t [u8]) {
        if self.tables.source_flags & source_flag::LANGUAGE_CODES == 0 {
            return (None, text);
        }
        let code = || {
            let inner = text.strip_prefix(OPEN.as_bytes())?;
            let len = inner.windows(CLOSE.len()).position(|bytes| bytes == CLOSE.as_bytes())?;
            text.split_at_checked(len.wrapping_add(OPEN.len() + CLOSE.len()))
        };
        match code() {
            Some((code, rest)) => (Some(self.id_or_unknown(code)), rest),
            None => (self.language_id, text),
        }
    }

    fn language_ids(&self) -> impl Iterator<Item = (&'b str, u16)> {
        let (source, known) = (self.source, self.tables.source_flags & source_flag::LANGUAGE_CODES != 0);
        let ids = 0..if known { source.id_count() as u32 } else { 0 };
        ids.filter_map(move |id| {
            let id = id as u16;
            Some((inner(source.piece(id)?)?, id))
        })
    }
}

/// The `xxx` of `>>xxx<<`.
fn inner(piece: &str) -> Option<&str> {
    piece.strip_prefix(OPEN)?.strip_suffix(CLOSE)
}
