//! A file on a server that threads share.

use crate::input::part::Tensor;
use embedded_safetensors::ReadAt;
use embedded_safetensors::io::FileLen;
use safetensors_remote::SharedFile;
use std::fs::File;
use std::io;
use std::ops::Range;

/// Bytes that are read and skipped rather than requested again.
pub const GAP: u64 = 64 << 10;

/// Reads from this offset on, at most so many bytes, and returns how many there are.
///
/// # Errors
/// Those of the server.
pub fn count(file: &SharedFile, from: u64, most: u64) -> io::Result<u64> {
    let (mut buffer, mut counted) = (vec![0; 1 << 16], 0);
    while counted < most {
        match file.read(from + counted, &mut buffer, None)? {
            0 => break,
            read => counted += read as u64,
        }
    }
    Ok(counted.min(most))
}

/// Announces that these tensors are read next, in any order, and each of them entirely. Small ones that
/// follow each other in a file on a server come from one reply. The next call about their file replaces it.
pub fn expect<'m>(tensors: impl IntoIterator<Item = Tensor<'m>>) {
    let mut files: Vec<(&SharedFile, Vec<Range<u64>>)> = Vec::new();
    for tensor in tensors {
        let Some(file) = tensor.model().remote() else { continue };
        // Most come file by file.
        match files.iter_mut().rev().find(|(known, _)| std::ptr::eq(*known, &**file)) {
            Some((_, ranges)) => ranges.push(tensor.in_file()),
            None => files.push((file, vec![tensor.in_file()])),
        }
    }
    files.into_iter().for_each(|(file, ranges)| file.expect(ranges));
}

/// Reads a shared file at any offset.
#[derive(Clone, Copy)]
pub struct Reader<'f> {
    from: Storage<'f>,
    /// Everything up to this offset will be read in order.
    end: Option<u64>,
    /// These bytes will be read, each run in order.
    runs: &'f [Range<u64>],
}

#[derive(Clone, Copy)]
pub enum Storage<'f> {
    File(&'f File),
    Remote(&'f SharedFile),
    /// There is none, for this reason.
    Nothing(&'static str),
}

impl<'f> Reader<'f> {
    pub fn of(from: Storage<'f>) -> Self {
        Self { from, end: None, runs: &[] }
    }

    /// Announces that everything up to this offset is read in order.
    pub fn until(self, end: u64) -> Self {
        Self { end: Some(end), ..self }
    }

    /// Announces that these bytes are read, each run in order.
    pub fn within<'r>(self, runs: &'r [Range<u64>]) -> Reader<'r>
    where
        'f: 'r,
    {
        Reader { runs, ..self }
    }

    /// The end of what is read in order from an offset on, if it was announced.
    fn end(&self, offset: u64) -> Option<u64> {
        let run = self.runs.get(self.runs.partition_point(|run| run.end <= offset));
        self.end.or(run.filter(|run| run.contains(&offset)).map(|run| run.end))
    }
}

impl ReadAt for Reader<'_> {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self.from {
            Storage::File(mut file) => ReadAt::read_at(&mut file, offset, buffer),
            Storage::Remote(remote) => match remote.read(offset, buffer, self.end(offset))? {
                0 if !buffer.is_empty() && offset < remote.len_by_header() => Err(io::Error::other(format!(
                    "it ends at byte {offset}, but has {} bytes by its header",
                    remote.len_by_header()
                ))),
                read => Ok(read),
            },
            Storage::Nothing(reason) => Err(io::Error::other(reason)),
        }
    }

    fn file_len(&mut self) -> io::Result<FileLen> {
        Ok(FileLen::Unknown)
    }
}
