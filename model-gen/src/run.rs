//! Running a blob on the host: many phrases in parallel, each with its own arena, in the order given.

use crate::aligned::AlignedBytes;
use anyhow::Result;
use latimer::{Error, Limits, LogitsCrc, Model};
use rayon::prelude::*;

/// One phrase's translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Ids of the source, end of sentence included.
    pub source_ids: Vec<u16>,
    /// Ids of the target.
    pub target_ids: Vec<u16>,
    /// Text of the target.
    pub target: String,
    /// CRC-32 over every logit of every step.
    pub logits_crc: u32,
    /// The limit came before the end of sentence.
    pub truncated: bool,
}

/// How phrases are translated.
#[derive(Clone, Copy, Debug)]
pub struct Choices {
    /// Target tokens at most.
    pub max_tokens: usize,
    /// Whether the output matrix is read by the blob's shortlist alone.
    pub shortlist: bool,
}

/// So many target tokens at most, with all of the output matrix.
impl From<usize> for Choices {
    fn from(max_tokens: usize) -> Self {
        Choices { max_tokens, shortlist: false }
    }
}

/// Translates each phrase; `done` is called after each, from any thread.
pub fn translate_all<P: AsRef<[u8]> + Sync>(
    model: &Model<'_>,
    limits: Limits,
    choices: impl Into<Choices>,
    phrases: &[P],
    done: impl Fn() + Sync,
) -> Result<Vec<Result<Translation, Error>>, Error> {
    let (len, choices) = (model.arena_len(limits)?, choices.into());
    let translate = |arena: &mut AlignedBytes, phrase: &P| {
        let mut translator = model.translator(arena, limits)?;
        translator.set_max_tokens(choices.max_tokens);
        translator.set_shortlist(choices.shortlist)?;
        let mut crc = LogitsCrc::new();
        let mut target = String::new();
        let stats = translator.translate_phrase(phrase.as_ref(), &mut crc, &mut target)?;
        Ok(Translation {
            source_ids: translator.source_ids().to_vec(),
            target_ids: translator.target_ids().to_vec(),
            target,
            logits_crc: crc.value(),
            truncated: stats.truncated,
        })
    };
    let translations = phrases.par_iter().map_init(
        || AlignedBytes::zeroed(len),
        |arena, phrase| {
            let translation = translate(arena, phrase);
            done();
            translation
        },
    );
    Ok(translations.collect())
}
