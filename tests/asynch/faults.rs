//! Storage that fails, ends early, lies or changes: always an error or the right bytes, and always what the
//! blocking doors make of it.

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
use support::waiting::{Door, Source, Waits};

use crate::asynch::operations::{
    LONG, LOOKUPS, OPENINGS, READINGS, Reader, Report, file, file_in_order, values,
};

const WAITS: Waits = Waits { before: 1, after: 1 };

/// Every test here leads through the door whose name it has.
macro_rules! doors {
    ($($name:ident: $door:expr, $blocking:ty;)+) => {
        mod an_error_at_any_call_is_reported_and_the_opening_can_be_made_again {
            use super::*;
            $(#[test] fn $name() { openings_survive_errors($door); })+
        }
        mod an_error_at_any_call_is_reported_and_the_lookup_can_be_made_again {
            use super::*;
            $(#[test] fn $name() { lookups_survive_errors($door); })+
        }
        mod an_error_at_any_call_is_reported_and_the_reader_stands_where_it_stood {
            use super::*;
            $(#[test] fn $name() { readings_survive_errors($door); })+
        }
        mod an_error_at_any_call_is_reported_and_the_same_values_can_be_read_again {
            use super::*;
            $(#[test] fn $name() { values_survive_errors($door); })+
        }
        mod errors_are_those_of_the_blocking_door {
            use super::*;
            $(#[test] fn $name() { each_plan_has_one_outcome::<$blocking>($door, &errors()); })+
        }
        mod a_file_that_ends_early_is_never_read_wrong {
            use super::*;
            $(#[test] fn $name() { each_plan_has_one_outcome::<$blocking>($door, &early_ends(&file())); })+
        }
        mod a_false_length_is_never_believed {
            use super::*;
            $(#[test] fn $name() { each_plan_has_one_outcome::<$blocking>($door, &false_lengths(&file())); })+
        }
        mod a_file_that_is_replaced_is_never_read_wrong {
            use super::*;
            $(#[test] fn $name() { each_plan_has_one_outcome::<$blocking>($door, &replacements()); })+
        }
        mod a_short_read_is_gone_on_from {
            use super::*;
            $(#[test] fn $name() { each_plan_has_one_outcome::<$blocking>($door, &short_reads()); })+
        }
    };
}

doors! {
    own: Door::Own, sources::Own;
    seekable: Door::Seekable, SeekableStream;
}

fn openings_survive_errors(door: Door) {
    for (name, file, open) in OPENINGS {
        let file = file();
        let storage = Storage::new(&file, Plan::default());
        let mut source = door.source(&storage, WAITS);
        at_every_call(name, &storage, || finish(open(&mut source)));
    }
}

fn lookups_survive_errors(door: Door) {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let mut model = opened(door.source(&storage, WAITS)).expect("it is sound");
    for (name, lookup) in LOOKUPS {
        at_every_call(name, &storage, || finish(lookup(&mut model)));
    }
}

fn readings_survive_errors(door: Door) {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let mut model = opened(door.source(&storage, WAITS)).expect("it is sound");
    let long = finish(model.find("long", &mut [0; 64])).expect("it can be read").expect("it is there");
    let mut reader = model.reader(&long).expect("it is this file's");
    for (name, read) in READINGS {
        at_every_call(name, &storage, || {
            reader.seek(2).expect("it is inside");
            let outcome = finish(read(&mut reader));
            assert!(outcome.is_ok() || reader.position() == 2, "an error must not move it");
            outcome
        });
    }
}

fn values_survive_errors(door: Door) {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let mut model = opened(door.source(&storage, WAITS)).expect("it is sound");
    let long = finish(model.find("long", &mut [0; 64])).expect("it can be read").expect("it is there");
    each_call_of_values_survives(&storage, model.reader(&long).expect("it is this file's").values());
    each_call_of_values_survives(
        &storage,
        model.reader(&long).expect("it is this file's").values().rounded(),
    );
    let rows = model.reader(&long).and_then(|reader| reader.rows(0..3)).expect("it has three");
    each_call_of_values_survives(&storage, rows);
}

fn each_call_of_values_survives<const ROUNDED: bool>(
    storage: &Storage<'_>,
    mut reader: Reader<'_, '_, ROUNDED>,
) {
    for (name, read) in values::<ROUNDED>() {
        at_every_call(name, storage, || {
            reader.seek(1).expect("it is inside");
            let outcome = finish(read(&mut reader));
            assert!(outcome.is_ok() || reader.position() == 1, "an error must not move it");
            outcome
        });
    }
}

fn opened<S: asynch::ReadAt>(source: S) -> Result<Model<S>, ReadError<S::Error>> {
    finish(Model::open_unordered(source, &mut [SortSlot::EMPTY; 3], &mut [0; 64]))
}

/// Lets the first call of the storage fail, the second, …, until none is left to fail; each time, does it
/// again on a sound storage.
fn at_every_call(name: &str, storage: &Storage<'_>, mut attempt: impl FnMut() -> Report) {
    let _context = Context(|| name.to_owned());
    let short = Plan { reads: Reads::AtMost(11), ..Plan::default() };
    storage.follow(short.clone());
    let expected = attempt();
    assert!(expected.is_ok(), "{expected:?}");
    let failures = (0..).find(|&call| {
        let _context = Context(|| format!("call {call} fails"));
        storage.follow(Plan { failure: Some(Failure::Once(call)), ..short.clone() });
        let outcome = attempt();
        let was_asked = storage.counts().calls > call;
        storage.follow(short.clone());
        match was_asked {
            true => assert_eq!(outcome, Err(ReadError::Source(Fault::Broken))),
            false => assert_eq!(outcome, expected),
        }
        assert_eq!(attempt(), expected, "once more");
        !was_asked
    });
    assert!(failures > Some(0), "it never asked the storage");
}

#[test]
fn openings_say_what_the_blocking_ones_say() {
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
        storage.follow(plan.clone());
        Door::Own.source(storage, WAITS)
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
        storage.follow(plan.clone());
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

/// The tensors that a whole session reads: opening, two searches, and the data.
type Session = Result<Vec<(&'static str, Vec<u8>)>, ReadError<Fault>>;

const NAMES: [&str; 3] = ["a", "long", "ab"];

fn session(source: Source<'_>) -> Session {
    let mut model = opened(source)?;
    let mut wanted = NAMES.map(Query::required);
    finish(model.find_all(&mut wanted, &mut [0; 48]))?;
    finish(model.validate_names([3, 4], &mut [SortSlot::EMPTY; 2], &mut [0; 8], &mut [0; 64]))?;
    let mut tensors = Vec::new();
    for one in &wanted {
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
    let mut wanted = NAMES.map(Query::required);
    model.find_all(&mut wanted, &mut [0; 48])?;
    model.validate_names([3, 4], &mut [SortSlot::EMPTY; 2], &mut [0; 8], &mut [0; 64])?;
    let mut tensors = Vec::new();
    for one in &wanted {
        let (mut reader, mut buffer, mut bytes) = (model.reader(one)?, [0; 5], Vec::new());
        while let Some(chunk) = reader.next_chunk(&mut buffer)? {
            bytes.extend(chunk);
        }
        tensors.push((one.name(), bytes));
    }
    Ok(tensors)
}

/// Whatever the storage does, the outcome is that of the blocking door, after the same calls, and it is an
/// error or right.
fn each_plan_has_one_outcome<D>(door: Door, plans: &[Plan])
where
    D: sources::Door,
    for<'s> D::Source<'s>: ReadAt<Error = Fault>,
{
    let file = file();
    let mut errors = 0;
    for plan in plans {
        let _context = Context(|| format!("{plan:?}"));
        let (outcome, counts) = run(&file, plan, |storage| session(door.source(storage, WAITS)));
        let expected = run(&file, plan, |storage| blocking_session(D::source(storage)));
        assert_eq!((&outcome, &counts), (&expected.0, &expected.1));
        match outcome {
            Ok(tensors) => assert_eq!(tensors, right()),
            Err(_) => errors += 1,
        }
    }
    assert!(plans.len() > 3, "{} plans", plans.len());
    let are_faults = plans.iter().all(|plan| plan.reads == Reads::Whole);
    assert_eq!(errors > 0, are_faults, "{errors} of {} plans led to an error", plans.len());
}

fn run<T>(file: &[u8], plan: &Plan, session: impl FnOnce(&Storage<'_>) -> T) -> (T, Counts) {
    let storage = Storage::new(file, plan.clone());
    let outcome = session(&storage);
    (outcome, storage.counts())
}

fn right() -> Vec<(&'static str, Vec<u8>)> {
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
    let plan = |end: usize, claim| Plan { claim, ..replacement(Since::Call(0), &file[..end]) };
    (0..file.len()).flat_map(|end| claims.map(|claim| plan(end, claim))).collect()
}

fn replacement(since: Since, file: &[u8]) -> Plan {
    Plan { replacement: Some(Replacement { since, file: file.to_vec() }), ..Plan::default() }
}

fn false_lengths(file: &[u8]) -> Vec<Plan> {
    let len = file.len() as u64;
    let claims = (0..len + 20).chain([u64::MAX - 8, u64::MAX]);
    let claims = claims.flat_map(|len| [FileLen::Exactly(len), FileLen::AtMost(len)]);
    claims.map(|claim| Plan { claim: Some(claim), ..Plan::default() }).collect()
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
    let at = file.windows(old.len()).position(|window| window == old).expect("it is there");
    [&file[..at], new, &file[at + old.len()..]].concat()
}

fn short_reads() -> Vec<Plan> {
    let reads = [1, 2, 3, 5, 8].map(Reads::AtMost).into_iter().chain((0..20).map(Reads::Random));
    reads.map(|reads| Plan { reads, ..Plan::default() }).collect()
}

/// Only what stands between makes interrupted calls again; a source of one's own sees to that itself.
#[test]
fn interrupted_calls_are_made_again() {
    let interruptions = [1, 2, 7].map(Some);
    let plans = interruptions.into_iter().flat_map(|interrupted_every| {
        short_reads().into_iter().map(move |plan| Plan { interrupted_every, ..plan })
    });
    each_plan_has_one_outcome::<SeekableStream>(Door::Seekable, &plans.collect::<Vec<_>>());
}
