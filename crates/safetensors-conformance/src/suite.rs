//! A reader that is a function: one test compares its answers with the manifest.

use crate::manifest::{Level, Manifest, Vector, Verdict};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// If this variable is 1, the test writes its file of known answers instead of comparing with it.
const WRITES: &str = "CONFORMANCE_WRITE_EXPECT";
const RIGHT: &str = "right";

/// Makes a `#[test]` that asks a reader about all vectors.
///
/// The reader is a function of a file's bytes. It returns the object of `PROTOCOL.md`, or an error where it
/// rejects the file; a panic is a crash. The members of [`Options`] follow.
///
/// ```
/// safetensors_conformance::conformance!(is_right, read, expect = "tests/known.txt");
///
/// fn read(file: &[u8]) -> Result<serde_json::Value, String> {
///     Err(format!("{} bytes are not read yet", file.len()))
/// }
/// ```
#[macro_export]
macro_rules! conformance {
    ($name:ident, $read:expr $(, $option:ident = $value:expr)* $(,)?) => {
        #[test]
        fn $name() {
            let mut options = $crate::Options::default();
            $(options.$option = $value.into();)*
            $crate::check($read, &options);
        }
    };
}

/// Which vectors are asked, and what is known of the answers.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `core`, `full` (the default), `large`, `header-only` or `lite`.
    pub level: Option<&'static str>,
    /// Ids and flags of vectors that are not asked.
    pub exclude: Vec<&'static str>,
    /// The file of the answers that are known not to be right, in the package.
    pub expect: Option<&'static str>,
}

/// The kind of an answer, and the problem with it.
type Score = (&'static str, String);

/// Asks a reader about all vectors. [`conformance!`] says how it answers.
///
/// # Panics
/// If an answer is not the known one; the message names all such vectors.
pub fn check<E: Display>(read: impl Fn(&[u8]) -> Result<Value, E>, options: &Options) {
    let manifest = crate::load_all();
    let names = |vector: &Vector, one: &str| vector.id == one || vector.flags.iter().any(|flag| flag == one);
    for one in &options.exclude {
        let is_there = manifest.vectors.iter().any(|vector| names(vector, one));
        assert!(is_there, "no vector has the id or the flag {one:?}");
    }
    let level = options.level.unwrap_or("full");
    let is_chosen = |vector: &&Vector| {
        is_of_level(vector, level) && !options.exclude.iter().any(|one| names(vector, one))
    };
    let chosen: Vec<_> = manifest.vectors.iter().filter(is_chosen).collect();
    assert!(!chosen.is_empty(), "exclude leaves no vector of the level {level}");
    let mut known = options.expect.map(|path| known(path, &manifest)).unwrap_or_default();
    let mut news = String::new();
    let answer = |asked: &Vector| ask(&read, asked);
    let lacks = lacking(&manifest, &answer);
    for vector in chosen {
        let (kind, problem) = score(vector, &manifest, &lacks, &answer);
        let old = known.insert(vector.id.clone(), kind.to_owned()).unwrap_or(RIGHT.to_owned());
        if kind != old {
            news += &format!("newly {kind}: {} was {old}\n  {problem}\n  {}\n", vector.id, vector.reason);
        }
    }
    match options.expect.filter(|_| is_writing()) {
        Some(path) => std::fs::write(path, written(&known, &manifest)).expect(path),
        None => assert!(news.is_empty(), "other answers than expected:\n{news}"),
    }
}

fn is_writing() -> bool {
    std::env::var(WRITES).is_ok_and(|value| value == "1")
}

fn is_of_level(vector: &Vector, level: &str) -> bool {
    match level {
        "core" => vector.level == Level::Core,
        "full" => !vector.is_large(),
        "large" => vector.fits_memory(),
        "header-only" => vector.header_only && !vector.is_large(),
        "lite" => vector.lite,
        _ => panic!("{level:?} is no level"),
    }
}

/// Reads the file of known answers; there may be none if it is to be written.
fn known(path: &str, manifest: &Manifest) -> BTreeMap<String, String> {
    let text = match std::fs::read_to_string(path) {
        Err(_) if is_writing() => String::new(),
        text => text.unwrap_or_else(|error| panic!("{path}: {error}; {WRITES}=1 writes it")),
    };
    let mut kinds = BTreeMap::new();
    let suite = &manifest.suite;
    for (at, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let words = line.split('#').next().unwrap_or_default().trim();
        let (id, kind) = words.split_once(": ").unwrap_or((words, ""));
        if id == "suite" && kind != suite {
            eprintln!("the expected answers are of suite {kind}, the vectors are of {suite}");
        }
        if !["", "suite"].contains(&id) {
            let is_new = kinds.insert(id.to_owned(), kind.to_owned()).is_none();
            let is_known =
                manifest.vectors.iter().any(|vector| vector.id == id) && !["", RIGHT].contains(&kind);
            let why = format!("is no id of suite {suite} with a kind, or is a duplicate");
            assert!(is_new && is_known, "{path}, line {at}: {words:?} {why}");
        }
    }
    kinds
}

fn written(known: &BTreeMap<String, String>, manifest: &Manifest) -> String {
    let head = "# Answers that are known not to be right: id and kind. Another run compares with them. \
        Words after # are skipped.";
    let lines = known.iter().filter(|(_, kind)| *kind != RIGHT);
    let lines: String = lines.map(|(id, kind)| format!("{id}: {kind}\n")).collect();
    format!("{head}\nsuite: {}\n{lines}", manifest.suite)
}

enum Answer {
    Accept(Value),
    Reject(String),
    Crash,
}

fn ask<E: Display>(read: impl Fn(&[u8]) -> Result<Value, E>, vector: &Vector) -> Answer {
    let bytes = vector.bytes();
    match catch_unwind(AssertUnwindSafe(|| read(&bytes))) {
        Ok(Ok(table)) => Answer::Accept(table),
        Ok(Err(error)) => Answer::Reject(error.to_string()),
        Err(_) => Answer::Crash,
    }
}

fn score(
    vector: &Vector,
    manifest: &Manifest,
    lacks: &[&String],
    answer: &dyn Fn(&Vector) -> Answer,
) -> Score {
    let right = (RIGHT, String::new());
    match (answer(vector), vector.verdict) {
        (Answer::Crash, _) => ("crash", "it panics".to_owned()),
        (Answer::Accept(_), Verdict::Invalid) => ("wrong", "must reject, but did accept".to_owned()),
        (Answer::Accept(other), _) if !is_table(&other) => {
            ("bad output", format!("accepted, but this is no table: {other}"))
        }
        (Answer::Accept(table), Verdict::Valid) => {
            problem(vector, &table).map_or(right, |problem| ("wrong", problem))
        }
        (Answer::Reject(_), _) if lacks.iter().any(|one| vector.flags.contains(one)) => right,
        (Answer::Reject(text), Verdict::Valid) => ("wrong", format!("must accept, but did reject: {text}")),
        (Answer::Reject(_), Verdict::Invalid) => {
            let twin = manifest.vectors.iter().find(|twin| Some(&twin.id) == vector.twin.as_ref());
            match twin.filter(|twin| !matches!(answer(twin), Answer::Accept(_))) {
                Some(twin) => {
                    let id = &twin.id;
                    ("not shown", format!("rejected, but the valid file {id} is not accepted either"))
                }
                None => right,
            }
        }
        (_, Verdict::Either) => right,
    }
}

/// Returns the profiles that the reader lacks: it rejects all valid files of them.
fn lacking<'a>(manifest: &'a Manifest, answer: &dyn Fn(&Vector) -> Answer) -> Vec<&'a String> {
    let is_lacking = |profile: &&String| {
        let is_valid = |one: &&Vector| one.verdict == Verdict::Valid && !one.is_large();
        let mut shown = manifest.vectors.iter().filter(is_valid).filter(|one| one.flags.contains(profile));
        shown.all(|one| matches!(answer(one), Answer::Reject(_)))
    };
    manifest.profiles.keys().filter(is_lacking).collect()
}

