//! Writes the contents of a new model.

use super::contents::{Contents, Entry};
use crate::context::Context;
use crate::error::Error;
use crate::input::model::{Model, Part};
use crate::input::remote;
use crate::input::source::each_piece;
use crate::output::file::Product;
use crate::output::writer::{planned, put_header};
use crate::work::Work;
use embedded_safetensors::write::{FileSpec, Placement, PlannedContent, TensorSpec};
use std::io::{self, Read};
use std::path::Path;

/// Bytes of a tensor held at a time.
const PIECE: usize = 256 * 1024;
/// Bytes that the system copies at a time.
const COPIED: u64 = 4 << 20;

/// The layout of a file.
#[derive(Clone, Copy)]
pub struct Layout {
    pub is_canonical: bool,
    pub placement: Placement,
    pub room: u32,
}

impl Layout {
    /// The layout of the reference.
    pub const USUAL: Self = Self { is_canonical: true, placement: Placement::Start(8), room: 0 };
}

/// An item of a planned file: an entry, or None for padding, and its range in the data.
pub type Line<'c, 'm> = (Option<&'c Entry<'m>>, u64, u64);

/// The length of the planned file, and its items. Writes the header to `product`, if one is given.
///
/// # Errors
/// The specification is invalid; those of writing.
pub fn plan<'c, 'm>(
    contents: &'c Contents<'m>,
    layout: Layout,
    output: &Path,
    product: Option<&mut Product>,
) -> Result<(u64, Vec<Line<'c, 'm>>), Error> {
    let specs: Vec<TensorSpec<'_>> = contents.entries.iter().map(Entry::spec).collect();
    let pairs = contents.metadata.iter().flatten().map(|(key, value)| (key.as_str(), value.as_str()));
    let pairs: Vec<(&str, &str)> = pairs.collect();
    let spec = FileSpec::new(&specs).with_placement(layout.placement).with_header_room(layout.room);
    let spec = if contents.metadata.is_some() { spec.with_metadata(&pairs) } else { spec };
    planned(spec, layout.is_canonical, output, |plan| {
        if let Some(product) = product {
            product.expect(plan.file_len());
            put_header(plan, |piece| product.put(piece))?;
        }
        let lines = plan.tensors().map(|tensor| match tensor.content {
            PlannedContent::Tensor { index, .. } => (contents.entries.get(index), tensor.begin, tensor.end),
            PlannedContent::Padding { .. } => (None, tensor.begin, tensor.end),
        });
        Ok((plan.file_len(), lines.collect()))
    })
}

/// Makes a file of everything, and returns its length. `task` is shown while it runs.
///
/// # Errors
/// Those of [`write`] and of the output; one of the models has changed.
pub fn make(
    context: &Context,
    contents: &Contents<'_>,
    layout: Layout,
    (output, force): (&Path, bool),
    (task, models): (&'static str, &[Model]),
) -> Result<u64, Error> {
    let mut product = Product::create(context, output, force)?;
    let work = context.work(task, contents.bytes());
    let bytes = write(contents, layout, (&mut product, output), &work)?;
    models.iter().try_for_each(Model::check_unchanged)?;
    context.check()?;
    product.finish()?;
    Ok(bytes)
}

/// Writes everything. Does not finish the output. Returns the length of the file.
///
/// # Errors
/// The specification is invalid; those of reading and writing; interruption by the user.
pub fn write(
    contents: &Contents<'_>,
    layout: Layout,
    (product, path): (&mut Product, &Path),
    work: &Work,
) -> Result<u64, Error> {
    let (len, lines) = plan(contents, layout, path, Some(&mut *product))?;
    remote::expect(contents.entries.iter().map(|entry| entry.tensor));
    let mut buffer = vec![0; PIECE];
    for (entry, begin, end) in lines {
        match entry {
            Some(entry) => copy_tensor(entry, &mut buffer, work, product)?,
            None => {
                let zeros = io::copy(&mut io::repeat(0).take(end - begin), product);
                zeros.map_err(|error| product.cannot(error))?;
            }
        }
    }
    Ok(len)
}

fn copy_tensor(
    entry: &Entry<'_>,
    buffer: &mut [u8],
    work: &Work,
    product: &mut Product,
) -> Result<(), Error> {
    let (model, len) = (entry.tensor.model(), entry.tensor.byte_len());
    let begin = model.index().summary().data_start + entry.tensor.begin();
    let mut copied = 0;
    // The system copies faster, but for short tensors. Where it cannot, the rest is read and written.
    let on_disk = if let Part::File(file) = model { Some(file.file()) } else { None };
    while let Some(file) = on_disk.filter(|_| len >= PIECE as u64 && copied < len) {
        let piece = product.copy(file, begin + copied, COPIED.min(len - copied));
        if piece == 0 {
            break;
        }
        copied += piece;
        work.advance(piece)?;
    }
    let rest = begin + copied..begin + len;
    each_piece(entry.file(), model.reader().until(rest.end), rest, buffer, |piece| {
        product.put(piece).and_then(|()| work.advance(piece.len() as u64))
    })
}
