//! Every conformance vector through every kind of source that is awaited.

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
use support::waiting::{Source, SourceKind, Waits};
use vectors::{Ours, TensorRow, Vector, sha256};

const WAITS: Waits = Waits { before: 1, after: 0 };

const WINDOWS: [usize; 5] = [1, 16, 17, 512, 1 << 20];

/// Longer files are read through the largest window alone.
const LONG: usize = 3000;

/// Files from this length on have a test of their own.
const LONGEST: usize = 20_000_000;

/// The largest element has 8 bytes.
const BUFFERS: [usize; 5] = [8, 9, 13, 512, 1 << 20];

/// Each test is named after its kind of source.
macro_rules! sources {
    ($($name:ident: $kind:expr, $reads:expr;)+) => {
        mod every_tensor_is_read_from {
            use super::*;
            $(#[test] fn $name() {
                each_valid_sample(&$reads, |sample, storage| test_tensors($kind, sample, storage));
            })+
        }
        mod every_buffer_size_works_for {
            use super::*;
            $(#[test] fn $name() {
                each_valid_sample(&$reads, |sample, storage| test_buffers($kind, sample, storage));
            })+
        }
        mod verdict_matches_for {
            use super::*;
            $(#[test] fn $name() {
                each_sample(&$reads, |sample, storage| test_verdict($kind, sample, storage));
            })+
        }
    };
}

const WHOLE: [Reads; 1] = [Reads::Whole];
const SHORT: [Reads; 4] = [Reads::Whole, Reads::AtMost(1), Reads::AtMost(7), Reads::Random(1)];

