//! Drops futures wherever they wait.

use embedded_io_async::Read;
use embedded_safetensors::asynch::{Model, TensorReader};
use embedded_safetensors::{ErrorKind, ReadError, query::Query, tensor::Located, validate::SortSlot};
use support::context::Context;
use support::executor::{drop_at, finish};
use support::mock::{Fault, Plan, Reads, Storage};
use support::random::Random;
use support::waiting::{Source, SourceKind, Waits};

use crate::asynch::operations::{LONG, LOOKUPS, OPENINGS, READINGS, Reader, Report, file, values};

const BEFORE: Waits = Waits { before: 1, after: 0 };
const AFTER: Waits = Waits { before: 0, after: 1 };
const BOTH: Waits = Waits { before: 2, after: 1 };

/// Each test is named after its kind of source.
macro_rules! sources {
    ($($name:ident: $kind:expr, $waits:expr;)+) => {
        mod dropped_opening_can_be_repeated {
            use super::*;
            $(#[test] fn $name() { test_openings($kind, $waits); })+
        }
        mod dropped_lookup_leaves_model_unchanged {
            use super::*;
            $(#[test] fn $name() { test_lookups($kind, $waits); })+
        }
        mod dropped_find_all_has_no_results {
            use super::*;
            $(#[test] fn $name() { test_find_all($kind, $waits); })+
        }
        mod dropped_read_leaves_position_unchanged {
            use super::*;
            $(#[test] fn $name() { test_readers($kind, $waits); })+
        }
        mod dropped_values_can_be_read_again {
            use super::*;
            $(#[test] fn $name() { test_values($kind, $waits); })+
        }
        mod randomly_dropped_reads_lose_no_byte {
            use super::*;
            $(#[test] fn $name() { test_random_drops($kind, $waits); })+
        }
    };
}

sources! {
    custom_before_read: SourceKind::Custom, BEFORE;
    custom_after_read: SourceKind::Custom, AFTER;
    custom_before_and_after: SourceKind::Custom, BOTH;
    seekable_before_move: SourceKind::Seekable, BEFORE;
    seekable_after_move: SourceKind::Seekable, AFTER;
    seekable_before_and_after: SourceKind::Seekable, BOTH;
}

/// Short reads, so that there are many waits.
fn storage(file: &[u8]) -> Storage<'_> {
    Storage::new(file, Plan { reads: Reads::AtMost(11), ..Plan::default() })
}

fn opened<'s>(storage: &'s Storage<'s>, kind: SourceKind, waits: Waits) -> Model<Source<'s>> {
    let mut slots = [SortSlot::EMPTY; 3];
    finish(Model::open_unordered(kind.source(storage, waits), &mut slots, &mut [0; 64])).expect("valid file")
}

/// Drops `attempt` at its first wait, its second, …, until it completes. `attempt` returns whether it did.
fn at_every_wait(mut attempt: impl FnMut(usize) -> bool) {
    let waits = (0..).find(|&wait| {
        let _context = Context(|| format!("dropped at wait {wait}"));
        attempt(wait)
    });
    assert!(waits > Some(0), "it never waited");
}

fn test_openings(kind: SourceKind, waits: Waits) {
    for (name, file, open) in OPENINGS {
        let _context = Context(|| name.to_owned());
        let file = file();
        let expected = finish(open(&mut SourceKind::Slice.source(&storage(&file), waits)));
        assert!(expected.is_ok(), "{expected:?}");
        let storage = storage(&file);
        let mut source = kind.source(&storage, waits);
        at_every_wait(|wait| {
            let outcome = drop_at(wait, open(&mut source));
            assert_eq!(finish(open(&mut source)), expected);
            completed(outcome, &expected)
        });
    }
}

/// Whether there is an outcome, which must be this one.
fn completed(outcome: Option<Report>, expected: &Report) -> bool {
    let is_complete = outcome.is_some();
    assert_eq!(outcome.unwrap_or(expected.clone()), *expected);
    is_complete
}

fn test_lookups(kind: SourceKind, waits: Waits) {
    let file = file();
    let storage = storage(&file);
    let mut model = opened(&storage, kind, waits);
    for (name, lookup) in LOOKUPS {
        let _context = Context(|| name.to_owned());
        let expected = finish(lookup(&mut opened(&storage, SourceKind::Slice, waits)));
        assert!(expected.is_ok(), "{expected:?}");
        at_every_wait(|wait| {
            let outcome = drop_at(wait, lookup(&mut model));
            assert_eq!(finish(lookup(&mut model)), expected, "repeated");
            assert!(drop_at(wait / 2, lookup(&mut model)).is_none());
            assert_long_is_read(&mut model);
            completed(outcome, &expected)
        });
    }
}

fn assert_long_is_read(model: &mut Model<Source<'_>>) {
    let long = finish(model.find("long", &mut [0; 64])).expect("readable").expect("present");
    let mut reader = model.reader(&long).expect("tensor of this file");
    assert_eq!(finish(reader.read_to_end(&mut [0; 12])), Ok(LONG));
}

fn test_find_all(kind: SourceKind, waits: Waits) {
    let file = file();
    let storage = storage(&file);
    let mut model = opened(&storage, kind, waits);
    let mut queries = [Query::required("long"), Query::optional("ab")];
    at_every_wait(|wait| {
        finish(model.find_all(&mut queries, &mut [0; 16])).expect("present");
        assert!(queries.iter().all(|one| one.info().is_some()), "earlier results are cleared");
        let outcome = drop_at(wait, model.find_all(&mut queries, &mut [0; 16]));
        let is_complete = outcome.is_some();
        for one in &queries {
            assert_eq!(one.info().is_some(), is_complete, "{}", one.name());
            assert_eq!(one.locate().is_ok(), is_complete, "{}", one.name());
            let unknown = Err(ErrorKind::NotFound { query: None }.at(0));
            assert!(is_complete || model.reader(one).map(|_| ()) == unknown);
        }
        is_complete
    });
}

#[test]
fn unpolled_future_does_nothing() {
    let file = file();
    let storage = storage(&file);
    let mut model = opened(&storage, SourceKind::Custom, BOTH);
    let mut queries = [Query::required("long")];
    finish(model.find_all(&mut queries, &mut [0; 16])).expect("present");
    let (found, counts) = (queries[0].info(), storage.counts());
    drop(model.find_all(&mut queries, &mut [0; 16]));
    assert!(found.is_some());
    assert_eq!((queries[0].info(), storage.counts()), (found, counts));
}

fn test_readers(kind: SourceKind, waits: Waits) {
    let file = file();
    let storage = storage(&file);
    let (mut model, mut undisturbed) =
        (opened(&storage, kind, waits), opened(&storage, SourceKind::Slice, waits));
    let long = finish(undisturbed.find("long", &mut [0; 64])).expect("readable").expect("present");
    let mut reader = model.reader(&long).expect("tensor of this file");
    let mut undisturbed = undisturbed.reader(&long).expect("tensor of this file");
    for (name, read) in READINGS {
        for position in 0..LONG.len() as u64 {
            let _context = Context(|| format!("{name} from byte {position}"));
            undisturbed.seek(position).expect("in range");
            let expected = finish(read(&mut undisturbed));
            assert!(expected.is_ok(), "{expected:?}");
            at_every_wait(|wait| {
                reader.seek(position).expect("in range");
                let mut outcome = drop_at(wait, read(&mut reader));
                let is_complete = outcome.is_some();
                if !is_complete {
                    assert_eq!(reader.position(), position);
                    outcome = Some(finish(read(&mut reader)));
                }
                assert_eq!((outcome, reader.position()), (Some(expected.clone()), undisturbed.position()));
                is_complete
            });
        }
    }
}

fn test_values(kind: SourceKind, waits: Waits) {
    let file = file();
    let storage = storage(&file);
    let (mut model, mut undisturbed) =
        (opened(&storage, kind, waits), opened(&storage, SourceKind::Slice, waits));
    let long = finish(undisturbed.find("long", &mut [0; 64])).expect("readable").expect("present");
    test_values_calls(
        model.reader(&long).expect("tensor of this file").values(),
        undisturbed.reader(&long).expect("tensor of this file").values(),
    );
    test_values_calls(
        model.reader(&long).expect("tensor of this file").values().rounded(),
        undisturbed.reader(&long).expect("tensor of this file").values().rounded(),
    );
    test_values_calls(
        model.reader(&long).and_then(|reader| reader.rows(0..3)).expect("in range"),
        undisturbed.reader(&long).and_then(|reader| reader.rows(0..3)).expect("in range"),
    );
}

/// Reads the values of the tensor `long`, from each position on.
fn test_values_calls<const ROUNDED: bool>(
    mut reader: Reader<'_, '_, ROUNDED>,
    mut undisturbed: Reader<'_, '_, ROUNDED>,
) {
    for position in 0..3 {
        for (name, read) in values::<ROUNDED>() {
            let _context = Context(|| format!("{name} from element {position}"));
            undisturbed.seek(position).expect("in range");
            let expected = finish(read(&mut undisturbed));
            assert!(expected.is_ok(), "{expected:?}");
            at_every_wait(|wait| {
                reader.seek(position).expect("in range");
                let mut outcome = drop_at(wait, read(&mut reader));
                let is_complete = outcome.is_some();
                if !is_complete {
                    assert_eq!(reader.position(), position);
                    outcome = Some(finish(read(&mut reader)));
                }
                assert_eq!((outcome, reader.position()), (Some(expected.clone()), undisturbed.position()));
                is_complete
            });
        }
    }
}

fn test_random_drops(kind: SourceKind, waits: Waits) {
    let file = file();
    for seed in 0..200 {
        let _context = Context(|| format!("seed {seed}"));
        let storage = Storage::new(&file, Plan { reads: Reads::Random(seed), ..Plan::default() });
        let mut model = opened(&storage, kind, waits);
        let long = finish(model.find("long", &mut [0; 64])).expect("readable").expect("present");
        let mut reader = model.reader(&long).expect("tensor of this file");
        assert_eq!(read_with_interruptions(&mut reader, &mut Random::new(seed)), LONG);
    }
}

/// Continues after each dropped future as if it had never existed.
fn read_with_interruptions(reader: &mut TensorReader<'_, &mut Source<'_>>, random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    while reader.remaining() > 0 {
        let mut buffer = [0; 12];
        let buffer = &mut buffer[..8 + random.below(5)];
        let wait = random.below(8);
        match random.below(3) {
            0 => {
                let len = drop_at(wait, reader.read(buffer)).unwrap_or(Ok(0)).expect("no fault planned");
                bytes.extend(&buffer[..len]);
            }
            1 => {
                let chunk = drop_at(wait, reader.next_chunk(buffer)).unwrap_or(Ok(None));
                bytes.extend(chunk.expect("no fault planned").unwrap_or(&[]));
            }
            _ => bytes.extend(unwrap_bytes(drop_at(wait, reader.read_to_end(buffer)))),
        }
        assert_eq!(reader.position(), bytes.len() as u64);
    }
    bytes
}

fn unwrap_bytes(outcome: Option<Result<&[u8], ReadError<Fault>>>) -> &[u8] {
    match outcome {
        Some(Ok(bytes)) => bytes,
        Some(Err(ReadError::Format(error))) if matches!(error.kind, ErrorKind::BufferLength { .. }) => &[],
        Some(Err(error)) => panic!("{error:?}"),
        None => &[],
    }
}
