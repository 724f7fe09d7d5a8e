//! Whether the documentation holds together: every page is a chapter, every chapter is there, every link leads somewhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use super::page::Page;

/// The book's table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

/// What is wrong with the documentation under `root`, a line each.
pub fn problems(root: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    for file in files(root)? {
        let text = fs::read_to_string(root.join(&file)).with_context(|| format!("cannot read `{}`", file.display()))?;
        pages.insert(file, Page::read(&text));
    }
    let mut problems = Vec::new();
    for (file, page) in &pages {
        for link in &page.links {
            if let Some(problem) = lost(root, &pages, file, link) {
                problems.push(format!("{}: {link}: {problem}", file.display()));
            }
        }
    }
    let summary = pages.get(Path::new(SUMMARY)).with_context(|| format!("no `{SUMMARY}`"))?;
    let chapters: Vec<_> = summary.links.iter().map(|link| beside(Path::new(SUMMARY), link)).collect();
    for page in pages.keys().filter(|page| page.starts_with("docs") && **page != Path::new(SUMMARY)) {
        if !chapters.contains(page) {
            problems.push(format!("{}: not a chapter: add it to {SUMMARY}", page.display()));
        }
    }
    Ok(problems)
}

/// The pages that are looked at, relative to the root.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = vec![PathBuf::from("README.md"), PathBuf::from("CHANGELOG.md")];
    for model in entries(root, Path::new("models"))? {
        files.push(model.join("README.md"));
    }
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in entries(root, &folder)? {
            if root.join(&entry).is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "md") {
                files.push(entry);
            }
        }
    }
    Ok(files)
}

fn entries(root: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(root.join(folder)).with_context(|| format!("cannot read `{}`", folder.display()))?;
    read.map(|entry| Ok(folder.join(entry?.file_name()))).collect()
}

/// Why a link of `file` leads nowhere, if it does.
fn lost(root: &Path, pages: &BTreeMap<PathBuf, Page>, file: &Path, link: &str) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = if path.is_empty() { file.to_owned() } else { beside(file, path) };
    if !root.join(&target).exists() {
        return Some("there is no such file");
    }
    let anchor = anchor?;
    let found = pages.get(&target).is_some_and(|page| page.anchors.iter().any(|name| name == anchor));
    (!found).then_some("there is no such heading")
}

/// The path that `link` has for a page at `file`, without `..`.
fn beside(file: &Path, link: &str) -> PathBuf {
    let mut path = file.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths;

    #[test]
    fn the_documentation_holds_together() {
        assert_eq!(problems(&paths::root()).unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |file: &str, text: &str| {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), text).unwrap();
        };
        write("README.md", "[a](docs/a.md#one) [b](docs/a.md#two) [web](https://example.com/x.md) [self](#no)");
        write("CHANGELOG.md", "[c](docs/c.md)");
        write("models/x/README.md", "[up](../../README.md)");
        write("docs/SUMMARY.md", "- [A](a.md)\n- [Gone](book/gone.md)\n");
        write("docs/a.md", "# One\n\n![](p.svg)");
        write("docs/book/b.md", "[a](../a.md#one)");
        let found = problems(root).unwrap();
        assert_eq!(
            found,
            [
                "CHANGELOG.md: docs/c.md: there is no such file",
                "README.md: docs/a.md#two: there is no such heading",
                "README.md: #no: there is no such heading",
                "docs/SUMMARY.md: book/gone.md: there is no such file",
                "docs/a.md: p.svg: there is no such file",
                "docs/book/b.md: not a chapter: add it to docs/SUMMARY.md",
            ]
        );
    }
}
