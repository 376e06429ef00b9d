//! The table: each bug, how many generated files show it, and which vectors catch it.

use crate::bugs::Bug;
use crate::generate;
use crate::reader::{Model, Reader, Why};
use std::sync::atomic::{AtomicUsize, Ordering};
use vectors::{MOST_LITE, Ours, Table, Tensor, Vector, Verdict};

/// How many files are generated.
pub const FILES: u64 = 100_000;
/// A longer vector is left out: it would take more time than all others.
const LONGEST: usize = 1 << 17;
/// The fewest bugs that must change a generated file.
const FEWEST_BUGS: usize = 150;
/// The lite choice, in the directory of the vectors.
const LITE: &str = "generator/lite.txt";

/// A file, and what the right reader reports of it.
struct Case {
    id: String,
    bytes: Vec<u8>,
    /// Whether a runner compares tables, or only counts tensors.
    table: bool,
    judged: bool,
}

/// What became of one bug.
struct Row {
    bug: Bug,
    /// How many generated files show it.
    files: usize,
    /// The vectors that catch it, by their place in the list.
    vectors: Vec<usize>,
}

/// Prints the table of so many files and returns the problems.
pub fn print(files: u64) -> Vec<String> {
    let cases = cases();
    let mut problems = wrong(&cases);
    let cases: Vec<Case> = cases.into_iter().map(|(_, case)| case).filter(|case| case.judged).collect();
    let rows = rows(&cases, files);
    for row in &rows {
        let ids: Vec<&str> = row.vectors.iter().take(3).map(|at| cases[*at].id.as_str()).collect();
        println!("{:?}\t{}\t{}\t{}", row.bug, row.files, row.vectors.len(), ids.join(" "));
    }
    problems.extend(judged(&rows));
    let chosen = std::fs::read_to_string(vectors::folder().join(LITE)).unwrap_or_default();
    let known = |id: &&str| cases.iter().any(|case| case.id == **id);
    problems
        .extend(chosen.lines().filter(|id| !known(id)).map(|id| format!("{LITE}: there is no vector {id}")));
    let places: Vec<usize> =
        (0..cases.len()).filter(|at| chosen.lines().any(|id| id == cases[*at].id)).collect();
    problems.extend(judged_lite(&rows, &places));
    problems
}

/// Writes the lite choice, which needs no generated files, and returns the problems.
pub fn write_lite() -> Vec<String> {
    let cases: Vec<Case> = cases().into_iter().map(|(_, case)| case).filter(|case| case.judged).collect();
    let rows = rows(&cases, 0);
    let places = chosen(&rows, &cases);
    let mut ids: Vec<&str> = places.iter().map(|at| cases[*at].id.as_str()).collect();
    ids.sort_unstable();
    let mut problems: Vec<String> = judged_lite(&rows, &places).into_iter().collect();
    if let Err(error) = std::fs::write(vectors::folder().join(LITE), ids.join("\n") + "\n") {
        problems.push(format!("{LITE}: {error}"));
    }
    problems
}

/// Returns the vectors, and the cases that they are.
fn cases() -> Vec<(Vector, Case)> {
    let vectors = vectors::load().vectors.into_iter().filter(|vector| vector.length <= LONGEST);
    let case = |vector: Vector| {
        let case = Case {
            id: vector.id.clone(),
            bytes: vector.bytes(),
            table: vector.tensors.is_some(),
            judged: vector.verdict != Verdict::Either,
        };
        (vector, case)
    };
    vectors.map(case).collect()
}

/// Returns a sentence for each vector about which the reader without a bug is wrong.
fn wrong(cases: &[(Vector, Case)]) -> Vec<String> {
    let mut problems = Vec::new();
    for (vector, case) in cases {
        let problem = match (Reader::RIGHT.read(&case.bytes), vector.ours) {
            (Ok(model), Ours::Accept) => wrong_table(vector, &model),
            (Err(_), Ours::Reject) => None,
            (Ok(_), Ours::Reject) => Some("it is accepted".to_owned()),
            (Err(why), Ours::Accept) => Some(format!("it is rejected: {why}")),
        };
        problems.extend(problem.map(|problem| format!("the reader without a bug: {}: {problem}", vector.id)));
    }
    problems
}

fn wrong_table(vector: &Vector, model: &Model<'_>) -> Option<String> {
    if vector.tensor_count.is_some_and(|count| count != model.tensors.len()) {
        return Some("the number of tensors is wrong".to_owned());
    }
    let listed = vector.table()?;
    if listed != table(model) {
        return Some(format!("{:?} is not {listed:?}", table(model)));
    }
    let rows = vector.tensors.iter().flatten();
    let mut listed: Vec<_> = rows.map(|row| (row.name.clone(), row.sha256.clone())).collect();
    listed.sort();
    let sum = |bytes: Option<&[u8]>| bytes.map(vectors::sha256).unwrap_or_default();
    let tensors = model.tensors.iter();
    let mut found: Vec<_> = tensors.map(|tensor| (utf8(&tensor.name), sum(tensor.bytes))).collect();
    found.sort();
    (found != listed).then(|| "the bytes of a tensor are wrong".to_owned())
}

