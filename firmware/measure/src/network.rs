//! The start of a network: opens a model, finds its tensors, and reads one of them.

use crate::frame::{Job, Step};
use crate::memory;
use board::{Broken, Card};
use embedded_safetensors::{Dtype, Model, ReadAt, ReadError, TensorReader, query::Query, slice::AxisRange};

/// A sector of a card: first the window for the header, then the buffer for the data.
pub(crate) const BLOCK: usize = 512;

/// Fixes the alignment: otherwise the compiler chooses it, and copies to odd addresses take longer.
#[repr(align(8))]
struct Aligned([u8; BLOCK]);

/// The number of tensors of the network.
pub const TENSORS: usize = 12;

/// The tensors' names. The first tensor is read; files with fewer tensors lack the last ones.
pub(crate) const NAMES: [&str; TENSORS] = [
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

/// The shapes of the tensors: of the first one in the file of a measurement, and of the others.
static SHAPES: [[u64; 2]; TENSORS] = {
    let mut shapes = [[4, 1]; TENSORS];
    shapes[0] = [4, 0x1_0000];
    shapes
};

/// The number of values in a row.
const ROW: usize = 64;

/// A card, and memory for the tensors that are found on it.
pub struct Network {
    /// The card with the job's file.
    pub card: Card,
    /// The queries by name.
    pub queries: &'static mut [Query<'static>; TENSORS],
}

impl Network {
    /// Creates the memory of a program; the file is set later.
    pub fn memory(_: usize) -> Self {
        Self { card: Card::new(&[]), queries: memory::queries() }
    }

    /// As [`memory`](Self::memory), with queries that request dtype and shape.
    pub fn expecting(size: usize) -> Self {
        let network = Self::memory(size);
        for (query, dims) in network.queries.iter_mut().zip(&SHAPES) {
            *query = query.dtype(Dtype::F32).shape(dims);
        }
        network
    }
}

/// Opens the model, finds the tensors and reads the first; returns how much was read, `None` after an
/// error. Inlined, so that it uses no stack except for the library's arguments and results.
#[inline(always)]
pub fn open_find_read(
    job: &mut Job<Network>,
    read: impl FnOnce(&mut Model<&mut Card>, &Query<'_>, &mut [u8]) -> Outcome,
) -> Option<u32> {
    let Network { card, queries } = &mut job.memory;
    *card = Card::new(job.file);
    let Aligned(block) = &mut Aligned([0; BLOCK]);
    let mut model = Model::open(card, block).ok()?;
    if job.last == Step::Open {
        return Some(0);
    }
    model.find_all(&mut queries[..], block).ok()?;
    if job.last == Step::Find {
        return Some(0);
    }
    let [first, ..] = &**queries;
    read(&mut model, first, block).ok()
}

/// Opens a model and, unless that is the last step, uses it; returns the length of the file.
#[inline(always)]
pub fn open_and_use(
    job: &mut Job<()>,
    act: impl FnOnce(&mut Model<Card>, &mut [u8]) -> Result<(), ReadError<Broken>>,
) -> Option<u32> {
    let mut model = Model::open(Card::new(job.file), job.window).ok()?;
    if job.last != Step::Open {
        act(&mut model, job.window).ok()?;
    }
    Some(model.summary().file_len() as u32)
}

/// The number of bytes or values read.
pub type Outcome = Result<u32, ReadError<Broken>>;

/// Reads a tensor chunk by chunk.
#[inline(never)]
pub fn stream(model: &mut Model<&mut Card>, tensor: &Query<'_>, block: &mut [u8]) -> Outcome {
    read_chunks(model.reader(tensor)?, block)
}

/// Reads all of a tensor, chunk by chunk. Inlined, so that it uses no stack of its own.
#[inline(always)]
pub fn read_chunks<S: ReadAt<Error = Broken>>(mut reader: TensorReader<'_, S>, window: &mut [u8]) -> Outcome {
    let mut bytes = 0u32;
    while let Some(chunk) = reader.next_chunk(window)? {
        bytes = bytes.wrapping_add(chunk.len() as u32);
    }
    Ok(bytes)
}

/// Reads a tensor row by row, as `f32`.
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

/// Reads the first half of every second row, as `f32`.
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
