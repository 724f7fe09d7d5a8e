//! Tables of `docs/blob-format.md`.

use latimer::blob::charsmap::{CharsMapHeader, CharsRange, range_kind};
use latimer::blob::glossary::{GlossaryEntry, GlossaryHeader};
use latimer::blob::guide::{GuideHeader, Knot, StandIn};
use latimer::blob::layout::{
    Block, DECODER_ROLES, ENCODER_ROLES, Header, Role, SectionEntry, SectionKind, SelfTestCase, SpecHeader, TensorEntry,
};
use latimer::blob::tensor::dtype;
use latimer::blob::tokenizer::{TokenizerHeader, source_flag, target_flag};
use latimer::blob::vocab::VocabHeader;
use latimer::blob::{FieldDoc, RecordDoc};
use latimer::text::vocab::{SourceKind, TargetKind};

use super::Parts;
use crate::generated::table;

/// Every generated part.
pub fn parts() -> Parts {
    vec![
        ("header", record(&Header::DOC)),
        ("section-entry", record(&SectionEntry::DOC)),
        ("section-kinds", section_kinds()),
        ("spec", record(&SpecHeader::DOC)),
        ("block", record(&Block::DOC)),
        ("tensor", record(&TensorEntry::DOC)),
        ("dtypes", dtypes()),
        ("roles", roles()),
        ("order", order()),
        ("tokenizer", record(&TokenizerHeader::DOC)),
        ("tokenizer-flags", flags()),
        ("charsmap", record(&CharsMapHeader::DOC)),
        ("charsmap-range", record(&CharsRange::DOC)),
        ("charsmap-kinds", range_kinds()),
        ("vocab", record(&VocabHeader::DOC)),
        ("vocab-kinds", kinds()),
        ("self-test", record(&SelfTestCase::DOC)),
        ("guide", record(&GuideHeader::DOC)),
        ("knot", record(&Knot::DOC)),
        ("stand-in", record(&StandIn::DOC)),
        ("glossary", record(&GlossaryHeader::DOC)),
        ("glossary-entry", record(&GlossaryEntry::DOC)),
    ]
}

/// A doc comment as Markdown: links to items become plain code.
fn prose(doc: &str) -> String {
    let mut doc = doc.trim().replace("[`", "`").replace("`]", "`");
    if doc.ends_with('.') && doc.matches(". ").count() == 0 {
        doc.pop();
    }
    doc
}

fn record(doc: &RecordDoc) -> String {
    let row = |field: &FieldDoc| [field.at.to_string(), field.ty.into(), format!("`{}`", field.name), prose(field.doc)];
    let fields = table(&["offset", "type", "field", "holds"], doc.fields.iter().map(row));
    format!("`{}`, {} bytes: {}\n\n{fields}", doc.name, doc.size, prose(doc.doc))
}

fn range_kinds() -> String {
    let rows = [
        (range_kind::CONSTANT, "all code points have the first value"),
        (
            range_kind::TABLE8,
            "a table at the offset: the least value in three bytes, then a byte a code point to add to it",
        ),
        (range_kind::TABLE16, "a table with two bytes a code point"),
        (range_kind::TABLE24, "a table with three bytes a code point"),
        (range_kind::RUN, "values ascend with the code points"),
        (range_kind::ALTERNATE, "they do too, but only every second code point has one"),
        (range_kind::FOLDS, "added to any of these: the characters fold"),
    ];
    table(&["kind", "values"], rows.map(|(kind, values)| [kind.to_string(), values.into()]))
}

fn section_kinds() -> String {
    let holds = |kind| match kind {
        SectionKind::Spec => "`SpecHeader`, then a `Block` for each layer, encoder first",
        SectionKind::Tensors => "a `TensorEntry` for each tensor",
        SectionKind::Weights => "the bytes that tensor entries point into",
        SectionKind::Tokenizer => "`TokenizerHeader` and the normalizer's character map",
        SectionKind::SourceVocab => "`VocabHeader` and its arrays: the vocabulary, or the source side's",
        SectionKind::TargetVocab => "the same for the target side, only where the two differ",
        SectionKind::SelfTest => "golden vectors, `SelfTestCase` each; optional",
        SectionKind::Meta => "`key=value` lines in UTF-8; optional",
        SectionKind::Shortlist => {
            "`ShortlistHeader`, then which row blocks of the output matrix each source id needs; optional"
        }
        SectionKind::Guide => "`GuideHeader`, then what was learned about the model; optional",
        SectionKind::Glossary => "`GlossaryHeader`, then phrases and terms whose translations are given; optional",
        SectionKind::Signature => "reserved: Ed25519 signature; refused by this version",
    };
    let row = |kind: SectionKind| [(kind as u32).to_string(), format!("`{kind:?}`"), holds(kind).into()];
    table(&["kind", "section", "holds"], SectionKind::ALL.map(row))
}

