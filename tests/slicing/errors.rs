//! Slices that are errors, and which errors.

use embedded_safetensors::{
    Dtype, ErrorKind, ReadError, View,
    error::Class,
    slice::{AxisRange, SlicePlan},
};
use support::file::with_tensors;

fn error_of(dtype: Dtype, dims: &[u64], ranges: &[AxisRange]) -> ErrorKind {
    SlicePlan::new(dtype, dims, ranges).expect_err("invalid slice")
}

#[test]
fn range_beyond_an_axis_is_reported() {
    let cases: [(AxisRange, u64); 10] = [
        (AxisRange::index(5), 5),
        (AxisRange::index(u64::MAX), u64::MAX),
        ((0..6).into(), 5),
        ((5..7).into(), 6),
        ((6..).into(), 6),
        ((6..6).into(), 6),
        ((9..7).into(), 9),
        ((..=5).into(), 5),
        ((..=u64::MAX).into(), u64::MAX),
        (AxisRange::from(2..u64::MAX).step_by(u64::MAX), u64::MAX - 1),
    ];
    for (range, asked) in cases {
        let expected = ErrorKind::OutsideAxis { axis: 1, asked, size: 5 };
        assert_eq!(error_of(Dtype::F32, &[3, 5, 2], &[AxisRange::ALL, range]), expected, "{range:?}");
        assert_eq!(expected.class(), Class::Usage);
    }
}

#[test]
fn outermost_of_two_wrong_ranges_is_reported() {
    let ranges = [(..4).into(), AxisRange::ALL, AxisRange::index(2)];
    let expected = ErrorKind::OutsideAxis { axis: 0, asked: 3, size: 3 };
    assert_eq!(error_of(Dtype::F32, &[3, 5, 2], &ranges), expected);
}

#[test]
fn axis_numbers_saturate_at_255() {
    let mut dims = vec![1; 300];
    dims[299] = 4;
    let mut ranges = vec![AxisRange::index(0); 299];
    ranges.push(AxisRange::index(4));
    let expected = ErrorKind::OutsideAxis { axis: 255, asked: 4, size: 4 };
    assert_eq!(error_of(Dtype::F32, &dims, &ranges), expected);
}

#[test]
fn zero_step_is_rejected() {
    let kind = error_of(Dtype::F32, &[3, 5], &[AxisRange::ALL, AxisRange::ALL.step_by(0)]);
    assert_eq!(kind, ErrorKind::ZeroStep { axis: 1 });
    assert_eq!((kind.code(), kind.class()), ("usage.step", Class::Usage));
    assert_eq!(kind.to_string(), "the range of axis 1 has a step of 0");
}

#[test]
fn step_does_not_change_an_index() {
    let plan = |index| SlicePlan::new(Dtype::U8, &[5, 2], &[index]);
    assert_eq!(plan(AxisRange::index(3).step_by(0)), plan(AxisRange::index(3)));
    assert_eq!(plan(AxisRange::index(3).step_by(7)), plan(AxisRange::index(3)));
}

#[test]
fn more_ranges_than_axes_are_rejected() {
    let kind = error_of(Dtype::F32, &[], &[AxisRange::ALL]);
    assert_eq!(kind, ErrorKind::TooManyRanges { asked: 1, rank: 0 });
    assert_eq!(kind.to_string(), "a scalar has no axes, so it has no rows and takes no range");
    let kind = error_of(Dtype::F32, &[3], &[AxisRange::ALL; 2]);
    assert_eq!(kind.to_string(), "the tensor has 1 axis, but 2 ranges were given");
    let kind = error_of(Dtype::F32, &[3, 5], &[AxisRange::ALL; 3]);
    assert_eq!(kind, ErrorKind::TooManyRanges { asked: 3, rank: 2 });
}

#[test]
fn invalid_tensor_has_no_slices() {
    assert_eq!(error_of(Dtype::F4, &[3], &[]), ErrorKind::SubByte { elements: 3, bits: 4 });
    let one = error_of(Dtype::F4, &[1], &[]).to_string();
    assert_eq!(one, "the tensor ends inside a byte: it has 1 element of 4 bits");
    assert_eq!(error_of(Dtype::U8, &[1 << 32, 1 << 32, 0], &[]), ErrorKind::Overflow);
    assert_eq!(error_of(Dtype::F64, &[1 << 59], &[]), ErrorKind::Overflow);
}

