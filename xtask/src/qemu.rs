//! A firmware in QEMU, and the talk with it: a line to it, a line from it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSymbol};

use crate::machines::Machine;
use crate::{setup, shell};

/// How long a board may take for a line unless told otherwise: soft float takes seconds a phrase.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A running QEMU. Dropped, it is ended.
#[derive(Debug)]
pub struct Board {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    /// The line the firmware greeted with.
    pub greeting: String,
    /// How long to wait for a line.
    pub patience: Duration,
}

/// The command that boots `elf` on `machine`.
pub fn command(machine: &Machine, elf: &Path) -> Command {
    with_options(machine, machine.options, "stdio", elf)
}

/// The same with the serial line behind this TCP port of the host, where QEMU waits for the first to connect before it starts.
pub fn listening(machine: &Machine, elf: &Path, port: u16) -> Command {
    let mut command = with_options(machine, machine.options, &format!("tcp:127.0.0.1:{port},server=on,wait=on"), elf);
    command.stdin(Stdio::null());
    command
}

/// The same with clocks that follow the host's: faster, and nothing interrupts a translated block.
pub fn uncounted(machine: &Machine, elf: &Path) -> Command {
    let end = machine.options.iter().position(|&option| option == "-icount").unwrap_or(machine.options.len());
    let (before, rest) = machine.options.split_at(end);
    let mut command = with_options(machine, before, "stdio", elf);
    command.args(rest.iter().skip(2));
    command
}

fn with_options(machine: &Machine, options: &[&str], serial: &str, elf: &Path) -> Command {
    let mut qemu = Command::new(machine.qemu);
    qemu.args(options);
    qemu.args(["-nographic", "-monitor", "none", "-serial", serial]);
    qemu.args(["-semihosting-config", "enable=on,target=native"]);
    qemu.arg("-kernel").arg(elf);
    qemu
}

/// Adds to a command like [`command`]'s what writes `image` where the firmware in `elf` looks for models.
pub fn with_model(qemu: &mut Command, elf: &Path, image: &Path) -> Result<()> {
    let address = symbol(elf, "__model_start")?;
    qemu.arg("-device").arg(format!("loader,file={},addr={address:#x},force-raw=on", image.display()));
    Ok(())
}

/// The address of a symbol in a linked firmware.
pub fn symbol(elf: &Path, name: &str) -> Result<u64> {
    let bytes = fs::read(elf).with_context(|| format!("cannot read `{}`", elf.display()))?;
    let file = object::File::parse(&*bytes).with_context(|| format!("`{}` is no ELF file", elf.display()))?;
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name));
    Ok(symbol.with_context(|| format!("no symbol {name} in `{}`", elf.display()))?.address())
}

impl Board {
    /// Boots a firmware and waits for its greeting.
    pub fn boot(machine: &Machine, elf: &Path) -> Result<Self> {
        setup::qemu(machine)?;
        Self::start(&mut command(machine, elf))
    }

    /// Starts QEMU by a command like [`command`]'s and waits for the greeting.
    pub fn start(command: &mut Command) -> Result<Self> {
        let line = shell::line(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start `{line}`"))?;
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = Vec::new();
            // Ends with QEMU, or with the board that listens.
            while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
                if sender.send(text).is_err() {
                    break;
                }
                line.clear();
            }
        });
        let mut board = Self { child, input, lines, greeting: String::new(), patience: PATIENCE };
        board.greeting = board.read().with_context(|| format!("no greeting from `{line}`"))?;
        if !board.greeting.starts_with("latimer ") {
            bail!("the firmware did not start: {}", board.greeting);
        }
        Ok(board)
    }

    /// Sends a line and returns the line that answers it.
    pub fn ask(&mut self, line: &str) -> Result<String> {
        self.ask_bytes(line.as_bytes())
    }

    /// The line after one that is a piece of a translation on its way, as `:stream` has them in JSON.
    pub fn more(&mut self, line: &str) -> Option<Result<String>> {
        line.starts_with("{\"piece\":").then(|| self.read())
    }

    /// As [`Board::ask`], for lines that are not UTF-8. `line` holds no line end.
    pub fn ask_bytes(&mut self, line: &[u8]) -> Result<String> {
        self.send(line).and_then(|()| self.read()).with_context(|| {
            let shown: String = String::from_utf8_lossy(line).chars().take(80).collect();
            format!("no answer to `{shown}`")
        })
    }

    fn send(&mut self, line: &[u8]) -> Result<()> {
        self.input.write_all(line)?;
        self.input.write_all(b"\n")?;
        Ok(self.input.flush()?)
    }

    /// The next line that the firmware says.
    ///
    /// # Errors
    ///
    /// If there is none within [`Board::patience`], or QEMU has ended.
    pub fn read(&mut self) -> Result<String> {
        match self.lines.recv_timeout(self.patience) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => bail!("nothing within {:?}", self.patience),
            Err(RecvTimeoutError::Disconnected) => bail!("QEMU ended: {}", self.wait()?),
        }
    }

    /// Asks the firmware to end and returns QEMU's status.
    pub fn exit(mut self) -> Result<ExitStatus> {
        self.ask(":exit")?;
        self.wait()
    }

    /// Waits for QEMU to end by itself.
    ///
    /// # Errors
    ///
    /// If it does not within ten seconds.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(5));
        }
        bail!("QEMU did not end")
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
