//! Every conformance vector through every kind of source, with windows and buffers of many sizes.

use std::ops::Range;
use std::sync::OnceLock;

use embedded_io::Read;
use embedded_safetensors::{
    Error, ErrorKind, Model, TensorInfo, TensorReader,
    validate::{SortSlot, validate_header},
};
use support::apis::{Case, stored};
use support::context::Context;
#[cfg(feature = "std")]
use support::disk::DISK;
use support::file::of_file;
use support::memory::Memory;
use support::mock::{Plan, Reads, Storage};
use support::random::Random;
use support::share::{self, Half};
use support::sources::{AnySource, CUSTOM, SLICE, STREAM, SourceKind, nor, nor_of_unknown_len};
use vectors::{Ours, Vector};

const WINDOWS: [usize; 9] = [1, 2, 15, 16, 17, 64, 512, 4096, 1 << 20];

/// Longer files are read through the largest window alone.
const LONG: usize = 3000;

/// Files from this length on are only opened, and read in buffers of each size.
const QUERIED: usize = 20_000;

/// Files from this length on have a test of their own.
const LONGEST: usize = 1 << 20;

/// Each test is named after its kind of source.
macro_rules! sources {
    ($($(#[$where:meta])? $name:ident: $kind:expr, $reads:expr;)+) => {
        mod every_file_is_read_from {
            use super::*;
            $(#[test] $(#[$where])? fn $name() {
                samples().iter().for_each(|sample| test_file($kind, sample, &$reads));
            })+
        }
        mod every_buffer_size_works_for {
            use super::*;
            $(#[test] $(#[$where])? fn $name() {
                each_valid_sample(|sample| test_buffers($kind, sample, &$reads));
            })+
        }
    };
}

const WHOLE: [Reads; 1] = [Reads::Whole];
const SHORT: [Reads; 4] = [Reads::Whole, Reads::AtMost(1), Reads::AtMost(7), Reads::Random(1)];

sources! {
    slice: SLICE, WHOLE;
    custom: CUSTOM, SHORT;
    seekable: STREAM, SHORT;
    nor_1: nor::<1, 0>(), WHOLE;
    nor_1_at_an_odd_address: nor::<1, 13>(), WHOLE;
    nor_4: nor::<4, 0>(), WHOLE;
    nor_4_at_an_odd_address: nor::<4, 4099>(), WHOLE;
    nor_16: nor::<16, 0>(), WHOLE;
    nor_16_at_an_odd_address: nor::<16, 7>(), WHOLE;
    nor_64: nor::<64, 0>(), WHOLE;
    nor_64_at_an_odd_address: nor::<64, 63>(), WHOLE;
    #[cfg(feature = "std")] on_disk: DISK, WHOLE;
}

/// A vector and its bytes.
struct Sample {
    number: usize,
    vector: Vector,
    file: Vec<u8>,
    /// Whether it needs no slots.
    in_order: bool,
}

/// All but the longest.
fn samples() -> &'static [Sample] {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let vectors = vectors::load().vectors.into_iter();
        vectors.filter(|vector| vector.length < LONGEST).enumerate().map(Sample::new).collect()
    })
}

impl Sample {
    fn new((number, vector): (usize, Vector)) -> Self {
        let file = vector.bytes();
        let in_order =
            validate_header(&file, &mut []).map_err(|error| error.kind) != Err(ErrorKind::OutOfOrder);
        Self { number, vector, file, in_order }
    }

    fn is_long(&self) -> bool {
        self.file.len() > LONG
    }

    fn windows(&self) -> &[usize] {
        if self.is_long() { &WINDOWS[8..] } else { &WINDOWS }
    }

    /// The numbers of slots to try. Fewer slots need more passes.
    fn slots(&self) -> &[usize] {
        match (self.is_long(), self.in_order) {
            (true, _) => &[4096],
            (false, true) => &[0, 16],
            (false, false) => &[1, 2, 16],
        }
    }
}

/// How a file is read.
#[derive(Clone, Copy, Debug)]
struct ReadMethod {
    reads: Reads,
    window: usize,
    slots: usize,
}

impl Sample {
    /// All combinations, or a share of them.
    fn read_methods(&self, reads: &[Reads]) -> impl Iterator<Item = ReadMethod> {
        let windows = self.windows().iter();
        let memories = windows.flat_map(|&window| self.slots().iter().map(move |&slots| (window, slots)));
        let method =
            |(window, slots)| self.reads(reads).iter().map(move |&reads| ReadMethod { reads, window, slots });
        share::part(memories.flat_map(method), self.number)
    }

    fn reads<'r>(&self, reads: &'r [Reads]) -> &'r [Reads] {
        if self.is_long() { &WHOLE } else { reads }
    }

    fn storage(&self, reads: Reads) -> Storage<'_> {
        Storage::new(&self.file, Plan { reads, ..Plan::default() })
    }
}

