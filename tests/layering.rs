//! The core is built in layers: a file imports only from lower ones, or from its own folder on its own
//! layer. So the parser cannot come to know tensors, nor the verdict a file system.

mod source;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use source::File;

const CORE: &str = "crates/embedded-safetensors/src/";

/// From the lowest to the highest; a folder stands for the files in it that are not named themselves.
/// A new file has no layer until someone decides on one here.
const LAYERS: &[&[&str]] = &[
    &[
        "dtype.rs",
        "error.rs",
        "log.rs",
        "sentence.rs",
        "shape.rs",
        "bytes.rs",
        "hash.rs",
        "fingerprint.rs",
        "progress.rs",
    ],
    &["info.rs", "location.rs"],
    &["header/", "smallest.rs"],
    &["header/entry.rs", "layout.rs", "index/"],
    &[
        "check.rs",
        "duplicates.rs",
        "value.rs",
        "pairs.rs",
        "list.rs",
        "index.rs",
        "indexing.rs",
        "span.rs",
        "slice/",
        "source/mod.rs",
        "write/",
    ],
    &[
        "slice/place.rs",
        "native.rs",
        "source/io.rs",
        "source/nor.rs",
        "source/file.rs",
        "sink/mod.rs",
        "pass.rs",
        "search.rs",
        "router.rs",
        "receiver.rs",
        "json.rs",
    ],
    &["convert/", "sink/"],
    &["element/"],
    &["tensor.rs"],
    &["model.rs", "gather.rs", "view/", "write/writer.rs", "write/recorder.rs"],
    &["asynch/", "file/"],
    &["map/", "shards/", "checkpoint/"],
];

/// From here upwards other crates may be named. Below, the core stands alone.
const FIRST_WITH_CRATES: usize = 5;

/// The crate that every layer may name: behind its feature, to say how a type is logged.
const LOG: &str = "defmt";

/// Knows everything, and nothing knows it.
const TOP: &str = "lib.rs";

/// First words of paths that lead to no file and to no other crate.
const LANGUAGE: [&str; 19] = [
    "core", "std", "clippy", "Self", "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "usize", "i8",
    "i16", "i32", "i64", "f32", "f64",
];