sources! {
    slice: SourceKind::Slice, WHOLE;
    custom: SourceKind::Custom, SHORT;
    seekable: SourceKind::Seekable, SHORT;
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
fn longest_files_are_read() {
    for sample in vectors().filter(|(_, vector)| vector.length >= LONGEST).map(Sample::new) {
        let _context = Context(|| sample.vector.id.clone());
        let storage = Storage::new(&sample.file, Plan::default());
        test_verdict(SourceKind::Custom, &sample, &storage);
        if sample.vector.ours == Ours::Accept {
            test_tensors(SourceKind::Custom, &sample, &storage);
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

    /// With a share, one of the windows and one of the kinds of reads; each pair comes up with some vector.
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

fn each_valid_sample(reads: &[Reads], check: impl Fn(&Sample, &Storage<'_>)) {
    let is_valid = |sample: &&Sample| sample.vector.ours == Ours::Accept;
    assert!(samples().iter().filter(is_valid).count() > 250);
    each(samples().iter().filter(is_valid), reads, check);
}

/// Long files are only read in the fastest way.
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

/// Allocates memory of the exact size for the index.
fn memory_of(model: &mut Model<Source<'_>>, window: &mut [u8]) -> Memory {
    Memory::of(finish(model.index_size(window)).expect("valid file"))
}

fn opened<'s>(kind: SourceKind, storage: &'s Storage<'s>, window: &mut [u8]) -> Model<Source<'s>> {
    let mut slots = [SortSlot::EMPTY; 4096];
    finish(Model::open_unordered(kind.source(storage, WAITS), &mut slots, window)).expect("valid file")
}

/// Reads each tensor, found in an index and, in small files, by a lookup.
fn test_tensors(kind: SourceKind, sample: &Sample, storage: &Storage<'_>) {
    for window in sample.windows() {
        let _context = Context(|| format!("a window of {window}"));
        let mut window = vec![0; window];
        let mut model = opened(kind, storage, &mut window);
        let mut memory = memory_of(&mut model, &mut window);
        let index = finish(model.build_index(memory.lend(), &mut window)).expect("valid file");
        assert_eq!(index.len(), sample.vector.tensor_count.unwrap_or(sample.rows().len()));
        for row in sample.rows() {
            test_indexed(&mut model, &index, row);
            if !sample.is_long() {
                test_found(&mut model, row, &mut window);
            }
        }
        test_open_indexed(kind, storage, &index, &mut window);
    }
}

fn test_indexed(model: &mut Model<Source<'_>>, index: &Index<'_>, row: &TensorRow) {
    let tensor =
        index.find(&row.name).expect("valid file").unwrap_or_else(|| panic!("there is no {:?}", row.name));
    assert_eq!((tensor.dtype().to_string(), tensor.dims()), (row.dtype.clone(), &row.shape[..]));
    let mut reader = model.reader(&tensor).expect("tensor of this file");
    assert_all_is_read(&mut reader, row);
}

fn test_found(model: &mut Model<Source<'_>>, row: &TensorRow, window: &mut [u8]) {
    let found = finish(model.find(&row.name, window));
    if row.shape.len() > MAX_RANK {
        let Err(ReadError::Format(error)) = found else { panic!("{found:?}") };
        return assert!(matches!(error.kind, ErrorKind::Rank { .. }), "{error}");
    }
    let info = found.expect("valid file").expect("present");
    assert_eq!((info.begin(), info.end()), (row.data_offsets[0], row.data_offsets[1]));
    assert_all_is_read(&mut model.reader(&info).expect("tensor of this file"), row);
}

fn assert_all_is_read(reader: &mut TensorReader<'_, &mut Source<'_>>, row: &TensorRow) {
    let mut buffer = vec![0; usize::try_from(reader.byte_len()).expect("fits in usize")];
    let bytes = finish(reader.read_to_end(&mut buffer)).expect("readable");
    assert_eq!(sha256(bytes), row.sha256, "{}", row.name);
}

fn test_open_indexed(kind: SourceKind, storage: &Storage<'_>, index: &Index<'_>, window: &mut [u8]) {
    let summary = index.summary();
    let mut memory = memory_of(&mut opened(kind, storage, window), window);
    let opening = Model::open_indexed(kind.source(storage, WAITS), memory.lend(), window);
    let (model, other) = finish(opening).expect("valid file");
    assert_eq!((model.summary(), other.len()), (summary, index.len()));
}

/// Reads each tensor of a small file, in pieces of every size, in every way.
fn test_buffers(kind: SourceKind, sample: &Sample, storage: &Storage<'_>) {
    let mut window = vec![0; 1 << 20];
    let mut model = opened(kind, storage, &mut window);
    let mut memory = memory_of(&mut model, &mut window);
    let index = finish(model.build_index(memory.lend(), &mut window)).expect("valid file");
    let rows = if sample.is_long() { &sample.rows()[..sample.rows().len().min(10)] } else { sample.rows() };
    for (number, row) in rows.iter().enumerate() {
        let tensor = index.find(&row.name).expect("valid file").expect("present");
        for size in share::part(BUFFERS, sample.number + number) {
            let _context = Context(|| format!("{}, a buffer of {size}", row.name));
            let mut buffer = vec![0; size];
            for block in [1, 16, 512] {
                let reader = model.reader(&tensor).expect("tensor of this file");
                let mut reader = reader.aligned_to(block).expect("a power of two");
                assert_eq!(sha256(&in_chunks(&mut reader, &mut buffer)), row.sha256, "blocks of {block}");
            }
            let mut reader = model.reader(&tensor).expect("tensor of this file");
            assert_eq!(sha256(&in_reads(&mut reader, &mut buffer)), row.sha256);
            assert_eq!(sha256(&from_the_end(&mut reader, &mut buffer)), row.sha256);
        }
        let mut reader = model.reader(&tensor).expect("tensor of this file");
        if !sample.is_long() {
            assert_eq!(sha256(&in_reads(&mut reader, &mut [0; 1])), row.sha256, "byte by byte");
        }
    }
}

fn in_chunks(reader: &mut TensorReader<'_, &mut Source<'_>>, buffer: &mut [u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(chunk) = finish(reader.next_chunk(buffer)).expect("readable") {
        bytes.extend(chunk);
        assert_eq!(reader.position(), bytes.len() as u64);
    }
    assert_eq!(reader.remaining(), 0);
    bytes
}

fn in_reads(reader: &mut TensorReader<'_, &mut Source<'_>>, buffer: &mut [u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        match finish(reader.read(buffer)).expect("readable") {
            0 => return bytes,
            len => bytes.extend(&buffer[..len]),
        }
    }
}

/// Reads with `read_at`, the last bytes first.
fn from_the_end(reader: &mut TensorReader<'_, &mut Source<'_>>, buffer: &mut [u8]) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(reader.byte_len()).expect("fits in usize")];
    let starts = (0..bytes.len()).step_by(buffer.len());
    for start in starts.rev() {
        let len = finish(reader.read_at(start as u64, buffer)).expect("readable");
        bytes[start..start + len].copy_from_slice(&buffer[..len]);
    }
    bytes
}

/// The verdict is that of the manifest and of the blocking API, whether the file's length is known or not.
fn test_verdict(kind: SourceKind, sample: &Sample, storage: &Storage<'_>) {
    for window in sample.windows() {
        let _context = Context(|| format!("a window of {window}"));
        let mut window = vec![0; window];
        let mut slots = slots_for(sample.file.len());
        let outcome = verdict(kind.source(storage, WAITS), &mut slots, &mut window);
        let reported =
            outcome.map_err(of_format).map_err(|error| (error.kind.code().to_owned(), Some(error.at)));
        let expected = match &sample.vector.code {
            Some(code) => Err((code.clone(), sample.vector.at)),
            None => Ok(()),
        };
        assert_eq!(reported.map(|_| ()), expected);
        assert_eq!(outcome, blocking_verdict(storage, &mut slots, &mut window));
    }
}

type Verdict = Result<Summary, ReadError<Fault>>;

fn verdict(source: impl asynch::ReadAt<Error = Fault>, slots: &mut [SortSlot], window: &mut [u8]) -> Verdict {
    let mut model = finish(Model::open_unordered(source, slots, window))?;
    finish(model.validate_names([1, 2], slots, &mut [0; 64], window))?;
    Ok(model.summary())
}

fn blocking_verdict(
    source: impl ReadAt<Error = Fault>,
    slots: &mut [SortSlot],
    window: &mut [u8],
) -> Verdict {
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
