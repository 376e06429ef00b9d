//! Converts big-endian numbers to little-endian.

use crate::zip::read_full;
use embedded_safetensors::Dtype;
use std::io::{self, Read};

/// A reader that reverses the bytes of each number.
pub struct Swapped<R> {
    source: R,
    width: usize,
    /// The rest of a number that did not fit the caller's buffer.
    rest: Vec<u8>,
}

impl<R: Read> Swapped<R> {
    /// Creates a reader that reverses numbers of `width` bytes.
    fn new(source: R, width: usize) -> Self {
        Self { source, width, rest: Vec::new() }
    }

    /// Creates a reader that reverses numbers of this dtype.
    pub fn of(dtype: Dtype, source: R) -> Self {
        // The two parts of a complex number are reversed separately.
        let bits = if dtype == Dtype::C64 { 32 } else { dtype.bits() };
        Self::new(source, usize::from(bits / 8).max(1))
    }

    fn give_rest(&mut self, buffer: &mut [u8]) -> usize {
        let len = self.rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&self.rest[..len]);
        self.rest.drain(..len);
        len
    }
}

impl<R: Read> Read for Swapped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || !self.rest.is_empty() {
            return Ok(self.give_rest(buffer));
        }
        let whole = buffer.len() - buffer.len() % self.width;
        if whole > 0 {
            let len = read_full(&mut self.source, &mut buffer[..whole])?;
            buffer[..len].chunks_exact_mut(self.width).for_each(<[u8]>::reverse);
            return Ok(len);
        }
        let mut number = vec![0; self.width];
        let len = read_full(&mut self.source, &mut number)?;
        number.truncate(len);
        number.reverse();
        self.rest = number;
        Ok(self.give_rest(buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::Swapped;
    use std::io::Read;

    #[test]
    fn bytes_are_swapped_with_any_buffer_size() {
        let source: Vec<u8> = (0..24).collect();
        let swapped = [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 23, 22, 21, 20, 19, 18, 17, 16];
        for size in 1..30 {
            let (mut reader, mut result) = (Swapped::new(&source[..], 8), Vec::<u8>::new());
            let mut buffer = vec![0; size];
            while let Ok(len @ 1..) = reader.read(&mut buffer) {
                result.extend(&buffer[..len]);
            }
            assert_eq!(result, swapped, "{size}");
        }
    }
}
