//! Elements read as values: the same from every kind of source, in pieces of every size, from every element
//! on.

use std::fmt::Debug;

#[cfg(feature = "std")]
use embedded_safetensors::io::FileLen;
use embedded_safetensors::{
    Dtype, Error, ErrorKind, Model, ReadError, TensorInfo, TensorReader,
    error::Class,
    reader::{Contiguous, Values},
    tensor::{DtypeSet, Located, Location},
    values::{
        Element,
        dtypes::{self, One},
    },
};
use support::context::Context;
#[cfg(feature = "std")]
use support::disk::DISK;
use support::file::{entry, with_header, with_tensors};
use support::mock::{Fault, Plan, Reads, Storage};
use support::random::Random;
use support::share;
use support::sources::{AnySource, CUSTOM, SLICE, STREAM, SourceKind, nor, nor_of_unknown_len};

/// Each test is named after its kind of source.
macro_rules! sources {
    ($($(#[$where:meta])? $name:ident: $kind:expr, $reads:expr;)+) => {
        mod pieces_of_every_size_are_read_from {
            use super::*;
            $(#[test] $(#[$where])? fn $name() { each_tensor($kind, &$reads, Pieces); })+
        }
        mod seek_to_every_element_of {
            use super::*;
            $(#[test] $(#[$where])? fn $name() { each_tensor($kind, &$reads, SeekEach); })+
        }
        mod rows_are_read_from {
            use super::*;
            $(#[test] $(#[$where])? fn $name() { each_tensor($kind, &$reads, RowByRow); })+
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
    nor_3: nor::<3, 6>(), WHOLE;
    nor_4: nor::<4, 4099>(), WHOLE;
    nor_16: nor_of_unknown_len::<16, 7>(), WHOLE;
    nor_64: nor::<64, 63>(), WHOLE;
    #[cfg(feature = "std")] on_disk: DISK, WHOLE;
}

/// An odd number of odd rows: in F4 and F6 every other one begins inside a byte.
const SHAPE: [u64; 2] = [16, 5];
const CHUNKS: [usize; 6] = [1, 2, 3, 7, 64, 200];

/// Returns a tensor of each dtype, named after it, with random bytes; a tensor of one byte precedes them, so
/// that none is aligned.
fn file(random: &mut Random) -> Vec<u8> {
    let mut tensors = vec![("_", Dtype::U8, &[][..], random.bytes(1))];
    tensors.extend(
        Dtype::ALL.iter().map(|dtype| {
            (dtype.name(), *dtype, &SHAPE[..], random.bytes(usize::from(dtype.bits()) * 80 / 8))
        }),
    );
    with_tensors(&tensors)
}

/// Types of values, compared by their bits because of NaNs.
pub trait Value: Element + Default + Debug + PartialEq {
    fn bits(self) -> u64;
}

macro_rules! values {
    ($($type:ty: $bits:expr;)+) => {
        $(impl Value for $type {
            fn bits(self) -> u64 {
                #[allow(clippy::redundant_closure_call)]
                ($bits)(self)
            }
        })+

        /// Calls `check` with a tensor as values of every type.
        fn as_every_type(
            model: &mut Model<AnySource<'_>>,
            info: &TensorInfo,
            file: &[u8],
            check: impl Check,
        ) {
            $(as_type::<$type>(model, info, file, check);)+
        }
    };
}

values! {
    f32: |value: f32| u64::from(value.to_bits());
    f64: f64::to_bits;
    u8: u64::from;
    i8: |value: i8| u64::from(value.cast_unsigned());
    u16: u64::from;
    i16: |value: i16| u64::from(value.cast_unsigned());
    u32: u64::from;
    i32: |value: i32| u64::from(value.cast_unsigned());
    u64: |value| value;
    i64: |value: i64| value.cast_unsigned();
    half::f16: |value: half::f16| u64::from(value.to_bits());
    half::bf16: |value: half::bf16| u64::from(value.to_bits());
}

/// A check that is run with each tensor and each type.
trait Check: Copy {
    fn try_with<T: Value>(self, tensor_values: TypedTensor<'_, '_, T>);
}

/// A tensor that can be read as values of a type.
struct TypedTensor<'a, 's, T> {
    model: &'a mut Model<AnySource<'s>>,
    info: &'a TensorInfo,
    /// The values read from memory in one call.
    expected: &'a [T],
}

/// Values of a tensor, rounded if there is no other way.
type Rounding<'a, 's> = Values<&'a mut AnySource<'s>, Contiguous, dtypes::Rounded>;

fn counts(values: &Rounding<'_, '_>) -> [u64; 3] {
    [values.position(), values.remaining(), values.len()]
}

impl<'s, T: Value> TypedTensor<'_, 's, T> {
    fn tensor(&mut self) -> TensorReader<'_, &mut AnySource<'s>> {
        self.model.reader(self.info).expect("tensor of this file")
    }

    fn values(&mut self) -> Rounding<'_, 's> {
        self.tensor().values().rounded()
    }

    fn row(&mut self, row: usize) -> Rounding<'_, 's> {
        self.tensor().row(row as u64).expect("present").rounded()
    }

    fn rows(&mut self, first: usize) -> Rounding<'_, 's> {
        self.tensor().rows(first as u64..16).expect("present").rounded()
    }

    /// Values of a row.
    fn row_len(&self) -> usize {
        self.expected.len() / 16
    }
}

fn each_tensor(kind: SourceKind, reads: &[Reads], check: impl Check) {
    let file = file(&mut Random::new(7));
    reads.iter().for_each(|&reads| each_dtype(kind, reads, &file, Dtype::ALL, check));
}

fn each_dtype(kind: SourceKind, reads: Reads, file: &[u8], dtypes: &[Dtype], check: impl Check) {
    let _context = Context(|| format!("{reads:?}"));
    let storage = Storage::new(file, Plan { reads, ..Plan::default() });
    let mut model = Model::open(kind.source(&storage), &mut [0; 512]).expect("valid file");
    for dtype in dtypes {
        let _context = Context(|| dtype.to_string());
        let info = model.find(dtype.name(), &mut [0; 512]).expect("valid file").expect("present");
        as_every_type(&mut model, &info, file, check);
    }
}

/// Reads a tensor of any bytes in one of these ways.
pub fn check(random: &mut Random) {
    let (dtype, reads) = ([random.pick(Dtype::ALL)], random.pick(&SHORT));
    let (kind, reads) = match random.below(4) {
        0 => (SLICE, Reads::Whole),
        1 => (nor::<16, 7>(), Reads::Whole),
        2 => (CUSTOM, reads),
        _ => (STREAM, reads),
    };
    let (way, file) = (random.below(3), file(random));
    match way {
        0 => each_dtype(kind, reads, &file, &dtype, Pieces),
        1 => each_dtype(kind, reads, &file, &dtype, SeekEach),
        _ => each_dtype(kind, reads, &file, &dtype, RowByRow),
    }
}

#[test]
fn any_bytes_are_read_alike() {
    (0..share::of(400)).for_each(|seed| check(&mut Random::new(seed)));
}

fn as_type<T: Value>(model: &mut Model<AnySource<'_>>, info: &TensorInfo, file: &[u8], check: impl Check) {
    let _context = Context(|| format!("{:?}", T::DTYPE));
    let in_memory = Storage::new(file, Plan::default());
    let mut in_memory = Model::open(SLICE.source(&in_memory), &mut [0; 512]).expect("valid file");
    let mut expected = [T::default(); 160];
    let mut reader = in_memory.reader(info).expect("tensor of this file").values().rounded();
    let Ok(expected) = reader.read(&mut expected) else { return };
    assert_eq!(expected.len() as u64, 80 * if info.dtype() == Dtype::C64 { 2 } else { 1 });
    check.try_with(TypedTensor { model, info, expected });
}

fn assert_same<T: Value>(found: &[T], expected: &[T]) {
    let bits = |values: &[T]| values.iter().map(|value| value.bits()).collect::<Vec<_>>();
    assert_eq!(bits(found), bits(expected), "{found:?} instead of {expected:?}");
}

#[derive(Clone, Copy)]
struct Pieces;

impl Check for Pieces {
    fn try_with<T: Value>(self, mut tensor_values: TypedTensor<'_, '_, T>) {
        for chunk in CHUNKS {
            let _context = Context(|| format!("in chunks of {chunk}"));
            let (expected, mut found) = (tensor_values.expected, vec![]);
            let mut reader = tensor_values.values();
            let mut values = vec![T::default(); chunk];
            while let piece @ [_, ..] = reader.read(&mut values).expect("readable") {
                assert_eq!(piece.len(), chunk.min(expected.len() - found.len()), "as many as fit");
                found.extend_from_slice(piece);
                let left = expected.len() - found.len();
                assert_eq!(counts(&reader), [found.len(), left, expected.len()].map(|count| count as u64));
            }
            assert_same(&found, expected);
            let mut reader = tensor_values.values();
            for expected in expected.chunks(chunk) {
                reader.read_exact(&mut values[..expected.len()]).expect("left");
                assert_same(&values[..expected.len()], expected);
            }
            assert_eq!(counts(&reader)[1], 0);
        }
    }
}

#[derive(Clone, Copy)]
struct SeekEach;

impl Check for SeekEach {
    fn try_with<T: Value>(self, mut tensor_values: TypedTensor<'_, '_, T>) {
        let expected = tensor_values.expected;
        let mut reader = tensor_values.values();
        for first in (0..=expected.len()).rev() {
            let _context = Context(|| format!("from element {first} on"));
            let (mut some, mut all) = ([T::default(); 3], [T::default(); 160]);
            reader.seek(first as u64).expect("present");
            let found = reader.read(&mut some).expect("readable");
            assert_same(found, &expected[first..expected.len().min(first + 3)]);
            reader.seek(first as u64).expect("present");
            assert_same(reader.read(&mut all).expect("readable"), &expected[first..]);
            let all = &mut all[..expected.len() - first];
            reader.seek(first as u64).expect("present");
            reader.read_exact(all).expect("readable");
            assert_same(all, &expected[first..]);
        }
    }
}

#[derive(Clone, Copy)]
struct RowByRow;

impl Check for RowByRow {
    fn try_with<T: Value>(self, mut tensor_values: TypedTensor<'_, '_, T>) {
        let (expected, row_len) = (tensor_values.expected, tensor_values.row_len());
        let mut values = vec![T::default(); row_len + 1];
        for (row, expected) in expected.chunks(row_len).enumerate() {
            assert_same(tensor_values.row(row).read(&mut values).expect("readable"), expected);
            tensor_values.row(row).read_exact(&mut values[..row_len]).expect("readable");
            assert_same(&values[..row_len], expected);
        }
        for first in 0..=16 {
            let _context = Context(|| format!("from row {first} on"));
            let mut rows = tensor_values.rows(first);
            let len = (16 - first) * row_len;
            for (row, expected) in expected.chunks(row_len).enumerate().skip(first) {
                let read = (row - first) * row_len;
                assert_eq!(counts(&rows), [read, len - read, len].map(|count| count as u64));
                rows.read_exact(&mut values[..row_len]).expect("readable");
                assert_same(&values[..row_len], expected);
            }
            assert!(rows.read(&mut values[..0]).expect("no error").is_empty());
            assert!(rows.read_exact(&mut values[..1]).is_err());
        }
        let mut rows = tensor_values.rows(0);
        for (row, expected) in expected.chunks(row_len).enumerate().rev() {
            rows.seek((row * row_len) as u64).expect("present");
            rows.read_exact(&mut values[..row_len]).expect("readable");
            assert_same(&values[..row_len], expected);
        }
    }
}

/// Returns a file with one tensor `t` of these bytes, and a byte before it.
fn of_tensor(dtype: &str, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
    let end = 1 + bytes.len() as u64;
    let entries = [entry("_", "U8", [0; 0], 0..1), entry("t", dtype, shape, 1..end)];
    let header = format!("{{{}}}", entries.join(","));
    let mut file = with_header(&format!("{header:150}"), 1);
    file.extend(bytes);
    file
}

/// The offset of the tensor `t`.
const START: u64 = 8 + 150 + 1;

type Tensor<'t, 's> = TensorReader<'t, &'t mut &'s Storage<'s>>;

/// Reads the tensor of such a file from a storage, which starts counting then.
fn read_t(dtype: &str, shape: &[u64], bytes: &[u8], read: impl Fn(Tensor<'_, '_>, &Storage<'_>)) {
    let file = of_tensor(dtype, shape, bytes);
    let storage = Storage::new(&file, Plan::default());
    let mut model = Model::open(&storage, &mut [0; 256]).expect("valid file");
    let info = model.find("t", &mut [0; 256]).expect("valid file").expect("present");
    storage.set_plan(Plan::default());
    read(model.reader(&info).expect("tensor of this file"), &storage);
}

fn usage<T: Debug>(outcome: Result<T, ReadError<Fault>>) -> Error {
    match outcome {
        Err(ReadError::Format(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn call_is_one_read_of_the_needed_bytes() {
    read_t("F16", &[8, 8], &[0; 128], |reader, storage| {
        let mut rows = reader.rows(2..4).expect("in range");
        rows.read_exact(&mut [0f32; 8]).expect("readable");
        assert_eq!(rows.read(&mut [0f32; 9]).map(<[f32]>::len), Ok(8));
        assert_eq!(rows.read(&mut [0f32; 9]), Ok(&[][..]));
        let bytes = [(32, 48), (48, 64)].map(|(from, to)| START + from..START + to);
        assert_eq!((storage.counts().ranges, storage.counts().calls), (bytes.to_vec(), 2));
    });
    read_t("F6_E2M3", &[2, 10], &[0; 15], |reader, storage| {
        reader.row(1).unwrap().read_exact(&mut [0f64; 10]).expect("readable");
        let bytes = START + 7..START + 15;
        assert_eq!(storage.counts().ranges, std::slice::from_ref(&bytes));
    });
    read_t("F64", &[5], &[0; 40], |reader, storage| {
        reader.values().rounded().read_exact(&mut [0f32; 5]).expect("readable");
        let halves = [(0, 16), (16, 24), (24, 32), (32, 40)].map(|(from, to)| START + from..START + to);
        assert_eq!(storage.counts().ranges, halves);
    });
}

/// Only values that are converted are read in blocks.
#[test]
fn large_conversions_are_read_in_blocks() {
    let bytes: Vec<u8> = (0..100_000u32).map(|index| index.to_le_bytes()[0]).collect();
    read_t("U8", &[100_000], &bytes, |reader, storage| {
        let mut values = vec![0f32; 100_000];
        let values = reader.values().read(&mut values).expect("readable");
        assert!(values.iter().zip(&bytes).all(|(value, byte)| *value == f32::from(*byte)));
        let lens: Vec<u64> = storage.counts().ranges.iter().map(|range| range.end - range.start).collect();
        assert_eq!(lens, [16384, 16384, 16384, 16384, 16384, 16384, 1696]);
    });
    read_t("U8", &[100_000], &bytes, |reader, storage| {
        reader.values().read_exact(&mut vec![0u8; 100_000]).expect("readable");
        // In blocks of 64 KiB where the bytes of others would be swapped.
        assert_eq!(storage.counts().calls, if cfg!(target_endian = "big") { 2 } else { 1 });
    });
}

#[test]
fn too_few_values_are_rejected_before_reading() {
    read_t("F16", &[2, 3], &[0; 12], |reader, storage| {
        let mut reader = reader.values();
        let no_space = ErrorKind::BufferLength { needed: 4, capacity: 0 };
        assert_eq!(usage(reader.read::<f32>(&mut [])), no_space.at(START));
        let too_few = |asked| ErrorKind::OutsideElements { asked, len: 6 }.at(START + 12);
        assert_eq!(usage(reader.read_exact(&mut [0f32; 7])), too_few(6));
        reader.seek(5).expect("present");
        assert_eq!(usage(reader.read::<f64>(&mut [])).at, START + 10);
        assert_eq!(usage(reader.read_exact(&mut [0f32; 4])), too_few(8));
        assert_eq!(
            too_few(8).kind.to_string(),
            "element 8 (counted from 0) was requested, but there are only 6"
        );
        assert_eq!(reader.read_exact::<f32>(&mut []), Ok(()), "nothing is requested");
        reader.seek(6).expect("in range");
        assert_eq!(reader.read::<f32>(&mut []), Ok(&[][..]));
        assert_eq!(reader.read_exact::<f32>(&mut []), Ok(()));
        assert_eq!(usage(reader.read_exact(&mut [0f32])), too_few(6));
        assert_eq!(storage.counts().calls, 0);
    });
    read_t("F16", &[2, 3], &[0; 12], |reader, storage| {
        let mut rows = reader.rows(1..2).expect("in range");
        let error = ErrorKind::OutsideElements { asked: 3, len: 3 }.at(START + 12);
        assert_eq!(usage(rows.read_exact(&mut [0f64; 4])), error);
        assert_eq!((rows.position(), storage.counts().calls), (0, 0));
    });
}

#[test]
fn lossy_type_is_rejected_even_at_the_end() {
    read_t("F64", &[1], &[0; 8], |reader, storage| {
        let mut reader = reader.values();
        reader.skip(1).expect("in range");
        let lossy = ErrorKind::Lossy { from: Dtype::F64, to: Dtype::F32 };
        assert_eq!(usage(reader.read::<f32>(&mut [])), lossy.at(START));
        assert_eq!(usage(reader.read_exact::<f32>(&mut [])), lossy.at(START));
        let none = ErrorKind::NoConversion { from: Dtype::F64, to: Dtype::U8 };
        assert_eq!(usage(reader.rounded().read_exact::<u8>(&mut [])), none.at(START));
        assert_eq!(storage.counts().calls, 0);
    });
}

#[test]
fn rounded_continues_at_the_position() {
    read_t("F64", &[3], &[[0; 8], 0.1f64.to_le_bytes(), [0; 8]].concat(), |reader, _| {
        let mut exact = reader.values();
        exact.skip(1).expect("in range");
        let mut rounding = exact.rounded();
        assert_eq!((rounding.position(), rounding.remaining()), (1, 2));
        assert_eq!(rounding.read(&mut [0f32]), Ok(&[0.1][..]));
        let mut still = rounding.rounded();
        assert_eq!(still.read(&mut [1f32; 2]), Ok(&[0.0][..]));
    });
}

/// Reads a row of a tensor with the only dtype `D`, if its dtype is that, and compares it with what any dtype
/// reads.
fn row_of<D: One>(only: D) {
    let file = file(&mut Random::new(7));
    let mut model = Model::open(&file[..], &mut [0; 256]).expect("valid file");
    for &dtype in Dtype::ALL {
        let info = model.find(dtype.name(), &mut [0; 256]).expect("valid file").expect("present");
        let at = model.summary().data_start + info.begin();
        let (mut of_any, mut of_one) = ([0f64; 5], [0f64; 5]);
        let any = row(&mut model, &info).read_exact(&mut of_any);
        match row(&mut model, &info).of(only) {
            Err(error) => {
                let (found, asked) = (dtype, DtypeSet::of(&[D::DTYPE]));
                assert_ne!(dtype, D::DTYPE);
                assert_eq!(error, ErrorKind::DtypeMismatch { query: None, found, asked }.at(at));
            }
            Ok(mut row) => {
                assert_eq!((row.read_exact(&mut of_one), row.dtype()), (any, D::DTYPE));
                assert_eq!(of_one.map(f64::to_bits), of_any.map(f64::to_bits), "{dtype}");
            }
        }
    }
}

fn row<'m, 'f>(model: &'m mut Model<&'f [u8]>, info: &'m TensorInfo) -> Values<&'m mut &'f [u8]> {
    model.reader(info).and_then(|reader| reader.row(3)).expect("in range")
}

#[test]
fn one_dtype_is_read_like_any() {
    macro_rules! each {
        ($($dtype:ident)+) => {
            $(row_of(dtypes::$dtype);)+
            assert_eq!([$(Dtype::$dtype),+], Dtype::ALL);
        };
    }
    each! {
        BOOL F4 F6_E2M3 F6_E3M2 U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ
        I16 U16 F16 BF16 I32 U32 F32 C64 F64 I64 U64
    }
}

#[cfg(feature = "std")]
#[test]
fn read_to_vec_returns_the_rest() {
    read_t("U8", &[2, 2], &[7, 8, 9, 10], |reader, storage| {
        let mut reader = reader.values();
        reader.skip(1).expect("in range");
        assert_eq!(reader.read_to_vec::<f32>(), Ok(vec![8.0, 9.0, 10.0]));
        assert_eq!(reader.read_to_vec::<f32>(), Ok(vec![]));
        assert_eq!((reader.remaining(), storage.counts().calls), (0, 1));
    });
    read_t("F64", &[1], &0.1f64.to_le_bytes(), |reader, storage| {
        let mut reader = reader.values();
        let lossy = ErrorKind::Lossy { from: Dtype::F64, to: Dtype::F32 };
        assert_eq!(usage(reader.read_to_vec::<f32>()), lossy.at(START));
        assert_eq!(storage.counts().calls, 0);
        assert_eq!(reader.rounded().read_to_vec::<f32>(), Ok(vec![0.1]));
    });
}

#[cfg(feature = "std")]
#[test]
fn read_to_vec_reports_out_of_memory() {
    let len = 1u64 << 60;
    let file = with_header(&format!("{{{}}}", entry("t", "U8", [len], 0..len)), 0);
    let storage = Storage::new(&file, Plan { reported_len: Some(FileLen::Unknown), ..Plan::default() });
    let mut model = Model::open(&storage, &mut [0; 128]).expect("the end is not checked");
    let info = model.find("t", &mut [0; 128]).expect("valid file").expect("present");
    let mut reader = model.reader(&info).expect("tensor of this file").values();
    let no_space = ErrorKind::BufferLength { needed: len << 3, capacity: 0 };
    assert_eq!(usage(reader.read_to_vec::<f64>()), no_space.at(file.len() as u64));
    assert_eq!(reader.position(), 0);
}

#[test]
fn position_beyond_the_end_is_rejected() {
    read_t("F4", &[2, 3], &[0; 3], |reader, _| {
        let mut row = reader.row(0).expect("present");
        for asked in [4, u64::MAX] {
            let outside = ErrorKind::OutsideElements { asked, len: 3 };
            assert_eq!(row.seek(asked), Err(outside.at(START + 1)));
            assert_eq!(outside.code(), "usage.element");
        }
        assert_eq!(row.seek(2), Ok(()));
        assert!(row.skip(u64::MAX).is_err() && row.position() == 2 && row.remaining() == 1);
    });
    let outside = |asked, size| ErrorKind::OutsideAxis { axis: 0, asked, size }.at(START);
    for row in [2, 3, u64::MAX] {
        read_t("F4", &[2, 3], &[0; 3], |reader, _| assert_eq!(reader.row(row).unwrap_err(), outside(row, 2)));
    }
    let reversed = std::ops::Range { start: 4, end: 1 };
    for (rows, asked) in
        [(0..3, 2), (1..u64::MAX, u64::MAX - 1), (2..5, 4), (3..3, 3), (3..6, 3), (reversed, 4)]
    {
        read_t("F4", &[2, 3], &[0; 3], |reader, _| {
            assert_eq!(reader.rows(rows.clone()).unwrap_err(), outside(asked, 2));
        });
    }
    read_t("F4", &[2, 3], &[0; 3], |reader, _| {
        let mut rows = reader.rows(0..1).expect("present");
        let beyond = ErrorKind::OutsideElements { asked: 4, len: 3 }.at(START + 1);
        assert_eq!((rows.seek(4), rows.seek(3)), (Err(beyond), Ok(())));
        assert_eq!(rows.read(&mut [0f32; 3]), Ok(&[][..]));
    });
    read_t("U8", &[u64::MAX, 0], &[], |reader, _| {
        assert_eq!(reader.row(u64::MAX).unwrap_err(), outside(u64::MAX, u64::MAX));
    });
}

#[test]
fn rows_share_the_outermost_index() {
    read_t("U8", &[3], &[7, 8, 9], |reader, _| {
        let mut rows = reader.rows(1..3).expect("present");
        assert_eq!((rows.len(), rows.read(&mut [0u16; 1])), (2, Ok(&[8][..])));
        assert_eq!(rows.read(&mut [0u16; 4]), Ok(&[9][..]));
    });
    let reversed = std::ops::Range { start: 2, end: 1 };
    read_t("U8", &[3], &[7, 8, 9], |reader, _| {
        let mut rows = reader.rows(reversed.clone()).expect("begins in range");
        assert_eq!((rows.len(), rows.read(&mut [0u16; 1])), (0, Ok(&[][..])));
    });
    read_t("U8", &[3, 0], &[], |reader, storage| {
        let mut rows = reader.rows(0..3).expect("present");
        for _ in 0..3 {
            assert_eq!(rows.read_exact::<u8>(&mut []), Ok(()));
        }
        assert_eq!((rows.read::<u8>(&mut []), storage.counts().calls), (Ok(&[][..]), 0));
    });
    read_t("U8", &[0, 1 << 40, 1 << 40], &[], |reader, _| {
        let mut rows = reader.rows(0..0).expect("none");
        assert_eq!((rows.len(), rows.read(&mut [0u8; 1])), (0, Ok(&[][..])));
    });
    read_t("F32", &[], &[0; 4], |reader, _| {
        let error = ErrorKind::TooManyRanges { asked: 1, rank: 0 }.at(START);
        assert_eq!(reader.rows(0..0).unwrap_err(), error);
    });
    read_t("F32", &[], &[0; 4], |reader, _| {
        assert_eq!(reader.values().read(&mut [1f32; 1]), Ok(&[0.0][..]), "a scalar has an element");
    });
}

/// Reports a tensor with the dimensions of another.
struct Mixed(TensorInfo, Vec<u64>);

impl Located for Mixed {
    fn locate(&self) -> Result<Location, Error> {
        self.0.locate()
    }

    fn dims(&self) -> &[u64] {
        &self.1
    }
}

#[test]
fn wrong_dimensions_stay_inside_the_tensor() {
    let file = of_tensor("F16", &[2, 3], &[0; 12]);
    let mut model = Model::open(&file[..], &mut [0; 256]).expect("valid file");
    let info = model.find("t", &mut [0; 256]).expect("valid file").expect("present");
    for dims in [[3, 3], [2, 4], [u64::MAX, 2], [1 << 33, 1 << 33]] {
        let mixed = Mixed(info, dims.to_vec());
        for outcome in [
            model.reader(&mixed).and_then(|reader| reader.row(0).map(|_| ())),
            model.reader(&mixed).and_then(|reader| reader.rows(0..1).map(|_| ())),
        ] {
            assert!(matches!(outcome, Err(Error { kind: ErrorKind::OutsideTensor { .. }, .. })), "{dims:?}");
        }
        let slice = model.reader(&mixed).and_then(|reader| reader.slice(&[]).map(|_| ()));
        assert!(slice.is_err_and(|error| error.kind.class() == Class::File), "{dims:?}");
    }
}
