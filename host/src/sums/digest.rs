//! The sums of models, a file or a tensor at a time, several at once.

use crate::complaint::Complaint;
use crate::failure::{Failure, NotRead};
use crate::model::{Model, Tensor};
use crate::number::digits;
use crate::parallel::in_order;
use crate::source::pieces;
use crate::work::Work;
use embedded_safetensors::{FileModel, ReadAt, ReadError};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io;
use std::num::NonZero;
use std::ops::Range;
use std::path::Path;
use std::ptr;

/// How much is read at a time, by each thread: more is not faster.
const BUFFER: u64 = 32 * 1024;

/// The sums of one model, in hexadecimal.
pub struct Hashed<'m> {
    /// The index first, if there is one, then the others in their order.
    pub files: Vec<FileSum<'m>>,
    /// Of each tensor, if they were asked for, in the order of the model.
    pub tensors: Vec<(Tensor<'m>, String)>,
}

/// The sum of one file of a model.
pub struct FileSum<'m> {
    pub path: &'m Path,
    pub len: u64,
    pub sum: String,
    /// Which part of the model it is. The index is none.
    pub part: Option<&'m FileModel>,
}

impl Hashed<'_> {
    /// Those that are in this file.
    pub fn tensors_of(&self, file: &FileSum<'_>) -> impl Iterator<Item = &(Tensor<'_>, String)> {
        let part = file.part;
        self.tensors.iter().filter(move |(tensor, _)| part.is_some_and(|part| ptr::eq(part, tensor.model())))
    }
}

/// Takes the sums of a model's files, and of its tensors too if they are wanted, so many at once.
pub fn hash_model<'m>(
    model: &'m Model,
    tensors: bool,
    threads: NonZero<usize>,
    work: &Work,
) -> Result<Hashed<'m>, Complaint> {
    let mut items: Vec<Item<'_>> = model.index().map(Item::Index).into_iter().collect();
    items.extend(model.parts().iter().map(Item::File));
    if tensors {
        items.extend(model.tensors().map(Item::Tensor));
    }
    let mut hashed = Hashed { files: Vec::new(), tensors: Vec::new() };
    in_order(
        &items,
        threads,
        |item| item.sum(work),
        |sum| {
            match sum? {
                Sum::File(file) => hashed.files.push(file),
                Sum::Tensor(tensor, sum) => hashed.tensors.push((tensor, sum)),
            }
            Ok::<_, Complaint>(())
        },
    )?;
    model.check_unchanged()?;
    Ok(hashed)
}

/// What has a sum.
enum Item<'m> {
    Index(&'m Path),
    File(&'m FileModel),
    Tensor(Tensor<'m>),
}

enum Sum<'m> {
    File(FileSum<'m>),
    Tensor(Tensor<'m>, String),
}

impl<'m> Item<'m> {
    fn sum(&self, work: &Work) -> Result<Sum<'m>, Complaint> {
        match *self {
            Self::Index(path) => {
                let (len, sum) = sum_at(path, work).map_err(|trouble| trouble.about(path))?;
                Ok(Sum::File(FileSum { path, len, sum, part: None }))
            }
            Self::File(file) => {
                let (path, len) = (file.path(), file.summary().file_len());
                let sum = sum_of(file, 0..len, work).map_err(|trouble| trouble.about(path))?;
                Ok(Sum::File(FileSum { path, len, sum, part: Some(file) }))
            }
            Self::Tensor(tensor) => Ok(Sum::Tensor(tensor, sum_of_tensor(&tensor, work)?)),
        }
    }
}

/// The length and the sum of a file of any kind.
pub fn sum_at(path: &Path, work: &Work) -> Result<(u64, String), Trouble> {
    let (file, len) = open_file(path).map_err(Trouble::Read)?;
    Ok((len, sum_of(&file, 0..len, work)?))
}

/// A file and its length. What is none could be endless, or keep us waiting.
pub fn open_file(path: &Path) -> Result<(File, u64), NotRead> {
    let is_file = |metadata: &fs::Metadata| metadata.is_file();
    if !is_file(&fs::metadata(path)?) {
        return Err(NotRead::because("it is not a file"));
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !is_file(&metadata) {
        return Err(NotRead::changed());
    }
    Ok((file, metadata.len()))
}

/// Why there is no sum.
pub enum Trouble {
    Read(NotRead),
    /// For another reason than the file: the user's stop, say.
    Other(Complaint),
}

impl Trouble {
    pub fn about(self, path: &Path) -> Complaint {
        match self {
            Self::Read(reason) => Complaint::not_read(path, reason),
            Self::Other(complaint) => complaint,
        }
    }
}

impl From<NotRead> for Trouble {
    fn from(reason: NotRead) -> Self {
        Self::Read(reason)
    }
}

/// Of a file that was sound a moment ago.
impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Read(match failure {
            Failure::NotRead(reason) => reason,
            Failure::Unsound(_) => NotRead::changed(),
        })
    }
}

/// Of a file that was proven.
impl From<ReadError<io::Error>> for Trouble {
    fn from(error: ReadError<io::Error>) -> Self {
        Self::Read(match error {
            ReadError::Source(error) => error.into(),
            ReadError::UnexpectedEof { .. } => NotRead::changed(),
            ReadError::Format(error) => NotRead::because(error.kind.to_string()),
        })
    }
}

/// The sum of a part of a file, which the file has. Tells `done` of the bytes.
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

/// The sum in digits, of what a user waits for.
fn sum_of(file: impl ReadAt<Error = io::Error>, range: Range<u64>, work: &Work) -> Result<String, Trouble> {
    let sum = sha256_of(file, range, |bytes| work.advance(bytes).map_err(Trouble::Other));
    sum.map(|sum| digits(&sum))
}

/// The sum of a tensor's bytes.
pub fn sum_of_tensor(tensor: &Tensor<'_>, work: &Work) -> Result<String, Complaint> {
    let (file, start) = (tensor.model(), tensor.model().summary().data_start);
    let sum = sum_of(file, start + tensor.begin()..start + tensor.end(), work);
    sum.map_err(|trouble| trouble.about(file.path()))
}

/// For chunks of something of this length.
fn buffer(len: u64) -> Vec<u8> {
    // An element takes 8 bytes at most, which a chunk must have room for.
    vec![0; usize::try_from(len.clamp(64, BUFFER)).unwrap_or(64)]
}
