//! How often a slice calls its storage, and how much it reads.

use embedded_safetensors::{
    Dtype, Model, ReadAt, ReadError,
    reader::{Region, SliceReader, Values},
    slice::AxisRange,
    values::Element,
};
use std::fmt::Debug;
use support::file::{Stored, entry, with_entries, with_header, with_tensors};
use support::mock::{Counts, Failure, Fault, Plan, Storage};

type Slice<'m, 's> = SliceReader<&'m mut &'s Storage<'s>>;

/// Returns the storage's counts for reading this part of a tensor of zeros.
fn counts(dtype: Dtype, dims: &[u64], ranges: &[AxisRange], read: impl FnOnce(Slice<'_, '_>)) -> Counts {
    let len = dims.iter().product::<u64>() * u64::from(dtype.bits()) / 8;
    let file = with_entries(&[entry("t", dtype, dims, 0..len)], usize::try_from(len).unwrap());
    let storage = Storage::new(&file, Plan::default());
    let mut model = Model::open(&storage, &mut [0; 128]).expect("valid file");
    let tensor = model.find("t", &mut [0; 128]).expect("readable").expect("present");
    let reader = model.reader(&tensor).and_then(|tensor| tensor.slice(ranges)).expect("in range");
    storage.set_plan(Plan::default());
    read(reader);
    storage.counts()
}

fn in_chunks<S: ReadAt<Error: Debug>>(mut reader: SliceReader<S>, buffer: usize) {
    while reader.next_chunk(&mut vec![0; buffer]).expect("fits").is_some() {}
    assert_eq!(reader.remaining(), 0);
}

fn in_values<T: Element + Default>(
    mut reader: Values<impl ReadAt<Error: Debug>, impl Region>,
    buffer: usize,
) {
    while !reader.read(&mut vec![T::default(); buffer]).expect("fits").is_empty() {}
    assert_eq!(reader.remaining(), 0);
}

fn step(step: u64) -> AxisRange {
    AxisRange::ALL.step_by(step)
}

#[test]
fn contiguous_slice_is_one_read() {
    for ranges in [&[][..], &[(3..9).into()], &[AxisRange::index(7), (1..3).into()]] {
        let counts = counts(Dtype::F32, &[10, 5, 4], ranges, |reader| in_chunks(reader, 4000));
        assert_eq!(counts.calls, 1);
        let needed = counts.ranges[0].end - counts.ranges[0].start;
        assert_eq!(counts.bytes, needed);
    }
}

#[test]
fn every_second_element_is_read_with_its_gaps() {
    let read = |buffer| counts(Dtype::F32, &[4096], &[step(2)], |reader| in_chunks(reader, buffer));
    // 2,048 elements, in 16,380 bytes from the first to the last.
    assert_eq!((read(512).calls, read(512).bytes), (32, 32 * 508));
    assert_eq!(read(4096).calls, 4);
    assert_eq!((read(1 << 15).calls, read(1 << 15).bytes), (1, 16_380));
    assert_eq!(read(4).calls, 2048, "one element fits");
}

#[test]
fn gaps_of_up_to_64_bytes_are_read() {
    let read = |columns: u64| {
        let ranges = [AxisRange::ALL, AxisRange::index(1)];
        counts(Dtype::F32, &[1000, columns], &ranges, |reader| in_chunks(reader, 4096))
    };
    assert_eq!(read(17).calls, 17, "gaps of 64 bytes");
    assert_eq!((read(18).calls, read(18).bytes), (1000, 4000), "gaps of 68 bytes");
}

#[test]
fn runs_are_joined_across_rows() {
    let ranges = [AxisRange::ALL, step(2), (..3).into()];
    let counts = counts(Dtype::U8, &[100, 3, 5], &ranges, |reader| in_chunks(reader, 4096));
    assert_eq!((counts.calls, counts.bytes), (1, 1498));
}

#[test]
fn long_runs_are_read_alone() {
    let read = |run: u64| {
        let ranges = [AxisRange::ALL, (..run).into()];
        counts(Dtype::U8, &[10, run + 8], &ranges, |reader| in_chunks(reader, 4096)).calls
    };
    assert_eq!((read(256), read(257)), (1, 10));
}

/// Gaps are read into the memory of the values that are not filled yet.
#[test]
fn narrow_elements_are_joined_in_value_memory() {
    let read =
        |buffer| counts(Dtype::U8, &[4096], &[step(4)], |reader| in_values::<f32>(reader.values(), buffer));
    assert_eq!((read(1024).calls, read(1024).bytes), (1, 4093));
    assert_eq!(read(128).calls, 8);
    let packed = |dtype| counts(dtype, &[4096], &[step(3)], |reader| in_values::<f32>(reader.values(), 4096));
    assert_eq!((packed(Dtype::F4).calls, packed(Dtype::F6_E2M3).calls), (1, 1));
}

