//! Parts of tensors: every method of `AxisRange`, `SlicePlan`, its runs and `SliceReader`, and its values.

use crate::numbers::{bytes, number, read_number};
use embedded_safetensors::{
    Dtype, ErrorKind, Model, ReadAt, ReadError, TensorInfo, View,
    reader::{Sliced, Values},
    slice::{AxisRange, SlicePlan},
    validate::SortSlot,
    values::Element,
};

type Outcome<S> = Result<u64, ReadError<<S as ReadAt>::Error>>;

/// Returns ranges of every form, with numbers unknown to the compiler.
fn ranges(seed: &[u8]) -> [AxisRange; 6] {
    let number = |at| seed.get(at..).map_or(7, bytes);
    [
        AxisRange::index(number(0)),
        (number(1)..number(2)).into(),
        AxisRange::from(number(3)..=number(4)).step_by(number(5)),
        AxisRange::from(..number(6)).step_by(number(7)),
        AxisRange::from(..=number(8)),
        AxisRange::from(number(9)..),
    ]
}

pub fn all<S: ReadAt>(source: S, slots: &mut [SortSlot], buffer: &mut [u8]) -> u64 {
    let seen = Model::open_unordered(source, slots, buffer).and_then(|mut model| {
        let found = model.find("a", buffer)?;
        found.map_or(Ok(0), |found| read(&mut model, &found, buffer))
    });
    plans(buffer) ^ read_number(seen)
}

/// Plans slices with dimensions unknown to the compiler.
fn plans(seed: &[u8]) -> u64 {
    let mut dims = [0; 12];
    dims.iter_mut().zip(seed.chunks(8)).for_each(|(dim, chunk)| *dim = bytes(chunk));
    let ranges = ranges(seed);
    let dtypes = Dtype::ALL.iter().copied();
    let made = dtypes.map(|dtype| {
        let rank = dims.get(..seed.len()).unwrap_or(&dims);
        let ranges = ranges.get(..bytes(seed) as usize).unwrap_or(&ranges);
        plan(dtype, rank, ranges)
    });
    made.fold(0, |sum, plan| sum ^ number(plan.map_err(|kind| kind.at(sum))))
}

fn plan(dtype: Dtype, dims: &[u64], ranges: &[AxisRange]) -> Result<u64, ErrorKind> {
    let plan = SlicePlan::new(dtype, dims, ranges)?;
    let mut sum = plan.shape().dims().iter().fold(plan.elements() ^ plan.run_count(), |sum, dim| sum ^ dim);
    sum ^= u64::from(plan.dtype().bits());
    sum = plan.runs().fold(sum, |sum, run| sum ^ run.first ^ run.elements);
    sum ^= plan.byte_len()?;
    Ok(plan.byte_runs()?.fold(sum, |sum, run| sum ^ run.start ^ run.end))
}

/// Reads slices in memory, in place.
pub fn in_view(file: &[u8]) -> u64 {
    let runs = View::parse(file).and_then(|view| {
        let tensor = view.tensor("a")?;
        let runs = tensor.slice_runs(&ranges(file))?;
        Ok(runs.fold(0, |sum, run| sum ^ bytes(run)))
    });
    number(runs)
}

/// Reads slices from storage, as bytes and as values.
fn read<S: ReadAt>(model: &mut Model<S>, found: &TensorInfo, buffer: &mut [u8]) -> Outcome<S> {
    let ranges = ranges(buffer);
    let mut reader = model.reader(found)?.slice(&ranges)?;
    let mut sum = reader.remaining() ^ u64::from(reader.dtype().bits()) ^ reader.byte_len().unwrap_or(0);
    sum = reader.shape().dims().iter().fold(sum, |sum, dim| sum ^ dim);
    while let Some(chunk) = reader.next_chunk(buffer)? {
        sum ^= bytes(chunk);
    }
    let mut again = model.reader(found)?.slice(&ranges)?;
    sum ^= bytes(again.read_to_end(buffer)?);
    again.into_source().read_at(sum, buffer).map_err(ReadError::Source)?;
    sum ^= read_number(as_values(model, found, &ranges, [0f32; 9], |value| value.to_bits().into()));
    sum ^= read_number(as_values(model, found, &ranges, [0f64; 9], f64::to_bits));
    sum ^= read_number(as_values(model, found, &ranges, [0i8; 9], |value| value as u64));
    sum ^= read_number(as_values(model, found, &ranges, [0u64; 9], |value| value));
    Ok(sum)
}

fn as_values<S: ReadAt, T: Element, const N: usize>(
    model: &mut Model<S>,
    found: &TensorInfo,
    ranges: &[AxisRange],
    mut values: [T; N],
    bits: fn(T) -> u64,
) -> Outcome<S> {
    let sum = |values: &[T]| values.iter().fold(0, |sum: u64, &value| sum.rotate_left(5) ^ bits(value));
    let mut reader: Values<_, Sliced> = model.reader(found)?.slice(ranges)?.values();
    let mut seen = reader.len() ^ reader.position() ^ u64::from(reader.dtype().bits());
    seen ^= sum(reader.read(&mut values)?);
    reader.read_exact(&mut values)?;
    seen ^= sum(&values);
    let mut reader = reader.rounded();
    seen ^= sum(reader.read(&mut values)?);
    reader.read_exact(&mut values)?;
    let left = reader.remaining();
    reader.into_source().read_at(seen, &mut []).map_err(ReadError::Source)?;
    Ok(seen ^ sum(&values) ^ left)
}
