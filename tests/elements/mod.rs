//! Compares every dtype as values of every type with tables that numpy and ml_dtypes made; see `make.py`.

mod tables;

use std::convert::Infallible;

use embedded_safetensors::{Dtype, ErrorKind, Model, ReadAt};
use half::{bf16, f16};
use support::file::{Stored, of_file, with_tensors};
use tables::{Expected, Pair, Tables};

use crate::values::Value;

/// A check of a dtype and a type.
trait Check {
    fn pair<T: Value>(&mut self, source: &Source, expected: &Pair<'_>);
}

fn each_pair(mut check: impl Check) {
    let tables = Tables::load();
    for &dtype in Dtype::ALL {
        let source = Source::new(dtype, &tables.elements(dtype));
        macro_rules! with {
            ($($type:ident),*) => {
                $(check.pair::<$type>(&source, &tables.pair(dtype, stringify!($type)));)*
            };
        }
        with!(f32, f64, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16);
    }
}

/// A file with one tensor, and its number of values.
struct Source {
    dtype: Dtype,
    file: Vec<u8>,
    len: usize,
}

impl Source {
    fn new(dtype: Dtype, elements: &[u8]) -> Self {
        let count = elements.len() * 8 / usize::from(dtype.bits());
        let file = with_tensors(&[("x", dtype, [count], elements)]);
        Self { dtype, file, len: if dtype == Dtype::C64 { 2 * count } else { count } }
    }

    /// Returns the bytes of all values.
    fn all<T: Value>(&self, loss: Loss) -> Result<Vec<u8>, ErrorKind> {
        self.part::<T>(loss, 0, self.len)
    }

    /// Returns the bytes of the values of `len` elements from `first` on. They are the same when they are
    /// converted directly from memory and when they are converted in place.
    fn part<T: Value>(&self, loss: Loss, first: usize, len: usize) -> Result<Vec<u8>, ErrorKind> {
        let values = read::<T, _>(self.file.as_slice(), loss, first, len);
        assert_eq!(
            values,
            read::<T, _>(Stored(&self.file), loss, first, len),
            "{} as {}",
            self.dtype,
            T::DTYPE
        );
        values
    }
}

#[derive(Clone, Copy)]
enum Loss {
    None,
    Rounded,
}

fn read<T: Value, S>(source: S, loss: Loss, first: usize, len: usize) -> Result<Vec<u8>, ErrorKind>
where
    S: ReadAt<Error = Infallible>,
{
    let mut model = Model::open(source, &mut [0; 64]).unwrap();
    let info = model.find("x", &mut [0; 64]).unwrap().unwrap();
    let mut reader = model.reader(&info).unwrap().values();
    reader.seek(first as u64).unwrap();
    let mut values = vec![T::default(); len];
    let read = match loss {
        Loss::None => reader.read(&mut values),
        Loss::Rounded => reader.rounded().read(&mut values),
    };
    let (values, width) = (of_file(read).map_err(|error| error.kind)?, size_of::<T>());
    let mut bytes = Vec::with_capacity(len * width);
    values.iter().for_each(|value| bytes.extend(&value.bits().to_le_bytes()[..width]));
    Ok(bytes)
}

/// Names the pair if the values are not the expected ones.
fn assert_matches<T: Value>(source: &Source, expected: &Expected<'_>, found: Result<Vec<u8>, ErrorKind>) {
    let found = found.unwrap_or_else(|kind| panic!("{} as {}: {kind:?}", source.dtype, T::DTYPE));
    let difference = || expected.difference(&found, size_of::<T>());
    assert!(expected.matches(&found), "{} as {}: {}", source.dtype, T::DTYPE, difference());
}

/// Counts the existing conversions.
#[derive(Debug, Default)]
struct MatchesTables {
    lossless: usize,
    rounded: usize,
}

impl Check for &mut MatchesTables {
    fn pair<T: Value>(&mut self, source: &Source, expected: &Pair<'_>) {
        let lossless = source.all::<T>(Loss::None);
        let rounded = source.all::<T>(Loss::Rounded);
        let (from, to) = (source.dtype, T::DTYPE);
        match expected {
            Pair::Lossless(expected) => {
                assert_matches::<T>(source, expected, lossless);
                assert_matches::<T>(source, expected, rounded);
                self.lossless += 1;
            }
            Pair::Rounded(expected) => {
                assert_eq!(lossless, Err(ErrorKind::Lossy { from, to }));
                assert_matches::<T>(source, expected, rounded);
                self.rounded += 1;
            }
            Pair::Nothing => {
                assert_eq!(lossless, Err(ErrorKind::NoConversion { from, to }));
                assert_eq!(rounded, Err(ErrorKind::NoConversion { from, to }));
            }
        }
    }
}

#[test]
fn every_element_matches_the_tables() {
    let mut counted = MatchesTables::default();
    each_pair(&mut counted);
    // At least f32 and f64 from all current dtypes, the integers from 34 in all, f16 and bf16 from
    // themselves.
    assert!(counted.lossless >= 17 + 20 + 34 + 2 && counted.rounded >= 5 + 2, "{counted:?}");
}

/// Every start within the bytes and the groups in which elements are converted, and every end.
struct Parts;

impl Check for Parts {
    fn pair<T: Value>(&mut self, source: &Source, expected: &Pair<'_>) {
        let (Pair::Lossless(Expected::Bytes(all)) | Pair::Rounded(Expected::Bytes(all))) = expected else {
            return;
        };
        let middle = source.len / 2;
        for first in (0..9).flat_map(|first| [first, middle + first]) {
            for len in 1..=70 {
                let expected = &all[first * size_of::<T>()..][..len * size_of::<T>()];
                let found = source.part::<T>(Loss::Rounded, first, len).unwrap();
                assert_eq!(found, expected, "{} as {}: {len} from {first} on", source.dtype, T::DTYPE);
            }
        }
    }
}

#[test]
fn every_range_of_elements_matches() {
    each_pair(Parts);
}
