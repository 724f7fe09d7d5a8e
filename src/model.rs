//! A model: a checked blob, and what its translators need.

use crate::arena::{ArenaPlan, Limits};
use crate::blob::Blob;
use crate::error::Error;
use crate::translator::Translator;

/// A checked blob, ready to translate.
#[derive(Clone, Copy, Debug)]
pub struct Model<'a> {
    blob: Blob<'a>,
}

impl<'a> Model<'a> {
    /// Checks every byte of the blob once; see [`Blob::parse`].
    ///
    /// # Errors
    ///
    /// [`Error::Blob`] says what is wrong with the bytes.
    #[inline(never)]
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        Ok(Model { blob: Blob::parse(bytes)? })
    }

    /// The id the decoder reads first.
    pub const fn start_id(&self) -> u16 {
        self.blob.spec().header().start_id
    }

    /// The id that ends a sentence.
    pub const fn eos_id(&self) -> u16 {
        self.blob.spec().header().eos_id
    }

    /// The blob behind the model.
    pub const fn blob(&self) -> &Blob<'a> {
        &self.blob
    }

    /// A value of the blob's metadata; see [`Blob::meta`].
    pub fn meta(&self, key: &str) -> Option<&'a str> {
        self.blob.meta(key)
    }

    /// Where the arena's bytes go under `limits`.
    ///
    /// # Errors
    ///
    /// [`Error::Limits`] where a limit is zero or exceeds the model's positions, or the beams [`MAX_BEAMS`](crate::MAX_BEAMS).
    pub const fn arena_plan(&self, limits: Limits) -> Result<ArenaPlan, Error> {
        ArenaPlan::of(&self.blob, limits)
    }

    /// Chooses the target language of phrases that do not start with a code (`>>xxx<<`), for translators made from now
    /// on, in place of the one chosen when the model was packed; `None` leaves them without.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownLanguage`] where the model has no such language: `blob().tokenizer().languages()` lists them.
    pub fn set_target(&mut self, language: Option<&str>) -> Result<(), Error> {
        self.blob.tokenizer_mut().set_language(language)
    }

    /// Bytes of arena needed under `limits`; [`arena_len`](crate::arena_len) is the `const` form.
    ///
    /// # Errors
    ///
    /// As [`Model::arena_plan`].
    pub const fn arena_len(&self, limits: Limits) -> Result<usize, Error> {
        match self.arena_plan(limits) {
            Ok(plan) => Ok(plan.total()),
            Err(error) => Err(error),
        }
    }

    /// A translator in `arena`, which must be aligned to 16 bytes and as long as [`Model::arena_len`] says.
    ///
    /// # Errors
    ///
    /// [`Error::Limits`], or [`Error::Arena`] with the bytes needed.
    pub fn translator<'m>(&self, arena: &'m mut [u8], limits: Limits) -> Result<Translator<'m>, Error>
    where
        'a: 'm,
    {
        Translator::new(self.blob, self.arena_plan(limits)?, arena, limits)
    }
}
