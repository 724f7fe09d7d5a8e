//! A headless Chromium: what a page does in it, and what it looks like.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{setup, shell};

/// A Chromium to be started anew for each page.
pub struct Browser {
    program: &'static str,
}

impl Browser {
    /// The one that is installed, or is installed now.
    pub fn find() -> Result<Self> {
        Ok(Browser { program: setup::chromium()? })
    }

    /// Errors in the console, and all that the page asks for besides itself. No name can be resolved, so nothing is
    /// really loaded.
    pub fn faults(&self, page: &Path) -> Result<Vec<String>> {
        let profile = tempfile::tempdir()?;
        let log = profile.path().join("requests.json");
        let mut command = self.command(profile.path());
        command.arg("--enable-logging=stderr").arg(format!("--log-net-log={}", log.display())).arg("--dump-dom");
        let output =
            command.arg(url(page)?).output().with_context(|| format!("cannot start `{}`", shell::line(&command)))?;
        let (dom, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(
            output.status.success() && dom.contains("<title>"),
            "`{}` shows no page: {}\n{errors}",
            shell::line(&command),
            output.status
        );
        let requests = fs::read_to_string(&log).context("the browser writes no log of its requests")?;
        let mut faults: Vec<String> = console(&errors).map(str::to_owned).collect();
        faults.extend(asked(&requests));
        faults.dedup();
        Ok(faults)
    }

    /// The upper part of a page as PNG.
    pub fn photograph(&self, page: &Path, [width, height]: [u32; 2], png: &Path) -> Result<()> {
        let profile = tempfile::tempdir()?;
        let mut command = self.command(profile.path());
        command.arg(format!("--window-size={width},{height}")).arg(format!("--screenshot={}", png.display()));
        shell::output(command.arg(url(page)?))?;
        if !png.is_file() {
            bail!("`{}` wrote no picture", shell::line(&command));
        }
        Ok(())
    }

    fn command(&self, profile: &Path) -> Command {
        let mut command = Command::new(self.program);
        command.arg("--headless=new").arg(format!("--user-data-dir={}", profile.display()));
        // Chromium's sandbox does not start as root; the page is our own.
        command.args(["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]);
        command.args(["--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking"]);
        // A light page whatever the desktop's colours are.
        command.arg("--blink-settings=preferredColorScheme=1");
        command
    }
}

fn url(page: &Path) -> Result<String> {
    let page = page.canonicalize().with_context(|| format!("no page `{}`", page.display()))?;
    Ok(format!("file://{}", page.display()))
}

/// Messages of the console among what Chromium logs.
fn console(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter_map(|line| Some(line.split_once(":CONSOLE")?.1.split_once("] ")?.1))
}

/// Addresses that the page asked for: requests in its name. The browser's own have no name or another.
fn asked(requests: &str) -> Vec<String> {
    let own = requests.lines().filter(|line| line.contains("\"network_isolation_key\":\"file://"));
    let address = |line: &str| Some(line.split_once("\"url\":\"")?.1.split_once('"')?.0.to_owned());
    own.filter_map(address).filter(|address| !address.starts_with("file:")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_logs() {
        let log =
            "[1:1:1/2.3:WARNING:ui/base/idle.cc:1] none\n[1:1:1/2.4:INFO:CONSOLE:1] \"Uncaught x\", source: f (1)\n";
        assert_eq!(console(log).collect::<Vec<_>>(), ["\"Uncaught x\", source: f (1)"]);
        let requests = r#"{"params":{"method":"GET","network_isolation_key":"null null","url":"http://own.invalid/"}},
{"params":{"method":"GET","network_isolation_key":"file:// file://","url":"http://a.invalid/x.css"}},
{"params":{"method":"GET","network_isolation_key":"file:// file://","url":"file:///page.html"}},"#;
        assert_eq!(asked(requests), ["http://a.invalid/x.css"]);
    }
}
