//! A whole network's start: open a model, find its tensors, stream one of them.

use crate::card::{Broken, Card};
use embedded_safetensors::{Model, ReadAt, ReadError, TensorReader, Wanted};

/// One sector of a card: the window of the header, then the buffer of the data.
pub const BLOCK: usize = 512;

/// How many tensors the network has.
pub const WANTED: usize = 12;

/// Their names. The first is the one that is streamed; files with fewer tensors lack the last ones.
pub const NAMES: [&str; WANTED] = [
    "layers.0.weight",
    "layers.1.weight",
    "layers.2.weight",
    "layers.3.weight",
    "layers.4.weight",
    "layers.5.weight",
    "layers.6.weight",
    "layers.7.weight",
    "layers.8.weight",
    "layers.9.weight",
    "layers.10.weight",
    "layers.11.weight",
];

/// What is done with the first tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    Stop,
    /// The same reads as for a stream, made by hand.
    ReadRaw,
    /// It is read chunk by chunk.
    Stream,
}

/// How many bytes of the first tensor have come through the block.
pub fn open_find_stream(
    card: &mut Card,
    wanted: &mut [Wanted<'_>; WANTED],
    then: Then,
) -> Result<u64, ReadError<Broken>> {
    let mut block = [0; BLOCK];
    let mut model = Model::open(card, &mut block)?;
    model.find_all(wanted, &mut block)?;
    let [first, ..] = wanted;
    match then {
        Then::Stop => Ok(0),
        Then::Stream => stream(model.tensor(first)?, &mut block),
        Then::ReadRaw => {
            let begin = first.info().map_or(0, |info| info.begin());
            let end = first.info().map_or(0, |info| info.end());
            let start = model.summary().data_start;
            read_raw(model.into_source(), start + begin..start + end, &mut block)
        }
    }
}

#[inline(never)]
fn stream<S: ReadAt>(mut reader: TensorReader<'_, S>, block: &mut [u8]) -> Result<u64, ReadError<S::Error>> {
    let mut bytes = 0usize;
    while let Some(chunk) = reader.next_chunk(block)? {
        bytes += chunk.len();
    }
    Ok(bytes as u64)
}

#[inline(never)]
fn read_raw<S: ReadAt>(
    source: &mut S,
    mut place: core::ops::Range<u64>,
    block: &mut [u8],
) -> Result<u64, ReadError<S::Error>> {
    let mut bytes = 0usize;
    while place.start < place.end {
        let len = source.read_at(place.start, block).map_err(ReadError::Source)?;
        place.start += len as u64;
        bytes += len;
    }
    Ok(bytes as u64)
}
