//! Whether a board computes what the host does: phrase by phrase, and where not, which layer is the first to differ.

use std::fmt;

use latimer::observe::Stage;
use serde_json::Value;

use super::host::{Host, Trace};
use super::{Device, DeviceError, Fault};

/// What came of a phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Ids, text, checksums and warnings are equal, or both sides refuse the phrase in the same words.
    Equal,
    /// The first thing that is not, in words, with both sides' numbers.
    Differs(String),
}

/// Compares what a board and the host make of a phrase.
///
/// # Errors
///
/// The link's.
pub fn compare(device: &mut Device, host: &mut Host<'_>, phrase: &str) -> Result<Verdict, DeviceError> {
    let ours = host.report(phrase);
    let theirs = refused(device.translate(phrase))?;
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs.value),
        (Ok(_), Err(words)) => return Ok(Verdict::Differs(format!("the board refuses it: {words}"))),
        (Err(error), Ok(_)) => return Ok(Verdict::Differs(format!("the host refuses it: {error}"))),
        (Err(error), Err(words)) if error.to_string() == words => return Ok(Verdict::Equal),
        (Err(error), Err(words)) => return Ok(Verdict::Differs(format!("device: {words}, host: {error}"))),
    };
    let fields: Vec<String> = fields(&theirs, &ours).collect();
    if fields.is_empty() {
        return Ok(Verdict::Equal);
    }
    // The model alone may take the whole phrase or not; the layer is named if it does and shows the fault.
    let answer = match refused(device.trace(phrase))? {
        Ok(answer) => answer,
        Err(_) => return Ok(Verdict::Differs(fields.join("; "))),
    };
    let layer = serde_json::from_value::<Trace>(answer.value).ok().and_then(|theirs| {
        let ours = host.trace(phrase, &theirs.target_ids).ok()?;
        first_difference(&theirs, &ours)
    });
    Ok(Verdict::Differs(layer.unwrap_or_else(|| fields.join("; "))))
}

/// Takes what the board refuses apart from what the link can't do.
fn refused<T>(result: Result<T, DeviceError>) -> Result<Result<T, String>, DeviceError> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(DeviceError { fault: Fault::Refused(words), .. }) => Ok(Err(words)),
        Err(error) => Err(error),
    }
}

/// Each field of the report that differs.
fn fields(theirs: &Value, ours: &Value) -> impl Iterator<Item = String> {
    let ours = ours.as_object().into_iter().flatten();
    ours.filter_map(|(key, ours)| {
        let theirs = theirs.get(key).unwrap_or(&Value::Null);
        let crc = key.strip_suffix("_crc").zip(theirs.as_u64().zip(ours.as_u64()));
        (theirs != ours).then(|| match crc {
            Some((name, (theirs, ours))) => differs(&format!("{name} checksum"), Crc(theirs), Crc(ours)),
            None => differs(&key.replace('_', " "), theirs, ours),
        })
    })
}

/// What of the model alone differs first, in the order in which it is computed.
fn first_difference(theirs: &Trace, ours: &Trace) -> Option<String> {
    if theirs.source_ids != ours.source_ids {
        return Some(differs("tokenizer: source ids", List(&theirs.source_ids), List(&ours.source_ids)));
    }
    let mut stages = theirs.stages.iter().zip(&ours.stages).enumerate();
    if let Some((index, (&theirs, &found))) = stages.find(|(_, (theirs, ours))| theirs != ours) {
        let stage = match index.checked_sub(ours.encoder_layers + 1) {
            None => Stage::Encoder(index as u8),
            Some(layer) => Stage::Decoder(layer as u8),
        };
        return Some(differs(&stage.to_string(), Crc(theirs.into()), Crc(found.into())));
    }
    if theirs.logits_crc != ours.logits_crc {
        return Some(differs("logits checksum", Crc(theirs.logits_crc.into()), Crc(ours.logits_crc.into())));
    }
    let ids = theirs.target_ids != ours.target_ids;
    ids.then(|| differs("choice: target ids", List(&theirs.target_ids), List(&ours.target_ids)))
}

fn differs(what: &str, theirs: impl fmt::Display, ours: impl fmt::Display) -> String {
    let verb = if what.ends_with('s') && !what.ends_with("ss") { "differ" } else { "differs" };
    format!("{what} {verb}: device {theirs}, host {ours}")
}

/// As the self-test shows it.
struct Crc(u64);

impl fmt::Display for Crc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

struct List<'a>(&'a [u16]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Trace {
        Trace {
            source_ids: vec![5, 0],
            stages: vec![1, 2, 3, 4, 5],
            encoder_layers: 2,
            logits_crc: 6,
            target_ids: vec![7, 0],
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let ours = trace();
        assert_eq!(first_difference(&trace(), &ours), None);
        for (index, words) in [
            (0, "encoder embedding differs: device 00000009, host 00000001"),
            (2, "encoder layer 2 differs: device 00000009, host 00000003"),
            (3, "decoder embedding differs: device 00000009, host 00000004"),
            (4, "decoder layer 1 differs: device 00000009, host 00000005"),
        ] {
            let mut theirs = Trace { logits_crc: 0, ..trace() };
            theirs.stages[index..].fill(9);
            assert_eq!(first_difference(&theirs, &ours).unwrap(), words);
        }
        let theirs = Trace { logits_crc: 0xabc, target_ids: vec![], ..trace() };
        assert_eq!(
            first_difference(&theirs, &ours).unwrap(),
            "logits checksum differs: device 00000abc, host 00000006"
        );
        let theirs = Trace { target_ids: vec![], ..trace() };
        assert_eq!(first_difference(&theirs, &ours).unwrap(), "choice: target ids differ: device [], host [7, 0]");
        let theirs = Trace { source_ids: vec![], ..trace() };
        assert!(first_difference(&theirs, &ours).unwrap().starts_with("tokenizer: source ids differ: device []"));
    }

    #[test]
    fn each_field_that_differs_is_told() {
        let ours = serde_json::json!({"target": "a", "logits_crc": 10, "parts": 1, "confidence": null});
        assert_eq!(fields(&ours, &ours).count(), 0);
        let theirs = serde_json::json!({"target": "a", "logits_crc": 11, "parts": 2});
        let found: Vec<_> = fields(&theirs, &ours).collect();
        assert_eq!(
            found,
            ["logits checksum differs: device 0000000b, host 0000000a", "parts differ: device 2, host 1"]
        );
    }
}
