//! Futures that are dropped, where more than their repeated call tells what they left behind.

use embedded_safetensors::asynch::Model;
use embedded_safetensors::{ErrorKind, query::Query, slice::AxisRange, tensor::Located, validate::SortSlot};
use support::context::Context;
use support::executor::{drop_at, finish};
use support::file::with_header;
use support::mock::{Plan, Reads, Storage};
use support::waiting::{Source, SourceKind, Waits};

use crate::asynch::file;

/// Before a call has an effect, after it, and both.
const WAITS: [Waits; 3] =
    [Waits { before: 1, after: 0 }, Waits { before: 0, after: 1 }, Waits { before: 2, after: 1 }];

/// Calls `test` with each kind of source that waits, and with each place to wait.
fn each_source(test: impl Fn(SourceKind, Waits)) {
    for kind in [SourceKind::Custom, SourceKind::Seekable] {
        for waits in WAITS {
            let _context = Context(|| format!("{kind:?}, {waits:?}"));
            test(kind, waits);
        }
    }
}

fn opened<'s>(storage: &'s Storage<'s>, kind: SourceKind, waits: Waits) -> Model<Source<'s>> {
    let mut slots = [SortSlot::EMPTY; 3];
    finish(Model::open_unordered(kind.source(storage, waits), &mut slots, &mut [0; 64])).expect("valid file")
}

/// Short reads, so that there are many waits.
fn short() -> Plan {
    Plan { reads: Reads::AtMost(11), ..Plan::default() }
}

#[test]
fn dropped_find_all_has_no_results() {
    let file = file();
    each_source(|kind, waits| {
        let storage = Storage::new(&file, short());
        let mut model = opened(&storage, kind, waits);
        let mut queries = [Query::required("long"), Query::optional("ab")];
        let needed = (0..).find(|&wait| {
            finish(model.find_all(&mut queries, &mut [0; 16])).expect("present");
            assert!(queries.iter().all(|one| one.info().is_some()), "earlier results are cleared");
            let is_complete = drop_at(wait, model.find_all(&mut queries, &mut [0; 16])).is_some();
            for one in &queries {
                assert_eq!(one.info().is_some(), is_complete, "{}, wait {wait}", one.name());
                assert_eq!(one.locate().is_ok(), is_complete, "{}, wait {wait}", one.name());
                let unknown = Err(ErrorKind::NotFound { query: None }.at(0));
                assert!(is_complete || model.reader(one).map(|_| ()) == unknown);
            }
            is_complete
        });
        assert!(needed > Some(0), "it never waited");
    });
}

#[test]
fn unpolled_future_does_nothing() {
    let file = file();
    let storage = Storage::new(&file, short());
    let mut model = opened(&storage, SourceKind::Custom, WAITS[2]);
    let mut queries = [Query::required("long")];
    finish(model.find_all(&mut queries, &mut [0; 16])).expect("present");
    let (found, counts) = (queries[0].info(), storage.counts());
    drop(model.find_all(&mut queries, &mut [0; 16]));
    assert!(found.is_some());
    assert_eq!((queries[0].info(), storage.counts()), (found, counts));
}

/// Runs so far apart that each is read by itself; any of their reads may be dropped.
#[test]
fn dropped_read_of_distant_runs_leaves_position_unchanged() {
    let mut file = with_header(r#"{"t":{"dtype":"U16","shape":[5,50],"data_offsets":[0,500]}}"#, 0);
    file.extend((0..250u16).flat_map(u16::to_le_bytes));
    let expected = [3u16, 53, 103, 153, 203];
    each_source(|kind, waits| {
        let storage = Storage::new(&file, Plan::default());
        let mut model = opened(&storage, kind, waits);
        let tensor = finish(model.find("t", &mut [0; 64])).expect("readable").expect("present");
        let column = [AxisRange::ALL, AxisRange::index(3)];
        for wait in 0..5 * (waits.before + waits.after) {
            let _context = Context(|| format!("wait {wait}"));
            let mut bytes = model.reader(&tensor).and_then(|reader| reader.slice(&column)).expect("in range");
            assert!(drop_at(wait, bytes.next_chunk(&mut [0; 10])).is_none());
            assert!(drop_at(wait, bytes.read_to_end(&mut [0; 10])).is_none());
            assert_eq!(bytes.remaining(), 5);
            let mut values = bytes.values();
            assert!(drop_at(wait, values.read(&mut [0u16; 5])).is_none());
            assert!(drop_at(wait, values.read_exact(&mut [0f32; 5])).is_none());
            assert_eq!((values.position(), values.remaining()), (0, 5));
            assert_eq!(finish(values.read(&mut [0; 5])), Ok(&expected[..]));
        }
    });
}
