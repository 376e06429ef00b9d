//! Random slices of random tensors, through every kind of source, against a model that looks up each element
//! alone.

use embedded_safetensors::{
    ErrorKind, Model, ReadError, TensorInfo, TensorReader, View, reader::SliceReader, slice::SlicePlan,
};
use support::context::Context;
use support::file::{entry, with_entries};
use support::mock::{Plan, Reads, Storage};
use support::random::Random;
use support::share::{self, Half};
use support::sources::{AnySource, CUSTOM, SLICE, STREAM, SourceKind, nor};

use support::slices::Case;

/// The number of cases of each half; a quick run tests a share.
const CASES: u64 = 60_000;

halves! { slices_match_naive_model }

fn slices_match_naive_model(half: Half) {
    for number in 0..share::of(CASES) {
        let seed = 2 * number + half.0 as u64;
        let _context = Context(|| format!("seed {seed}"));
        check(&mut Random::new(seed));
    }
}

/// Reads a slice of a tensor from a kind of source.
pub fn check(random: &mut Random) {
    let case = Case::random(random);
    let _context = Context(|| format!("{case:?}"));
    test_plan(&case);
    let file = file(&case, random);
    let reads = random.pick(&[Reads::Whole, Reads::AtMost(7), Reads::Random(1)]);
    let storage = Storage::new(&file, Plan { reads, ..Plan::default() });
    match random.below(5) {
        0 => test_reads(SLICE, &case, &storage, random),
        1 => test_reads(CUSTOM, &case, &storage, random),
        2 => test_reads(STREAM, &case, &storage, random),
        3 => test_reads(nor::<4, 1>(), &case, &whole(&file), random),
        _ => test_reads(nor::<64, 0>(), &case, &whole(&file), random),
    }
}

/// Flash returns all bytes requested.
fn whole(file: &[u8]) -> Storage<'_> {
    Storage::new(file, Plan::default())
}

fn test_plan(case: &Case) {
    let plan = SlicePlan::new(case.dtype, &case.dims, &case.ranges()).expect("in range");
    let runs = case.runs();
    assert_eq!(plan.shape().dims(), case.shape());
    assert_eq!(plan.dtype(), case.dtype);
    assert_eq!(plan.elements(), case.listed().len() as u64);
    assert_eq!(plan.run_count(), runs.len() as u64);
    assert_eq!(plan.runs().map(|run| (run.first, run.elements)).collect::<Vec<_>>(), runs);
    let bits = u64::from(case.dtype.bits());
    let error = ErrorKind::PartOfByte { bits: case.dtype.bits() };
    match case.broken_byte() {
        Some(_) => {
            assert_eq!(plan.byte_len(), Err(error));
            assert_eq!(plan.byte_runs().map(|_| ()), Err(error));
        }
        None => {
            assert_eq!(plan.byte_len(), Ok(plan.elements() * bits / 8));
            let ranges = plan.byte_runs().expect("whole bytes");
            let expected = runs.iter().map(|(first, count)| first * bits / 8..(first + count) * bits / 8);
            assert!(ranges.eq(expected));
        }
    }
}

/// Returns a file in which another tensor precedes the tensor and another follows.
fn file(case: &Case, random: &mut Random) -> Vec<u8> {
    let (before, len) = (random.number() % 9, case.byte_len());
    let end = before + len;
    let entries = [
        entry("before", "U8", [before], 0..before),
        entry("t", case.dtype, &case.dims, before..end),
        entry("after", "U8", [3], end..end + 3),
    ];
    let mut file = with_entries(&entries, 0);
    file.extend(random.bytes(usize::try_from(end + 3).expect("a small case")));
    file
}