/// Returns the range of a tensor in the file.
fn range_of(data_start: u64, info: &TensorInfo) -> Range<usize> {
    let index = |at: u64| usize::try_from(data_start + at).expect("the file is in memory");
    index(info.begin())..index(info.end())
}

fn each_valid_sample(check: impl Fn(&Sample)) {
    let valid: Vec<_> = samples().iter().filter(|sample| sample.vector.ours == Ours::Accept).collect();
    assert!(valid.len() > 250, "only {} vectors are valid", valid.len());
    valid.into_iter().for_each(check);
}

/// Opens the file, and makes every query if it is valid.
fn test_file(kind: SourceKind, sample: &Sample, reads: &[Reads]) {
    let (case, mut random) = (Case::new(&sample.file), Random::new(1));
    // Equal names and keys are found by a call of its own.
    let is_of_names = |error: &Error| matches!(error.kind.code(), "name.duplicate" | "metadata.duplicate");
    let expected = case.verdict().or_else(|error| if is_of_names(&error) { Ok(()) } else { Err(error) });
    for method in sample.read_methods(reads) {
        let _context = Context(|| format!("{}, {method:?}", sample.vector.id));
        let storage = sample.storage(method.reads);
        let (mut window, mut slots) = (vec![0; method.window], vec![SortSlot::EMPTY; method.slots]);
        let source = kind.source(&storage);
        let opened = match sample.file.len() {
            0..QUERIED => stored::sorted_from(source, &case, &mut slots, &mut window, &mut random),
            _ => of_file(Model::open_unordered(source, &mut slots, &mut window).map(drop)),
        };
        assert_eq!(opened, expected);
    }
}

/// All ways to read a tensor, with all buffers.
fn test_buffers(kind: SourceKind, sample: &Sample, reads: &[Reads]) {
    for &reads in sample.reads(reads) {
        let _context = Context(|| format!("{}, {reads:?}", sample.vector.id));
        test_buffers_of(kind, sample, &sample.storage(reads));
    }
}

fn test_buffers_of(kind: SourceKind, sample: &Sample, storage: &Storage<'_>) {
    let mut window = vec![0; 4096];
    let mut slots = [SortSlot::EMPTY; 64];
    let mut model = Model::open_unordered(kind.source(storage), &mut slots, &mut window).expect("valid file");
    let data_start = model.summary().data_start;
    let mut tensors = vec![];
    // The list ends where a tensor has more dimensions than can be held.
    let _ = model.for_each(&mut vec![0; sample.file.len()], &mut window, |entry| tensors.push(entry.info));
    for (number, info) in tensors.iter().take(100).enumerate() {
        let unit = unit(info);
        let range = range_of(data_start, info);
        let tensor = Tensor { at: range.start, bytes: &sample.file[range], unit };
        let sizes = [unit, 3, 17, 512, tensor.bytes.len()].into_iter().filter(|&size| size >= unit);
        for size in share::part(sizes, sample.number + number) {
            let _context = Context(|| format!("{info:?}, a buffer of {size}"));
            tensor.in_chunks(model.reader(info).unwrap(), &mut vec![0; size]);
            tensor.in_blocks(model.reader(info).unwrap(), &mut vec![0; size]);
            tensor.with_read(model.reader(info).unwrap(), &mut vec![0; size]);
            tensor.anywhere(model.reader(info).unwrap(), &mut vec![0; size]);
            tensor.in_leaps(model.reader(info).unwrap(), &mut vec![0; size]);
        }
    }
}

/// Returns the number of bytes that holds whole elements.
fn unit(info: &TensorInfo) -> usize {
    match info.dtype().name() {
        "F4" => 1,
        "F6_E2M3" | "F6_E3M2" => 3,
        _ => usize::from(info.dtype().bits()) / 8,
    }
}

/// The expected tensor.
struct Tensor<'f> {
    bytes: &'f [u8],
    /// Its offset in the file.
    at: usize,
    unit: usize,
}

