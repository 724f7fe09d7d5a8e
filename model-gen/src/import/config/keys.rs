//! Typed access to a JSON object's keys that collects every problem, with its line, instead of stopping at the first.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::import::error::ImportError;

const SUMMARY: &str = "values that cannot be imported:";

/// The object, its text (for line numbers) and the problems so far.
pub(in crate::import) struct Keys<'a> {
    path: PathBuf,
    text: &'a str,
    object: Map<String, Value>,
    problems: Vec<String>,
}

impl<'a> Keys<'a> {
    pub(in crate::import) fn parse(path: &Path, text: &'a str) -> Result<Self, ImportError> {
        let object = serde_json::from_str(text).map_err(|error| ImportError::json(path, &error))?;
        Ok(Self { path: path.to_owned(), text, object, problems: Vec::new() })
    }

    /// An object from elsewhere; problems have no line.
    pub(in crate::import) fn of(path: &Path, object: Map<String, Value>) -> Self {
        Self { path: path.to_owned(), text: "", object, problems: Vec::new() }
    }

    /// The key's value; `null` counts as absent, as transformers has it.
    pub(in crate::import) fn value(&self, key: &str) -> Option<&Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    pub(in crate::import) fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    pub(in crate::import) fn problem(&mut self, key: &str, found: &str, wanted: &str) {
        let at = self.line(key).map(|line| format!("line {line}: ")).unwrap_or_default();
        self.problems.push(format!("{at}{key}: found {found}, wanted {wanted}"));
    }

    pub(in crate::import) fn absent(&mut self, key: &str, wanted: &str) {
        self.problems.push(format!("{key}: absent, wanted {wanted}"));
    }

    /// A whole number from 1 to `max`.
    pub(in crate::import) fn count(&mut self, key: &str, max: usize, default: Option<usize>) -> usize {
        self.number(key, 1, max, default)
    }

    /// A token id.
    pub(in crate::import) fn id(&mut self, key: &str, default: Option<u32>) -> u32 {
        self.number(key, 0, super::MAX_VOCAB, default.map(|id| id as usize)) as u32
    }

    fn number(&mut self, key: &str, min: usize, max: usize, default: Option<usize>) -> usize {
        let wanted = format!("a whole number from {min} to {max}");
        let Some(value) = self.value(key) else {
            return default.unwrap_or_else(|| {
                self.absent(key, &wanted);
                min
            });
        };
        match value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| (min..=max).contains(n)) {
            Some(n) => n,
            None => {
                let found = value.to_string();
                self.problem(key, &found, &wanted);
                min
            }
        }
    }

    pub(in crate::import) fn flag(&mut self, key: &str, default: bool) -> bool {
        match self.value(key) {
            None => default,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                let found = other.to_string();
                self.problem(key, &found, "true or false");
                default
            }
        }
    }

    /// The key's text; a value of another type is a problem and reads as its JSON.
    pub(in crate::import) fn text(&self, key: &str) -> Option<&str> {
        self.value(key).map(|value| value.as_str().unwrap_or("(not a string)"))
    }

    /// A text with one supported value; absent is not supported either.
    pub(in crate::import) fn must_be_text(&mut self, key: &str, wanted: &str, why: &str) {
        let wanted_words = format!("{wanted:?}: {why}");
        match self.value(key) {
            None => self.absent(key, &wanted_words),
            Some(value) if value.as_str() == Some(wanted) => {}
            Some(value) => {
                let found = value.to_string();
                self.problem(key, &found, &wanted_words);
            }
        }
    }

    /// A flag with one supported value, which is also what absent means.
    pub(in crate::import) fn must_be_flag(&mut self, key: &str, wanted: bool, why: &str) {
        if let Some(value) = self.value(key).filter(|value| value.as_bool() != Some(wanted)) {
            let found = value.to_string();
            self.problem(key, &found, &format!("{wanted}: {why}"));
        }
    }

    /// Itself, if nothing is wrong so far.
    pub(in crate::import) fn stop_at_problem(self) -> Result<Self, ImportError> {
        let Self { path, text, object, problems } = self;
        ImportError::collect(&path, SUMMARY, problems)?;
        Ok(Self { path, text, object, problems: Vec::new() })
    }

    /// The value, or all that is wrong with the file.
    pub(in crate::import) fn finish<T>(self, value: T) -> Result<T, ImportError> {
        ImportError::collect(&self.path, SUMMARY, self.problems).map(|()| value)
    }

    /// Line of the key, from 1. A text search is enough: `config.json` is flat.
    fn line(&self, key: &str) -> Option<usize> {
        let start = self.text.find(&format!("\"{key}\""))?;
        Some(self.text.get(..start)?.matches('\n').count() + 1)
    }
}
