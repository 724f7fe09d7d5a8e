//! What can go wrong with a board, and what to do about it.

use std::io::ErrorKind;

/// Why a board can't be worked with: which port, and what it did.
#[derive(Debug, thiserror::Error)]
#[error("{port}: {fault}")]
pub struct DeviceError {
    /// The port.
    pub port: String,
    /// What happened there.
    pub fault: Fault,
}

/// What happened at a port.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It can't be opened.
    #[error("cannot be opened ({0}): {hint}", hint = opening(.0.kind()))]
    Open(std::io::Error),
    /// Nothing came.
    #[error(
        "no answer within {0} s: is it a board with latimer's firmware, at this --baud? Reset it, or allow more with --timeout"
    )]
    Silent(f32),
    /// Something came that is no answer.
    #[error("no answer within {seconds} s, but `{shown}`: check --baud, and that latimer's firmware is on the board")]
    Garbled {
        /// How long was waited, in seconds.
        seconds: f32,
        /// The last of what came.
        shown: String,
    },
    /// The link is gone.
    #[error("the connection is gone{}: plug the board in or start it again, then repeat this", last(.0))]
    Gone(Option<String>),
    /// The board started anew while it should have answered.
    #[error("the board restarted in place of an answer: is its power good, does its watchdog allow for a phrase?")]
    Restarted,
    /// A panic or a fault in the firmware.
    #[error("the firmware failed: {0}; reset the board")]
    Failed(String),
    /// What was asked for can't be done.
    #[error("{0}")]
    Refused(String),
    /// An answer lacks what it should have.
    #[error("the answer `{0}` is not as this program expects: flash the firmware of the same version")]
    Odd(String),
}

fn opening(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::PermissionDenied => "give yourself the right to it, on Linux mostly by the group `dialout`",
        ErrorKind::ConnectionRefused | ErrorKind::TimedOut => "start what listens there",
        _ => "is the board plugged in, and no other program using it? `model-gen device ports` lists ports",
    }
}

fn last(said: &Option<String>) -> String {
    said.as_ref().map(|said| format!(" (the last line was `{said}`)")).unwrap_or_default()
}
