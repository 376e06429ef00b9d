//! A reader that is a function: one test compares its answers with the manifest.

use crate::manifest::{Level, Manifest, TensorRow, Vector, Verdict};
use crate::table::Table;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// If this variable is set, the test writes its file of known answers instead of comparing with it.
const WRITES: &str = "CONFORMANCE_WRITE_EXPECT";
const KINDS: [&str; 7] = ["right", "wrong", "not shown", "crash", "hang", "bad output", "not asked"];

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
    let mut known = options.expect.map(|path| known(path, &manifest)).unwrap_or_default();
    let writes = options.expect.filter(|_| std::env::var_os(WRITES).is_some());
    let mut news = String::new();
    let answer = |asked: &Vector| ask(&read, asked);
    let lacks = lacking(&manifest, &answer);
    let chosen =
        manifest.vectors.iter().filter(|vector| is_of_level(vector, options.level.unwrap_or("full")));
    for vector in chosen.filter(|vector| !options.exclude.iter().any(|one| names(vector, one))) {
        let (kind, problem) = score(vector, &manifest, &lacks, &answer);
        let old = known.insert(vector.id.clone(), kind.to_owned()).unwrap_or(KINDS[0].to_owned());
        if kind != old {
            news += &format!("newly {kind}: {} was {old}\n  {problem}\n  {}\n", vector.id, vector.reason);
        }
    }
    match writes {
        Some(path) => std::fs::write(path, written(&known, &manifest)).expect(path),
        None => assert!(news.is_empty(), "other answers than expected:\n{news}"),
    }
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
        Err(_) if std::env::var_os(WRITES).is_some() => String::new(),
        text => text.unwrap_or_else(|error| panic!("{path}: {error}; {WRITES}=1 writes it")),
    };
    let mut kinds = BTreeMap::new();
    for (at, line) in (1..).zip(text.lines()) {
        let words = line.split('#').next().unwrap_or_default().trim();
        let (id, kind) = words.split_once(": ").unwrap_or((words, ""));
        if !["", "suite"].contains(&id) {
            let is_new = kinds.insert(id.to_owned(), kind.to_owned()).is_none();
            let is_known =
                manifest.vectors.iter().any(|vector| vector.id == id) && KINDS[1..].contains(&kind);
            let why = format!("is no id of suite {} with a kind, or is a duplicate", manifest.suite);
            assert!(is_new && is_known, "{path}, line {at}: {words:?} {why}");
        }
    }
    kinds
}

fn written(known: &BTreeMap<String, String>, manifest: &Manifest) -> String {
    let head = "# Answers that are known not to be right: id and kind. Another run compares with them. \
        Words after # are skipped.";
    let lines = known.iter().filter(|(_, kind)| *kind != KINDS[0]);
    let lines: String = lines.map(|(id, kind)| format!("{id}: {kind}\n")).collect();
    format!("{head}\nsuite: {}\n{lines}", manifest.suite)
}

enum Answer {
    Accept(Value),
    Reject(String),
    Neither(Score),
}

fn ask<E: Display>(read: impl Fn(&[u8]) -> Result<Value, E>, vector: &Vector) -> Answer {
    let bytes = vector.bytes();
    match catch_unwind(AssertUnwindSafe(|| read(&bytes))) {
        Ok(Ok(table)) if is_table(&table) => Answer::Accept(table),
        Ok(Ok(other)) => Answer::Neither(("bad output", format!("accepted, but this is no table: {other}"))),
        Ok(Err(error)) => Answer::Reject(error.to_string()),
        Err(_) => Answer::Neither(("crash", "it panics".to_owned())),
    }
}

fn score(
    vector: &Vector,
    manifest: &Manifest,
    lacks: &[&String],
    answer: &dyn Fn(&Vector) -> Answer,
) -> Score {
    let right = (KINDS[0], String::new());
    match (answer(vector), vector.verdict) {
        (Answer::Neither(score), _) => score,
        (Answer::Accept(_), Verdict::Invalid) => ("wrong", "must reject, but did accept".to_owned()),
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
fn problem(vector: &Vector, table: &Value) -> Option<String> {
    let (rows, metadata) = expected(vector);
    let found = table["tensors"].as_object()?;
    if found.len() != rows.len() || !rows.iter().all(|row| found.contains_key(&row.name)) {
        let names: Vec<_> = rows.iter().map(|row| &row.name).collect();
        let found: Vec<_> = found.keys().collect();
        return Some(format!("the tensors are {names:?}, but {found:?} were read"));
    }
    for row in &rows {
        let right = serde_json::to_value(row).ok()?;
        for (member, value) in found[&row.name].as_object().into_iter().flatten() {
            if member == "name" || !same(value, &right[member]) {
                let (name, right) = (&row.name, &right[member]);
                return Some(format!("{member} of {name:?} is {right}, but {value} was read"));
            }
        }
    }
    let read = table.get("metadata")?;
    let is_empty = |pairs: &Value| pairs.as_object().is_none_or(serde_json::Map::is_empty);
    let is_same = *read == metadata || is_empty(read) && is_empty(&metadata);
    (!is_same).then(|| format!("the metadata is {metadata}, but {read} was read"))
}

/// Returns the tensors and the metadata to report. Those of a recipe are in the header that it makes.
fn expected(vector: &Vector) -> (Vec<TensorRow>, Value) {
    if let Some(rows) = &vector.tensors {
        return (rows.clone(), vector.metadata.clone().unwrap_or_default());
    }
    let file = vector.bytes();
    let table = Table::of_header(&file).unwrap_or_default();
    let metadata = serde_json::to_value(&table.metadata).unwrap_or_default();
    (table.tensors.into_iter().map(|tensor| tensor.row(&file)).collect(), metadata)
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
