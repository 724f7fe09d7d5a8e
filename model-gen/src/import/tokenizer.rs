//! Builds the tokenizer sections of a blob from the two SentencePiece models and the vocabulary.
//!
//! Ids come from the piece *string* through `vocab.json`; SentencePiece's own ids end here.

use super::spm::{NormalizerSpec, SpmModel, TrainerSpec};
use super::vocab::Vocab;
use anyhow::{Context, ensure};
use latimer::blob::tokenizer::{TokenizerTables, source_flag, target_flag};
use latimer::blob::vocab::{MAX_ENTRIES, VocabEntry, VocabParts};
use latimer::text::vocab::{SourceKind, TargetKind};
use std::collections::BTreeMap;

mod pieces;

use pieces::Pieces;

/// What SentencePiece adds to the lowest score for a character that no piece covers.
const UNK_PENALTY: f32 = 10.0;

/// Ids with a meaning, from the checkpoint's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialIds {
    /// End of sentence.
    pub eos: u16,
    /// Padding.
    pub pad: u16,
    /// Pieces that the vocabulary lacks.
    pub unk: u16,
    /// The language code (`>>xxx<<`) put before source texts that have none.
    pub language: Option<u16>,
}

/// Bytes of the tokenizer sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenizerSections {
    /// `SectionKind::Tokenizer`.
    pub tokenizer: Vec<u8>,
    /// `SectionKind::SourceVocab`.
    pub source_vocab: Vec<u8>,
    /// `SectionKind::TargetVocab`, where the sides have a vocabulary each.
    pub target_vocab: Option<Vec<u8>>,
}

/// Builds the sections; errors name the file (`source.spm`, `target.spm`, the vocabulary's own name) and the field.
pub fn tokenizer_sections(
    source: &SpmModel,
    target: &SpmModel,
    vocab: &Vocab,
    target_vocab: Option<&Vocab>,
    ids: SpecialIds,
) -> anyhow::Result<TokenizerSections> {
    let source_pieces = Pieces::read("source.spm", source)?;
    let target_pieces = Pieces::read("target.spm", target)?;
    let last_vocab = target_vocab.unwrap_or(vocab);
    for (what, id, vocab) in [
        ("unknown", ids.unk, vocab),
        ("end of sentence", ids.eos, vocab),
        ("end of sentence", ids.eos, last_vocab),
        ("padding", ids.pad, last_vocab),
    ] {
        ensure!(
            usize::from(id) < vocab.pieces().len(),
            "{}: the {what} id {id} is not below its {} ids",
            vocab.name(),
            vocab.pieces().len()
        );
    }
    let source_vocab = match target_vocab {
        None => vocab_section(vocab, Some(&source_pieces), Some(&target_pieces), ids)?,
        Some(_) => vocab_section(vocab, Some(&source_pieces), None, ids)?,
    };
    let target_vocab = target_vocab.map(|vocab| vocab_section(vocab, None, Some(&target_pieces), ids)).transpose()?;
    let tokenizer = tokenizer_section(source, target, &source_pieces, vocab, ids)?;
    Ok(TokenizerSections { tokenizer, source_vocab, target_vocab })
}

fn tokenizer_section(
    source: &SpmModel,
    target: &SpmModel,
    source_pieces: &Pieces,
    vocab: &Vocab,
    ids: SpecialIds,
) -> anyhow::Result<Vec<u8>> {
    let denormalizer = target.denormalizer_spec.clone().unwrap_or_default();
    ensure!(
        denormalizer.precompiled_charsmap().is_empty(),
        "target.spm: denormalizer_spec has a character map, which is not supported"
    );
    let charsmap = source.normalizer().charsmap("source.spm: normalizer_spec.precompiled_charsmap")?;
    let trainer = target.trainer();
    // SentencePiece takes the surface as a C string.
    let unk_surface = trainer.unk_surface().split('\0').next().unwrap_or_default();
    let mut flags = source_flags(&source.normalizer(), &source.trainer());
    if vocab.language_codes().next().is_some() {
        flags |= source_flag::LANGUAGE_CODES;
    }
    if ids.language.is_some() {
        flags |= source_flag::DEFAULT_LANGUAGE;
    }
    let tables = TokenizerTables {
        algorithm: source_pieces.algorithm,
        source_flags: flags,
        target_flags: target_flags(&target.normalizer()),
        unk_id: ids.unk,
        language_id: ids.language.unwrap_or(0),
        unk_score: (source_pieces.min_score - UNK_PENALTY).to_bits(),
        charsmap: &charsmap.map,
        strings: &charsmap.strings,
        unk_surface,
    };
    let mut bytes = vec![0; tables.emitted_len()];
    tables.emit(&mut bytes).context("source.spm or target.spm: a tokenizer table is too long for the format")?;
    Ok(bytes)
}