#[test]
fn filling_a_buffer_takes_a_few_more_reads() {
    let all = counts(Dtype::F32, &[4096], &[step(2)], |mut reader| {
        reader.read_to_end(&mut [0; 8192]).expect("fits");
        assert_eq!(reader.remaining(), 0);
    });
    assert_eq!((all.calls, all.bytes), (12, 16_336));
    let all = counts(Dtype::F32, &[4096], &[step(2)], |reader| {
        let mut values = reader.values();
        values.read_exact(&mut [0f32; 2048]).expect("in range");
        assert_eq!(values.remaining(), 0);
    });
    assert_eq!((all.calls, all.bytes), (12, 16_336));
    counts(Dtype::F32, &[4096], &[step(2)], |reader| {
        let read = reader.values().read(&mut [0f32; 2048]).expect("in range").len();
        assert_eq!(read, 1024, "the rest would take more reads");
    });
}

/// Reads a slice of elements of 4 bits: first one value, then the others.
fn of_f4<const REST: usize>(dims: [u64; 2], bytes: &[u8], ranges: &[AxisRange]) -> (f32, [f32; REST]) {
    let file = with_tensors(&[("t", "F4", dims, bytes)]);
    let mut model = Model::open(Stored(&file), &mut [0; 128]).expect("valid file");
    let tensor = model.find("t", &mut [0; 128]).expect("readable").expect("present");
    let reader = model.reader(&tensor).and_then(|tensor| tensor.slice(ranges)).expect("in range");
    let (mut values, mut first, mut rest) = (reader.values(), [0.0], [0.0; REST]);
    values.read_exact(&mut first).and_then(|()| values.read_exact(&mut rest)).expect("readable");
    (first[0], rest)
}

#[test]
fn elements_that_share_bytes_are_moved() {
    // Two elements move within bytes of which they have a half.
    let halves = of_f4([2, 4], &[0x10, 0x32, 0x54, 0x76], &[AxisRange::ALL, (1..3).into()]);
    assert_eq!(halves, (0.5, [1.0, 3.0, 4.0]));
    // The last element is in the last byte of the memory for two values.
    let bytes = [0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0x40];
    let last = of_f4([1, 32], &bytes, &[AxisRange::ALL, AxisRange::from(1..).step_by(15)]);
    assert_eq!(last, (0.0, [1.0, 2.0]));
}

#[test]
fn slice_reads_nothing_outside_itself() {
    let ranges = [AxisRange::from(2..5), AxisRange::from(1..6).step_by(2)];
    let counts = counts(Dtype::U16, &[9, 8], &ranges, |reader| in_chunks(reader, 1000));
    let [read] = &counts.ranges[..] else { panic!("{counts:?}") };
    assert_eq!(read.end - read.start, (2 * 8 + 4 + 1) * 2);
}

/// Any of the five runs that a call reads one by one may fail.
#[test]
fn failed_call_leaves_position_unchanged() {
    let header = r#"{"t":{"dtype":"U16","shape":[5,50],"data_offsets":[0,500]}}"#;
    let mut file = with_header(header, 0);
    file.extend((0..250u16).flat_map(u16::to_le_bytes));
    let expected = [3u16, 53, 103, 153, 203];
    for call in 0..5 {
        let storage = Storage::new(&file, Plan::default());
        let mut model = Model::open(&storage, &mut [0; 128]).expect("valid file");
        let tensor = model.find("t", &mut [0; 128]).expect("readable").expect("present");
        let column = [AxisRange::ALL, AxisRange::index(3)];
        let mut reader = model.reader(&tensor).and_then(|tensor| tensor.slice(&column)).expect("in range");
        let fails = || storage.set_plan(Plan { failure: Some(Failure::Once(call)), ..Plan::default() });
        fails();
        assert_eq!(reader.next_chunk(&mut [0; 10]), Err(ReadError::Source(Fault::Broken)));
        fails();
        assert_eq!(reader.read_to_end(&mut [0; 10]), Err(ReadError::Source(Fault::Broken)));
        assert_eq!(reader.remaining(), 5, "call {call}");
        let (mut reader, mut values) = (reader.values(), [0u16; 5]);
        fails();
        assert_eq!(reader.read(&mut values), Err(ReadError::Source(Fault::Broken)));
        fails();
        assert_eq!(reader.read_exact(&mut [0f32; 5]), Err(ReadError::Source(Fault::Broken)));
        assert_eq!((reader.position(), reader.remaining()), (0, 5), "call {call}");
        assert_eq!((reader.read_exact(&mut values), values), (Ok(()), expected));
    }
}
