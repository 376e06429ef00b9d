//! A tensor read as values of every type.

use crate::numbers::read_number;
use core::hint::black_box;
use embedded_safetensors::{
    ErrorKind, Model, ReadAt, ReadError,
    reader::Values,
    tensor::Located,
    validate::SortSlot,
    values::{Element, dtypes::F6_E2M3},
};
use half::{bf16, f16};

type Outcome<S> = Result<u64, ReadError<<S as ReadAt>::Error>>;

/// Reads with every type through one API, because the conversion of elements does not depend on the API.
pub fn of_every_type<S: ReadAt>(source: S, slots: &mut [SortSlot], memory: &mut [u8]) -> u64 {
    let outcome = Model::open_unordered(source, slots, memory).and_then(|mut model| {
        let found = model.find("a", memory)?.ok_or(ErrorKind::NoWindow.at(0))?;
        let (model, at) = (&mut model, found.begin());
        let floats = of_type::<f32, S>(model, &found, at)? ^ of_type::<f64, S>(model, &found, at)?;
        let halves = of_type::<f16, S>(model, &found, at)? ^ of_type::<bf16, S>(model, &found, at)?;
        let mut sum = floats ^ halves;
        sum ^= of_type::<u8, S>(model, &found, at)? ^ of_type::<i8, S>(model, &found, at)?;
        sum ^= of_type::<u16, S>(model, &found, at)? ^ of_type::<i16, S>(model, &found, at)?;
        sum ^= of_type::<u32, S>(model, &found, at)? ^ of_type::<i32, S>(model, &found, at)?;
        Ok(sum ^ of_type::<u64, S>(model, &found, at)? ^ of_type::<i64, S>(model, &found, at)?)
    });
    read_number(outcome)
}

#[inline(never)]
pub fn of_type<T: Element + Default, S: ReadAt>(
    model: &mut Model<S>,
    tensor: &impl Located,
    at: u64,
) -> Outcome<S> {
    let mut values = [T::default(); 24];
    let Some(values) = values.get_mut(..at as usize) else { return Ok(1) };
    let mut sum = of_reader(model.reader(tensor)?.values(), values, at)?;
    sum ^= of_reader(model.reader(tensor)?.row(at)?, values, at)?;
    Ok(sum ^ of_reader(model.reader(tensor)?.rows(at..sum)?, values, at)?)
}

fn of_reader<T: Element, S: ReadAt>(mut reader: Values<S>, values: &mut [T], at: u64) -> Outcome<S> {
    let mut sum = reader.len() ^ reader.position() ^ reader.remaining() ^ u64::from(reader.dtype().bits());
    while let piece @ [_, ..] = reader.read(values)? {
        sum ^= black_box(piece).len() as u64;
    }
    reader.seek(at)?;
    reader.skip(at)?;
    reader.read_exact(values)?;
    let mut reader = reader.rounded();
    while let piece @ [_, ..] = reader.read(values)? {
        sum ^= black_box(piece).len() as u64;
    }
    reader.seek(at)?;
    reader.read_exact(values)?;
    reader.of(F6_E2M3)?.read_exact(values)?;
    Ok(sum ^ black_box(values).len() as u64)
}