/// Returns the table of a model.
pub fn table(model: &Model<'_>) -> Table {
    let tensor = |tensor: &crate::reader::Tensor<'_>| Tensor {
        data_offsets: tensor.offsets,
        name: utf8(&tensor.name),
        dtype: tensor.dtype.to_owned(),
        shape: tensor.shape.clone(),
    };
    let pair = |(key, value): (&Vec<u8>, &Vec<u8>)| (utf8(key), utf8(value));
    let metadata = model.metadata.as_ref().map(|pairs| pairs.iter().map(pair).collect());
    Table { tensors: model.tensors.iter().map(tensor).collect(), metadata }.sorted()
}

fn utf8(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// Runs the reader with each bug.
fn rows(cases: &[Case], files: u64) -> Vec<Row> {
    let files: Vec<Vec<u8>> = (0..files).map(generate::file).collect();
    let files: Vec<_> = files.iter().map(|file| (file.as_slice(), Reader::RIGHT.read(file))).collect();
    let right: Vec<_> = cases.iter().map(|case| Reader::RIGHT.read(&case.bytes)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut rows = Vec::new();
        while let Some(bug) = Bug::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            let reader = Reader::with(*bug);
            let shows =
                |(file, right): &&(&[u8], Result<Model<'_>, Why>)| differ(&reader.read(file), right, true);
            let catches = |at: &usize| differ(&reader.read(&cases[*at].bytes), &right[*at], cases[*at].table);
            rows.push(Row {
                bug: *bug,
                files: files.iter().filter(shows).count(),
                vectors: (0..cases.len()).filter(catches).collect(),
            });
        }
        rows
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let mut rows: Vec<Row> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no bug makes the reader panic")).collect()
    });
    rows.sort_by_key(|row| row.bug as usize);
    rows
}

/// Whether two readers report different things; without `table` only the number of tensors is compared.
fn differ(one: &Result<Model<'_>, Why>, other: &Result<Model<'_>, Why>, table: bool) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) if table => one != other,
        (Ok(one), Ok(other)) => one.tensors.len() != other.tensors.len(),
        (Err(_), Err(_)) => false,
        _ => true,
    }
}

/// Returns a sentence for each bug that no vector catches, and if there are too few.
fn judged(rows: &[Row]) -> Vec<String> {
    let shown: Vec<&Row> = rows.iter().filter(|row| row.files > 0).collect();
    let caught = shown.iter().filter(|row| !row.vectors.is_empty()).count();
    println!("{} bugs, {} change a generated file, {caught} of them are caught", rows.len(), shown.len());
    let mut problems = Vec::new();
    for row in rows {
        let about = row.bug.about();
        if row.files == 0 {
            problems.push(format!("{:?}: no generated file shows it: {about}", row.bug));
        } else if row.vectors.is_empty() {
            problems.push(format!("{:?}: no vector catches it: {about}", row.bug));
        }
    }
    if shown.len() < FEWEST_BUGS {
        problems.push(format!("only {} bugs change a file", shown.len()));
    }
    problems
}

/// Returns a sentence if a choice of vectors catches too few bugs.
fn judged_lite(rows: &[Row], chosen: &[usize]) -> Option<String> {
    let caught: Vec<&Row> = rows.iter().filter(|row| !row.vectors.is_empty()).collect();
    let by_lite = caught.iter().filter(|row| row.vectors.iter().any(|at| chosen.contains(at))).count();
    println!("{} vectors of {LITE} catch {by_lite} of {} bugs", chosen.len(), caught.len());
    let enough = by_lite * 10 >= caught.len() * 9 && chosen.len() <= MOST_LITE;
    (!enough)
        .then(|| format!("{LITE} is too long, or catches less than 90 % of the bugs: write it with --lite"))
}

/// Chooses vectors, each time the one that catches most bugs that no other chosen one catches. One whose bugs
/// are all caught by later ones is given up.
fn chosen(rows: &[Row], cases: &[Case]) -> Vec<usize> {
    let mut left: Vec<&Row> = rows.iter().filter(|row| !row.vectors.is_empty()).collect();
    let mut chosen = Vec::new();
    while !left.is_empty() && chosen.len() < MOST_LITE {
        let mut counts = vec![0; cases.len()];
        left.iter().flat_map(|row| &row.vectors).for_each(|at| counts[*at] += 1);
        // Of several the first.
        let best = (0..cases.len()).rev().max_by_key(|at| counts[*at]).unwrap_or_default();
        left.retain(|row| !row.vectors.contains(&best));
        chosen.push(best);
        if let Some(place) = chosen.iter().position(|at| !is_needed(*at, &chosen, rows)) {
            chosen.remove(place);
        }
    }
    chosen
}

/// Whether a vector is the only chosen one that catches some bug.
fn is_needed(vector: usize, chosen: &[usize], rows: &[Row]) -> bool {
    let only = |row: &Row| row.vectors.iter().filter(|at| chosen.contains(at)).eq([&vector]);
    rows.iter().any(only)
}