fn dtypes() -> String {
    let rows = [
        (dtype::I8, "i8", "matrices of the int8 engine, with `scales` and, unless all zero, an i32 `bias`"),
        (dtype::F16, "f16", "matrices of the f16 engine, with an f32 `bias` unless all zero"),
        (dtype::NORM, "norm", "layer norm: gamma i16 and beta i32 (int8 engine), or both f32 (f16 engine)"),
        (dtype::STEPS, "steps", "position frequencies: u32 phase steps a position, a full turn being 2^32"),
        (dtype::I4, "i4", "as i8, in groups of `group` columns: four bytes of scales, then tiles of 4-bit weights"),
        (dtype::I8_GROUPS, "i8 groups", "as i8, in groups of `group` columns: four bytes of scales, then tiles"),
        (dtype::I8_PAIRS, "i8 pairs", "as i8, for inputs of 8 bits and columns that four divides: in pairs"),
    ];
    table(&["dtype", "name", "elements"], rows.map(|(n, name, holds)| [n.to_string(), name.into(), holds.into()]))
}

fn roles() -> String {
    let shape = |role| match role {
        Role::Embedding | Role::Output => "vocabulary x d_model",
        Role::Positions => "ceil(d_model / 2) x 1",
        Role::SelfNorm | Role::CrossNorm | Role::FinalNorm => "d_model x 1",
        Role::Fc1 => "ffn x d_model",
        Role::Fc2 => "d_model x ffn",
        Role::SelfQ | Role::SelfK | Role::SelfV | Role::SelfOut => "d_model x d_model",
        Role::CrossQ | Role::CrossK | Role::CrossV | Role::CrossOut => "d_model x d_model",
    };
    let row = |role: Role| [(role as u8).to_string(), format!("`{role:?}`"), shape(role).into()];
    table(&["role", "name", "rows x columns"], Role::ALL.map(row))
}

fn order() -> String {
    let list = |roles: &[Role]| roles.iter().map(|role| format!("`{role:?}`")).collect::<Vec<_>>().join(", ");
    format!("- encoder block: {}\n- decoder block: {}", list(&ENCODER_ROLES), list(&DECODER_ROLES))
}

fn flags() -> String {
    let rows = [
        (
            "source_flags",
            source_flag::REMOVE_EXTRA_WHITESPACES,
            "runs of whitespace become one, none stays at the ends",
        ),
        ("source_flags", source_flag::ADD_DUMMY_PREFIX, "a whitespace is put before (or after) the text"),
        ("source_flags", source_flag::ESCAPE_WHITESPACES, "spaces become U+2581"),
        ("source_flags", source_flag::WHITESPACE_AS_SUFFIX, "the dummy whitespace goes after the text"),
        ("source_flags", source_flag::BYTE_FALLBACK, "unknown characters become byte pieces"),
        ("source_flags", source_flag::LANGUAGE_CODES, "a text may start with a language code, which is one piece"),
        ("source_flags", source_flag::DEFAULT_LANGUAGE, "texts that start with none get `language_id`"),
        ("target_flags", target_flag::DROP_LEADING, "a whitespace that starts the first written piece is dropped"),
        ("target_flags", target_flag::DROP_ALL_LEADING, "so is one of every further piece while nothing is written"),
    ];
    table(
        &["field", "bit", "if set"],
        rows.map(|(field, bit, doc)| [format!("`{field}`"), bit.to_string(), doc.into()]),
    )
}

fn kinds() -> String {
    let source = [
        (
            SourceKind::None,
            "never matched: control, unknown, byte, unused (in a unigram model), or not a piece of the segmenter",
        ),
        (SourceKind::Normal, "matched at its score"),
        (SourceKind::UserDefined, "matched at a bonus score, kept as it is by the normalizer"),
        (SourceKind::Unused, "merged at its score and taken apart again; in BPE models only"),
    ];
    let target = [
        (TargetKind::Foreign, "not a piece of the target's segmenter: its text, leading whitespace included"),
        (TargetKind::Normal, "its text, whitespace at the start of the output dropped"),
        (TargetKind::Unknown, "the surface for unknown pieces"),
        (TargetKind::Hidden, "nothing"),
        (TargetKind::Byte, "one byte of a UTF-8 sequence"),
    ];
    let source =
        source.map(|(kind, doc)| ["0 to 3".into(), (kind as u8).to_string(), format!("`{kind:?}`"), doc.into()]);
    let target =
        target.map(|(kind, doc)| ["4 to 7".into(), (kind as u8).to_string(), format!("`{kind:?}`"), doc.into()]);
    table(&["bits", "value", "name", "part"], source.into_iter().chain(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_from_the_records() {
        let header = record(&Header::DOC);
        assert!(header.starts_with("`Header`, 32 bytes: Start of the blob\n\n| offset | type | field | holds |\n"));
        assert!(header.contains("| 12 | u32 | `total_len` | Length of the whole blob"), "{header}");
        assert_eq!(header.lines().count(), 4 + Header::DOC.fields.len());
        assert_eq!(prose(" Role, see [`Role`]."), "Role, see `Role`");
    }
}
