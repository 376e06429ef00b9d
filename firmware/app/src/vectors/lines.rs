//! A text in storage, line by line.

use super::failure::{Failure, File};
use embedded_safetensors::ReadAt;

/// The lines of a manifest, each whole in one buffer.
pub struct Lines<'b, S> {
    source: S,
    /// Where in the file the bytes come from that are read next.
    position: u64,
    buffer: &'b mut [u8],
    /// What of the buffer has been read, and not yet been given out.
    begin: usize,
    end: usize,
    /// How many lines were given out.
    number: u32,
}

impl<'b, S: ReadAt> Lines<'b, S> {
    /// Stands before the first line.
    pub fn new(source: S, buffer: &'b mut [u8]) -> Self {
        Self { source, position: 0, buffer, begin: 0, end: 0, number: 0 }
    }

    /// Looks whether the first byte is this one, so that a place where nothing was ever written is not taken for a long line.
    ///
    /// # Errors
    /// [`Failure::NoManifest`] when it is not; those of the storage.
    pub fn check_beginning(&mut self, byte: u8) -> Result<(), Failure<S::Error>> {
        let mut first = [0];
        let outcome = self.source.read_at(0, &mut first);
        let len = outcome.map_err(|error| Failure::storage(File::Manifest, 0, error))?;
        if len > 0 && first == [byte] { Ok(()) } else { Err(Failure::NoManifest) }
    }

    /// Reads on until behind this line.
    ///
    /// # Errors
    /// As [`due`](Self::due).
    pub fn skip_to(&mut self, wanted: &[u8]) -> Result<(), Failure<S::Error>> {
        while self.due()?.0 != wanted {}
        Ok(())
    }

    /// The next line, without its end, and its number, counted from 1.
    ///
    /// # Errors
    /// [`Failure::Ends`] when there is none that ends; [`Failure::LongLine`]; those of the storage.
    pub fn due(&mut self) -> Result<(&[u8], u32), Failure<S::Error>> {
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

    /// Reads as much as there is room for, at least a byte.
    fn fill(&mut self) -> Result<(), Failure<S::Error>> {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        match self.read_behind(self.end)? {
            0 if self.end == self.buffer.len() => Err(self.long_line()?),
            0 => Err(Failure::Ends { file: File::Manifest, at: self.position }),
            len => {
                self.end += len;
                Ok(())
            }
        }
    }

    /// Reads into the buffer behind what is kept there.
    fn read_behind(&mut self, kept: usize) -> Result<usize, Failure<S::Error>> {
        let room = self.buffer.get_mut(kept..).unwrap_or_default();
        let outcome = self.source.read_at(self.position, room);
        let len = outcome.map_err(|error| Failure::storage(File::Manifest, self.position, error))?;
        let len = len.min(room.len());
        self.position += len as u64;
        Ok(len)
    }

    /// How long the line is of which the buffer is full.
    #[cold]
    fn long_line(&mut self) -> Result<Failure<S::Error>, Failure<S::Error>> {
        let capacity = self.buffer.len();
        let mut needed = capacity as u64;
        loop {
            let len = self.read_behind(0)?;
            let rest = length_of_line(self.buffer.get(..len).unwrap_or_default());
            needed += rest.unwrap_or(len) as u64;
            if len == 0 || rest.is_some() {
                return Ok(Failure::LongLine { number: self.number + 1, needed: needed + 1, capacity });
            }
        }
    }
}

/// How many bytes stand before the end of the first line, if it is there.
fn length_of_line(text: &[u8]) -> Option<usize> {
    text.iter().position(|&byte| byte == b'\n')
}