/// Whether a value has the form of the protocol.
fn is_table(value: &Value) -> bool {
    let is_whole = |tensor: &Value| tensor.get("dtype").and(tensor.get("shape")).is_some();
    let is_map = value.get("metadata").is_none_or(|pairs| pairs.is_object() || pairs.is_null());
    is_map && value["tensors"].as_object().is_some_and(|tensors| tensors.values().all(is_whole))
}

/// Returns what is wrong with a table. What is missing in it is not compared.
fn problem(vector: &Vector, said: &Value) -> Option<String> {
    let table = vector.table().unwrap_or_default();
    let (names, file) = (table.tensors.iter().map(|tensor| &tensor.name), vector.bytes());
    let found = said["tensors"].as_object().into_iter().flat_map(|tensors| tensors.keys());
    if !found.clone().eq(names.clone().collect::<BTreeSet<_>>()) {
        let (names, found): (Vec<_>, Vec<_>) = (names.collect(), found.collect());
        return Some(format!("the tensors are {names:?}, but {found:?} were read"));
    }
    for tensor in table.tensors {
        let (name, right) = (tensor.name.clone(), json!(tensor.row(&file)));
        for (member, value) in said["tensors"][&name].as_object().into_iter().flatten() {
            if member == "name" || !same(value, &right[member]) {
                return Some(format!("{member} of {name:?} is {}, but {value} was read", right[member]));
            }
        }
    }
    let (read, metadata) = (said.get("metadata"), json!(table.metadata));
    let is_empty = |pairs: &Value| pairs.as_object().is_none_or(serde_json::Map::is_empty);
    let is_same = |read: &&Value| **read == metadata || is_empty(read) && is_empty(&metadata);
    let wrong = read.filter(|read| !is_same(read));
    wrong.map(|read| format!("the metadata is {metadata}, but {read} was read"))
}

/// Whether a value is the expected one. Integers may be texts of digits.
fn same(found: &Value, right: &Value) -> bool {
    match (found, right) {
        (Value::Array(found), Value::Array(right)) => {
            found.len() == right.len() && found.iter().zip(right).all(|(one, other)| same(one, other))
        }
        (Value::String(digits), Value::Number(number)) => *digits == number.to_string(),
        _ => found == right && !found.is_null(),
    }
}
