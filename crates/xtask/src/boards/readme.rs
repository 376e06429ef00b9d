//! What `firmware/README.md` shows of boards: only what they say.

use super::{BOARDS, golden};
use crate::workspace;
use std::path::{Path, PathBuf};

/// An error that names the first line on the page that no board has been found to say.
pub fn check() -> Result<(), String> {
    let page = text(&workspace::root().join("firmware/README.md"))?;
    let mut said = Vec::new();
    for path in goldens()? {
        said.push(text(&path)?);
    }
    let is_said =
        |shown: &str| said.iter().flat_map(|golden| golden.lines()).any(|line| golden::matches(line, shown));
    let shown = shown(&page);
    if shown.len() < 3 {
        return Err("firmware/README.md shows nothing that a board says".to_owned());
    }
    match shown.into_iter().find(|line| !is_said(line)) {
        None => Ok(()),
        Some(line) => Err(format!("firmware/README.md shows what no board says: {line}")),
    }
}

/// The lines of its blocks of text, and the errors between backticks.
fn shown(page: &str) -> Vec<&str> {
    let blocks = page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("text\n"));
    let errors =
        page.lines().filter(|line| line.starts_with('|')).flat_map(|line| line.split('`').skip(1).step_by(2));
    blocks.flat_map(str::lines).chain(errors.filter(|text| text.starts_with("error"))).collect()
}

fn goldens() -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for board in BOARDS.iter().filter(|board| !board.needs_hardware()) {
        let folder = board.folder().join("golden");
        let failed = |error| format!("cannot list {}: {error}", folder.display());
        for entry in folder.read_dir().map_err(failed)? {
            paths.push(entry.map_err(failed)?.path());
        }
    }
    Ok(paths)
}

fn text(path: &Path) -> Result<String, String> {
    workspace::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_errors_are_shown() {
        let page = "```console\n$ a\n```\nb `error: c`\n```text\nd\ne\n```\n| 1 | `error[f] at byte 1: g` | `panic: …` |\n";
        assert_eq!(shown(page), ["d", "e", "error[f] at byte 1: g"]);
    }
}
