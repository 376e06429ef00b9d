//! What a device needs to make one model of another.

use crate::context::Context;
use crate::error::Error;
use crate::input::model::Part;
use crate::input::source::each_piece;
use crate::output::writer::Take;
use std::iter::once;
use std::mem::take;
use std::ops::Range;

/// So many equal bytes in a row are copied. Fewer are not worth the 12 bytes of a piece.
const LEAST: u64 = 24;

/// How many bytes are read at a time, and about the most that are new in a piece.
const WINDOW: usize = 16 * 1024;

/// Compares the new model with the old one: the headers, and tensors of the same name. Passes on the pieces
/// of which a device makes the new one.
///
/// # Errors
/// A model cannot be read; those of `put`; interruption by the user.
pub fn pieces(context: &Context, old: &Part, new: &Part, put: Take<'_>) -> Result<(), Error> {
    let not_read = |reason| Error::not_read(old.path(), reason);
    let mut source = old.source().map_err(not_read)?;
    let work = context.work("comparing", new.index().summary().file_len());
    let header = |part: &Part| 0..part.index().summary().data_start;
    let find = |name: &str| old.find(name).map_or(0..0, |tensor| tensor.in_file());
    let tensors = new.tensors().map(|tensor| (find(tensor.name()), tensor.in_file()));
    let (mut pieces, mut buffer) = (Pieces { copy: 0..0, new: Vec::new(), put }, vec![0; WINDOW]);
    for (mut known, range) in once((header(old), header(new))).chain(tensors) {
        each_piece(new.path(), new.reader(), range, &mut buffer, |bytes| {
            let len = (known.end - known.start).min(bytes.len() as u64);
            let olds = source.read_up_to(known.start, len).map_err(|error| not_read(error.into()))?;
            let is_equal: Vec<bool> = (0..bytes.len()).map(|at| olds.get(at) == bytes.get(at)).collect();
            let mut at = 0;
            for run in is_equal.chunk_by(|one, next| one == next) {
                let bytes = &bytes[at..at + run.len()];
                pieces.add(run[0].then_some(known.start + at as u64), bytes)?;
                at += run.len();
            }
            known.start += len;
            work.advance(bytes.len() as u64)
        })?;
    }
    pieces.end()
}

/// Makes pieces of bytes.
struct Pieces<'t> {
    /// What the next piece copies from the old model.
    copy: Range<u64>,
    /// The new bytes after that.
    new: Vec<u8>,
    put: Take<'t>,
}

impl Pieces<'_> {
    /// Adds bytes of the new model, and where the old one has them, if it does.
    fn add(&mut self, known: Option<u64>, bytes: &[u8]) -> Result<(), Error> {
        let len = bytes.len() as u64;
        match known {
            Some(at) if self.new.is_empty() && at == self.copy.end => self.copy.end += len,
            Some(at) if len >= LEAST => {
                self.end()?;
                self.copy = at..at + len;
            }
            _ => self.new.extend(bytes),
        }
        if self.new.len() < WINDOW { Ok(()) } else { self.end() }
    }

    /// Passes on a piece, if it is not empty. Its numbers have 32 bits, as both models are short.
    fn end(&mut self) -> Result<(), Error> {
        let (copy, new) = (take(&mut self.copy), take(&mut self.new));
        let numbers = [copy.start, copy.end - copy.start, new.len() as u64];
        let numbers = numbers.map(|number| u32::try_from(number).unwrap_or(0).to_le_bytes());
        let is_empty = copy.is_empty() && new.is_empty();
        (self.put)(if is_empty { &[] } else { numbers.as_flattened() })?;
        (self.put)(&new)
    }
}
