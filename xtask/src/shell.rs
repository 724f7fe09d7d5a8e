//! Runs programs, saying which.

use std::fmt::Write;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A command as one would type it, with the variables it sets.
pub fn line(command: &Command) -> String {
    let mut line = String::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            write!(line, "{}={} ", name.display(), value.display()).expect("strings take everything");
        }
    }
    line.push_str(&command.get_program().to_string_lossy());
    for arg in command.get_args() {
        let arg = arg.to_string_lossy();
        let quote = if arg.contains(' ') { "'" } else { "" };
        write!(line, " {quote}{arg}{quote}").expect("strings take everything");
    }
    line
}

/// Runs a command to its end and fails if it did.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{}`", line(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", line(command));
    }
    Ok(())
}

/// Runs a command to its end and returns what it printed.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start `{}`", line(command)))?;
    if !output.status.success() {
        bail!("`{}` failed: {}\n{}", line(command), output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