fn source_flags(normalizer: &NormalizerSpec, trainer: &TrainerSpec) -> u8 {
    [
        (normalizer.remove_extra_whitespaces(), source_flag::REMOVE_EXTRA_WHITESPACES),
        (normalizer.add_dummy_prefix(), source_flag::ADD_DUMMY_PREFIX),
        (normalizer.escape_whitespaces(), source_flag::ESCAPE_WHITESPACES),
        (trainer.treat_whitespace_as_suffix(), source_flag::WHITESPACE_AS_SUFFIX),
        (trainer.byte_fallback(), source_flag::BYTE_FALLBACK),
    ]
    .into_iter()
    .filter_map(|(set, flag)| set.then_some(flag))
    .sum()
}

fn target_flags(normalizer: &NormalizerSpec) -> u8 {
    match (normalizer.remove_extra_whitespaces(), normalizer.add_dummy_prefix()) {
        (true, _) => target_flag::DROP_LEADING | target_flag::DROP_ALL_LEADING,
        (false, true) => target_flag::DROP_LEADING,
        (false, false) => 0,
    }
}

fn vocab_section(
    vocab: &Vocab,
    source: Option<&Pieces>,
    target: Option<&Pieces>,
    ids: SpecialIds,
) -> anyhow::Result<Vec<u8>> {
    // Sorted by bytes, which is how strings compare.
    let mut id_of: BTreeMap<&str, u16> = BTreeMap::new();
    for (id, piece) in vocab.pieces().iter().enumerate() {
        ensure!(!piece.is_empty(), "{}: the piece of id {id} is empty", vocab.name());
        id_of.insert(piece, id as u16);
    }
    for text in source.iter().flat_map(|pieces| pieces.matched.keys()) {
        if source.is_some_and(|pieces| pieces.source_kind(text) != SourceKind::None) {
            id_of.entry(text).or_insert(ids.unk);
        }
    }
    ensure!(
        id_of.len() <= MAX_ENTRIES,
        "{} and source.spm have {} pieces together, more than {MAX_ENTRIES}",
        vocab.name(),
        id_of.len()
    );
    let mut wide_scores: Vec<u64> = Vec::new();
    let mut entries = Vec::with_capacity(id_of.len());
    let mut entry_of_id = vec![0; vocab.pieces().len()];
    for (index, (&text, &id)) in id_of.iter().enumerate() {
        let in_vocab = vocab.pieces().get(usize::from(id)).is_some_and(|piece| piece == text);
        if in_vocab {
            entry_of_id[usize::from(id)] = index as u16;
        }
        let source_kind = source.map_or(SourceKind::None, |pieces| pieces.source_kind(text));
        let score = match (source, source_kind) {
            (Some(pieces), SourceKind::Normal | SourceKind::Unused) => pieces.matched[text].1.to_bits(),
            (Some(pieces), SourceKind::UserDefined) => {
                let score = pieces.user_defined_score(text);
                ensure!(score.is_finite(), "source.spm: the user-defined piece \"{text}\" has the score {score}");
                let known = wide_scores.iter().position(|&known| known == score.to_bits());
                known.unwrap_or_else(|| {
                    wide_scores.push(score.to_bits());
                    wide_scores.len() - 1
                }) as u32
            }
            _ => 0,
        };
        let target_kind = match target {
            Some(_) if in_vocab && (id == ids.eos || id == ids.pad) => TargetKind::Hidden,
            Some(pieces) => pieces.target_kind(text),
            None => TargetKind::Foreign,
        };
        entries.push(VocabEntry { text, id, score, source: source_kind, target: target_kind });
    }
    let parts = VocabParts { entries: &entries, entry_of_id: &entry_of_id, wide_scores: &wide_scores };
    let mut bytes = vec![0; parts.emitted_len()];
    parts.emit(&mut bytes).with_context(|| format!("{}: the vocabulary is too long for the format", vocab.name()))?;
    Ok(bytes)
}
