//! Target languages of a multilingual vocabulary, by their codes.

use super::vocab::Vocab;
use anyhow::{Result, bail};

/// The id of `>>code<<`; an unknown code gives those there are.
pub fn language_id(vocab: &Vocab, code: &str) -> Result<u32> {
    match vocab.language_codes().find(|(known, _)| *known == code) {
        Some((_, id)) => Ok(id),
        None => bail!(unknown(code, vocab.name(), vocab.language_codes().map(|(known, _)| known))),
    }
}

/// The code of a language as users write it: `xxx`, or `>>xxx<<`.
pub fn code_of(text: &str) -> &str {
    text.strip_prefix(">>").and_then(|text| text.strip_suffix("<<")).unwrap_or(text)
}

/// What to say of a `--target` that `name` does not have.
pub fn unknown<'a>(code: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    if known.is_empty() {
        return format!("--target {code}: {name} has no language codes (pieces like >>{code}<<): leave --target out");
    }
    format!("--target {code}: {name} has no such language; it has {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocab(pieces: &[&str]) -> Vocab {
        Vocab::from_pieces("vocab.json", pieces.iter().map(|piece| piece.to_string()).collect()).unwrap()
    }

    #[test]
    fn codes_may_come_in_their_brackets() {
        let codes = ["spa", ">>spa<<", ">>spa", "spa<<", ">>", ""].map(code_of);
        assert_eq!(codes, ["spa", "spa", ">>spa", "spa<<", ">>", ""]);
    }

    #[test]
    fn codes_are_found_and_listed() {
        let several = vocab(&["</s>", ">>spa<<", ">>fra<<", "fra", ">>", "<<", ">>x"]);
        assert_eq!(language_id(&several, "fra").unwrap(), 2);
        let error = language_id(&several, "deu").unwrap_err().to_string();
        assert_eq!(error, "--target deu: vocab.json has no such language; it has fra, spa");
        let error = language_id(&vocab(&["</s>"]), "deu").unwrap_err().to_string();
        assert!(error.contains("no language codes") && error.ends_with("leave --target out"), "{error}");
    }
}
