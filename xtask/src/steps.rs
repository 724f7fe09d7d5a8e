//! A list of named steps: each is announced and timed, failures are collected and told at the end.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::shell;

/// Steps run so far.
#[derive(Debug, Default)]
pub struct Steps {
    passed: usize,
    failed: Vec<String>,
    skipped: usize,
}

impl Steps {
    /// Runs a step; tells whether it passed.
    pub fn step(&mut self, name: &str, run: impl FnOnce() -> Result<()>) -> bool {
        println!("== {name}");
        let start = Instant::now();
        let result = run();
        let seconds = start.elapsed().as_secs_f64();
        match &result {
            Ok(()) => {
                println!("-- passed in {seconds:.1} s: {name}\n");
                self.passed += 1;
            }
            Err(error) => {
                println!("-- FAILED in {seconds:.1} s: {name}: {error:#}\n");
                self.failed.push(format!("{name}: {error:#}"));
            }
        }
        result.is_ok()
    }

    /// Runs a command as a step; tells whether it passed.
    pub fn command(&mut self, name: &str, command: &mut Command) -> bool {
        self.step(name, || {
            println!("$ {}", shell::line(command));
            shell::run(command)
        })
    }

    /// Says that a step is left out, and why.
    pub fn skip(&mut self, name: &str, why: &str) {
        println!("== {name}\n-- skipped: {why}\n");
        self.skipped += 1;
    }

    /// Tells what failed and how many passed; fails if any did.
    pub fn finish(self) -> Result<()> {
        for failure in &self.failed {
            println!("FAILED {failure}");
        }
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed.len(), self.skipped);
        if !self.failed.is_empty() {
            bail!("{} of {} steps failed", self.failed.len(), self.passed + self.failed.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_does_not_hide_the_rest() {
        let mut steps = Steps::default();
        assert!(!steps.step("first", || bail!("no luck")));
        assert!(steps.step("second", || Ok(())));
        assert!(
            !steps
                .command("third", Command::new("cargo").arg("no-such-subcommand").stderr(std::process::Stdio::null()))
        );
        assert_eq!((steps.passed, steps.failed.len()), (1, 2));
        assert!(steps.failed[0].contains("no luck"));
        assert!(steps.finish().is_err());
    }
}