fn test_reads(kind: SourceKind, case: &Case, storage: &Storage<'_>, random: &mut Random) {
    let mut model = Model::open(kind.source(storage), &mut [0; 300]).expect("valid file");
    let info = model.find("t", &mut [0; 300]).expect("readable").expect("present");
    let place = model.summary().data_start;
    let tensor = tensor_of(storage.first_file(), place, &info);
    let expected = case.bytes(tensor);
    let view = View::parse(storage.first_file()).and_then(|view| view.tensor("t")).expect("present");
    let in_place = view.slice_runs(&case.ranges());
    let reader = model.reader(&info).expect("tensor of this file");
    let mut reader = reader.slice(&case.ranges()).expect("in range");
    assert_eq!((reader.shape().dims(), reader.dtype()), (&case.shape()[..], case.dtype));
    if let Some(byte) = case.broken_byte() {
        let error = ErrorKind::PartOfByte { bits: case.dtype.bits() }.at(place + info.begin() + byte);
        assert_eq!(reader.byte_len(), Err(error));
        assert_eq!(in_place.map(|_| ()), Err(error));
        assert!(matches!(reader.next_chunk(&mut [0; 64]), Err(ReadError::Format(found)) if found == error));
        assert!(matches!(reader.read_to_end(&mut [0; 64]), Err(ReadError::Format(found)) if found == error));
        return;
    }
    assert_eq!(reader.byte_len(), Ok(expected.len() as u64));
    assert_eq!(in_place.expect("whole bytes").collect::<Vec<_>>().concat(), expected);
    assert_eq!(chunks(&mut reader, random), expected);
    assert_eq!(reader.next_chunk(&mut []).expect("at the end"), None);
    let mut reader = model.reader(&info).expect("tensor of this file").slice(&case.ranges()).unwrap();
    let mut buffer = vec![0; expected.len() + random.below(100)];
    assert_eq!(reader.read_to_end(&mut buffer).expect("fits"), expected);
    assert_eq!(reader.remaining(), 0);
    test_too_small_buffers(model.reader(&info).unwrap(), case, &expected);
}

fn tensor_of<'f>(file: &'f [u8], data_start: u64, info: &TensorInfo) -> &'f [u8] {
    let index = |at: u64| usize::try_from(data_start + at).unwrap();
    &file[index(info.begin())..index(info.end())]
}

/// Reads with buffers of any length that have space for one element, and sometimes all of the rest at once.
fn chunks(reader: &mut SliceReader<&mut AnySource<'_>>, random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![];
    let bits = usize::from(reader.dtype().bits());
    let unit = if bits == 6 { 3 } else { bits.div_ceil(8) };
    let largest = random.pick(&[unit, unit + 1, 3 * unit, 100, 1000]).max(unit);
    loop {
        let mut buffer = vec![0; unit + random.below(largest - unit + 1)];
        let left = reader.remaining();
        let Some(chunk) = reader.next_chunk(&mut buffer).expect("fits") else { break };
        assert!(!chunk.is_empty() && chunk.len() % unit == 0);
        assert_eq!((left - reader.remaining()) * bits as u64, chunk.len() as u64 * 8);
        bytes.extend(chunk);
        if random.percent(5) {
            let left = reader.remaining() * bits as u64 / 8;
            let mut rest = vec![0; usize::try_from(left).unwrap()];
            bytes.extend(reader.read_to_end(&mut rest).expect("fits"));
        }
    }
    assert_eq!(reader.remaining(), 0);
    bytes
}

fn test_too_small_buffers(tensor: TensorReader<'_, &mut AnySource<'_>>, case: &Case, expected: &[u8]) {
    let mut reader = tensor.slice(&case.ranges()).expect("in range");
    let Some(short) = expected.len().checked_sub(1) else { return };
    let needed = expected.len() as u64;
    let is_buffer_error = |kind| match kind {
        ErrorKind::BufferLength { needed: n, capacity } => (n, capacity) == (needed, short as u64),
        _ => false,
    };
    let outcome = reader.read_to_end(&mut vec![0; short]).map(<[u8]>::len);
    assert!(matches!(outcome, Err(ReadError::Format(error)) if is_buffer_error(error.kind)), "{outcome:?}");
    let unit = if case.dtype.bits() == 6 { 3 } else { usize::from(case.dtype.bits().div_ceil(8)) };
    let outcome = reader.next_chunk(&mut vec![0; unit - 1]).map(|_| ());
    let is_buffer_error =
        |kind| matches!(kind, ErrorKind::BufferLength { needed, .. } if needed == unit as u64);
    assert!(matches!(outcome, Err(ReadError::Format(error)) if is_buffer_error(error.kind)), "{outcome:?}");
    assert_eq!(reader.remaining() * u64::from(case.dtype.bits()), needed * 8);
}
