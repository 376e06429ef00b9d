//! The bytes to program: the model, padded to a complete write unit.

use crate::chips::place::Place;
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::text::number::digits;
use embedded_safetensors::{FileModel, ReadAt};
use sha2::{Digest, Sha256};
use std::ops::Range;

/// Bytes held at a time, unless a write unit is larger.
const PIECE: u64 = 1 << 16;

/// A model in complete write units, padded with the value of erased flash.
pub struct Image<'m> {
    model: &'m FileModel,
    model_bytes: u64,
    /// Its addresses.
    pub range: Range<u64>,
    pub erased: u8,
    /// The write unit.
    pub unit: u64,
}

impl<'m> Image<'m> {
    pub fn new(model: &'m FileModel, model_bytes: u64, place: &Place<'_>) -> Self {
        let unit = place.area.unit;
        let start = place.range.start;
        let range = start..start + model_bytes.next_multiple_of(unit);
        Self { model, model_bytes, range, erased: place.area.erased, unit }
    }

    pub fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// The number of padding bytes.
    pub fn fill(&self) -> u64 {
        self.len() - self.model_bytes
    }

    /// The bytes for these addresses.
    ///
    /// # Errors
    /// The model cannot be read, or has changed.
    pub fn read(&self, part: &Range<u64>) -> Result<Vec<u8>, Error> {
        let length = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
        let mut bytes = vec![self.erased; length];
        let offset = part.start - self.range.start;
        let of_model = self.model_bytes.saturating_sub(offset).min(part.end - part.start);
        let of_model = usize::try_from(of_model).unwrap_or(usize::MAX);
        self.fill_from_model(offset, bytes.get_mut(..of_model).unwrap_or_default())?;
        Ok(bytes)
    }

    fn fill_from_model(&self, mut offset: u64, mut rest: &mut [u8]) -> Result<(), Error> {
        let not_read = |reason: NotRead| Error::not_read(self.model.path(), reason);
        while !rest.is_empty() {
            let mut source = self.model;
            let count = source.read_at(offset, rest).map_err(|error| not_read(error.into()))?;
            if count == 0 {
                return Err(not_read(NotRead::changed()));
            }
            rest = rest.get_mut(count..).unwrap_or_default();
            offset += count as u64;
        }
        Ok(())
    }

    /// Passes the image to `take`, piece by piece.
    ///
    /// # Errors
    /// As [`read`](Self::read), and those of `take`.
    pub fn each(&self, mut take: impl FnMut(u64, &[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let mut start = self.range.start;
        while start < self.range.end {
            let end = start.saturating_add(PIECE).min(self.range.end);
            take(start, &self.read(&(start..end))?)?;
            start = end;
        }
        Ok(())
    }

    /// The sum in hexadecimal.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn sha256(&self) -> Result<String, Error> {
        let mut hash = Sha256::new();
        self.each(|_, piece| {
            hash.update(piece);
            Ok(())
        })?;
        Ok(digits(&hash.finalize()))
    }
}
