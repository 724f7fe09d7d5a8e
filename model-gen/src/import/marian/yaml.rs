//! YAML 1.2, in which `n`, an operation of Marian's, is a text and not the opposite of `y`.

use serde::de::DeserializeOwned;

/// Reads a document; the error is the parser's sentence, without its picture of the place.
pub(super) fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(text, serde_saphyr::options! { strict_booleans: true, with_snippet: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn only_true_and_false_are_truth_values() {
        let values: BTreeMap<String, serde_json::Value> = from_str("a: n\nb: yes\nc: true\nd: dan\n").unwrap();
        assert_eq!(serde_json::to_string(&values).unwrap(), r#"{"a":"n","b":"yes","c":true,"d":"dan"}"#);
    }

    /// As many pieces as a blob can hold.
    #[test]
    fn a_large_vocabulary_is_read() {
        let text: String = (0..65_536).map(|id| format!("\"\u{2581}piece{id}\": {id}\n")).collect();
        let ids: BTreeMap<String, u64> = from_str(&text).unwrap();
        assert_eq!((ids.len(), ids["\u{2581}piece65535"]), (65_536, 65_535));
    }

    #[test]
    fn errors_are_one_line() {
        let error = from_str::<BTreeMap<String, u64>>("a: 1\nb: [2\n").unwrap_err().to_string();
        assert!(!error.contains('\n') && error.contains("line"), "{error}");
    }
}
