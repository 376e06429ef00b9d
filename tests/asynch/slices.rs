//! Slices from storage that is awaited, dropped, or fails: the same results as from the blocking reader.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use embedded_safetensors::asynch::{Model, SliceReader, Values};
use embedded_safetensors::{self as blocking, ReadError, TensorInfo, reader::Sliced, slice::AxisRange};
use support::context::Context;
use support::executor::{drop_at, finish};
use support::file::with_header;
use support::mock::{Counts, Failure, Fault, Plan, Reads, Storage};
use support::waiting::{Source, SourceKind, Waits};

const WAITS: Waits = Waits { before: 1, after: 1 };

type Report = Result<String, ReadError<Fault>>;
type BoxedReport<'a> = Pin<Box<dyn Future<Output = Report> + 'a>>;

/// A slice as bytes, as exact values, or as rounded ones.
enum Reader<B, E, R> {
    Bytes(B),
    Exact(E),
    Rounded(R),
}

type Asynch<'m, 's> = Reader<
    SliceReader<&'m mut Source<'s>>,
    Values<&'m mut Source<'s>, Sliced>,
    Values<&'m mut Source<'s>, Sliced, true>,
>;
type Blocking<'m, 's> = Reader<
    blocking::reader::SliceReader<&'m mut &'s Storage<'s>>,
    blocking::reader::Values<&'m mut &'s Storage<'s>, Sliced>,
    blocking::reader::Values<&'m mut &'s Storage<'s>, Sliced, true>,
>;

/// The same call of both readers, on one of the three kinds.
struct Reading {
    name: &'static str,
    kind: Reader<(), (), ()>,
    asynch: for<'a, 'm, 's> fn(&'a mut Asynch<'m, 's>) -> BoxedReport<'a>,
    blocking: for<'a, 'm, 's> fn(&'a mut Blocking<'m, 's>) -> Report,
}

macro_rules! report {
    (read_exact $outcome:expr, $memory:ident) => {{
        let outcome = $outcome;
        report_of(outcome.map(|()| $memory))
    }};
    ($call:ident $outcome:expr, $memory:ident) => {
        report_of($outcome)
    };
}

/// Each call gets new memory, for as many elements as are left.
macro_rules! readings {
    ($($kind:ident $call:ident $memory:expr;)+) => {
        [$(Reading {
            name: concat!(stringify!($kind), " ", stringify!($call)),
            kind: Reader::$kind(()),
            asynch: |reader| Box::pin(async move {
                let Reader::$kind(reader) = reader else { panic!("it is of another kind") };
                let mut memory = buffer_for(reader.remaining(), $memory);
                report!($call reader.$call(&mut memory).await, memory)
            }),
            blocking: |reader| {
                let Reader::$kind(reader) = reader else { panic!("it is of another kind") };
                let mut memory = buffer_for(reader.remaining(), $memory);
                report!($call reader.$call(&mut memory), memory)
            },
        }),+]
    };
}

const READINGS: [Reading; 9] = readings! {
    Bytes next_chunk |_| vec![0; 21];
    Bytes read_to_end |_| vec![0; 160];
    Exact read |_| vec![0f64; 3];
    Exact read |_| vec![0f32; 40];
    Exact read_exact |left| vec![0f64; left.min(3)];
    Exact read_exact |left| vec![0f32; left];
    Rounded read |_| vec![0f32; 5];
    Rounded read_exact |left| vec![0f32; left.min(4)];
    Rounded read_exact |left| vec![0f64; left];
};

fn buffer_for<T>(left: u64, memory: fn(usize) -> Vec<T>) -> Vec<T> {
    memory(usize::try_from(left).expect("fits in usize"))
}

impl Reading {
    fn asynch<'m, 's>(&self, slice: SliceReader<&'m mut Source<'s>>) -> Asynch<'m, 's> {
        match self.kind {
            Reader::Bytes(()) => Reader::Bytes(slice),
            Reader::Exact(()) => Reader::Exact(slice.values()),
            Reader::Rounded(()) => Reader::Rounded(slice.values().rounded()),
        }
    }

    fn blocking<'m, 's>(
        &self,
        slice: blocking::reader::SliceReader<&'m mut &'s Storage<'s>>,
    ) -> Blocking<'m, 's> {
        match self.kind {
            Reader::Bytes(()) => Reader::Bytes(slice),
            Reader::Exact(()) => Reader::Exact(slice.values()),
            Reader::Rounded(()) => Reader::Rounded(slice.values().rounded()),
        }
    }
}

impl Asynch<'_, '_> {
    fn remaining(&self) -> u64 {
        match self {
            Self::Bytes(reader) => reader.remaining(),
            Self::Exact(reader) => reader.remaining(),
            Self::Rounded(reader) => reader.remaining(),
        }
    }

    fn read_some(&mut self) {
        match self {
            Self::Bytes(reader) => finish(reader.next_chunk(&mut [0; 8])).map(drop),
            Self::Exact(reader) => finish(reader.read_exact(&mut [0f32; 2])),
            Self::Rounded(reader) => finish(reader.read_exact(&mut [0f32; 2])),
        }
        .expect("no faults yet");
    }
}

fn report_of(outcome: Result<impl Debug, ReadError<Fault>>) -> Report {
    outcome.map(|value| format!("{value:?}"))
}

/// Runs that are close, and others that are not; F32.
fn ranges() -> [[AxisRange; 3]; 2] {
    let (all, step) = (AxisRange::ALL, |step| AxisRange::ALL.step_by(step));
    [[(1..3).into(), step(2), step(2)], [step(3), all, AxisRange::index(1)]]
}