impl Tensor<'_> {
    fn in_chunks(&self, mut reader: TensorReader<'_, &mut AnySource<'_>>, buffer: &mut [u8]) {
        let most = buffer.len() - buffer.len() % self.unit;
        for expected in self.bytes.chunks(most) {
            let before = reader.position();
            assert_eq!(reader.next_chunk(buffer).unwrap(), Some(expected));
            assert_eq!(reader.position(), before + expected.len() as u64);
            assert_eq!(reader.position() + reader.remaining(), reader.byte_len());
        }
        assert_eq!(reader.next_chunk(buffer).unwrap(), None);
        assert_eq!(reader.next_chunk(&mut []).unwrap(), None);
    }

    fn in_blocks(&self, mut reader: TensorReader<'_, &mut AnySource<'_>>, buffer: &mut [u8]) {
        let capacity = buffer.len();
        for block in [1, 2, 16, 512] {
            reader = reader.aligned_to(block as u64).expect("a power of two");
            reader.seek(0).expect("in range");
            let mut left = self.bytes;
            while let Some(chunk) = reader.next_chunk(buffer).unwrap() {
                assert_eq!(chunk.len(), self.chunk_len(left.len(), capacity, block), "blocks of {block}");
                assert_eq!(chunk, &left[..chunk.len()]);
                left = &left[chunk.len()..];
            }
            assert!(left.is_empty());
        }
    }

    /// Returns the longest possible length. It ends at the end of a block that is also the end of an element,
    /// or else after whole elements.
    fn chunk_len(&self, left: usize, capacity: usize, block: usize) -> usize {
        if left <= capacity {
            return left;
        }
        let read = self.bytes.len() - left;
        let begin = self.at + read;
        let is_boundary = |len: &usize| (begin + len).is_multiple_of(block);
        // Elements of three bytes end with a block once in three blocks.
        let is_possible = self.unit != 3 || capacity >= 3 * block;
        let lens = || (1..=capacity).rev().filter(|len| (read + len).is_multiple_of(self.unit));
        lens()
            .find(|len| is_possible && is_boundary(len))
            .or_else(|| lens().next())
            .expect("there is room for an element")
    }

    fn with_read(&self, mut reader: TensorReader<'_, &mut AnySource<'_>>, buffer: &mut [u8]) {
        let mut out = vec![];
        loop {
            match reader.read(buffer).unwrap() {
                0 => break,
                len => out.extend_from_slice(&buffer[..len]),
            }
        }
        assert_eq!(out, self.bytes);
        assert_eq!(reader.remaining(), 0);
    }

    fn anywhere(&self, mut reader: TensorReader<'_, &mut AnySource<'_>>, buffer: &mut [u8]) {
        let len = self.bytes.len();
        for offset in (0..=len).step_by((len / 20).max(1)).chain([len]) {
            let expected = &self.bytes[offset..(offset + buffer.len()).min(len)];
            assert_eq!(reader.read_at(offset as u64, buffer).unwrap(), expected.len());
            assert_eq!(&buffer[..expected.len()], expected);
        }
        assert_eq!(reader.position(), 0);
    }

    /// Reads a piece, skips the next, reads the rest, then the last third again.
    fn in_leaps(&self, mut reader: TensorReader<'_, &mut AnySource<'_>>, buffer: &mut [u8]) {
        let mut rest = vec![0; self.bytes.len()];
        let first = reader.next_chunk(buffer).unwrap().map_or(0, <[u8]>::len);
        let second = first.min(self.bytes.len() - first);
        reader.skip(second as u64).expect("in range");
        assert_eq!(reader.read_to_end(&mut rest).unwrap(), &self.bytes[first + second..]);
        let third = self.bytes.len() - self.bytes.len() / 3;
        reader.seek(third as u64).expect("in range");
        assert_eq!(reader.read_to_end(&mut rest).unwrap(), &self.bytes[third..]);
        assert_eq!(reader.read_to_end(&mut []).unwrap(), b"");
    }
}

/// Flash does not know where its file ends; the bytes after it are not read.
#[test]
fn flash_of_unknown_length_is_read() {
    each_valid_sample(|sample| test_file(nor_of_unknown_len::<4, 3>(), sample, &WHOLE));
}

halves! { longest_headers_are_read_from_every_source }

/// They have up to 100 million bytes.
fn longest_headers_are_read_from_every_source(half: Half) {
    let kinds = [SLICE, CUSTOM, STREAM, nor::<64, 63>()].into_iter();
    #[cfg(feature = "std")]
    let kinds = kinds.chain([DISK]);
    for vector in half.few_large().filter(|vector| vector.length >= LONGEST) {
        let file = vector.bytes();
        kinds.clone().for_each(|kind| test_long_header(kind, &vector, &file));
        if vector.ours == Ours::Accept && file.len() < 20_000_000 {
            let mut memory = Memory::ample(&file);
            let opened = Model::open_indexed(&file[..], memory.lend(), &mut [0; 4096]);
            stored::lists(&Case::new(&file), &mut opened.expect("valid file").1);
        }
    }
}

fn test_long_header(kind: SourceKind, vector: &Vector, file: &[u8]) {
    let _context = Context(|| vector.id.clone());
    let storage = Storage::new(file, Plan::default());
    match of_file(Model::open(kind.source(&storage), &mut vec![0; 1 << 16])) {
        Ok(model) => {
            assert_eq!(vector.ours, Ours::Accept);
            assert_eq!(Some(model.summary().tensors), vector.tensor_count.map(|count| count as u64));
        }
        Err(error) => {
            assert_eq!((Some(error.kind.code()), Some(error.at)), (vector.code.as_deref(), vector.at));
        }
    }
}
