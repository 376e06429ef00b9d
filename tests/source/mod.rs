//! The project's own source, as files and tokens, for the tests that check it.
#![allow(dead_code, reason = "each test that includes this module uses a part of it")]

use proc_macro2::{Group, TokenStream, TokenTree};
use std::fs;
use std::path::Path;
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
    let mut paths = tracked(root, directory);
    paths.sort();
    let read = |path: String| Some(File { text: fs::read_to_string(root.join(&path)).ok()?, path });
    paths.into_iter().filter_map(read).collect()
}

/// Returns the files that git tracks; other files are not the project's.
fn tracked(root: &Path, directory: &str) -> Vec<String> {
    let directory = if directory.is_empty() { "." } else { directory };
    let list = Command::new("git").current_dir(root).args(["ls-files", "-z", "--", directory]).output();
    let list = String::from_utf8(list.expect("git is installed").stdout).expect("paths are UTF-8");
    assert!(!list.is_empty(), "this is no clone, or has no {directory}");
    list.split_terminator('\0').map(str::to_owned).collect()
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
