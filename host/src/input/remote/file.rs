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
    ahead: Ahead<'f>,
}

#[derive(Clone, Copy)]
enum Storage<'f> {
    File(&'f File),
    Remote(&'f SharedFile),
    /// There is none, for this reason.
    Nothing(&'static str),
}

/// What will be read after an offset.
#[derive(Clone, Copy)]
enum Ahead<'f> {
    Unknown,
    /// Everything up to this offset.
    Until(u64),
    /// These bytes.
    Within(&'f [Range<u64>]),
}

impl Ahead<'_> {
    /// The end of what is read in order from an offset on.
    fn end(self, offset: u64) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Until(end) => Some(end),
            Self::Within(runs) => {
                let run = runs.get(runs.partition_point(|run| run.end <= offset))?;
                run.contains(&offset).then_some(run.end)
            }
        }
    }
}

impl<'f> Reader<'f> {
    /// A reader of a local file.
    pub fn of_file(file: &'f File) -> Self {
        Self { from: Storage::File(file), ahead: Ahead::Unknown }
    }

    pub fn of_remote(remote: &'f SharedFile) -> Self {
        Self { from: Storage::Remote(remote), ahead: Ahead::Unknown }
    }

    /// A reader of nothing, for this reason.
    pub fn of_nothing(reason: &'static str) -> Self {
        Self { from: Storage::Nothing(reason), ahead: Ahead::Unknown }
    }

    /// Announces that everything up to this offset is read in order.
    pub fn until(self, end: u64) -> Self {
        Self { ahead: Ahead::Until(end), ..self }
    }

    /// Announces that these bytes are read, each run in order.
    pub fn within<'r>(self, runs: &'r [Range<u64>]) -> Reader<'r>
    where
        'f: 'r,
    {
        Reader { from: self.from, ahead: Ahead::Within(runs) }
    }
}

impl ReadAt for Reader<'_> {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self.from {
            Storage::File(mut file) => ReadAt::read_at(&mut file, offset, buffer),
            Storage::Remote(remote) => match remote.read(offset, buffer, self.ahead.end(offset))? {
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