#[test]
fn no_file_imports_from_a_higher_layer() {
    let files = source::files_below(CORE);
    assert!(files.len() > 10, "the core's files are not where they were");
    let found = violations(&files);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn an_import_from_a_higher_layer_is_found() {
    for import in [
        "use crate::check::HeaderCheck;",
        "use crate::{error::Error, check::{HeaderCheck, Summary}};",
        "use super::check::*;",
        "fn f() { let _ = g(crate::check::check(&[], &mut [])); }",
        "fn f() { matches!(1, crate::check::ONE); }",
    ] {
        assert_eq!(one_violation("info.rs", import), "info.rs imports check.rs, which is a higher layer");
    }
}

#[test]
fn folders_are_looked_into() {
    let upward = "header/text.rs imports header/entry.rs, which is a higher layer";
    assert_eq!(one_violation("header/text.rs", "use super::entry::Entry;"), upward);
    assert_eq!(one_violation("header/text.rs", "use crate::header::{Event, entry::Entry};"), upward);
    assert_eq!(
        one_violation("header/mod.rs", "mod entry; pub use entry::Entry;"),
        "header/mod.rs imports header/entry.rs, which is a higher layer"
    );
    assert_eq!(
        one_violation("header/text.rs", "use crate::smallest::Slot;"),
        "header/text.rs imports smallest.rs, which is on its layer, but in another folder"
    );
}

#[test]
fn what_the_root_gives_away_is_not_imported_back() {
    assert_eq!(
        one_violation("layout.rs", "use crate::Dtype;"),
        "layout.rs imports lib.rs, which is a higher layer"
    );
}

#[test]
fn another_crate_is_found() {
    let expected = "check.rs names the crate heapless, which its layer may not";
    assert_eq!(one_violation("check.rs", "use heapless::Vec;"), expected);
    assert_eq!(one_violation("check.rs", "fn f() -> heapless::Vec<u8, 4> { todo() }"), expected);
    assert_eq!(violations_of("source/io.rs", "use embedded_io::Read;"), [""; 0]);
}

#[test]
fn a_file_without_a_layer_is_found() {
    assert_eq!(one_violation("helpers.rs", ""), "helpers.rs has no layer");
}

#[test]
fn what_is_allowed_is_not_found() {
    for source in [
        "use crate::error::{Error, ErrorKind}; use core::fmt;",
        "use crate::header::entry::{self, Entry};",
        "//! See [`crate::view::View`].\nimpl From<Error> for std::io::Error {}",
        "mod tests { use crate::view::View; use serde::Deserialize; }",
        "use core::fmt; impl fmt::Display for Error {}",
        "fn f() -> u64 { Vec::<u8>::new(); u64::MAX }",
        "#[cfg_attr(feature = \"defmt\", derive(defmt::Format))] pub struct Summary;",
        "macro_rules! view { () => { $crate::view::View }; }",
    ] {
        assert_eq!(violations_of("check.rs", source), [""; 0], "{source}");
    }
}

fn one_violation(path: &str, text: &str) -> String {
    let found = violations_of(path, text);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    found.concat()
}

/// The violations of one file in a core that has all files of the table.
fn violations_of(path: &str, text: &str) -> Vec<String> {
    let named = LAYERS.iter().flat_map(|layer| layer.iter()).filter(|name| !name.ends_with('/'));
    let others = named.copied().chain(["header/mod.rs", "header/text.rs", TOP]).filter(|&name| name != path);
    let file = |path: &str, text: &str| File { path: format!("{CORE}{path}"), text: text.to_owned() };
    let files: Vec<File> = others.map(|name| file(name, "")).chain([file(path, text)]).collect();
    violations(&files)
}

fn violations(files: &[File]) -> Vec<String> {
    let names: Vec<&str> = files.iter().map(|file| file.path.strip_prefix(CORE).unwrap()).collect();
    let tree = Tree { names: &names };
    let judged = names.iter().zip(files).filter(|(name, _)| **name != TOP);
    judged.flat_map(|(name, file)| tree.judge(name, file)).collect()
}

/// The layer of a file; its own row counts before that of its folder.
fn layer(name: &str) -> Option<usize> {
    let folder = name.rfind('/').map_or("", |slash| &name[..=slash]);
    let row = |wanted: &str| LAYERS.iter().position(|layer| layer.contains(&wanted));
    row(name).or_else(|| row(folder))
}

/// The files of the core, to find out which of them a path leads to.
struct Tree<'a> {
    names: &'a [&'a str],
}

