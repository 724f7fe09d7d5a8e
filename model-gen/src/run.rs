//! Running a blob on the host: many phrases in parallel, each with its own arena, in the order given.

use crate::aligned::AlignedBytes;
use anyhow::Result;
use latimer::blob::glossary::Glossary;
use latimer::passage::Aligned;
use latimer::{AlignmentCrc, Error, Limits, LogitsCrc, Model, Observer, Outcome, TextOptions, Warnings};
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
    /// What else came of it; of the model alone, nothing.
    pub outcome: Outcome,
    /// CRC-32 over where its tokens come from.
    pub alignment_crc: u32,
    /// Where they come from; nothing of the model alone.
    pub alignment: Vec<Aligned>,
}

/// How phrases are translated.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'g> {
    /// Target tokens at most.
    pub max_tokens: usize,
    /// Whether the output matrix is read by the blob's shortlist alone.
    pub shortlist: bool,
    /// What is done around the model; `None` gives it the phrases as they are.
    pub text: Option<TextOptions>,
    /// Whether the unknown piece may be chosen.
    pub unknown: bool,
    /// Phrases and terms that come before the blob's.
    pub glossary: Glossary<'g>,
}

/// So many target tokens at most, with all of the output matrix, from the model alone, as a float model makes them.
impl From<usize> for Choices<'_> {
    fn from(max_tokens: usize) -> Self {
        Choices { max_tokens, shortlist: false, text: None, unknown: true, glossary: Glossary::EMPTY }
    }
}

/// Where tokens come from.
#[derive(Default)]
struct Alignment(Vec<Aligned>);

impl Observer for Alignment {
    fn aligned(&mut self, aligned: &Aligned) {
        self.0.push(aligned.clone());
    }
}

/// Translates each phrase; `done` is called after each, from any thread.
pub fn translate_all<'g, P: AsRef<[u8]> + Sync>(
    model: &Model<'_>,
    limits: Limits,
    choices: impl Into<Choices<'g>>,
    phrases: &[P],
    done: impl Fn() + Sync,
) -> Result<Vec<Result<Translation, Error>>, Error> {
    let (len, choices) = (model.arena_len(limits)?, choices.into());
    let translate = |arena: &mut AlignedBytes, phrase: &P| {
        let mut translator = model.translator(arena, limits)?;
        translator.set_max_tokens(choices.max_tokens);
        translator.set_shortlist(choices.shortlist)?;
        translator.set_unknown_allowed(choices.unknown);
        translator.set_glossary(choices.glossary);
        let mut observer = (LogitsCrc::new(), (AlignmentCrc::new(), Alignment::default()));
        let (mut target, mut outcome) = (String::new(), Outcome::default());
        let truncated = match choices.text {
            Some(options) => {
                outcome = translator.translate_text(phrase.as_ref(), options, &mut observer, &mut target)?;
                outcome.warnings.contains(Warnings::LENGTH)
            }
            None => translator.translate_phrase(phrase.as_ref(), &mut observer, &mut target)?.truncated,
        };
        let asked = choices.text.is_none() || outcome.parts > 0;
        let ids = |ids: &[u16]| if asked { ids.to_vec() } else { Vec::new() };
        Ok(Translation {
            source_ids: ids(translator.source_ids()),
            target_ids: ids(translator.target_ids()),
            target,
            logits_crc: observer.0.value(),
            truncated,
            outcome,
            alignment_crc: observer.1.0.value(),
            alignment: observer.1.1.0,
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
