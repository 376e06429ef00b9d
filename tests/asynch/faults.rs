//! Storage that fails, ends early, reports a wrong length or changes: always an error or the right bytes, and
//! always the outcome of the blocking API.

use embedded_safetensors::asynch::{self, Model};
use embedded_safetensors::{
    self as blocking, ReadAt, ReadError,
    index::IndexStorage,
    io::FileLen,
    query::Query,
    validate::{SortSlot, Summary},
};
use support::context::Context;
use support::executor::finish;
use support::mock::{Counts, Failure, Fault, Plan, Reads, Replacement, Since, Storage};
use support::sources::{self, SeekableStream};
use support::waiting::{Source, SourceKind, Waits};

use crate::asynch::operations::{
    LONG, LOOKUPS, OPENINGS, READINGS, Reader, Report, file, file_in_order, values,
};

const WAITS: Waits = Waits { before: 1, after: 1 };

/// Each test is named after its kind of source.
macro_rules! sources {
    ($($name:ident: $kind:expr, $blocking:ty;)+) => {
        mod opening_can_be_repeated_after_any_error {
            use super::*;
            $(#[test] fn $name() { test_openings($kind); })+
        }
        mod lookup_can_be_repeated_after_any_error {
            use super::*;
            $(#[test] fn $name() { test_lookups($kind); })+
        }
        mod reader_position_is_unchanged_by_any_error {
            use super::*;
            $(#[test] fn $name() { test_readings($kind); })+
        }
        mod values_can_be_read_again_after_any_error {
            use super::*;
            $(#[test] fn $name() { test_values($kind); })+
        }
        mod errors_match_blocking {
            use super::*;
            $(#[test] fn $name() { compare_with_blocking::<$blocking>($kind, &errors()); })+
        }
        mod truncated_file_matches_blocking {
            use super::*;
            $(#[test] fn $name() { compare_with_blocking::<$blocking>($kind, &early_ends(&file())); })+
        }
        mod wrong_length_matches_blocking {
            use super::*;
            $(#[test] fn $name() { compare_with_blocking::<$blocking>($kind, &false_lengths(&file())); })+
        }
        mod replaced_file_matches_blocking {
            use super::*;
            $(#[test] fn $name() { compare_with_blocking::<$blocking>($kind, &replacements()); })+
        }
        mod short_reads_match_blocking {
            use super::*;
            $(#[test] fn $name() { compare_with_blocking::<$blocking>($kind, &short_reads()); })+
        }
    };
}

sources! {
    custom: SourceKind::Custom, sources::Custom;
    seekable: SourceKind::Seekable, SeekableStream;
}

fn test_openings(kind: SourceKind) {
    for (name, file, open) in OPENINGS {
        let file = file();
        let storage = Storage::new(&file, Plan::default());
        let mut source = kind.source(&storage, WAITS);
        at_every_call(name, &storage, || finish(open(&mut source)));
    }
}

fn test_lookups(kind: SourceKind) {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let mut model = opened(kind.source(&storage, WAITS)).expect("valid file");
    for (name, lookup) in LOOKUPS {
        at_every_call(name, &storage, || finish(lookup(&mut model)));
    }
}

fn test_readings(kind: SourceKind) {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let mut model = opened(kind.source(&storage, WAITS)).expect("valid file");
    let long = finish(model.find("long", &mut [0; 64])).expect("readable").expect("present");
    let mut reader = model.reader(&long).expect("tensor of this file");
    for (name, read) in READINGS {
        at_every_call(name, &storage, || {
            reader.seek(2).expect("in range");
            let outcome = finish(read(&mut reader));
            assert!(outcome.is_ok() || reader.position() == 2, "an error must not move it");
            outcome
        });
    }
}

fn test_values(kind: SourceKind) {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let mut model = opened(kind.source(&storage, WAITS)).expect("valid file");
    let long = finish(model.find("long", &mut [0; 64])).expect("readable").expect("present");
    test_values_calls(&storage, model.reader(&long).expect("tensor of this file").values());
    test_values_calls(&storage, model.reader(&long).expect("tensor of this file").values().rounded());
    let rows = model.reader(&long).and_then(|reader| reader.rows(0..3)).expect("in range");
    test_values_calls(&storage, rows);
}

fn test_values_calls<const ROUNDED: bool>(storage: &Storage<'_>, mut reader: Reader<'_, '_, ROUNDED>) {
    for (name, read) in values::<ROUNDED>() {
        at_every_call(name, storage, || {
            reader.seek(1).expect("in range");
            let outcome = finish(read(&mut reader));
            assert!(outcome.is_ok() || reader.position() == 1, "an error must not move it");
            outcome
        });
    }
}

fn opened<S: asynch::ReadAt>(source: S) -> Result<Model<S>, ReadError<S::Error>> {
    finish(Model::open_unordered(source, &mut [SortSlot::EMPTY; 3], &mut [0; 64]))
}

/// Makes the first call of the storage fail, then the second, …, until no call is left to fail; each time,
/// repeats the attempt without faults.
fn at_every_call(name: &str, storage: &Storage<'_>, mut attempt: impl FnMut() -> Report) {
    let _context = Context(|| name.to_owned());
    let short = Plan { reads: Reads::AtMost(11), ..Plan::default() };
    storage.set_plan(short.clone());
    let expected = attempt();
    assert!(expected.is_ok(), "{expected:?}");
    let failures = (0..).find(|&call| {
        let _context = Context(|| format!("call {call} fails"));
        storage.set_plan(Plan { failure: Some(Failure::Once(call)), ..short.clone() });
        let outcome = attempt();
        let was_asked = storage.counts().calls > call;
        storage.set_plan(short.clone());
        match was_asked {
            true => assert_eq!(outcome, Err(ReadError::Source(Fault::Broken))),
            false => assert_eq!(outcome, expected),
        }
        assert_eq!(attempt(), expected, "repeated");
        !was_asked
    });
    assert!(failures > Some(0), "it never called the storage");
}

#[test]
fn opening_matches_blocking() {
    for file in [file(), file_in_order()] {
        for plan in [errors(), early_ends(&file), false_lengths(&file)].into_iter().flatten() {
            let _context = Context(|| format!("{plan:?}"));
            let verdicts = run(&file, &plan, |storage| verdicts(storage, &plan));
            assert_eq!(verdicts, run(&file, &plan, |storage| blocking_verdicts(storage, &plan)));
        }
    }
}

type Verdicts = [Result<Summary, ReadError<Fault>>; 3];

fn verdicts(storage: &Storage<'_>, plan: &Plan) -> Verdicts {
    let (mut index, mut window) = (IndexStorage::<3, 2, 7>::new(), [0; 64]);
    let source = || {
        storage.set_plan(plan.clone());
        SourceKind::Custom.source(storage, WAITS)
    };
    [
        finish(Model::open(source(), &mut window)).map(|model| model.summary()),
        opened(source()).map(|model| model.summary()),
        finish(Model::open_indexed(source(), index.memory(), &mut window)).map(|(model, _)| model.summary()),
    ]
}

fn blocking_verdicts(storage: &Storage<'_>, plan: &Plan) -> Verdicts {
    let (mut index, mut window) = (IndexStorage::<3, 2, 7>::new(), [0; 64]);
    let source = || {
        storage.set_plan(plan.clone());
        storage
    };
    let sorting = blocking::Model::open_unordered(source(), &mut [SortSlot::EMPTY; 3], &mut window);
    let sorting = sorting.map(|model| model.summary());
    [
        blocking::Model::open(source(), &mut window).map(|model| model.summary()),
        sorting,
        blocking::Model::open_indexed(source(), index.memory(), &mut window)
            .map(|(model, _)| model.summary()),
    ]
}

/// The tensors that a complete session reads: opening, two lookups, and the data.
type Session = Result<Vec<(&'static str, Vec<u8>)>, ReadError<Fault>>;

const NAMES: [&str; 3] = ["a", "long", "ab"];

fn session(source: Source<'_>) -> Session {
    let mut model = opened(source)?;
    let mut queries = NAMES.map(Query::required);
    finish(model.find_all(&mut queries, &mut [0; 48]))?;
    finish(model.validate_names([3, 4], &mut [SortSlot::EMPTY; 2], &mut [0; 8], &mut [0; 64]))?;
    let mut tensors = Vec::new();
    for one in &queries {
        let (mut reader, mut buffer, mut bytes) = (model.reader(one)?, [0; 5], Vec::new());
        while let Some(chunk) = finish(reader.next_chunk(&mut buffer))? {
            bytes.extend(chunk);
        }
        tensors.push((one.name(), bytes));
    }
    Ok(tensors)
}

fn blocking_session(source: impl ReadAt<Error = Fault>) -> Session {
    let mut model =
        embedded_safetensors::Model::open_unordered(source, &mut [SortSlot::EMPTY; 3], &mut [0; 64])?;
    let mut queries = NAMES.map(Query::required);
    model.find_all(&mut queries, &mut [0; 48])?;
    model.validate_names([3, 4], &mut [SortSlot::EMPTY; 2], &mut [0; 8], &mut [0; 64])?;
    let mut tensors = Vec::new();
    for one in &queries {
        let (mut reader, mut buffer, mut bytes) = (model.reader(one)?, [0; 5], Vec::new());
        while let Some(chunk) = reader.next_chunk(&mut buffer)? {
            bytes.extend(chunk);
        }
        tensors.push((one.name(), bytes));
    }
    Ok(tensors)
}

/// With each plan, the outcome is that of the blocking API, after the same calls, and it is an error or
/// right.
fn compare_with_blocking<D>(kind: SourceKind, plans: &[Plan])
where
    D: sources::SourceKind,
    for<'s> D::Source<'s>: ReadAt<Error = Fault>,
{
    let file = file();
    let mut errors = 0;
    for plan in plans {
        let _context = Context(|| format!("{plan:?}"));
        let (outcome, counts) = run(&file, plan, |storage| session(kind.source(storage, WAITS)));
        let expected = run(&file, plan, |storage| blocking_session(D::source(storage)));
        assert_eq!((&outcome, &counts), (&expected.0, &expected.1));
        match outcome {
            Ok(tensors) => assert_eq!(tensors, expected_tensors()),
            Err(_) => errors += 1,
        }
    }
    assert!(plans.len() > 3, "{} plans", plans.len());
    let expects_errors = plans.iter().all(|plan| plan.reads == Reads::Whole);
    assert_eq!(errors > 0, expects_errors, "{errors} of {} plans led to an error", plans.len());
}

fn run<T>(file: &[u8], plan: &Plan, session: impl FnOnce(&Storage<'_>) -> T) -> (T, Counts) {
    let storage = Storage::new(file, plan.clone());
    let outcome = session(&storage);
    (outcome, storage.counts())
}

fn expected_tensors() -> Vec<(&'static str, Vec<u8>)> {
    vec![("a", b"xy".to_vec()), ("long", LONG.to_vec()), ("ab", b"!".to_vec())]
}

/// More calls than a session makes.
const CALLS: u64 = 60;

fn errors() -> Vec<Plan> {
    let failures = (0..CALLS).flat_map(|call| [Failure::Once(call), Failure::Since(call)]);
    failures.map(|failure| Plan { failure: Some(failure), ..Plan::default() }).collect()
}

fn early_ends(file: &[u8]) -> Vec<Plan> {
    let len = file.len() as u64;
    let claims = [None, Some(FileLen::Exactly(len)), Some(FileLen::AtMost(len)), Some(FileLen::Unknown)];
    let plan = |end: usize, reported_len| Plan { reported_len, ..replacement(Since::Call(0), &file[..end]) };
    (0..file.len()).flat_map(|end| claims.map(|reported_len| plan(end, reported_len))).collect()
}

fn replacement(since: Since, file: &[u8]) -> Plan {
    Plan { replacement: Some(Replacement { since, file: file.to_vec() }), ..Plan::default() }
}

fn false_lengths(file: &[u8]) -> Vec<Plan> {
    let len = file.len() as u64;
    let claims = (0..len + 20).chain([u64::MAX - 8, u64::MAX]);
    let claims = claims.flat_map(|len| [FileLen::Exactly(len), FileLen::AtMost(len)]);
    claims.map(|reported_len| Plan { reported_len: Some(reported_len), ..Plan::default() }).collect()
}

/// Other files, with the same data, from every call on.
fn replacements() -> Vec<Plan> {
    let changes =
        [("\"a\"", "\"b\""), ("[2,14]", "[0,12]"), ("F32", "U32"), (":[2]", ":[3]"), ("seven", "eight")];
    let files = changes.map(|(old, new)| replaced(&file(), old.as_bytes(), new.as_bytes()));
    let shorter = file()[..40].to_vec();
    let others = files.into_iter().chain([shorter, Vec::new()]);
    let plans = |file: Vec<u8>| {
        let since = (0..CALLS).map(Since::Call).chain((0..4).map(Since::Pass));
        since.map(|since| replacement(since, &file)).collect::<Vec<_>>()
    };
    others.flat_map(plans).collect()
}

fn replaced(file: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let at = file.windows(old.len()).position(|window| window == old).expect("present");
    [&file[..at], new, &file[at + old.len()..]].concat()
}

fn short_reads() -> Vec<Plan> {
    let reads = [1, 2, 3, 5, 8].map(Reads::AtMost).into_iter().chain((0..20).map(Reads::Random));
    reads.map(|reads| Plan { reads, ..Plan::default() }).collect()
}

/// Only the adapters repeat interrupted calls; a user-defined source must do it itself.
#[test]
fn interrupted_calls_are_repeated() {
    let interruptions = [1, 2, 7].map(Some);
    let plans = interruptions.into_iter().flat_map(|interrupted_every| {
        short_reads().into_iter().map(move |plan| Plan { interrupted_every, ..plan })
    });
    compare_with_blocking::<SeekableStream>(SourceKind::Seekable, &plans.collect::<Vec<_>>());
}
