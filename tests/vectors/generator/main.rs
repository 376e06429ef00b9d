//! Writes the files of the conformance vectors and their manifests: `vectors generate`. It runs five releases
//! of the reference, and fails when a case contradicts it.

mod build;
mod case;
mod cases;
mod codes;
mod groups;
mod index;
mod manifest;
mod recipe;
mod rules;
mod twins;
mod writers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use build::Vector;
use case::Body;
use manifest::Listed;
use vectors::{MOST_LITE, Verdict};

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        Some("generate") => generated().and_then(|files| write(&files)),
        _ => Err(vec!["usage: vectors generate".to_owned()]),
    };
    match outcome {
        Ok(count) => {
            println!("{count} files");
            ExitCode::SUCCESS
        }
        Err(problems) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// Returns all files that the cases make; first those that take no time.
fn generated() -> Result<Files, Vec<String>> {
    let mut files = Files::new();
    let others = [("index/manifest.json", index::document()), ("writers/manifest.json", writers::document())];
    for (path, document) in others {
        files.insert(path.into(), document.map_err(|problem| vec![problem])?.into_bytes());
    }
    let cases = cases::all();
    unique(&cases).map_err(|problem| vec![problem])?;
    let vectors = each(&cases, |case| case.id, build::build)?;
    let lite = lite(&vectors).map_err(|problem| vec![problem])?;
    let listed = each(&vectors, |vector| vector.case.id, |vector| list(vector, &vectors, &lite))?;
    let lines: Vec<String> = listed.iter().map(manifest::vector).collect();
    drop(listed);
    vectors.into_iter().for_each(|vector| keep(&mut files, vector));
    files.insert("manifest.json".into(), manifest::document(&lines).into_bytes());
    Ok(files)
}

/// Two cases of one id would be one file.
fn unique(cases: &[case::Case]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let repeated = cases.iter().find(|case| !seen.insert(case.id));
    repeated.map_or(Ok(()), |case| Err(format!("{}: two cases have this id", case.id)))
}

/// Makes one of each, or returns all problems.
fn each<'t, T, R>(
    all: &'t [T],
    id: impl Fn(&T) -> &str,
    make: impl Fn(&'t T) -> Result<R, String>,
) -> Result<Vec<R>, Vec<String>> {
    let (made, failed): (Vec<_>, Vec<_>) = all
        .iter()
        .map(|one| make(one).map_err(|problem| format!("{}: {problem}", id(one))))
        .partition(Result::is_ok);
    let problems: Vec<String> = failed.into_iter().filter_map(Result::err).collect();
    if problems.is_empty() { Ok(made.into_iter().filter_map(Result::ok).collect()) } else { Err(problems) }
}

/// Returns the ids of the few vectors that catch most bugs. `lite.txt` was chosen with single bugs of a small
/// reader, and stays as it is.
fn lite(vectors: &[Vector<'_>]) -> Result<BTreeSet<String>, String> {
    let text = std::fs::read_to_string(root().join("generator/lite.txt"));
    let text = text.map_err(|error| format!("lite.txt: {error}"))?;
    let ids: BTreeSet<String> =
        text.lines().map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned).collect();
    let known = |id: &&String| vectors.iter().any(|vector| vector.case.id == **id);
    match ids.iter().find(|id| !known(id)) {
        Some(unknown) => Err(format!("lite.txt: no such vector: {unknown}")),
        None if ids.len() > MOST_LITE => Err(format!("lite.txt: {} ids, at most {MOST_LITE}", ids.len())),
        None => Ok(ids),
    }
}

/// Adds what depends on the other vectors.
fn list<'a>(
    vector: &'a Vector<'a>,
    all: &'a [Vector<'a>],
    lite: &BTreeSet<String>,
) -> Result<Listed<'a>, String> {
    let twin = if vector.verdict() == Verdict::Invalid { Some(twins::of(vector, all)?) } else { None };
    let of_twin = twin.map(groups::flags).unwrap_or_default();
    let flags = groups::with_needs_of(groups::flags(vector), &of_twin);
    if flags.is_empty() {
        return Err("it has no flag".to_owned());
    }
    if vector.verdict() == Verdict::Valid && !groups::obeys_text(vector) {
        return Err("the published text forbids it, so readers may differ".to_owned());
    }
    let level = groups::level(vector, &flags);
    Ok(Listed {
        vector,
        twin: twin.map(|twin| twin.case.id),
        flags,
        level,
        lite: lite.contains(vector.case.id),
    })
}

fn keep(files: &mut Files, vector: Vector<'_>) {
    if !matches!(vector.case.body, Body::Recipe(_)) {
        files.insert(vector.path().into(), vector.file);
    }
}

fn write(files: &Files) -> Result<usize, Vec<String>> {
    for stray in unexpected_files(files)? {
        std::fs::remove_file(root().join(&stray)).map_err(|error| about(&stray, &error))?;
    }
    for (path, bytes) in files {
        let full = root().join(path);
        if let Some(directory) = full.parent() {
            std::fs::create_dir_all(directory).map_err(|error| about(directory, &error))?;
        }
        std::fs::write(&full, bytes).map_err(|error| about(path, &error))?;
    }
    Ok(files.len())
}

/// Returns files in the directories that no case makes.
fn unexpected_files(files: &Files) -> Result<Vec<PathBuf>, Vec<String>> {
    let mut unexpected_files = Vec::new();
    for directory in Verdict::ALL.map(Verdict::word) {
        let Ok(entries) = std::fs::read_dir(root().join(directory)) else { continue };
        for entry in entries {
            let path = Path::new(directory)
                .join(entry.map_err(|error| about(directory.as_ref(), &error))?.file_name());
            if !files.contains_key(&path) {
                unexpected_files.push(path);
            }
        }
    }
    Ok(unexpected_files)
}

fn about(path: &Path, error: &std::io::Error) -> Vec<String> {
    vec![format!("{}: {error}", path.display())]
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
