//! Futures that are dropped wherever they wait.

use embedded_io_async::Read;
use embedded_safetensors::asynch::{Model, TensorReader};
use embedded_safetensors::{ErrorKind, ReadError, query::Query, tensor::Located, validate::SortSlot};
use support::context::Context;
use support::executor::{drop_at, finish};
use support::mock::{Fault, Plan, Reads, Storage};
use support::random::Random;
use support::waiting::{Door, Source, Waits};

use crate::asynch::operations::{LONG, LOOKUPS, OPENINGS, READINGS, Reader, Report, file, values};

const BEFORE: Waits = Waits { before: 1, after: 0 };
const AFTER: Waits = Waits { before: 0, after: 1 };
const BOTH: Waits = Waits { before: 2, after: 1 };

/// Every test here leads through the door whose name it has.
macro_rules! doors {
    ($($name:ident: $door:expr, $waits:expr;)+) => {
        mod an_opening_that_was_dropped_can_be_made_again {
            use super::*;
            $(#[test] fn $name() { openings_can_be_made_again($door, $waits); })+
        }
        mod a_lookup_that_was_dropped_leaves_the_model_as_it_was {
            use super::*;
            $(#[test] fn $name() { lookups_leave_the_model($door, $waits); })+
        }
        mod a_search_that_was_dropped_has_found_nothing {
            use super::*;
            $(#[test] fn $name() { searches_find_nothing($door, $waits); })+
        }
        mod a_reader_stands_where_it_stood_before_what_was_dropped {
            use super::*;
            $(#[test] fn $name() { readers_stand($door, $waits); })+
        }
        mod values_that_were_dropped_can_be_read_again {
            use super::*;
            $(#[test] fn $name() { values_come_again($door, $waits); })+
        }
        mod a_reader_that_is_interrupted_at_random_loses_no_byte {
            use super::*;
            $(#[test] fn $name() { readers_lose_nothing($door, $waits); })+
        }
    };
}

doors! {
    own_before_it_has_read: Door::Own, BEFORE;
    own_after_it_has_read: Door::Own, AFTER;
    own_before_and_after: Door::Own, BOTH;
    seekable_before_it_has_moved: Door::Seekable, BEFORE;
    seekable_after_it_has_moved: Door::Seekable, AFTER;
    seekable_before_and_after: Door::Seekable, BOTH;
}

/// Short reads, so that there are many places to wait at.
fn storage(file: &[u8]) -> Storage<'_> {
    Storage::new(file, Plan { reads: Reads::AtMost(11), ..Plan::default() })
}

fn opened<'s>(storage: &'s Storage<'s>, door: Door, waits: Waits) -> Model<Source<'s>> {
    let mut slots = [SortSlot::EMPTY; 3];
    finish(Model::open_unordered(door.source(storage, waits), &mut slots, &mut [0; 64])).expect("it is sound")
}

/// Drops what `attempt` does at its first wait, its second, …, until it comes to its end. `attempt` says
/// whether it did.
fn at_every_wait(mut attempt: impl FnMut(usize) -> bool) {
    let waits = (0..).find(|&wait| {
        let _context = Context(|| format!("dropped at wait {wait}"));
        attempt(wait)
    });
    assert!(waits > Some(0), "it never waited");
}

fn openings_can_be_made_again(door: Door, waits: Waits) {
    for (name, file, open) in OPENINGS {
        let _context = Context(|| name.to_owned());
        let file = file();
        let expected = finish(open(&mut Door::Slice.source(&storage(&file), waits)));
        assert!(expected.is_ok(), "{expected:?}");
        let storage = storage(&file);
        let mut source = door.source(&storage, waits);
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

fn lookups_leave_the_model(door: Door, waits: Waits) {
    let file = file();
    let storage = storage(&file);
    let mut model = opened(&storage, door, waits);
    for (name, lookup) in LOOKUPS {
        let _context = Context(|| name.to_owned());
        let expected = finish(lookup(&mut opened(&storage, Door::Slice, waits)));
        assert!(expected.is_ok(), "{expected:?}");
        at_every_wait(|wait| {
            let outcome = drop_at(wait, lookup(&mut model));
            assert_eq!(finish(lookup(&mut model)), expected, "made again");
            assert!(drop_at(wait / 2, lookup(&mut model)).is_none());
            long_is_read_right(&mut model);
            completed(outcome, &expected)
        });
    }
}

fn long_is_read_right(model: &mut Model<Source<'_>>) {
    let long = finish(model.find("long", &mut [0; 64])).expect("it can be read").expect("it is there");
    let mut reader = model.reader(&long).expect("it is this file's");
    assert_eq!(finish(reader.read_to_end(&mut [0; 12])), Ok(LONG));
}

fn searches_find_nothing(door: Door, waits: Waits) {
    let file = file();
    let storage = storage(&file);
    let mut model = opened(&storage, door, waits);
    let mut wanted = [Query::required("long"), Query::optional("ab")];
    at_every_wait(|wait| {
        finish(model.find_all(&mut wanted, &mut [0; 16])).expect("they are there");
        assert!(wanted.iter().all(|one| one.info().is_some()), "what was found before must go");
        let outcome = drop_at(wait, model.find_all(&mut wanted, &mut [0; 16]));
        let is_complete = outcome.is_some();
        for one in &wanted {
            assert_eq!(one.info().is_some(), is_complete, "{}", one.name());
            assert_eq!(one.locate().is_ok(), is_complete, "{}", one.name());
            let unknown = Err(ErrorKind::NotFound { query: None }.at(0));
            assert!(is_complete || model.reader(one).map(|_| ()) == unknown);
        }
        is_complete
    });
}

#[test]
fn a_future_that_was_never_polled_has_done_nothing() {
    let file = file();
    let storage = storage(&file);
    let mut model = opened(&storage, Door::Own, BOTH);
    let mut wanted = [Query::required("long")];
    finish(model.find_all(&mut wanted, &mut [0; 16])).expect("it is there");
    let (found, counts) = (wanted[0].info(), storage.counts());
    drop(model.find_all(&mut wanted, &mut [0; 16]));
    assert!(found.is_some());
    assert_eq!((wanted[0].info(), storage.counts()), (found, counts));
}

fn readers_stand(door: Door, waits: Waits) {
    let file = file();
    let storage = storage(&file);
    let (mut model, mut calm) = (opened(&storage, door, waits), opened(&storage, Door::Slice, waits));
    let long = finish(calm.find("long", &mut [0; 64])).expect("it can be read").expect("it is there");
    let mut reader = model.reader(&long).expect("it is this file's");
    let mut calm = calm.reader(&long).expect("it is this file's");
    for (name, read) in READINGS {
        for position in 0..LONG.len() as u64 {
            let _context = Context(|| format!("{name} from byte {position}"));
            calm.seek(position).expect("it is inside");
            let expected = finish(read(&mut calm));
            assert!(expected.is_ok(), "{expected:?}");
            at_every_wait(|wait| {
                reader.seek(position).expect("it is inside");
                let mut outcome = drop_at(wait, read(&mut reader));
                let is_complete = outcome.is_some();
                if !is_complete {
                    assert_eq!(reader.position(), position);
                    outcome = Some(finish(read(&mut reader)));
                }
                assert_eq!((outcome, reader.position()), (Some(expected.clone()), calm.position()));
                is_complete
            });
        }
    }
}

fn values_come_again(door: Door, waits: Waits) {
    let file = file();
    let storage = storage(&file);
    let (mut model, mut calm) = (opened(&storage, door, waits), opened(&storage, Door::Slice, waits));
    let long = finish(calm.find("long", &mut [0; 64])).expect("it can be read").expect("it is there");
    each_call_of_values_comes_again(
        model.reader(&long).expect("it is this file's").values(),
        calm.reader(&long).expect("it is this file's").values(),
    );
    each_call_of_values_comes_again(
        model.reader(&long).expect("it is this file's").values().rounded(),
        calm.reader(&long).expect("it is this file's").values().rounded(),
    );
    each_call_of_values_comes_again(
        model.reader(&long).and_then(|reader| reader.rows(0..3)).expect("it has them"),
        calm.reader(&long).and_then(|reader| reader.rows(0..3)).expect("it has them"),
    );
}

/// Reads the values of the tensor `long`, from each on.
fn each_call_of_values_comes_again<const ROUNDED: bool>(
    mut reader: Reader<'_, '_, ROUNDED>,
    mut calm: Reader<'_, '_, ROUNDED>,
) {
    for position in 0..3 {
        for (name, read) in values::<ROUNDED>() {
            let _context = Context(|| format!("{name} from element {position}"));
            calm.seek(position).expect("it is inside");
            let expected = finish(read(&mut calm));
            assert!(expected.is_ok(), "{expected:?}");
            at_every_wait(|wait| {
                reader.seek(position).expect("it is inside");
                let mut outcome = drop_at(wait, read(&mut reader));
                let is_complete = outcome.is_some();
                if !is_complete {
                    assert_eq!(reader.position(), position);
                    outcome = Some(finish(read(&mut reader)));
                }
                assert_eq!((outcome, reader.position()), (Some(expected.clone()), calm.position()));
                is_complete
            });
        }
    }
}

fn readers_lose_nothing(door: Door, waits: Waits) {
    let file = file();
    for seed in 0..200 {
        let _context = Context(|| format!("seed {seed}"));
        let storage = Storage::new(&file, Plan { reads: Reads::Random(seed), ..Plan::default() });
        let mut model = opened(&storage, door, waits);
        let long = finish(model.find("long", &mut [0; 64])).expect("it can be read").expect("it is there");
        let mut reader = model.reader(&long).expect("it is this file's");
        assert_eq!(read_with_interruptions(&mut reader, &mut Random::new(seed)), LONG);
    }
}

/// Goes on after each future that was dropped as if nothing had been.
fn read_with_interruptions(reader: &mut TensorReader<'_, &mut Source<'_>>, random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    while reader.remaining() > 0 {
        let mut buffer = [0; 12];
        let buffer = &mut buffer[..8 + random.below(5)];
        let wait = random.below(8);
        match random.below(3) {
            0 => {
                let len = drop_at(wait, reader.read(buffer)).unwrap_or(Ok(0)).expect("no fault is planned");
                bytes.extend(&buffer[..len]);
            }
            1 => {
                let chunk = drop_at(wait, reader.next_chunk(buffer)).unwrap_or(Ok(None));
                bytes.extend(chunk.expect("no fault is planned").unwrap_or(&[]));
            }
            _ => bytes.extend(all_that_fits(drop_at(wait, reader.read_to_end(buffer)))),
        }
        assert_eq!(reader.position(), bytes.len() as u64);
    }
    bytes
}

fn all_that_fits(outcome: Option<Result<&[u8], ReadError<Fault>>>) -> &[u8] {
    match outcome {
        Some(Ok(bytes)) => bytes,
        Some(Err(ReadError::Format(error))) if matches!(error.kind, ErrorKind::BufferLength { .. }) => &[],
        Some(Err(error)) => panic!("{error:?}"),
        None => &[],
    }
}
