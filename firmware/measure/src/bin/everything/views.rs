//! A model in memory: every method of `View`, `Tensor` and `JsonStr` that a program can call at run time.

use crate::numbers::{bytes, dims, number, read_number, summary, tensor as info};
use embedded_safetensors::{
    Error, ReadError, Tensor, View, include_model,
    metadata::JsonStr,
    validate::SortSlot,
    values::{C64, Native},
};

/// The table that was made at compile time is searched at run time.
const MODEL: View<'static> =
    include_model!("../../../../../crates/embedded-safetensors/examples/network.safetensors", 16);

pub fn all(file: &[u8], slots: &mut [SortSlot], text: &mut [u8]) -> u64 {
    let parsed = View::parse(file).and_then(|view| look(view, slots, text));
    let sorted = View::parse_unordered(file, slots).and_then(|view| look(view, slots, text));
    number(parsed) ^ number(sorted) ^ number(look(MODEL, slots, text))
}

fn look(view: View<'_>, slots: &mut [SortSlot], text: &mut [u8]) -> Result<u64, Error> {
    let mut sum = look_up(view, text)?;
    let mut tensors = view.tensors();
    if let (Some(first), Some(second)) = (tensors.next(), tensors.next_tensor()) {
        let table = [first?, second?];
        sum ^= look_up(view.with_tensors(&table), text)? ^ tensors.len() as u64;
    }
    view.validate_names([sum, 1], slots, text)?;
    Ok(sum)
}

fn look_up(view: View<'_>, text: &mut [u8]) -> Result<u64, Error> {
    let mut sum = summary(view.summary()) ^ view.len() as u64 ^ u64::from(view.is_empty());
    sum ^= bytes(view.file()) ^ bytes(view.data());
    let name = core::str::from_utf8(text).unwrap_or("a");
    let (found, must) = (view.find(name)?, view.tensor(name)?);
    sum ^= found.map_or(0, |found| tensor(&found, text)) ^ tensor(&must, text);
    for found in view.tensors() {
        let found = found?;
        sum ^= tensor(&found, text) ^ quoted(&found.name(), text) ^ u64::from(found.name() == must.name());
    }
    Ok(sum ^ metadata(view, text)?)
}

fn metadata(view: View<'_>, text: &mut [u8]) -> Result<u64, Error> {
    let name = core::str::from_utf8(text).unwrap_or("a");
    let value = view.metadata_value(name)?;
    let mut sum = value.map_or(0, |value| quoted(&value, text));
    for (key, value) in view.metadata() {
        sum ^= quoted(&key, text) ^ quoted(&value, text);
    }
    Ok(sum)
}

fn quoted(name: &JsonStr<'_>, text: &mut [u8]) -> u64 {
    let mut sum = name.as_str().map_or(0, |name| bytes(name.as_bytes())) ^ name.at();
    sum ^= u64::from(*name == "a") ^ u64::from(name.is("b"));
    sum = name.chars().fold(sum, |sum, character| sum.rotate_left(5) ^ u64::from(character));
    sum ^ name.decoded_len() as u64 ^ number(name.decode(text).map(|name| bytes(name.as_bytes())))
}

fn tensor(tensor: &Tensor<'_>, text: &mut [u8]) -> u64 {
    let description = info(tensor.info()) ^ dims(tensor.shape().dims()) ^ u64::from(tensor.dtype().bits());
    let streamed = read_number(stream(tensor, text));
    description ^ tensor.at() ^ bytes(tensor.bytes()) ^ slices(tensor) ^ arrays(tensor) ^ streamed
}

fn stream(tensor: &Tensor<'_>, buffer: &mut [u8]) -> Result<u64, ReadError<core::convert::Infallible>> {
    let mut reader = tensor.reader();
    let mut sum = 0;
    while let Some(chunk) = reader.next_chunk(buffer)? {
        sum ^= bytes(chunk);
    }
    Ok(sum)
}

/// Reads in place, as every type.
fn slices(tensor: &Tensor<'_>) -> u64 {
    let integers = elements(tensor.as_u8())
        ^ elements(tensor.as_i8())
        ^ elements(tensor.as_u16())
        ^ elements(tensor.as_i16())
        ^ elements(tensor.as_u32())
        ^ elements(tensor.as_i32())
        ^ elements(tensor.as_u64())
        ^ elements(tensor.as_i64());
    let floats = elements(tensor.as_f32()) ^ elements(tensor.as_f64()) ^ elements(tensor.as_c64());
    integers ^ floats ^ elements(tensor.as_f16()) ^ elements(tensor.as_bf16())
}

fn elements<T: Native>(slice: Result<&[T], Error>) -> u64 {
    number(slice.map(|slice| slice.len() as u64 ^ slice.as_ptr().addr() as u64))
}

fn arrays(tensor: &Tensor<'_>) -> u64 {
    let array = tensor.as_array::<[[f32; 2]; 2]>().map(|array| (&raw const *array).addr() as u64);
    let scalar = tensor.as_array::<C64>().map(|scalar| u64::from(scalar.re.to_bits()));
    number(array) ^ number(scalar)
}