fn file() -> Vec<u8> {
    let header = r#"{"t":{"dtype":"F32","shape":[4,3,20],"data_offsets":[0,960]}}"#;
    let mut file = with_header(header, 0);
    file.extend((0..240u16).flat_map(|number| f32::from(number).to_le_bytes()));
    file
}

/// A model, and the description of its tensor.
type Opened<'s> = (Model<Source<'s>>, TensorInfo);

fn opened<'s>(storage: &'s Storage<'s>) -> Opened<'s> {
    let mut model =
        finish(Model::open(SourceKind::Custom.source(storage, WAITS), &mut [0; 64])).expect("valid file");
    let tensor = finish(model.find("t", &mut [0; 64])).expect("readable").expect("present");
    (model, tensor)
}

/// Returns a reader that has already read some of the slice, and its remaining elements.
fn started<'m, 's>(
    reading: &Reading,
    (model, tensor): &'m mut Opened<'s>,
    ranges: &[AxisRange],
) -> Asynch<'m, 's> {
    let slice = model.reader(tensor).and_then(|tensor| tensor.slice(ranges)).expect("in range");
    let mut reader = reading.asynch(slice);
    reader.read_some();
    reader
}

fn short() -> Plan {
    Plan { reads: Reads::AtMost(11), ..Plan::default() }
}

/// Returns the outcome without faults, and the remaining elements.
fn undisturbed(reading: &Reading, ranges: &[AxisRange]) -> (Report, u64) {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let mut model = opened(&storage);
    let mut reader = started(reading, &mut model, ranges);
    let outcome = finish((reading.asynch)(&mut reader));
    assert!(outcome.is_ok(), "{outcome:?}");
    (outcome, reader.remaining())
}

fn each_reading(check: impl Fn(&Reading, &[AxisRange], &(Report, u64))) {
    for ranges in ranges() {
        for reading in &READINGS {
            let _context = Context(|| format!("{}, {ranges:?}", reading.name));
            check(reading, &ranges, &undisturbed(reading, &ranges));
        }
    }
}

#[test]
fn dropped_read_leaves_slice_position_unchanged() {
    each_reading(|reading, ranges, expected| {
        let waits = (0..).find(|&wait| {
            let file = file();
            let storage = Storage::new(&file, Plan::default());
            let mut model = opened(&storage);
            let mut reader = started(reading, &mut model, ranges);
            storage.set_plan(short());
            let left = reader.remaining();
            let mut outcome = drop_at(wait, (reading.asynch)(&mut reader));
            let is_complete = outcome.is_some();
            if !is_complete {
                assert_eq!(reader.remaining(), left, "wait {wait}");
                outcome = Some(finish((reading.asynch)(&mut reader)));
            }
            assert_eq!((outcome, reader.remaining()), (Some(expected.0.clone()), expected.1), "wait {wait}");
            is_complete
        });
        assert!(waits > Some(3), "it never waited");
    });
}

#[test]
fn error_leaves_slice_position_unchanged() {
    each_reading(|reading, ranges, expected| {
        let failures = (0..).find(|&call| {
            let file = file();
            let storage = Storage::new(&file, Plan::default());
            let mut model = opened(&storage);
            let mut reader = started(reading, &mut model, ranges);
            storage.set_plan(Plan { failure: Some(Failure::Once(call)), ..short() });
            let left = reader.remaining();
            let outcome = finish((reading.asynch)(&mut reader));
            let was_asked = storage.counts().calls > call;
            if was_asked {
                assert_eq!(outcome, Err(ReadError::Source(Fault::Broken)));
                assert_eq!(reader.remaining(), left, "call {call}");
                assert_eq!(finish((reading.asynch)(&mut reader)), expected.0);
            }
            assert_eq!(reader.remaining(), expected.1);
            !was_asked
        });
        assert!(failures > Some(0), "it never called the storage");
    });
}

#[test]
fn slices_and_reads_match_blocking() {
    let plans = (0..20).map(|call| Plan { failure: Some(Failure::Since(call)), ..Plan::default() });
    for plan in plans.chain([Plan::default(), short()]) {
        each_reading(|reading, ranges, _| {
            let _context = Context(|| format!("{plan:?}"));
            assert_eq!(to_the_end(reading, ranges, &plan), blocking_to_the_end(reading, ranges, &plan));
        });
    }
}

fn to_the_end(reading: &Reading, ranges: &[AxisRange], plan: &Plan) -> (Vec<Report>, Counts) {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let (mut model, tensor) = opened(&storage);
    let slice = model.reader(&tensor).and_then(|tensor| tensor.slice(ranges)).expect("in range");
    let mut reader = reading.asynch(slice);
    storage.set_plan(plan.clone());
    let mut reports = vec![];
    for _ in 0..40 {
        reports.push(finish((reading.asynch)(&mut reader)));
    }
    (reports, storage.counts())
}

fn blocking_to_the_end(reading: &Reading, ranges: &[AxisRange], plan: &Plan) -> (Vec<Report>, Counts) {
    let file = file();
    let storage = Storage::new(&file, Plan::default());
    let mut model = blocking::Model::open(&storage, &mut [0; 64]).expect("valid file");
    let tensor = model.find("t", &mut [0; 64]).expect("readable").expect("present");
    let slice = model.reader(&tensor).and_then(|tensor| tensor.slice(ranges)).expect("in range");
    let mut reader = reading.blocking(slice);
    storage.set_plan(plan.clone());
    let mut reports = vec![];
    for _ in 0..40 {
        reports.push((reading.blocking)(&mut reader));
    }
    (reports, storage.counts())
}
