//! New bytes of tensors, which are read when the model is saved.

use crate::disk::{Handle, read};
use crate::error::{Doing, EditErrorKind};
use crate::sum::{Watch, report};
use crate::undo::{KEEP, WRITE_DATA};
use core::fmt;
use core::ops::Range;
use embedded_safetensors::Dtype;
use embedded_safetensors::slice::ByteRuns;
use std::io::Read;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of bytes of a file that are read and written at once.
pub(crate) const PIECE: usize = 1 << 18;

/// New bytes of a tensor or of a slice, from any reader. It is read only when the model is
/// [saved](crate::ModelEditor::save), in pieces of at most 256 KiB. Meanwhile other threads that open or save
/// a model wait, so a reader that does that, or waits for them, never returns.
///
/// *Memory*: the shape, and the reader.
pub struct NewBytes<'n> {
    pub(crate) dtype: Dtype,
    pub(crate) dims: Vec<u64>,
    reader: Box<dyn Read + Send + 'n>,
}

impl<'n> NewBytes<'n> {
    /// Describes the elements that `reader` returns: their dtype and their shape. They are little-endian and
    /// in row-major order, as in a file.
    pub fn new(dtype: Dtype, dims: &[u64], reader: impl Read + Send + 'n) -> Self {
        Self { dtype, dims: dims.into(), reader: Box::new(reader) }
    }

    /// Returns their shape.
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// Returns the change of these runs, which have `len` bytes and count from the start of the tensor.
    pub(crate) fn at(self, runs: ByteRuns, len: u64) -> Change<'n> {
        Change { runs, len, reader: Mutex::new(self.reader) }
    }
}

impl fmt::Debug for NewBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, dims, .. } = self;
        f.debug_struct("NewBytes").field("dtype", dtype).field("dims", dims).finish_non_exhaustive()
    }
}

/// A part of a tensor that is overwritten.
pub(crate) struct Change<'n> {
    runs: ByteRuns,
    /// The number of new bytes.
    len: u64,
    reader: Mutex<Box<dyn Read + Send + 'n>>,
}

impl<'n> Change<'n> {
    /// Returns pieces of the tensor with all runs. Runs that are near each other share one.
    fn pieces(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let cut = |run: Range<u64>| {
            let starts = (run.start..run.end).step_by(PIECE);
            starts.map(move |start| start..run.end.min(start.saturating_add(PIECE as u64)))
        };
        let mut parts = self.runs.clone().flat_map(cut).peekable();
        std::iter::from_fn(move || {
            let mut piece = parts.next()?;
            while let Some(next) = parts.next_if(|next| next.end - piece.start <= PIECE as u64) {
                piece.end = next.end;
            }
            Some(piece)
        })
    }

    /// Begins to read the new bytes of the tensor of this name.
    pub(crate) fn start<'c>(&'c self, name: &'c str) -> Patch<'c, 'n> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        Patch { name, runs: self.runs.clone(), run: 0..0, reader, given: 0, needed: self.len }
    }
}

/// A change of a tensor that is read from front to end.
pub(crate) struct Patch<'c, 'n> {
    name: &'c str,
    runs: ByteRuns,
    /// The rest of the current run.
    run: Range<u64>,
    reader: MutexGuard<'c, Box<dyn Read + Send + 'n>>,
    given: u64,
    needed: u64,
}

impl Patch<'_, '_> {
    /// Overwrites the next bytes of the tensor, which are at `at`, where they change.
    ///
    /// # Errors
    /// [`EditErrorKind::MissingBytes`]; [`EditErrorKind::Input`].
    pub(crate) fn apply(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), EditErrorKind> {
        let end = at + bytes.len() as u64;
        loop {
            if self.run.is_empty() {
                let Some(run) = self.runs.next() else { return Ok(()) };
                self.run = run;
            }
            let part = self.run.start..self.run.end.min(end);
            if part.start >= end {
                return Ok(());
            }
            let offsets =
                [part.start, part.end].map(|offset| usize::try_from(offset - at).unwrap_or(usize::MAX));
            self.fill(bytes.get_mut(offsets[0]..offsets[1]).unwrap_or(&mut []))?;
            self.run.start = part.end;
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), EditErrorKind> {
        let new = self.read(bytes.len())?;
        let (given, needed) = (self.given, self.needed);
        if new.len() < bytes.len() {
            return Err(EditErrorKind::MissingBytes { name: self.name.into(), given, needed });
        }
        bytes.copy_from_slice(&new);
        Ok(())
    }

    /// Reads the next new bytes, as many as there are, up to `len`.
    fn read(&mut self, len: usize) -> Result<Vec<u8>, EditErrorKind> {
        let mut new = Vec::with_capacity(len);
        let read = self.reader.by_ref().take(len as u64).read_to_end(&mut new);
        self.given += read.map_err(EditErrorKind::Input)? as u64;
        Ok(new)
    }

    /// Ends the change.
    ///
    /// # Errors
    /// [`EditErrorKind::TooManyBytes`] when the reader is not at its end; [`EditErrorKind::Input`].
    pub(crate) fn finish(mut self) -> Result<(), EditErrorKind> {
        match *self.read(1)? {
            [] => Ok(()),
            _ => Err(EditErrorKind::TooManyBytes { name: self.name.into(), left: 0, given: 1 }),
        }
    }
}

/// The changes of the data of one file, with the names of the tensors and their offsets in the file.
pub(crate) struct NewData<'c, 'n>(pub(crate) Vec<(&'c str, u64, &'c Change<'n>)>);

impl NewData<'_, '_> {
    /// Copies the old bytes to an undo file, from `at` on: pieces, each with its offset and its length before
    /// it.
    pub(crate) fn keep(
        &self,
        file: &dyn Handle,
        undo: &dyn Handle,
        mut at: u64,
    ) -> Result<(), EditErrorKind> {
        for (_, begin, change) in &self.0 {
            for piece in change.pieces() {
                let (offset, len) = (begin + piece.start, piece.end - piece.start);
                let front = [offset, len].map(u64::to_le_bytes);
                let bytes = [front.as_flattened(), &read_old(file, offset, len)?].concat();
                undo.write_at(at, &bytes).doing(KEEP)?;
                at += bytes.len() as u64;
            }
        }
        Ok(())
    }

    /// Writes the new bytes. `watch` receives how many there are.
    pub(crate) fn write(&self, file: &dyn Handle, watch: Watch<'_>) -> Result<(), EditErrorKind> {
        let total = self.0.iter().map(|(_, _, change)| change.len).sum();
        let mut before = 0;
        for (name, begin, change) in &self.0 {
            let mut patch = change.start(name);
            for piece in change.pieces() {
                report(watch, before + patch.given, total)?;
                let mut bytes = read_old(file, begin + piece.start, piece.end - piece.start)?;
                patch.apply(piece.start, &mut bytes)?;
                file.write_at(begin + piece.start, &bytes).doing(WRITE_DATA)?;
            }
            before += patch.given;
            patch.finish()?;
        }
        report(watch, before, total)
    }
}

fn read_old(file: &dyn Handle, offset: u64, len: u64) -> Result<Vec<u8>, EditErrorKind> {
    let bytes = read(file, offset, usize::try_from(len).unwrap_or(0)).doing("read")?;
    if bytes.len() as u64 == len { Ok(bytes) } else { Err(EditErrorKind::CHANGED) }
}
