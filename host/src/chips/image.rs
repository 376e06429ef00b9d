//! The bytes to program: the model, padded to a complete write unit.

use crate::chips::place::Place;
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::text::number::digits;
use embedded_safetensors::FileModel;
use safetensors_convert::zip::{Part, read_full};
use sha2::{Digest, Sha256};
use std::ops::Range;

/// Bytes held at a time, unless a write unit is larger.
const PIECE: u64 = 1 << 16;

/// A model in complete write units, padded with the value of erased flash.
pub struct Image<'m> {
    model: &'m FileModel,
    pub place: &'m Place<'m>,
    /// Its addresses.
    pub range: Range<u64>,
}

impl<'m> Image<'m> {
    pub fn new(model: &'m FileModel, place: &'m Place<'m>) -> Self {
        let Range { start, end } = place.range;
        Self { model, place, range: start..start + (end - start).next_multiple_of(place.area.unit) }
    }

    pub fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// The number of padding bytes.
    pub fn fill(&self) -> u64 {
        self.range.end - self.place.range.end
    }

    /// The parts of complete pages that have at least so many bytes; the last one ends where the image does.
    pub fn parts(&self, least: u64) -> Vec<Range<u64>> {
        let mut parts: Vec<Range<u64>> = Vec::new();
        for page in self.place.touched().each() {
            let end = page.end.min(self.range.end);
            match parts.last_mut() {
                Some(part) if part.end - part.start < least => part.end = end,
                _ => parts.push(page.start..end),
            }
        }
        parts
    }

    /// The bytes for these addresses.
    ///
    /// # Errors
    /// The model cannot be read, or has changed.
    pub fn read(&self, part: &Range<u64>) -> Result<Vec<u8>, Error> {
        let not_read = |reason: NotRead| Error::not_read(self.model.path(), reason);
        let length = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut bytes = vec![self.place.area.erased; length(part.end - part.start)];
        let of_model = self.place.range.end.min(part.end).saturating_sub(part.start);
        let into = bytes.get_mut(..length(of_model)).unwrap_or_default();
        let mut source = Part::new(self.model.file(), part.start - self.range.start, of_model);
        match read_full(&mut source, into).map_err(|error| not_read(error.into()))? {
            read if read == into.len() => Ok(bytes),
            _ => Err(not_read(NotRead::changed())),
        }
    }

    /// Passes the image to `take`, piece by piece. Fails as [`read`](Self::read) and `take` do.
    pub fn each(&self, mut take: impl FnMut(u64, &[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let mut start = self.range.start;
        while start < self.range.end {
            let end = start.saturating_add(PIECE).min(self.range.end);
            take(start, &self.read(&(start..end))?)?;
            start = end;
        }
        Ok(())
    }

    /// The sum in hexadecimal. Fails as [`read`](Self::read) does.
    pub fn sha256(&self) -> Result<String, Error> {
        let mut hash = Sha256::new();
        self.each(|_, piece| {
            hash.update(piece);
            Ok(())
        })?;
        Ok(digits(&hash.finalize()))
    }
}
