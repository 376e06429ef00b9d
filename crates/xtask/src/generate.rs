//! `cargo xtask generate`: writes what is made from other files. Stages run the same generators, and compare
//! what they write with what is committed.

use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::{api, python, workspace};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Files that a generator writes.
pub struct Generated {
    pub name: &'static str,
    pub about: &'static str,
    /// The files and directories, by their paths in the repository, besides the directories of scripts.
    files: &'static [&'static str],
    by: By,
}

/// What writes the files.
enum By {
    /// A cargo with these words.
    Cargo(&'static str),
    /// These tests of the command write what they otherwise compare: no stage repeats it.
    Bless(&'static str),
    /// The scripts `make.py` of directories, with the packages of the environment `main`.
    Python(&'static [&'static str]),
    Call(fn() -> Outcome),
    /// By hand only: it takes gigabytes.
    Hand(fn() -> Outcome),
}

use By::{Bless, Call, Cargo, Hand, Python};

/// The rows in the order of their list.
pub const GENERATED: [Generated; 7] = [
    row("api", "the public API of the libraries", Call(api::write)).files(&["tests/api"]),
    row("vectors", "the conformance vectors, with the reference's verdicts", Cargo(VECTORS))
        .files(&["tests/vectors"]),
    row("tables", "values, products, statistics and structures, by numpy and others", Python(&TABLES))
        .files(&["firmware/app/models/quantised.safetensors"]),
    row("pages", "transcripts of the pages of the command and the guide", Bless("pages::")).files(&[
        "host/docs",
        "docs/src",
        "README.md",
    ]),
    row("emitted", "the constants that `safetensors emit` writes", Bless("emit::"))
        .files(&["host/tests/emitted"]),
    row("formats", "the table of formats and types of `safetensors convert`", Bless("format_table::"))
        .files(&["host/docs", "docs/src"]),
    row("interop", "files of other frameworks, and what they read of ours", Hand(python::interop))
        .files(&["tests/interop", "docs/src/frameworks.md"]),
];

const VECTORS: &str =
    "run --profile suite --quiet -p verification --features std,oracle --bin vectors -- generate";
const TABLES: [&str; 4] = ["tests/elements", "tests/quantised", "tests/stats", "tests/structures"];
const COMMAND: &str = "test --quiet --package safetensors-host --test command";

const fn row(name: &'static str, about: &'static str, by: By) -> Generated {
    Generated { name, about, files: &[], by }
}

/// Finds a row by its name.
pub fn find(name: &str) -> Result<&'static Generated, String> {
    static ROWS: [Generated; GENERATED.len()] = GENERATED;
    let found = ROWS.iter().find(|one| one.name == name);
    found.ok_or_else(|| format!("nothing generated is named \"{name}\"; `cargo xtask generate` lists it"))
}

/// Checks all that no other stage does.
pub fn check_all() -> Outcome {
    let left = GENERATED.iter().filter(|one| one.name != "api" && !matches!(one.by, Bless(_) | Hand(_)));
    left.map(|one| check(one.name)).sum()
}

/// The files of the generator that is checked, as they were.
static BEFORE: Mutex<Option<(&'static Generated, Files)>> = Mutex::new(None);

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Makes the files of the generator that is checked what they were, also after an interrupt. Returns those
/// that differed, before and after.
pub fn restore() -> Vec<(PathBuf, Vec<u8>, Vec<u8>)> {
    let Some((one, before)) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() else {
        return Vec::new();
    };
    let mut after = one.contents().unwrap_or_default();
    let mut changed = Vec::new();
    for (path, was) in before {
        let is = after.remove(&path).unwrap_or_default();
        if was != is {
            let _ = workspace::write(&path, &was);
            changed.push((path, was, is));
        }
    }
    // What is left is new.
    after.into_iter().for_each(|(path, is)| {
        let _ = std::fs::remove_file(&path);
        changed.push((path, Vec::new(), is));
    });
    changed
}

/// Runs a generator and compares what it writes with what was there, which stays as it was.
pub fn check(name: &str) -> Outcome {
    let one = find(name)?;
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some((one, one.contents()?));
    let written = one.write();
    let changed = restore();
    let mut tally = written?;
    let outcome = changed.is_empty().then_some(()).ok_or_else(|| {
        let text: String = changed.iter().map(|(path, was, is)| difference(path, was, is)).collect();
        format!("the files are not what their generator writes; run `cargo xtask generate {name}`{text}")
    });
    tally.check(one.about, outcome);
    Ok(tally)
}

/// Shows the path of a changed file, and the first lines that only one of its texts has.
fn difference(path: &Path, was: &[u8], is: &[u8]) -> String {
    let [was, is] = [was, is].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let only = |lines: &str, others: &str, sign: &str| {
        let missing = lines.lines().filter(|line| !others.lines().any(|other| other == *line));
        missing.take(5).map(|line| format!("\n{sign} {line:.200}")).collect::<String>()
    };
    format!("\n{}{}{}", path.display(), only(&was, &is, "-"), only(&is, &was, "+"))
}

fn make(folder: &str) -> Outcome {
    let run = Run::new(python::environment("main")?).args(["-B", &format!("{folder}/make.py")]);
    Ok(Tally::of(folder, run.check()))
}

impl Generated {
    const fn files(self, files: &'static [&'static str]) -> Self {
        Self { files, ..self }
    }

    /// Runs the generator.
    pub fn write(&self) -> Outcome {
        let run = match self.by {
            Call(run) | Hand(run) => return run(),
            Cargo(words) => own_cargo().words(words),
            Bless(tests) => own_cargo().words(COMMAND).args([tests]).env("BLESS", "1"),
            Python(folders) => return folders.iter().map(|folder| make(folder)).sum(),
        };
        Ok(Tally::of(&format!("{} is written", self.name), run.check()))
    }

    /// Returns the bytes of its files, by their paths.
    fn contents(&self) -> Result<Files, String> {
        let folders = if let Python(folders) = self.by { folders } else { &[] };
        let paths = self.files.iter().chain(folders);
        let mut left: Vec<PathBuf> = paths.map(|path| workspace::root().join(path)).collect();
        let mut contents = BTreeMap::new();
        while let Some(path) = left.pop() {
            match path.is_dir() {
                true => left.extend(workspace::list(&path)?),
                false => drop(contents.insert(path.clone(), workspace::read(&path)?)),
            }
        }
        Ok(contents)
    }
}
