//! A whole network's start: open a model, find its tensors, stream one of them.

use board::Card;
use embedded_safetensors::{AxisRange, Model, ReadAt, ReadError, Wanted};

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
    /// It is read row by row, as `f32`.
    ReadRows,
    /// Every second of its rows is read, the first half of each, as `f32`.
    ReadSlice,
}

/// Values of a row, when rows are read.
pub const ROW: usize = 64;

/// How many bytes of the first tensor, or values, have come through the block; nothing after an error. Inlined, so that it takes
/// no stack but for what the core is given and gives.
#[inline(always)]
pub fn open_find_stream(card: &mut Card, wanted: &mut [Wanted<'_>; WANTED], then: Then) -> Option<u64> {
    let mut block = [0; BLOCK];
    let Ok(mut model) = Model::open(card, &mut block) else { return None };
    let Ok(()) = model.find_all(wanted, &mut block) else { return None };
    let [first, ..] = wanted;
    match then {
        Then::Stop => Some(0),
        Then::Stream => stream(&mut model, first, &mut block).ok(),
        Then::ReadRows => read_rows(&mut model, first).ok(),
        Then::ReadSlice => read_slice(&mut model, first).ok(),
        Then::ReadRaw => read_raw(model, first, &mut block).ok(),
    }
}

#[inline(never)]
fn stream<S: ReadAt>(
    model: &mut Model<S>,
    tensor: &Wanted<'_>,
    block: &mut [u8],
) -> Result<u64, ReadError<S::Error>> {
    let mut reader = model.tensor(tensor)?;
    let mut bytes = 0usize;
    while let Some(chunk) = reader.next_chunk(block)? {
        bytes += chunk.len();
    }
    Ok(bytes as u64)
}

#[inline(never)]
fn read_rows<S: ReadAt>(model: &mut Model<S>, tensor: &Wanted<'_>) -> Result<u64, ReadError<S::Error>> {
    let count = tensor.info().and_then(|info| info.shape().dims().first().copied()).unwrap_or(0);
    let mut row = [0f32; ROW];
    let mut rows = model.tensor(tensor)?.rows(0..count)?;
    let mut values = 0usize;
    while let Some(row) = rows.next_lossless(&mut row)? {
        values += core::hint::black_box(row).len();
    }
    Ok(values as u64)
}

#[inline(never)]
fn read_slice<S: ReadAt>(model: &mut Model<S>, tensor: &Wanted<'_>) -> Result<u64, ReadError<S::Error>> {
    let mut part = [0f32; ROW];
    let ranges = [AxisRange::ALL.step_by(2), (..ROW as u64 / 2).into()];
    let mut slice = model.tensor(tensor)?.slice(&ranges)?;
    let mut values = 0usize;
    while let Some(part) = slice.next_lossless(&mut part)? {
        values += core::hint::black_box(part).len();
    }
    Ok(values as u64)
}

#[inline(never)]
fn read_raw<S: ReadAt>(
    model: Model<S>,
    tensor: &Wanted<'_>,
    block: &mut [u8],
) -> Result<u64, ReadError<S::Error>> {
    let start = model.summary().data_start;
    let (begin, end) = tensor.info().map_or((0, 0), |info| (info.begin(), info.end()));
    let (mut at, end) = (start + begin, start + end);
    let mut source = model.into_source();
    let mut bytes = 0usize;
    while at < end {
        let len = source.read_at(at, block).map_err(ReadError::Source)?;
        at += len as u64;
        bytes += len;
    }
    Ok(bytes as u64)
}
