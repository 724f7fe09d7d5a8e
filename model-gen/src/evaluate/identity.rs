//! Which blob was judged, and on which phrases.

use crate::score::pairs::Phrase;
use latimer::Model;
use latimer::blob::CRC32;
use serde::Serialize;
use std::collections::BTreeMap;

/// What tells one blob from another.
#[derive(Clone, Debug, Serialize)]
pub struct Identity {
    /// Version of the blob format.
    pub format_version: u16,
    /// Version of the model, for those who update models in the field.
    pub model_version: u32,
    /// CRC-32 (ISO-HDLC) of all its bytes.
    pub crc: u32,
    /// Its metadata: name, languages, licence, source, recipe.
    pub metadata: BTreeMap<String, String>,
}

impl Identity {
    pub(super) fn of(model: &Model<'_>) -> Self {
        let (blob, header) = (model.blob(), model.blob().container().header());
        Identity {
            format_version: header.version,
            model_version: header.model_version,
            crc: CRC32.checksum(blob.container().bytes()),
            metadata: blob.meta_lines().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        }
    }

    /// A value of the metadata.
    pub fn meta(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).map(String::as_str)
    }
}

/// A checksum of what the figures are about.
pub(super) fn crc_of(phrases: &[Phrase]) -> u32 {
    let mut digest = CRC32.digest();
    for phrase in phrases {
        // A line break ends a text: no text of a line-based file has one.
        for text in std::iter::once(&phrase.source).chain(&phrase.references) {
            digest.update(text.as_bytes());
            digest.update(b"\n");
        }
        digest.update(b"\n");
    }
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_phrases_have_another_checksum() {
        let phrase = |source: &str, references: &[&str]| Phrase {
            source: source.to_owned(),
            references: references.iter().map(|text| (*text).to_owned()).collect(),
        };
        let sets = [
            vec![phrase("a", &["b", "c"])],
            vec![phrase("a", &["c", "b"])],
            vec![phrase("a", &["b"]), phrase("c", &[])],
            vec![phrase("a", &["bc"])],
        ];
        let mut crcs: Vec<u32> = sets.iter().map(|set| crc_of(set)).collect();
        assert_eq!(crcs[0], crc_of(&sets[0].clone()));
        crcs.sort_unstable();
        crcs.dedup();
        assert_eq!(crcs.len(), sets.len());
    }
}
