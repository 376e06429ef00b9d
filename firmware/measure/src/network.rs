//! A whole network's start: open a model, find its tensors, read one of them.

use crate::frame::{Job, Step};
use crate::memory;
use board::{Broken, Card};
use embedded_safetensors::{Model, ReadAt, ReadError, TensorReader, query::Query, slice::AxisRange};

/// One sector of a card: the window of the header, then the buffer of the data.
const BLOCK: usize = 512;

/// The compiler chooses where an array of bytes lies on the stack, and copies to odd addresses take longer.
#[repr(align(8))]
struct Aligned([u8; BLOCK]);

/// How many tensors the network has.
pub const WANTED: usize = 12;

/// Their names. The first is the one that is read; files with fewer tensors lack the last ones.
pub(crate) const NAMES: [&str; WANTED] = [
    "model.layers.0.mlp.up_proj.weight",
    "model.layers.1.mlp.up_proj.weight",
    "model.layers.2.mlp.up_proj.weight",
    "model.layers.3.mlp.up_proj.weight",
    "model.layers.4.mlp.up_proj.weight",
    "model.layers.5.mlp.up_proj.weight",
    "model.layers.6.mlp.up_proj.weight",
    "model.layers.7.mlp.up_proj.weight",
    "model.layers.8.mlp.up_proj.weight",
    "model.layers.9.mlp.up_proj.weight",
    "model.layers.10.mlp.up_proj.weight",
    "model.layers.11.mlp.up_proj.weight",
];

/// Values of a row, when rows are read.
const ROW: usize = 64;

/// A card, and memory for the tensors that are found on it.
pub struct Network {
    /// Has the job's file.
    pub card: Card,
    /// By their names.
    pub wanted: &'static mut [Query<'static>; WANTED],
}

impl Network {
    /// What a program is lent whose file is in the request.
    pub fn lend(_: usize) -> Self {
        Self { card: Card::new(&[]), wanted: memory::wanted() }
    }
}

/// How much was read of the first tensor; nothing after an error. Inlined, so that it takes no stack but for what the core is given
/// and gives.
#[inline(always)]
pub fn open_find_read(
    job: &mut Job<Network>,
    read: impl FnOnce(&mut Model<&mut Card>, &Query<'_>, &mut [u8]) -> Outcome,
) -> Option<u32> {
    let Network { card, wanted } = &mut job.lent;
    *card = Card::new(job.file);
    let Aligned(block) = &mut Aligned([0; BLOCK]);
    let mut model = Model::open(card, block).ok()?;
    if job.last == Step::Open {
        return Some(0);
    }
    model.find_all(&mut wanted[..], block).ok()?;
    if job.last == Step::Find {
        return Some(0);
    }
    let [first, ..] = &**wanted;
    read(&mut model, first, block).ok()
}

/// How many bytes or values came.
pub type Outcome = Result<u32, ReadError<Broken>>;

/// Chunk by chunk.
#[inline(never)]
pub fn stream(model: &mut Model<&mut Card>, tensor: &Query<'_>, block: &mut [u8]) -> Outcome {
    read_chunks(model.reader(tensor)?, block)
}

/// Reads all of a tensor, chunk by chunk. Inlined, so that it takes no stack of its own.
#[inline(always)]
pub fn read_chunks<S: ReadAt<Error = Broken>>(mut reader: TensorReader<'_, S>, window: &mut [u8]) -> Outcome {
    let mut bytes = 0u32;
    while let Some(chunk) = reader.next_chunk(window)? {
        bytes = bytes.wrapping_add(chunk.len() as u32);
    }
    Ok(bytes)
}

/// Row by row, as `f32`.
#[inline(never)]
pub fn read_rows(model: &mut Model<&mut Card>, tensor: &Query<'_>, _: &mut [u8]) -> Outcome {
    let count = tensor.info().and_then(|info| info.shape().dims().first().copied()).unwrap_or(0);
    let mut row = [0f32; ROW];
    let mut rows = model.reader(tensor)?.rows(0..count)?;
    let mut values = 0usize;
    while rows.remaining() > 0 {
        rows.read_exact(&mut row)?;
        values += core::hint::black_box(&row).len();
    }
    Ok(values as u32)
}

/// Every second of its rows, the first half of each, as `f32`.
#[inline(never)]
pub fn read_slice(model: &mut Model<&mut Card>, tensor: &Query<'_>, _: &mut [u8]) -> Outcome {
    let mut part = [0f32; ROW];
    let ranges = [AxisRange::ALL.step_by(2), (..ROW as u64 / 2).into()];
    let mut slice = model.reader(tensor)?.slice(&ranges)?.values();
    let mut values = 0usize;
    while let part @ [_, ..] = slice.read(&mut part)? {
        values += core::hint::black_box(part).len();
    }
    Ok(values as u32)
}
