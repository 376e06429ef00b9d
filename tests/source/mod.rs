//! The project's own source, as files and tokens, for the tests that check it.
#![allow(dead_code, reason = "each test that includes this module uses a part of it")]

use proc_macro2::{Group, TokenStream, TokenTree};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file by its path from the repository's root, with `/` between the directories.
pub struct File {
    pub path: String,
    pub text: String,
}

impl File {
    pub fn tokens(&self) -> TokenStream {
        self.text.parse().unwrap_or_else(|error| panic!("{}: {error}", self.path))
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// Returns all files of UTF-8 text below a directory of the repository, sorted by path.
pub fn files_below(directory: &str) -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = tracked(root, directory).unwrap_or_else(|| found(root, directory));
    paths.sort();
    let read = |path: String| Some(File { text: fs::read_to_string(root.join(&path)).ok()?, path });
    paths.into_iter().filter_map(read).collect()
}

/// Returns the files that git tracks; other files are not the project's. `None` without git.
fn tracked(root: &Path, directory: &str) -> Option<Vec<String>> {
    let directory = if directory.is_empty() { "." } else { directory };
    let list = Command::new("git").current_dir(root).args(["ls-files", "-z", "--", directory]).output();
    let list = list.ok().filter(|output| output.status.success() && !output.stdout.is_empty())?;
    let list = String::from_utf8(list.stdout).ok()?;
    Some(list.split_terminator('\0').map(str::to_owned).collect())
}

/// Returns the files of a tree without git, except build output and files of tools.
fn found(root: &Path, directory: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![root.join(directory)];
    while let Some(directory) = folders.pop() {
        for path in entries(&directory) {
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(relative(&path, root));
            }
        }
    }
    files
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let entries = entries.map(|entry| entry.unwrap()).filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        !name.starts_with('.') && name != "target" && name != "__pycache__"
    });
    entries.map(|entry| entry.path()).collect()
}

fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/")
}

/// Returns the tokens with every `mod tests { … }` removed, at all depths.
pub fn without_unit_tests(tokens: TokenStream) -> Vec<TokenTree> {
    let mut kept: Vec<TokenTree> = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(_) if ends_with(&kept, &["mod", "tests"]) => kept.truncate(kept.len() - 2),
            TokenTree::Group(group) => kept.push(inside(&group).into()),
            other => kept.push(other),
        }
    }
    kept
}

fn inside(group: &Group) -> Group {
    let stream = without_unit_tests(group.stream()).into_iter().collect();
    let mut inner = Group::new(group.delimiter(), stream);
    inner.set_span(group.span());
    inner
}

/// Whether the last tokens are these words.
pub fn ends_with(tokens: &[TokenTree], words: &[&str]) -> bool {
    let start = tokens.len().checked_sub(words.len());
    start.is_some_and(|start| tokens[start..].iter().map(ToString::to_string).eq(words.iter().copied()))
}