impl Tree<'_> {
    fn judge(&self, name: &str, file: &File) -> Vec<String> {
        let Some(own) = layer(name) else { return vec![format!("{name} has no layer")] };
        let mut paths = Vec::new();
        collect_paths(&source::without_unit_tests(file.tokens()), &mut paths);
        let imported: Vec<&String> = paths.iter().filter_map(|path| path.last()).collect();
        let unfamiliar = |path: &&Vec<String>| !imported.contains(&&path[0]);
        let judged = paths.iter().filter(unfamiliar);
        let mut found: Vec<String> = judged.filter_map(|path| self.judge_path(name, own, path)).collect();
        found.sort();
        found.dedup();
        found
    }

    fn judge_path(&self, name: &str, own: usize, path: &[String]) -> Option<String> {
        match self.target(name, path) {
            Some(target) => judge_import(name, own, target),
            None if own < FIRST_WITH_CRATES && self.is_crate(&path[0]) => {
                Some(format!("{name} names the crate {}, which its layer may not", path[0]))
            }
            None => None,
        }
    }

    /// The file that a path leads to, if it begins at the root, above, or at a child of this module.
    fn target(&self, name: &str, path: &[String]) -> Option<&str> {
        let module: Vec<&str> = name.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
        let climbs = path.iter().take_while(|word| *word == "super").count();
        let (base, rest) = match path[0].as_str() {
            "crate" => (&module[..0], &path[1..]),
            "super" => (&module[..module.len().saturating_sub(climbs)], &path[climbs..]),
            _ if name.ends_with("/mod.rs") => (&module[..], path),
            _ => return None,
        };
        let found = self.deepest(base, rest);
        // A word that is no child of this module is not a path into the core.
        found.filter(|&found| path[0] == "crate" || path[0] == "super" || found != name)
    }

    /// Follows the path as long as it names modules.
    fn deepest(&self, base: &[&str], rest: &[String]) -> Option<&str> {
        let words: Vec<&str> = base.iter().copied().chain(rest.iter().map(String::as_str)).collect();
        (0..=words.len()).rev().find_map(|count| self.module(&words[..count]))
    }

    fn module(&self, words: &[&str]) -> Option<&str> {
        let stem = words.join("/");
        let spellings = match words {
            [] => [TOP.to_owned(), String::new()],
            _ => [format!("{stem}.rs"), format!("{stem}/mod.rs")],
        };
        self.names.iter().copied().find(|name| spellings.iter().any(|spelling| spelling == name))
    }

    /// Crates and modules are spelled alike; what is neither the language's nor a module is a crate.
    fn is_crate(&self, word: &str) -> bool {
        let is_module = || self.names.iter().any(|name| name.split(['/', '.']).any(|part| part == word));
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word != LOG
            && !LANGUAGE.contains(&word)
            && !is_module()
    }
}

fn judge_import(name: &str, own: usize, target: &str) -> Option<String> {
    let folder = |name: &str| name.rfind('/').map_or(String::new(), |slash| name[..slash].to_owned());
    let theirs = layer(target).unwrap_or(LAYERS.len());
    match theirs.cmp(&own) {
        std::cmp::Ordering::Greater => Some(format!("{name} imports {target}, which is a higher layer")),
        std::cmp::Ordering::Equal if folder(name) != folder(target) => {
            Some(format!("{name} imports {target}, which is on its layer, but in another folder"))
        }
        _ => None,
    }
}

/// All paths of two words or more, those inside `use` groups put together with what stands before.
fn collect_paths(tokens: &[TokenTree], paths: &mut Vec<Vec<String>>) {
    let mut path: Vec<String> = Vec::new();
    let mut joined = false;
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if joined => path.push(word.to_string()),
            TokenTree::Ident(word) => {
                keep(&mut path, paths);
                // What a macro names is named by its caller.
                let sign = if source::ends_with(&tokens[..index], &["$"]) { "$" } else { "" };
                path = vec![format!("{sign}{word}")];
            }
            TokenTree::Group(group) if joined && group.delimiter() == Delimiter::Brace => {
                collect_group(&path, group.stream(), paths);
            }
            TokenTree::Group(group) => collect_paths(&trees(group.stream()), paths),
            _ => {}
        }
        joined = source::ends_with(&tokens[..=index], &[":", ":"]);
        let half = matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
        if !half && !matches!(token, TokenTree::Ident(_)) {
            keep(&mut path, paths);
        }
    }
    keep(&mut path, paths);
}

fn collect_group(before: &[String], group: TokenStream, paths: &mut Vec<Vec<String>>) {
    let mut inner = Vec::new();
    for branch in trees(group).split(|token| token.to_string() == ",") {
        let start = inner.len();
        collect_paths(branch, &mut inner);
        if inner.len() == start {
            inner.extend(branch.first().map(|word| vec![word.to_string()]));
        }
    }
    paths.extend(inner.into_iter().map(|branch| before.iter().cloned().chain(branch).collect()));
}

fn keep(path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let complete = std::mem::take(path);
    if complete.len() > 1 {
        paths.push(complete);
    }
}

fn trees(stream: TokenStream) -> Vec<TokenTree> {
    stream.into_iter().collect()
}
