//! Nested structures: what reads them. The standard library's conversions between floats and texts can panic,
//! so that floats are left out, and what writes them.

use crate::numbers::bytes;
use embedded_safestructures::{Error, Event, Frame, Json, LoadError, Node, Structure, Value};
use embedded_safetensors::{Model, ReadAt, View, metadata::JsonStr};

pub fn all(file: &[u8], text: &mut [u8]) -> u64 {
    let (schema, window) = text.split_at_mut_checked(64).unwrap_or_default();
    let found = in_model(file, schema, window).unwrap_or(1);
    let in_view = View::parse(file).ok().and_then(|view| Structure::of_view(&view, schema).ok().flatten());
    found ^ in_view.map_or(0, |structure| number(walked(structure)))
}

fn number(outcome: Result<u64, Error>) -> u64 {
    outcome.unwrap_or_else(|error| bytes(error.kind.code().as_bytes()) ^ u64::from(error.at))
}

fn in_model<S: ReadAt>(storage: S, schema: &mut [u8], window: &mut [u8]) -> Result<u64, LoadError<S::Error>> {
    let mut model = Model::open(storage, window)?;
    let Some(structure) = Structure::of_model(&mut model, schema, window)? else { return Ok(0) };
    let tensor = structure.root().get("layers")?.item(window.len() as u32)?.find(&mut model, window)?;
    Ok(number(walked(structure)) ^ tensor.byte_len())
}

fn walked(structure: Structure<'_>) -> Result<u64, Error> {
    let mut frames = [Frame::NONE; 4];
    let frames = frames.get_mut(..structure.frames() as usize).unwrap_or_default();
    let mut walk = structure.walk(frames);
    let mut sum = 0;
    while let Some(event) = walk.next()? {
        let Event::Value { node, value, .. } = event else { continue };
        sum ^= u64::from(node.at()) ^ number(read(node));
        if let Value::Other(name, json) = value {
            sum ^= name.decoded_len() as u64 ^ other(json);
        }
    }
    Ok(sum)
}

fn other(json: Json<'_>) -> u64 {
    let items = json.items().chain(json.members().map(|(_, value)| value));
    items.fold(0, |sum, item| sum ^ bytes(item.as_str().as_bytes()))
}

fn read(node: Node<'_>) -> Result<u64, Error> {
    let mut sum = u64::from(node.read::<Option<bool>>()?.unwrap_or(true));
    sum ^= u64::from(node.get("lr")?.at());
    sum ^= node.read::<[i64; 3]>()?.iter().fold(0, |sum, number| sum ^ number.unsigned_abs());
    sum ^= u64::from(node.read::<u8>()?) ^ node.read::<u64>()?;
    Ok(sum ^ bytes(node.read::<&str>()?.as_bytes()) ^ node.read::<JsonStr<'_>>()?.decoded_len() as u64)
}
