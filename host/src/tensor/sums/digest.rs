//! The SHA-256 sum of a file or a tensor.

use crate::args::remote::is_remote;
use crate::context::Context;
use crate::context::Place;
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::header::Failure;
use crate::input::model::{Part, Tensor};
use crate::input::open::open_file;
use crate::input::remote;
use crate::input::source::pieces;
use crate::text::number::digits;
use crate::work::Work;
use embedded_safetensors::{ReadAt, ReadError};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

/// Bytes read at a time by each thread; more is not faster.
const BUFFER: u64 = 32 * 1024;

/// The length and the sum of any regular file.
pub fn sum_at(context: &Context, path: &Path, work: &Work) -> Result<(u64, String), Trouble> {
    if is_remote(path) && remote::is_sharded(context, path)? {
        return Ok(sum_of_text(&remote::index_text(context, path)?));
    }
    if is_remote(path)
        && let Place::Url(url) = remote::place(context, path)?
    {
        let file = remote::open(context, path, &url)?;
        let len = file.len_by_header();
        let reader = remote::Reader::of_remote(&file).until(len);
        return Ok((len, sum_of(reader, 0..len, work)?));
    }
    let (file, len) = open_file(path).map_err(Trouble::Read)?;
    Ok((len, sum_of(&file, 0..len, work)?))
}

/// The length and the sum of a text.
pub fn sum_of_text(text: &[u8]) -> (u64, String) {
    (text.len() as u64, digits(&Sha256::digest(text)))
}

/// The sum of an open file of this length.
pub fn hex_of_file(file: &File, len: u64, work: &Work) -> Result<String, Trouble> {
    work.expect(len);
    sum_of(file, 0..len, work)
}

/// The sum of a file of a model.
pub fn hex_of_part(part: &Part, work: &Work) -> Result<String, Trouble> {
    let len = part.index().summary().file_len();
    work.expect(len);
    sum_of(part.reader().until(len), 0..len, work)
}

/// The reason why there is no sum.
pub enum Trouble {
    Read(NotRead),
    /// A reason other than the file, such as interruption by the user.
    Other(Error),
}

impl Trouble {
    pub fn about(self, path: &Path) -> Error {
        match self {
            Self::Read(reason) => Error::not_read(path, reason),
            Self::Other(complaint) => complaint,
        }
    }
}

impl From<NotRead> for Trouble {
    fn from(reason: NotRead) -> Self {
        Self::Read(reason)
    }
}

/// For a file that was valid a moment ago.
impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Read(match failure {
            Failure::NotRead(reason) => reason,
            Failure::Invalid(_) => NotRead::changed(),
        })
    }
}

/// For a file that was validated.
impl From<ReadError<io::Error>> for Trouble {
    fn from(error: ReadError<io::Error>) -> Self {
        Self::Read(match error {
            ReadError::Source(error) => error.into(),
            ReadError::UnexpectedEof { .. } => NotRead::changed(),
            ReadError::Format(error) => NotRead::because(error.kind.to_string()),
        })
    }
}

/// The sum of a range of a file. Reports progress to `done`.
pub fn sha256_of<E: From<NotRead>>(
    file: impl ReadAt<Error = io::Error>,
    range: Range<u64>,
    mut done: impl FnMut(u64) -> Result<(), E>,
) -> Result<[u8; 32], E> {
    let (mut hash, mut buffer) = (Sha256::new(), buffer(range.end - range.start));
    pieces(file, range, &mut buffer, |piece| {
        hash.update(piece);
        done(piece.len() as u64)
    })?;
    Ok(hash.finalize().into())
}

/// The sum in hexadecimal, with progress and interruption.
fn sum_of(file: impl ReadAt<Error = io::Error>, range: Range<u64>, work: &Work) -> Result<String, Trouble> {
    let sum = sha256_of(file, range, |bytes| work.advance(bytes).map_err(Trouble::Other));
    sum.map(|sum| digits(&sum))
}

/// The sum of a tensor's bytes.
pub fn sum_of_tensor(tensor: &Tensor<'_>, work: &Work) -> Result<String, Error> {
    let (file, start) = (tensor.model(), tensor.model().index().summary().data_start);
    let reader = file.reader().until(start + tensor.end());
    let sum = sum_of(reader, start + tensor.begin()..start + tensor.end(), work);
    sum.map_err(|trouble| trouble.about(file.path()))
}

/// A buffer for chunks of data of this length.
fn buffer(len: u64) -> Vec<u8> {
    // A chunk must have space for an element, which takes at most 8 bytes.
    vec![0; usize::try_from(len.clamp(64, BUFFER)).unwrap_or(64)]
}
