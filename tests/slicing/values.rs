//! Slices as values: the same as those of the elements read alone.

use embedded_safetensors::{
    Dtype, ErrorKind, ReadError, View,
    reader::{Sliced, Values},
    values::dtypes::Rounded,
};
use support::context::Context;
use support::file::with_tensors;
use support::random::Random;
use support::share;
use support::slices::{Asked, Case};

use crate::values::Value;

const CASES: u64 = 30_000;

type Rounding<'f> = Values<&'f [u8], Sliced, Rounded>;

#[test]
fn slice_values_match_elements() {
    for seed in 0..share::of(CASES) {
        let _context = Context(|| format!("seed {seed}"));
        check(&mut Random::new(seed));
    }
}

/// Reads the values of a slice of a tensor.
pub fn check(random: &mut Random) {
    let case = Case::random(random);
    let _context = Context(|| format!("{case:?}"));
    let tensor = random.bytes(usize::try_from(case.byte_len()).expect("a small case"));
    let file = with_tensors(&[("t", case.dtype, &case.dims, &tensor)]);
    match random.below(4) {
        0 => test_values::<f64>(&case, &file, &tensor, random),
        1 => test_values::<i16>(&case, &file, &tensor, random),
        2 => test_values::<u64>(&case, &file, &tensor, random),
        _ => test_values::<f32>(&case, &file, &tensor, random),
    }
}

/// Values are converted in blocks of 64 KiB; these slices take several. A quick run tests some dtypes.
#[test]
fn large_slice_values_match_elements() {
    let mut random = Random::new(1);
    let dtypes = Dtype::ALL.iter().enumerate().filter(|(number, _)| share::takes(*number));
    for (_, &dtype) in dtypes {
        for (dims, asked) in [
            (vec![120_000], vec![Asked::Half(1, 120_000, 3)]),
            (vec![200, 304], vec![Asked::All, Asked::Half(1, 300, 1)]),
        ] {
            let case = Case { dtype, dims, asked };
            let _context = Context(|| format!("{case:?}"));
            let tensor = random.bytes(usize::try_from(case.byte_len()).expect("a small case"));
            let file = with_tensors(&[("t", dtype, &case.dims, &tensor)]);
            test_values::<f32>(&case, &file, &tensor, &mut random);
            test_values::<f64>(&case, &file, &tensor, &mut random);
        }
    }
}

fn test_values<T: Value>(case: &Case, file: &[u8], tensor: &[u8], random: &mut Random) {
    let Some(expected) = expected::<T>(case, tensor) else {
        let mut reader = sliced(file, case);
        let is_conversion_error = |kind| kind == ErrorKind::NoConversion { from: case.dtype, to: T::DTYPE };
        let outcome = reader.read(&mut [T::default()]).map(|_| ());
        assert!(
            matches!(outcome, Err(ReadError::Format(error)) if is_conversion_error(error.kind)),
            "{outcome:?}"
        );
        return;
    };
    let found = in_pieces::<T>(sliced(file, case), random);
    assert_eq!(found.len(), expected.len());
    assert_eq!(found, expected);
    let mut all = vec![T::default(); expected.len()];
    sliced(file, case).read_exact(&mut all).expect("enough elements");
    assert_eq!(all.into_iter().map(Value::bits).collect::<Vec<_>>(), expected);
    let mut long = vec![T::default(); expected.len() + 1 + random.below(3)];
    let (asked, len) = (long.len() as u64 - 1, expected.len() as u64);
    let outcome = sliced(file, case).read_exact(&mut long);
    let is_range_error = |kind| kind == ErrorKind::OutsideElements { asked, len };
    assert!(matches!(outcome, Err(ReadError::Format(error)) if is_range_error(error.kind)), "{outcome:?}");
    test_exact_values(case, file, &expected, &mut long);
}

/// Reads in one call; if a value is not exact, there is an error.
fn test_exact_values<T: Value>(case: &Case, file: &[u8], expected: &[u64], values: &mut [T]) {
    let tensor = View::parse(file).and_then(|view| view.tensor("t")).expect("present");
    let mut reader = tensor.reader().slice(&case.ranges()).expect("in range").values();
    let values = &mut values[..expected.len()];
    match reader.read_exact(values) {
        Ok(()) => assert_eq!(values.iter().map(|value| value.bits()).collect::<Vec<_>>(), expected),
        Err(ReadError::Format(error)) => {
            assert_eq!(error.kind, ErrorKind::Lossy { from: case.dtype, to: T::DTYPE });
        }
        Err(error) => panic!("{error:?}"),
    }
}

fn sliced<'f>(file: &'f [u8], case: &Case) -> Rounding<'f> {
    let tensor = View::parse(file).and_then(|view| view.tensor("t")).expect("present");
    tensor.reader().slice(&case.ranges()).expect("in range").values().rounded()
}

/// Returns the values of the elements when they are adjacent in a tensor of their own; `None` where the type
/// cannot hold them.
fn expected<T: Value>(case: &Case, tensor: &[u8]) -> Option<Vec<u64>> {
    let mut bytes = case.bytes(tensor);
    let count = case.listed().len() * if case.dtype == Dtype::C64 { 2 } else { 1 };
    // Four elements of 6 bits fill whole bytes.
    bytes.resize(bytes.len().next_multiple_of(3), 0);
    let bits = usize::from(case.dtype.bits());
    let elements = if bits < 8 { bytes.len() * 8 / bits } else { case.listed().len() };
    if bits >= 8 {
        bytes.truncate(elements * bits / 8);
    }
    let file = with_tensors(&[("t", case.dtype, [elements], &bytes)]);
    let tensor = View::parse(&file).and_then(|view| view.tensor("t")).expect("present");
    let mut values = vec![T::default(); 2 * elements];
    let values = tensor.reader().values().rounded().read(&mut values).ok()?;
    Some(values[..count].iter().map(|value| value.bits()).collect())
}

/// Reads in pieces of random lengths, by either call.
fn in_pieces<T: Value>(mut reader: Rounding<'_>, random: &mut Random) -> Vec<u64> {
    let mut found = vec![];
    let largest = random.pick(&[1, 3, 20, 200]);
    while reader.remaining() > 0 {
        let left = reader.remaining();
        let mut values = vec![T::default(); 1 + random.below(largest)];
        let next = match random.percent(30) && values.len() as u64 <= left {
            true => reader.read_exact(&mut values).map(|()| &values[..]),
            false => reader.read(&mut values),
        };
        let next = next.expect("fits");
        assert_eq!(next.len() as u64, left - reader.remaining());
        assert_eq!(reader.position() + reader.remaining(), reader.len());
        assert!(!next.is_empty());
        found.extend(next.iter().map(|value| value.bits()));
    }
    assert!(reader.read(&mut [T::default()]).is_ok_and(<[T]>::is_empty));
    found
}
