//! Every conformance vector through every door that is waited for.

use std::sync::OnceLock;

use embedded_io_async::Read;
use embedded_safetensors::asynch::{self, Model, TensorReader};
use embedded_safetensors::{
    Error, ErrorKind, ReadAt, ReadError,
    index::Index,
    tensor::MAX_RANK,
    validate::{SortSlot, Summary},
};
use support::context::Context;
use support::executor::finish;
use support::memory::Memory;
use support::mock::{Fault, Plan, Reads, Storage};
use support::share;
use support::verdict::slots_for;
use support::waiting::{Door, Source, Waits};
use vectors::{Ours, TensorRow, Vector, sha256};

const WAITS: Waits = Waits { before: 1, after: 0 };

const WINDOWS: [usize; 5] = [1, 16, 17, 512, 1 << 20];

/// Longer files are read through the largest window alone.
const LONG: usize = 3000;

/// Files from here on take a test of their own.
const LONGEST: usize = 20_000_000;

/// The largest element has 8 bytes.
const BUFFERS: [usize; 5] = [8, 9, 13, 512, 1 << 20];

/// Every test here leads through the door whose name it has.
macro_rules! doors {
    ($($name:ident: $door:expr, $reads:expr;)+) => {
        mod every_tensor_comes_out_of {
            use super::*;
            $(#[test] fn $name() { each_sound_sample(&$reads, |sample, storage| tensors_come_out($door, sample, storage)); })+
        }
        mod buffers_of_every_size_do_for {
            use super::*;
            $(#[test] fn $name() { each_sound_sample(&$reads, |sample, storage| every_buffer_does($door, sample, storage)); })+
        }
        mod the_verdict_is_the_same_for {
            use super::*;
            $(#[test] fn $name() { each_sample(&$reads, |sample, storage| the_verdict_is_the_same($door, sample, storage)); })+
        }
    };
}

const WHOLE: [Reads; 1] = [Reads::Whole];
const SHORT: [Reads; 4] = [Reads::Whole, Reads::AtMost(1), Reads::AtMost(7), Reads::Random(1)];

doors! {
    slice: Door::Slice, WHOLE;
    own: Door::Own, SHORT;
    seekable: Door::Seekable, SHORT;
}

/// A vector and its bytes.
struct Sample {
    number: usize,
    vector: Vector,
    file: Vec<u8>,
}

fn vectors() -> impl Iterator<Item = (usize, Vector)> {
    vectors::load().vectors.into_iter().enumerate()
}

/// All but the longest.
fn samples() -> &'static [Sample] {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    SAMPLES.get_or_init(|| vectors().filter(|(_, vector)| vector.length < LONGEST).map(Sample::new).collect())
}

#[test]
fn the_longest_files_come_out_too() {
    for sample in vectors().filter(|(_, vector)| vector.length >= LONGEST).map(Sample::new) {
        let _context = Context(|| sample.vector.id.clone());
        let storage = Storage::new(&sample.file, Plan::default());
        the_verdict_is_the_same(Door::Own, &sample, &storage);
        if sample.vector.ours == Ours::Accept {
            tensors_come_out(Door::Own, &sample, &storage);
        }
    }
}

impl Sample {
    fn new((number, vector): (usize, Vector)) -> Self {
        Self { number, file: vector.bytes(), vector }
    }

    fn is_long(&self) -> bool {
        self.file.len() > LONG
    }

    /// Of the windows and of the kinds of reads a quick run takes one, and every pair with some vector.
    fn windows(&self) -> impl Iterator<Item = usize> {
        let windows = if self.is_long() { &WINDOWS[4..] } else { &WINDOWS };
        share::part(windows.iter().copied(), self.number)
    }

    fn reads(&self, reads: &[Reads]) -> impl Iterator<Item = Reads> {
        let reads = if self.is_long() { &WHOLE } else { reads };
        share::part(reads.iter().copied(), self.number)
    }

    fn rows(&self) -> &[TensorRow] {
        self.vector.tensors.as_deref().unwrap_or(&[])
    }
}

fn each_sample(reads: &[Reads], check: impl Fn(&Sample, &Storage<'_>)) {
    assert!(samples().len() > 900, "only {} vectors", samples().len());
    each(samples().iter(), reads, check);
}

fn each_sound_sample(reads: &[Reads], check: impl Fn(&Sample, &Storage<'_>)) {
    let is_sound = |sample: &&Sample| sample.vector.ours == Ours::Accept;
    assert!(samples().iter().filter(is_sound).count() > 250);
    each(samples().iter().filter(is_sound), reads, check);
}

/// Long files are only read as fast as can be.
fn each<'v>(
    samples: impl Iterator<Item = &'v Sample>,
    reads: &[Reads],
    check: impl Fn(&Sample, &Storage<'_>),
) {
    for sample in samples {
        for reads in sample.reads(reads) {
            let _context = Context(|| format!("{}, {reads:?}", sample.vector.id));
            check(sample, &Storage::new(&sample.file, Plan { reads, ..Plan::default() }));
        }
    }
}

/// Memory for the index, made to measure.
fn memory_of(model: &mut Model<Source<'_>>, window: &mut [u8]) -> Memory {
    Memory::of(finish(model.index_size(window)).expect("it is sound"))
}

fn opened<'s>(door: Door, storage: &'s Storage<'s>, window: &mut [u8]) -> Model<Source<'s>> {
    let mut slots = [SortSlot::EMPTY; 4096];
    finish(Model::open_unordered(door.source(storage, WAITS), &mut slots, window)).expect("it is sound")
}

/// All of each tensor, looked up in an index, and, in small files, one by one.
fn tensors_come_out(door: Door, sample: &Sample, storage: &Storage<'_>) {
    for window in sample.windows() {
        let _context = Context(|| format!("a window of {window}"));
        let mut window = vec![0; window];
        let mut model = opened(door, storage, &mut window);
        let mut memory = memory_of(&mut model, &mut window);
        let index = finish(model.build_index(memory.lend(), &mut window)).expect("it is sound");
        assert_eq!(index.len(), sample.vector.tensor_count.unwrap_or(sample.rows().len()));
        for row in sample.rows() {
            indexed_comes_out(&mut model, &index, row);
            if !sample.is_long() {
                found_comes_out(&mut model, row, &mut window);
            }
        }
        opens_indexed_too(door, storage, &index, &mut window);
    }
}

fn indexed_comes_out(model: &mut Model<Source<'_>>, index: &Index<'_>, row: &TensorRow) {
    let tensor =
        index.find(&row.name).expect("it is sound").unwrap_or_else(|| panic!("there is no {:?}", row.name));
    assert_eq!((tensor.dtype().to_string(), tensor.dims()), (row.dtype.clone(), &row.shape[..]));
    let mut reader = model.reader(&tensor).expect("it is this file's");
    all_comes_out(&mut reader, row);
}

fn found_comes_out(model: &mut Model<Source<'_>>, row: &TensorRow, window: &mut [u8]) {
    let found = finish(model.find(&row.name, window));
    if row.shape.len() > MAX_RANK {
        let Err(ReadError::Format(error)) = found else { panic!("{found:?}") };
        return assert!(matches!(error.kind, ErrorKind::Rank { .. }), "{error}");
    }
    let info = found.expect("it is sound").expect("it is there");
    assert_eq!((info.begin(), info.end()), (row.data_offsets[0], row.data_offsets[1]));
    all_comes_out(&mut model.reader(&info).expect("it is this file's"), row);
}

fn all_comes_out(reader: &mut TensorReader<'_, &mut Source<'_>>, row: &TensorRow) {
    let mut buffer = vec![0; usize::try_from(reader.byte_len()).expect("it is in memory")];
    let bytes = finish(reader.read_to_end(&mut buffer)).expect("it can be read");
    assert_eq!(sha256(bytes), row.sha256, "{}", row.name);
}

fn opens_indexed_too(door: Door, storage: &Storage<'_>, index: &Index<'_>, window: &mut [u8]) {
    let summary = index.summary();
    let mut memory = memory_of(&mut opened(door, storage, window), window);
    let opening = Model::open_indexed(door.source(storage, WAITS), memory.lend(), window);
    let (model, other) = finish(opening).expect("it is sound");
    assert_eq!((model.summary(), other.len()), (summary, index.len()));
}

/// Each tensor of a small file, in pieces of every size, by every way of reading.
fn every_buffer_does(door: Door, sample: &Sample, storage: &Storage<'_>) {
    let mut window = vec![0; 1 << 20];
    let mut model = opened(door, storage, &mut window);
    let mut memory = memory_of(&mut model, &mut window);
    let index = finish(model.build_index(memory.lend(), &mut window)).expect("it is sound");
    let rows = if sample.is_long() { &sample.rows()[..sample.rows().len().min(10)] } else { sample.rows() };
    for (number, row) in rows.iter().enumerate() {
        let tensor = index.find(&row.name).expect("it is sound").expect("it is there");
        for size in share::part(BUFFERS, sample.number + number) {
            let _context = Context(|| format!("{}, a buffer of {size}", row.name));
            let mut buffer = vec![0; size];
            for block in [1, 16, 512] {
                let reader = model.reader(&tensor).expect("it is this file's");
                let mut reader = reader.aligned_to(block).expect("a power of two");
                assert_eq!(sha256(&in_chunks(&mut reader, &mut buffer)), row.sha256, "blocks of {block}");
            }
            let mut reader = model.reader(&tensor).expect("it is this file's");
            assert_eq!(sha256(&in_reads(&mut reader, &mut buffer)), row.sha256);
            assert_eq!(sha256(&from_the_end(&mut reader, &mut buffer)), row.sha256);
        }
        let mut reader = model.reader(&tensor).expect("it is this file's");
        if !sample.is_long() {
            assert_eq!(sha256(&in_reads(&mut reader, &mut [0; 1])), row.sha256, "byte by byte");
        }
    }
}

fn in_chunks(reader: &mut TensorReader<'_, &mut Source<'_>>, buffer: &mut [u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(chunk) = finish(reader.next_chunk(buffer)).expect("it can be read") {
        bytes.extend(chunk);
        assert_eq!(reader.position(), bytes.len() as u64);
    }
    assert_eq!(reader.remaining(), 0);
    bytes
}

fn in_reads(reader: &mut TensorReader<'_, &mut Source<'_>>, buffer: &mut [u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        match finish(reader.read(buffer)).expect("it can be read") {
            0 => return bytes,
            len => bytes.extend(&buffer[..len]),
        }
    }
}

/// By `read_at`, the last bytes first.
fn from_the_end(reader: &mut TensorReader<'_, &mut Source<'_>>, buffer: &mut [u8]) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(reader.byte_len()).expect("it is in memory")];
    let starts = (0..bytes.len()).step_by(buffer.len());
    for start in starts.rev() {
        let len = finish(reader.read_at(start as u64, buffer)).expect("it can be read");
        bytes[start..start + len].copy_from_slice(&buffer[..len]);
    }
    bytes
}

/// The verdict of the manifest, and that of the blocking door, whatever is known of the file's length.
fn the_verdict_is_the_same(door: Door, sample: &Sample, storage: &Storage<'_>) {
    for window in sample.windows() {
        let _context = Context(|| format!("a window of {window}"));
        let mut window = vec![0; window];
        let mut slots = slots_for(sample.file.len());
        let outcome = verdict(door.source(storage, WAITS), &mut slots, &mut window);
        let said = outcome.map_err(of_format).map_err(|error| (error.kind.code().to_owned(), Some(error.at)));
        let expected = match &sample.vector.code {
            Some(code) => Err((code.clone(), sample.vector.at)),
            None => Ok(()),
        };
        assert_eq!(said.map(|_| ()), expected);
        assert_eq!(outcome, blocking_verdict(storage, &mut slots, &mut window));
    }
}

type Judgement = Result<Summary, ReadError<Fault>>;

fn verdict(
    source: impl asynch::ReadAt<Error = Fault>,
    slots: &mut [SortSlot],
    window: &mut [u8],
) -> Judgement {
    let mut model = finish(Model::open_unordered(source, slots, window))?;
    finish(model.validate_names([1, 2], slots, &mut [0; 64], window))?;
    Ok(model.summary())
}

fn blocking_verdict(
    source: impl ReadAt<Error = Fault>,
    slots: &mut [SortSlot],
    window: &mut [u8],
) -> Judgement {
    let mut model = embedded_safetensors::Model::open_unordered(source, slots, window)?;
    model.validate_names([1, 2], slots, &mut [0; 64], window)?;
    Ok(model.summary())
}

fn of_format(error: ReadError<Fault>) -> Error {
    match error {
        ReadError::Format(error) => error,
        other => panic!("{other}"),
    }
}
