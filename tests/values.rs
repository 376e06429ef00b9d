//! Elements that are read as values: the same through every door, in pieces of every size, from every element on.

use std::fmt::Debug;

use embedded_safetensors::{
    Dtype, Element, ElementReader, Model, ReadAt, ReadError, TensorInfo, TensorReader,
};
use verification::context::Context;
#[cfg(feature = "std")]
use verification::disk::Disk;
use verification::doors::{Door, Nor, NorOfUnknownLen, Own, SeekableStream, Slice};
use verification::file::with_header;
use verification::mock::{Plan, Reads, Storage};
use verification::random::Random;

/// Every test here leads through the door whose name it has.
macro_rules! doors {
    ($($name:ident: $door:ty, $reads:expr;)+) => {
        mod pieces_of_every_size_come_out_of {
            use super::*;
            $(#[test] fn $name() { each_tensor::<$door>(&$reads, Pieces); })+
        }
        mod every_element_is_found_in {
            use super::*;
            $(#[test] fn $name() { each_tensor::<$door>(&$reads, Sought); })+
        }
        mod rows_come_out_of {
            use super::*;
            $(#[test] fn $name() { each_tensor::<$door>(&$reads, RowByRow); })+
        }
    };
}

const WHOLE: [Reads; 1] = [Reads::Whole];
const SHORT: [Reads; 4] = [Reads::Whole, Reads::AtMost(1), Reads::AtMost(7), Reads::Random(1)];

doors! {
    slice: Slice, WHOLE;
    own: Own, SHORT;
    seekable: SeekableStream, SHORT;
    nor_1: Nor<1, 0>, WHOLE;
    nor_3: Nor<3, 6>, WHOLE;
    nor_4: Nor<4, 4099>, WHOLE;
    nor_16: NorOfUnknownLen<16, 7>, WHOLE;
    nor_64: Nor<64, 63>, WHOLE;
}

#[cfg(feature = "std")]
mod of_the_system {
    use super::*;

    doors! {
        file: Disk, WHOLE;
    }
}

/// An odd number of odd rows: in F4 and F6 every other one begins inside a byte.
const SHAPE: [u64; 2] = [16, 5];
const CHUNKS: [usize; 6] = [1, 2, 3, 7, 64, 200];

/// A tensor of each dtype, named like it, of random bytes; after a tensor of one byte, so that none is aligned.
fn file() -> Vec<u8> {
    let mut end = 1;
    let mut entries = String::from(r#""_":{"dtype":"U8","shape":[],"data_offsets":[0,1]}"#);
    for dtype in Dtype::ALL {
        let begin = end;
        end += usize::from(dtype.bits()) * 80 / 8;
        entries +=
            &format!(r#","{dtype}":{{"dtype":"{dtype}","shape":{SHAPE:?},"data_offsets":[{begin},{end}]}}"#);
    }
    let mut file = with_header(&format!("{{{entries}}}"), 0);
    let mut random = Random::new(7);
    file.extend((0..end).map(|_| random.number().to_le_bytes()[0]));
    file
}

/// Types of values, compared by their bits, for there are NaNs.
trait Value: Element + Default + Debug + PartialEq {
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

        /// Shows `check` a tensor as values of every type.
        fn as_every_type<S: ReadAt<Error: Debug>>(model: &mut Model<S>, info: &TensorInfo, file: &[u8], check: impl Check) {
            $(as_type::<$type, S>(model, info, file, check);)+
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

/// Something that is tried with each tensor, each type and each loss.
trait Check: Copy {
    fn try_with<S: ReadAt<Error: Debug>, T: Value>(self, scene: Scene<'_, S, T>);
}

/// A tensor that can be read as values of a type.
struct Scene<'a, S, T> {
    model: &'a mut Model<S>,
    info: &'a TensorInfo,
    loss: Loss,
    /// What comes out of memory in one go.
    expected: &'a [T],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    None,
    Rounded,
}

impl Loss {
    fn next<'b, S: ReadAt, T: Value>(
        self,
        reader: &mut ElementReader<S>,
        values: &'b mut [T],
    ) -> Result<Option<&'b [T]>, ReadError<S::Error>> {
        match self {
            Self::None => reader.next_lossless(values),
            Self::Rounded => reader.next_rounded(values),
        }
    }

    fn all<'b, S: ReadAt, T: Value>(
        self,
        reader: &mut ElementReader<S>,
        values: &'b mut [T],
    ) -> Result<&'b [T], ReadError<S::Error>> {
        match self {
            Self::None => reader.read_lossless(values),
            Self::Rounded => reader.read_rounded(values),
        }
    }
}

impl<S: ReadAt<Error: Debug>, T: Value> Scene<'_, S, T> {
    fn reader(&mut self) -> TensorReader<'_, &mut S> {
        self.model.tensor(self.info).expect("it is this file's")
    }

    /// Values of a row.
    fn row_len(&self) -> usize {
        self.expected.len() / 16
    }
}

fn each_tensor<D: Door>(reads: &[Reads], check: impl Check)
where
    for<'s> D::Source<'s>: ReadAt<Error: Debug>,
{
    let file = file();
    for &reads in reads {
        let _context = Context(|| format!("{reads:?}"));
        let storage = Storage::new(&file, Plan { reads, ..Plan::default() });
        let mut model = Model::open(D::source(&storage), &mut [0; 512]).expect("it is sound");
        for dtype in Dtype::ALL {
            let _context = Context(|| dtype.to_string());
            let info = model.find(dtype.name(), &mut [0; 512]).expect("it is sound").expect("it is there");
            as_every_type(&mut model, &info, &file, check);
        }
    }
}

fn as_type<T: Value, S: ReadAt<Error: Debug>>(
    model: &mut Model<S>,
    info: &TensorInfo,
    file: &[u8],
    check: impl Check,
) {
    for loss in [Loss::None, Loss::Rounded] {
        let _context = Context(|| format!("{:?}, {loss:?}", T::DTYPE));
        let mut in_memory = Model::open(file, &mut [0; 512]).expect("it is sound");
        let mut reader = in_memory.tensor(info).expect("it is this file's").elements();
        let mut expected = [T::default(); 160];
        let Ok(expected) = loss.all(&mut reader, &mut expected) else { continue };
        assert_eq!(expected.len() as u64, 80 * if info.dtype() == Dtype::C64 { 2 } else { 1 });
        check.try_with(Scene { model: &mut *model, info, loss, expected });
    }
}

fn assert_same<T: Value>(found: &[T], expected: &[T]) {
    let bits = |values: &[T]| values.iter().map(|value| value.bits()).collect::<Vec<_>>();
    assert_eq!(bits(found), bits(expected), "{found:?} instead of {expected:?}");
}

#[derive(Clone, Copy)]
struct Pieces;

impl Check for Pieces {
    fn try_with<S: ReadAt<Error: Debug>, T: Value>(self, mut scene: Scene<'_, S, T>) {
        for chunk in CHUNKS {
            let _context = Context(|| format!("in chunks of {chunk}"));
            let (loss, expected, mut found) = (scene.loss, scene.expected, vec![]);
            let mut reader = scene.reader().elements();
            let mut values = vec![T::default(); chunk];
            while let Some(piece) = loss.next(&mut reader, &mut values).expect("it can be read") {
                assert_eq!(piece.len(), chunk.min(expected.len() - found.len()), "as many as fit");
                found.extend_from_slice(piece);
                assert_eq!((reader.position(), reader.len()), (found.len() as u64, expected.len() as u64));
            }
            assert_eq!(reader.remaining(), 0);
            assert_same(&found, expected);
        }
    }
}

#[derive(Clone, Copy)]
struct Sought;

impl Check for Sought {
    fn try_with<S: ReadAt<Error: Debug>, T: Value>(self, mut scene: Scene<'_, S, T>) {
        let (loss, expected) = (scene.loss, scene.expected);
        let mut reader = scene.reader().elements();
        for first in (0..=expected.len()).rev() {
            let _context = Context(|| format!("from element {first} on"));
            let (mut some, mut all) = ([T::default(); 3], [T::default(); 160]);
            reader.seek(first as u64).expect("it is there");
            let found = loss.next(&mut reader, &mut some).expect("it can be read").unwrap_or(&[]);
            assert_same(found, &expected[first..expected.len().min(first + 3)]);
            reader.seek(first as u64).expect("it is there");
            assert_same(loss.all(&mut reader, &mut all).expect("it can be read"), &expected[first..]);
        }
    }
}

#[derive(Clone, Copy)]
struct RowByRow;

impl Check for RowByRow {
    fn try_with<S: ReadAt<Error: Debug>, T: Value>(self, mut scene: Scene<'_, S, T>) {
        let (loss, expected, row_len) = (scene.loss, scene.expected, scene.row_len());
        let mut values = vec![T::default(); row_len + 1];
        for (row, expected) in expected.chunks(row_len).enumerate() {
            let mut reader = scene.reader().row(row as u64).expect("it is there");
            assert_same(loss.all(&mut reader, &mut values).expect("it can be read"), expected);
        }
        for first in 0..=16 {
            let _context = Context(|| format!("from row {first} on"));
            let mut rows = scene.reader().rows(first as u64..16).expect("they are there");
            assert_eq!(rows.row_len(), row_len as u64);
            for (row, expected) in expected.chunks(row_len).enumerate().skip(first) {
                assert_eq!((rows.position(), rows.remaining()), (row as u64, 16 - row as u64));
                let found = match loss {
                    Loss::None => rows.next_lossless(&mut values[..row_len]),
                    Loss::Rounded => rows.next_rounded(&mut values),
                };
                assert_same(found.expect("it can be read").expect("it is not the end"), expected);
            }
            assert!(rows.next_rounded(&mut values[..0]).expect("nothing can be wrong").is_none());
        }
    }
}
