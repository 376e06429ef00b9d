//! Files made by hand, in memory.

use std::convert::Infallible;

use embedded_safetensors::{ReadAt, io::FileLen};

/// Returns a file with this header, and zeros for data.
pub fn with_header(header: &str, data_len: usize) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.resize(file.len() + data_len, 0);
    file
}

/// A file in memory that has to be read, as from a card that is as fast as memory.
#[derive(Clone, Copy)]
pub struct Stored<'f>(pub &'f [u8]);

impl ReadAt for Stored<'_> {
    type Error = Infallible;

    #[inline]
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        self.0.read_at(offset, buffer)
    }

    #[inline]
    fn file_len(&mut self) -> Result<FileLen, Infallible> {
        self.0.file_len()
    }
}
