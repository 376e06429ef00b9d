//! A stream as a source never relies on its position after a future was dropped.

use embedded_safetensors::asynch::{ReadAt, Seekable};
use support::context::Context;
use support::executor::{drop_at, finish};
use support::mock::{Plan, Storage};
use support::sources::Stream;
use support::waiting::{Waiting, Waits};

const FILE: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

type Source<'s> = Seekable<Waiting<Stream<'s>>>;

const BEFORE: Waits = Waits { before: 1, after: 0 };
const AFTER: Waits = Waits { before: 0, after: 1 };

fn source<'s>(storage: &'s Storage<'s>, waits: Waits) -> Source<'s> {
    Seekable::new(Waiting::new(Stream::new(storage), waits))
}

fn assert_reads(source: &mut Source<'_>, offset: usize) {
    let mut buffer = [0; 4];
    assert_eq!(finish(source.read_at(offset as u64, &mut buffer)), Ok(4), "at {offset}");
    assert_eq!(buffer, FILE[offset..offset + 4], "at {offset}");
}

/// After the drop, the next read may continue from the one before, or need a seek first.
#[test]
fn seeks_after_a_dropped_read() {
    // A read at an offset that does not follow seeks first, so it waits twice.
    let drops =
        [(4, 0), (20, 0), (20, 1)].into_iter().flat_map(|at| [BEFORE, AFTER].map(|waits| (at, waits)));
    for ((offset, wait), waits) in drops {
        for next in [0, 4, 8, 20, 24] {
            let _context = Context(|| format!("{next} after {offset}, dropped at wait {wait}, {waits:?}"));
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
