//! Reads a text in storage line by line.

use super::failure::{Failure, File};
use embedded_safetensors::ReadAt;

/// The lines of a manifest, each of which must fit the buffer.
pub struct Lines<'b, S> {
    source: S,
    /// The offset of the next read.
    position: u64,
    buffer: &'b mut [u8],
    /// The range of the buffer with bytes that were read, but not returned yet.
    begin: usize,
    end: usize,
    /// The number of lines returned.
    number: u32,
}

impl<'b, S: ReadAt> Lines<'b, S> {
    /// Creates a reader before the first line.
    pub fn new(source: S, buffer: &'b mut [u8]) -> Self {
        Self { source, position: 0, buffer, begin: 0, end: 0, number: 0 }
    }

    /// Checks the first byte, so that erased memory is not taken for a long line.
    ///
    /// # Errors
    /// [`Failure::NoManifest`] if the byte differs; errors of the storage.
    pub fn check_beginning(&mut self, byte: u8) -> Result<(), Failure<S::Error>> {
        let mut first = [0];
        let outcome = self.source.read_at(0, &mut first);
        let len = outcome.map_err(|error| Failure::storage(File::Manifest, 0, error))?;
        if len > 0 && first == [byte] { Ok(()) } else { Err(Failure::NoManifest) }
    }

    /// Skips everything up to and including this line.
    ///
    /// # Errors
    /// Those of [`next_line`](Self::next_line).
    pub fn skip_to(&mut self, line: &[u8]) -> Result<(), Failure<S::Error>> {
        while self.next_line()?.0 != line {}
        Ok(())
    }

    /// Returns the next line, without its end, and its number, from 1.
    ///
    /// # Errors
    /// [`Failure::Ends`] if no complete line is left; [`Failure::LongLine`]; errors of the storage.
    pub fn next_line(&mut self) -> Result<(&[u8], u32), Failure<S::Error>> {
        let len = loop {
            match length_of_line(self.waiting()) {
                Some(len) => break len,
                None => self.fill()?,
            }
        };
        let begin = self.begin;
        self.begin += len + 1;
        self.number += 1;
        Ok((self.buffer.get(begin..begin + len).unwrap_or_default(), self.number))
    }

    fn waiting(&self) -> &[u8] {
        self.buffer.get(self.begin..self.end).unwrap_or_default()
    }

    /// Reads as much as fits the buffer, at least a byte.
    fn fill(&mut self) -> Result<(), Failure<S::Error>> {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        match self.read_after(self.end)? {
            0 if self.end == self.buffer.len() => Err(self.long_line()?),
            0 => Err(Failure::Ends { file: File::Manifest, at: self.position }),
            len => {
                self.end += len;
                Ok(())
            }
        }
    }

    /// Reads into the buffer, after the bytes that are kept.
    fn read_after(&mut self, kept: usize) -> Result<usize, Failure<S::Error>> {
        let free = self.buffer.get_mut(kept..).unwrap_or_default();
        let outcome = self.source.read_at(self.position, free);
        let len = outcome.map_err(|error| Failure::storage(File::Manifest, self.position, error))?;
        let len = len.min(free.len());
        self.position += len as u64;
        Ok(len)
    }

    /// Determines the length of the line that fills the buffer.
    #[cold]
    fn long_line(&mut self) -> Result<Failure<S::Error>, Failure<S::Error>> {
        let capacity = self.buffer.len();
        let mut needed = capacity as u64;
        loop {
            let len = self.read_after(0)?;
            let rest = length_of_line(self.buffer.get(..len).unwrap_or_default());
            needed += rest.unwrap_or(len) as u64;
            if len == 0 || rest.is_some() {
                return Ok(Failure::LongLine { number: self.number + 1, needed: needed + 1, capacity });
            }
        }
    }
}

/// Returns the number of bytes before the end of the first line.
fn length_of_line(text: &[u8]) -> Option<usize> {
    text.iter().position(|&byte| byte == b'\n')
}
