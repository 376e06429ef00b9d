//! A stream as a source: it seeks as rarely as possible, and never relies on an uncertain position.

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
fn seeks_only_for_non_sequential_reads() {
    let storage = Storage::new(FILE, Plan::default());
    let mut source = source(&storage, BEFORE);
    for (offset, seeks) in [(0, 1), (4, 1), (8, 1), (8, 2), (12, 2), (2, 3), (6, 3), (34, 4), (36, 4)] {
        assert_reads(&mut source, offset);
        assert_eq!(storage.counts().seeks, seeks, "at {offset}");
    }
}

#[test]
fn length_is_the_end_position() {
    let storage = Storage::new(FILE, Plan::default());
    let mut source = source(&storage, BEFORE);
    assert_eq!(finish(source.file_len()), Ok(FileLen::Exactly(36)));
    assert_reads(&mut source, 0);
}

#[test]
fn into_inner_returns_the_stream() {
    let storage = Storage::new(FILE, Plan::default());
    let mut source = source(&storage, BEFORE);
    assert_reads(&mut source, 8);
    let mut stream = source.into_inner();
    let mut buffer = [0; 2];
    assert_eq!(finish(embedded_io_async::Read::read(&mut stream, &mut buffer)), Ok(2));
    assert_eq!(&buffer, b"cd");
}

#[test]
fn interrupted_calls_are_repeated() {
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

/// After a failed read, the position of the stream is unspecified.
#[test]
fn seeks_after_a_failed_call() {
    for call in 0..4 {
        let _context = Context(|| format!("call {call} fails"));
        let storage = Storage::new(FILE, Plan { failure: Some(Failure::Once(call)), ..Plan::default() });
        let mut source = source(&storage, BEFORE);
        let outcomes = [0, 4, 20].map(|offset| read(&mut source, offset).map_err(|error| (offset, error)));
        let failed: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
        let [(offset, Fault::Broken)] = failed[..] else { panic!("{failed:?}") };
        storage.set_plan(Plan::default());
        assert_reads(&mut source, offset);
        assert_eq!(storage.counts().seeks, 1);
    }
}

#[test]
fn seeks_after_a_read_dropped_before_the_move() {
    test_dropped_read(BEFORE);
}

#[test]
fn seeks_after_a_read_dropped_after_the_move() {
    test_dropped_read(AFTER);
}

/// After the drop, the next read may continue from the one before, or need a seek first.
fn test_dropped_read(waits: Waits) {
    for (offset, waits_of_read) in [(4, 1), (20, 2)] {
        for next in [0, 4, 8, 20, 24] {
            for wait in 0..waits_of_read {
                let _context = Context(|| format!("{next} after {offset}, dropped at wait {wait}"));
                let storage = Storage::new(FILE, Plan::default());
                let mut source = source(&storage, waits);
                assert_reads(&mut source, 0);
                assert!(drop_at(wait, source.read_at(offset, &mut [0; 4])).is_none());
                storage.set_plan(Plan::default());
                assert_reads(&mut source, next);
                assert_eq!(storage.counts().seeks, 1, "the position was unspecified");
            }
        }
    }
}

#[test]
fn seeks_after_a_dropped_length_query() {
    for waits in [BEFORE, AFTER] {
        let storage = Storage::new(FILE, Plan::default());
        let mut source = source(&storage, waits);
        assert_reads(&mut source, 0);
        assert!(drop_at(0, source.file_len()).is_none());
        assert_reads(&mut source, 4);
        assert_reads(&mut source, 8);
    }
}
