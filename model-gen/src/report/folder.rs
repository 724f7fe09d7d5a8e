//! The folder that reports go to: one page, and the figures of every blob that was evaluated into it.

use super::{Compared, Point, page};
use crate::cli::write_whole;
use crate::evaluate::Evaluation;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the page.
pub const PAGE: &str = "report.html";

/// A folder for reports.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder at `path`, made if it is missing.
    pub fn open(path: &Path) -> Result<Self> {
        if path.exists() && !path.is_dir() {
            bail!("{}: is a file; give the name of a folder for the report", path.display());
        }
        fs::create_dir_all(path).with_context(|| format!("{}: this folder cannot be made", path.display()))?;
        Ok(Folder(path.to_owned()))
    }

    /// Stores an evaluation as `NAME.json` and writes the page; returns the page's path.
    pub fn write(&self, evaluation: &Evaluation, name: &str) -> Result<PathBuf> {
        let mut json = serde_json::to_vec_pretty(evaluation)?;
        json.push(b'\n');
        write_whole(&self.0.join(format!("{name}.json")), &json)?;
        let path = self.0.join(PAGE);
        write_whole(&path, page(evaluation, &self.compared(evaluation, name)?).as_bytes())?;
        Ok(path)
    }

    /// The evaluation among all that lie here, in the order of their names.
    fn compared(&self, evaluation: &Evaluation, name: &str) -> Result<Compared> {
        let own = Point::of(evaluation, name);
        let (mut others, mut left_out) = (Vec::new(), Vec::new());
        for path in self.files()? {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if stem == own.name {
                continue;
            }
            match read(&path, stem.clone()) {
                Ok(point) if point.phrases_crc == own.phrases_crc => others.push(point),
                Ok(_) => left_out.push((stem, "on other phrases".to_owned())),
                Err(_) => left_out.push((stem, "no evaluation".to_owned())),
            }
        }
        Ok(Compared { own, others, left_out })
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        let what = || format!("{}: cannot be listed", self.0.display());
        let entries = fs::read_dir(&self.0).with_context(what)?;
        let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>().with_context(what)?;
        let mut files: Vec<PathBuf> =
            paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "json") && path.is_file()).collect();
        files.sort();
        Ok(files)
    }
}

fn read(path: &Path, name: String) -> Result<Point> {
    let mut point: Point = serde_json::from_slice(&fs::read(path)?)?;
    point.name = name;
    if !point.is_sound() {
        bail!("figures out of range");
    }
    Ok(point)
}