#[test]
fn reader_reports_errors_at_the_first_byte() {
    let file = with_tensors(&[("t", "F4", [2, 3], [0; 3])]);
    let start = file.len() as u64 - 3;
    let tensor = View::parse(&file).and_then(|view| view.tensor("t")).expect("present");
    let outside = ErrorKind::OutsideAxis { axis: 0, asked: 2, size: 2 }.at(start);
    assert_eq!(tensor.reader().slice(&[AxisRange::index(2)]).map(|_| ()), Err(outside));
    assert_eq!(tensor.slice_runs(&[AxisRange::index(2)]).map(|_| ()), Err(outside));
    let half = ErrorKind::PartOfByte { bits: 4 }.at(start + 1);
    assert_eq!(tensor.slice_runs(&[AxisRange::index(1)]).map(|_| ()), Err(half));
    let reader = tensor.reader().slice(&[AxisRange::index(1)]).expect("readable as values");
    assert_eq!(reader.byte_len(), Err(half));
    let (mut values, mut zeros) = (reader.values(), [1f32; 3]);
    let integers = values.read(&mut [0u8]).expect_err("these are floats");
    assert!(matches!(integers, ReadError::Format(error) if error.at == start), "{integers}");
    let beyond = ErrorKind::OutsideElements { asked: 3, len: 3 }.at(start + 3);
    assert_eq!(values.read_exact(&mut [1f32; 4]), Err(beyond.into()));
    assert_eq!((values.read_exact(&mut zeros), zeros), (Ok(()), [0.0; 3]));
    assert_eq!(values.read_exact(&mut [1f32]), Err(beyond.into()));
}

/// The first value does not depend on how many bytes were read.
#[test]
fn values_start_at_the_first_element() {
    let file = with_tensors(&[("t", "F4", [4, 2], [0x10, 0x32, 0x54, 0x76])]);
    let start = file.len() as u64 - 4;
    let tensor = View::parse(&file).and_then(|view| view.tensor("t")).expect("present");
    let mut reader = tensor.reader().slice(&[AxisRange::ALL.step_by(2)]).expect("in range");
    assert_eq!(reader.next_chunk(&mut [0; 1]), Ok(Some(&[0x10][..])));
    let mut values = reader.values();
    assert_eq!((values.position(), values.remaining(), values.len()), (0, 4, 4));
    assert_eq!(values.read(&mut [1f32]), Ok(&[0.0][..]));
    assert_eq!(values.read(&mut [1f32]), Ok(&[0.5][..]));
    let no_room = ErrorKind::BufferLength { needed: 4, capacity: 0 }.at(start + 2);
    assert_eq!(values.read::<f32>(&mut []), Err(no_room.into()));
    assert_eq!((values.position(), values.remaining(), values.len()), (2, 2, 4));
    let beyond = ErrorKind::OutsideElements { asked: 4, len: 4 }.at(start + 3);
    assert_eq!(values.read_exact(&mut [1f32; 3]), Err(beyond.into()));
    let mut rest = [0f32; 2];
    assert_eq!((values.read_exact(&mut rest), rest), (Ok(()), [2.0, 3.0]));
    assert_eq!(values.read::<f32>(&mut []), Ok(&[][..]));
    let mut bytes = tensor.reader().slice(&[AxisRange::ALL.step_by(2)]).expect("in range");
    assert_eq!(bytes.read_to_end(&mut [0; 2]), Ok(&[0x10, 0x54][..]));
}

/// The end of a slice is that of its last element, whatever follows it in the tensor.
#[test]
fn end_of_slice_is_reported() {
    let file = with_tensors(&[("t", "C64", [4, 3, 5], [0; 480])]);
    let start = file.len() as u64 - 480;
    let tensor = View::parse(&file).and_then(|view| view.tensor("t")).expect("present");
    let (all, step) = (AxisRange::ALL, AxisRange::ALL.step_by(2));
    let cases: [(&[AxisRange], u64, u64); 5] = [
        (&[], 120, 480),
        (&[step, AxisRange::index(1), (1..3).into()], 8, (2 * 15 + 5 + 3) * 8),
        (&[all, step, step], 48, 480),
        (&[(1..2).into(), (..2).into(), AxisRange::index(0)], 4, (15 + 5 + 1) * 8),
        (&[(2..2).into()], 0, 0),
    ];
    for (ranges, len, end) in cases {
        let mut values = tensor.reader().slice(ranges).expect("in range").values();
        let beyond = ErrorKind::OutsideElements { asked: len, len }.at(start + end);
        let asked = usize::try_from(len + 1).expect("fits in usize");
        assert_eq!(values.read_exact(&mut vec![0f32; asked]), Err(beyond.into()), "{ranges:?}");
    }
}
