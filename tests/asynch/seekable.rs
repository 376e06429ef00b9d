//! What reads and seeks, as a source: it is moved as rarely as can be, and never believed to stand where it
//! may not.

use embedded_safetensors::asynch::{ReadAt, Seekable};
use embedded_safetensors::io::FileLen;
use support::context::Context;
use support::executor::{drop_at, finish};
use support::mock::{Failure, Fault, Plan, Storage};
use support::sources::Stream;
use support::waiting::{Waiting, Waits};

const FILE: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

type Source<'s> = Seekable<Waiting<Stream<'s>>>;

const BEFORE: Waits = Waits { before: 1, after: 0 };
const AFTER: Waits = Waits { before: 0, after: 1 };

fn source<'s>(storage: &'s Storage<'s>, waits: Waits) -> Source<'s> {
    Seekable::new(Waiting::new(Stream::new(storage), waits))
}

fn read(source: &mut Source<'_>, offset: usize) -> Result<Vec<u8>, Fault> {
    let mut buffer = [0; 4];
    let len = finish(source.read_at(offset as u64, &mut buffer))?;
    Ok(buffer[..len].to_vec())
}

fn assert_reads(source: &mut Source<'_>, offset: usize) {
    let expected = &FILE[offset..FILE.len().min(offset + 4)];
    assert_eq!(read(source, offset).as_deref(), Ok(expected), "at {offset}");
}

#[test]
fn it_seeks_only_where_a_read_does_not_go_on_from_the_one_before() {
    let storage = Storage::new(FILE, Plan::default());
    let mut source = source(&storage, BEFORE);
    for (offset, seeks) in [(0, 1), (4, 1), (8, 1), (8, 2), (12, 2), (2, 3), (6, 3), (34, 4), (36, 4)] {
        assert_reads(&mut source, offset);
        assert_eq!(storage.counts().seeks, seeks, "at {offset}");
    }
}

#[test]
fn the_length_is_where_the_end_is() {
    let storage = Storage::new(FILE, Plan::default());
    let mut source = source(&storage, BEFORE);
    assert_eq!(finish(source.file_len()), Ok(FileLen::Exactly(36)));
    assert_reads(&mut source, 0);
}

#[test]
fn a_stream_is_given_back() {
    let storage = Storage::new(FILE, Plan::default());
    let mut source = source(&storage, BEFORE);
    assert_reads(&mut source, 8);
    let mut stream = source.into_inner();
    let mut buffer = [0; 2];
    assert_eq!(finish(embedded_io_async::Read::read(&mut stream, &mut buffer)), Ok(2));
    assert_eq!(&buffer, b"cd");
}

#[test]
fn interrupted_calls_are_made_again() {
    let storage = Storage::new(FILE, Plan { interrupted_every: Some(1), ..Plan::default() });
    let mut source = source(&storage, BEFORE);
    assert_eq!(finish(source.file_len()), Ok(FileLen::Exactly(36)));
    for offset in [0, 4, 20] {
        assert_reads(&mut source, offset);
    }
    let counts = storage.counts();
    assert_eq!((counts.reads, counts.seeks), (3, 3));
    assert_eq!(counts.interruptions, counts.calls);
}

/// The stream stands elsewhere after a read that failed.
#[test]
fn after_a_call_that_failed_it_seeks() {
    for call in 0..4 {
        let _context = Context(|| format!("call {call} fails"));
        let storage = Storage::new(FILE, Plan { failure: Some(Failure::Once(call)), ..Plan::default() });
        let mut source = source(&storage, BEFORE);
        let outcomes = [0, 4, 20].map(|offset| read(&mut source, offset).map_err(|error| (offset, error)));
        let failed: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
        let [(offset, Fault::Broken)] = failed[..] else { panic!("{failed:?}") };
        storage.follow(Plan::default());
        assert_reads(&mut source, offset);
        assert_eq!(storage.counts().seeks, 1);
    }
}

#[test]
fn after_a_read_that_was_dropped_before_the_stream_moved_it_seeks() {
    a_dropped_read_is_made_again(BEFORE);
}

#[test]
fn after_a_read_that_was_dropped_after_the_stream_moved_it_seeks() {
    a_dropped_read_is_made_again(AFTER);
}

/// Where the read goes on from the one before, and where it needs a seek first.
fn a_dropped_read_is_made_again(waits: Waits) {
    for (offset, waits_of_read) in [(4, 1), (20, 2)] {
        for next in [0, 4, 8, 20, 24] {
            for wait in 0..waits_of_read {
                let _context = Context(|| format!("{next} after {offset}, dropped at wait {wait}"));
                let storage = Storage::new(FILE, Plan::default());
                let mut source = source(&storage, waits);
                assert_reads(&mut source, 0);
                assert!(drop_at(wait, source.read_at(offset, &mut [0; 4])).is_none());
                storage.follow(Plan::default());
                assert_reads(&mut source, next);
                assert_eq!(storage.counts().seeks, 1, "nobody knows where it stood");
            }
        }
    }
}

#[test]
fn after_a_question_for_the_length_that_was_dropped_it_seeks() {
    for waits in [BEFORE, AFTER] {
        let storage = Storage::new(FILE, Plan::default());
        let mut source = source(&storage, waits);
        assert_reads(&mut source, 0);
        assert!(drop_at(0, source.file_len()).is_none());
        assert_reads(&mut source, 4);
        assert_reads(&mut source, 8);
    }
}
