//! Files made by hand, in memory.

use std::convert::Infallible;
use std::fmt::{Debug, Display};
use std::ops::Range;

use embedded_safetensors::{Error, ReadAt, ReadError, io::FileLen};

/// Returns a file with this header, and zeros for data.
pub fn with_header(header: &str, data_len: usize) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.resize(file.len() + data_len, 0);
    file
}

/// Returns an entry of a header.
pub fn entry(name: &str, dtype: impl Display, dims: impl Debug, range: Range<u64>) -> String {
    let Range { start, end } = range;
    format!(r#""{name}":{{"dtype":"{dtype}","shape":{dims:?},"data_offsets":[{start},{end}]}}"#)
}

/// Returns a file with these entries, and zeros for data.
pub fn with_entries(entries: &[String], data_len: usize) -> Vec<u8> {
    with_header(&format!("{{{}}}", entries.join(",")), data_len)
}

/// Returns a file of these tensors, each with its name, dtype, dimensions and bytes.
pub fn with_tensors<D: Display, S: Debug, B: AsRef<[u8]>>(tensors: &[(&str, D, S, B)]) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::<u8>::new());
    for (name, dtype, dims, bytes) in tensors {
        let begin = data.len() as u64;
        data.extend(bytes.as_ref());
        entries.push(entry(name, dtype, dims, begin..data.len() as u64));
    }
    let mut file = with_entries(&entries, 0);
    file.extend(data);
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

/// Returns what a call says about the file.
///
/// # Errors
/// That of the file.
///
/// # Panics
/// If the storage has a fault.
pub fn of_file<T>(outcome: Result<T, ReadError<impl Debug>>) -> Result<T, Error> {
    outcome.map_err(|error| match error {
        ReadError::Format(error) => error,
        error => panic!("{error:?}"),
    })
}
