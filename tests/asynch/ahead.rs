//! Tensors that are read while parts of them are used: how long it takes, and that nothing is lost or used
//! twice.

use std::cell::RefCell;
use std::fmt::Debug;

use embedded_safetensors::asynch::{Model, NorFile, ReadAt};
use embedded_safetensors::error::QueryIndex;
use embedded_safetensors::{
    Dtype, ErrorKind, ReadError, View, query::Query, tensor::DtypeSet, values::dtypes::F32, write::Placement,
};
use support::clock::{Clock, Timed};
use support::context::Context;
use support::dictionary::{Dictionary, Named};
use support::executor::{drop_at, finish, wait};
use support::mock::{Failure, Plan, Reads, Storage};
use support::random::Random;
use support::share;
use support::waiting::{Waiting, Waits};
use support::writing::{Description, write_planned};

/// Returns a file of three tensors of any bytes. Its data begins at a multiple of 512.
fn file_of(tensors: &[(Dtype, Vec<u64>); 3], random: &mut Random) -> Vec<u8> {
    let mut dictionary = Dictionary::default();
    for (name, (dtype, dims)) in NAMES.into_iter().zip(tensors) {
        dictionary.tensors.push(Named::random(name.to_owned(), *dtype, dims.clone(), random));
    }
    let description = Description::new(&dictionary);
    let (mut memory, placement) = (description.memory(), Placement::Start(512));
    let plan = description.spec().with_placement(placement).plan_sorted(&mut memory).expect("valid");
    write_planned(&dictionary, plan)
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Opens a model and finds its tensors.
async fn open<S: ReadAt>(source: S) -> Result<(Model<S>, [Query<'static>; 3]), ReadError<S::Error>> {
    let mut queries = NAMES.map(Query::required);
    let model = Model::open_with(source, &mut queries, &mut [0; 512]).await?;
    Ok((model, queries))
}

/// A file in storage, and what is done with each of its values.
#[derive(Clone, Copy, Debug)]
struct Work {
    /// Nanoseconds of a command, bytes per second, and bytes of a unit.
    storage: (u64, u64, usize),
    dtype: Dtype,
    columns: u64,
    /// Nanoseconds.
    of_value: u64,
    /// Whether something is awaited after each row.
    yields: bool,
}

/// The time that reading and computing takes, the bytes that are read, and the parts.
type Cost = (u64, u64, u64);

impl Work {
    fn cost(self, file: &[u8]) -> Cost {
        let (clock, (latency, rate, unit)) = (&Clock::default(), self.storage);
        match unit {
            1 => self.run(clock, NorFile::new(Timed::<1> { file, clock, latency, rate })),
            4 => self.run(clock, NorFile::new(Timed::<4> { file, clock, latency, rate })),
            32 => self.run(clock, NorFile::new(Timed::<32> { file, clock, latency, rate })),
            _ => self.run(clock, Timed::<512> { file, clock, latency, rate }),
        }
    }

    fn run(self, clock: &Clock, source: impl ReadAt<Error: Debug>) -> Cost {
        let (mut model, layers) = clock.time(open(source)).1.expect("valid");
        let len = 8192 * 8 / usize::from(self.dtype.bits());
        let (mut a, mut b, mut parts) = (vec![0.0_f32; len], vec![0.0_f32; len], 0);
        let ahead = model.read_ahead(&layers).and_then(|ahead| ahead.in_units(self.storage.2));
        let before = clock.read.get();
        let (time, outcome) = clock.time(ahead.expect("found").for_each([&mut a, &mut b], async |part| {
            parts += 1;
            let columns = usize::try_from(self.columns).unwrap();
            assert!(columns > len || part.values.len().is_multiple_of(columns), "whole rows");
            for row in part.values.chunks(columns) {
                clock.compute(row.len() as u64 * self.of_value);
                if self.yields {
                    clock.wait(0).await;
                }
            }
        }));
        outcome.expect("readable");
        (time, clock.read.get() - before, parts)
    }
}

/// Within 5 %. Reading is the same reads without computing.
#[test]
fn time_is_the_longer_one_of_reading_and_computing() {
    let cards = [(400_000, 1_670_000, 512), (100_000, 8_390_000, 512)];
    let chips = [1, 4, 32].map(|unit| (2_000, 40_000_000, unit));
    for (dtype, columns, rows) in [
        (Dtype::F32, 256, 200),
        (Dtype::F32, 250, 200),
        (Dtype::I8, 512, 800),
        (Dtype::I8, 250, 800),
        // Longer than a buffer.
        (Dtype::F32, 3000, 30),
    ] {
        let tensors = [rows, 0, rows].map(|rows| (dtype, vec![rows, columns]));
        let mut file = file_of(&tensors, &mut Random::new(0));
        file.resize(file.len().next_multiple_of(512), 0);
        for storage in cards.into_iter().chain(chips) {
            let work = Work { storage, dtype, columns, of_value: 0, yields: false };
            let (reading, bytes, parts) = work.cost(&file);
            assert!(parts >= 40 && bytes * 10 <= file.len() as u64 * 11, "{work:?}: {bytes}, {parts}");
            let values = 2 * rows * columns;
            if columns.is_multiple_of(256) {
                let bytes = values * u64::from(dtype.bits()) / 8;
                assert_eq!(parts, bytes / 8192, "{work:?}: all of a buffer is used");
            }
            for of_value in [reading / (2 * values), 2 * reading / values] {
                for yields in [false, true] {
                    let work = Work { of_value, yields, ..work };
                    let (total, longer) = (work.cost(&file).0, reading.max(values * of_value));
                    assert!(total * 100 <= longer * 105, "{work:?}: {total} ns, not {longer}");
                }
            }
        }
    }
}

/// How all tensors of a file are read.
struct Reading {
    as_bytes: bool,
    unit: usize,
    /// The lengths of the buffers.
    lens: [usize; 2],
}

/// The tensor of a part, its first value, and its bytes.
type Part = (usize, u64, Vec<u8>);

impl Reading {
    /// Reads all, while futures are dropped and calls fail.
    fn run<S: ReadAt<Error: Debug>>(
        &self,
        source: S,
        random: &mut Random,
        before_a_call: impl Fn(&mut Random),
    ) -> Vec<Part> {
        let (mut model, queries) = finish(open(source)).expect("valid");
        let ahead = model.read_ahead(&queries).and_then(|ahead| ahead.in_units(self.unit)).expect("found");
        let read = RefCell::new(vec![]);
        let keep = async |tensor: usize, first: u64, bytes: Vec<u8>| {
            wait(1).await;
            read.borrow_mut().push((tensor, first, bytes));
        };
        let mut last = || {
            before_a_call(random);
            random.below(30)
        };
        if self.as_bytes {
            let ([mut a, mut b], mut ahead) = (self.lens.map(|len| vec![0; len]), ahead.as_bytes());
            until_complete(|| {
                let next = ahead.for_each_bytes([&mut a, &mut b], async |part| {
                    keep(part.tensor, part.first, part.values.to_vec()).await;
                });
                drop_at(last(), next)
            });
        } else {
            let ([mut a, mut b], mut ahead) = (self.lens.map(|len| vec![0.0_f64; len]), ahead.rounded());
            until_complete(|| {
                let next = ahead.for_each([&mut a, &mut b], async |part| {
                    keep(part.tensor, part.first, bytes_of(part.values)).await;
                });
                drop_at(last(), next)
            });
        }
        read.take()
    }

    /// Checks that each value of a tensor was used once, in order, and that parts have whole rows.
    fn check(&self, file: &[u8], index: usize, read: &[Part]) {
        let view = View::parse(file).expect("valid");
        let tensor = view.tensor(NAMES[index]).expect("present");
        let elements: u64 = tensor.shape().dims()[1..].iter().product();
        let (value, row, expected) = if self.as_bytes {
            (1, elements * u64::from(tensor.dtype().bits()), tensor.bytes().to_vec())
        } else {
            let mut values = tensor.reader().values().rounded();
            let mut all = vec![0.0_f64; usize::try_from(values.len()).unwrap()];
            values.read_exact(&mut all).expect("readable");
            (8, 64 * elements * if tensor.dtype() == Dtype::C64 { 2 } else { 1 }, bytes_of(&all))
        };
        let mut found: Vec<u8> = vec![];
        for (_, first, bytes) in read.iter().filter(|(tensor, ..)| *tensor == index) {
            assert_eq!(found.len() as u64, first * value, "each part is used once, in order");
            found.extend(bytes);
            if row % 8 > 0 {
                continue;
            }
            let (row, len) = (row / 8, bytes.len() as u64);
            let room = value * *self.lens.iter().min().unwrap() as u64;
            let (in_row, left) = (first * value % row, expected.len() as u64 - first * value);
            if in_row > 0 || row > room {
                assert!(in_row + len <= row || len.is_multiple_of(row), "a part of one row");
                continue;
            }
            let rows = (room.saturating_sub(15 + 2 * self.unit as u64) / row).max(1);
            assert!(len.is_multiple_of(row) && len >= left.min(rows * row), "whole rows that fit: {len}");
        }
        assert!(found == expected, "{tensor:?}");
    }
}

fn bytes_of(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Repeats a call while it is dropped, or the storage fails.
fn until_complete<E: Debug>(mut call: impl FnMut() -> Option<Result<(), ReadError<E>>>) {
    loop {
        match call() {
            Some(Ok(())) => return,
            Some(Err(ReadError::Source(_))) | None => {}
            Some(Err(error)) => panic!("{error:?}"),
        }
    }
}

#[test]
fn nothing_is_lost_or_used_twice() {
    for seed in 0..share::of(4000) {
        let _context = Context(|| format!("seed {seed}"));
        let random = &mut Random::new(seed);
        let tensors = [(); 3].map(|()| {
            let dtype = random.pick(Dtype::ALL);
            let dims = [random.pick(&[0, 4, 8]), random.below(5), random.below(9)].map(|dim| dim as u64);
            (dtype, dims.to_vec())
        });
        let file = file_of(&tensors, random);
        let lens = [(); 2].map(|()| 8 + random.below(50));
        let reading = Reading { as_bytes: random.percent(50), unit: 1 << random.below(7), lens };
        let read = if random.percent(50) {
            let units = [&file[..], &[0; 32]].concat();
            let file = &units[..file.len().next_multiple_of(32)];
            let flash = Timed::<32> { file, clock: &Clock::default(), latency: 0, rate: u64::MAX };
            reading.run(NorFile::new(flash), random, |_| {})
        } else {
            let storage = Storage::new(&file, Plan::default());
            let waits = Waits { before: random.below(2), after: random.below(2) };
            reading.run(Waiting::new(&storage, waits), random, |random| {
                let failure = Some(Failure::Once(random.below(20) as u64));
                let reads = Reads::Random(random.number());
                storage.set_plan(Plan { failure, reads, ..Plan::default() });
            })
        };
        (0..3).for_each(|index| reading.check(&file, index, &read));
    }
}

#[test]
fn errors_come_before_anything_is_read() {
    let tensors = [(Dtype::F32, vec![3, 5]), (Dtype::I8, vec![4]), (Dtype::F64, vec![2])];
    let file = file_of(&tensors, &mut Random::new(0));
    let storage = Storage::new(&file, Plan::default());
    let source = Waiting::new(&storage, Waits { before: 0, after: 0 });
    let (mut model, queries) = finish(open(source)).expect("valid");
    let (mut a, mut b, calls) = ([0.0_f32; 15], [0.0_f32; 15], storage.counts());
    let mut ahead = model.read_ahead(&queries).expect("found");
    let outcome = finish(ahead.for_each([&mut a, &mut b], async |_| panic!()));
    let lossy = ErrorKind::Lossy { from: Dtype::F64, to: Dtype::F32 };
    assert_eq!(outcome, Err(lossy.at(512).into()));
    let mut ahead = ahead.rounded();
    let outcome = finish(ahead.for_each([&mut a, &mut b[..1]], async |_| panic!("nothing is read")));
    let narrow = ErrorKind::BufferLength { needed: 8, capacity: 4 };
    assert_eq!(outcome, Err(narrow.at(512).into()));
    assert_eq!(ahead.in_units(12).map(drop), Err(ErrorKind::Block { asked: 12 }.at(512)));
    let (query, asked) = (QueryIndex::new(1), DtypeSet::of(&[Dtype::F32]));
    let mismatch = ErrorKind::DtypeMismatch { query, found: Dtype::I8, asked }.at(512 + 76);
    assert_eq!(model.read_ahead(&queries).and_then(|ahead| ahead.of(F32)).map(drop), Err(mismatch));
    let unknown = [&queries[0], &Query::required("d")];
    assert_eq!(model.read_ahead(&unknown).map(drop), Err(ErrorKind::NotFound { query }.at(0)));
    assert_eq!(storage.counts(), calls);
}
