//! The SHA-256 sums of files and their tensors.

use crate::context::{Context, Place};
use crate::error::Error;
use crate::input::model::{Model, Part, Tensor, is_sharded, threads_for};
use crate::input::open::open_file;
use crate::input::remote::{self, Reader, Storage};
use crate::input::source::each_piece;
use crate::json::object;
use crate::text::number::digits;
use crate::threads::in_order;
use crate::work::Work;
use embedded_safetensors::ReadAt;
use embedded_safetensors::index::IndexedTensor;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::num::NonZero;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The bytes of a sum.
pub type Sum = [u8; 32];

/// Bytes read at a time by each thread; more is not faster.
const BUFFER: u64 = 32 * 1024;

/// A file, its sum and, if they are wanted, the sums of its tensors.
pub struct FileSum {
    pub file: PathBuf,
    pub bytes: u64,
    pub sha256: String,
    pub tensors: Option<TensorSums>,
}

impl FileSum {
    pub fn new(file: &Path, bytes: u64, sum: &[u8]) -> Self {
        Self { file: file.into(), bytes, sha256: digits(sum), tensors: None }
    }
}

impl Serialize for FileSum {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (file, bytes, sha256) = (self.file.to_string_lossy(), self.bytes, &self.sha256);
        let tensors = self.tensors.as_ref().map(|tensors| object! { tensors });
        object! { file, bytes, sha256, #[serde(flatten)] tensors }.serialize(to)
    }
}

/// A file and the sums of its tensors in header order.
pub struct TensorSums(pub Part, pub Vec<Sum>);

impl TensorSums {
    pub fn each(&self) -> impl Iterator<Item = (IndexedTensor<'_>, &Sum)> {
        self.0.index().in_header_order().zip(&self.1)
    }
}

impl Serialize for TensorSums {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.each().map(|(tensor, sum)| {
            let (dtype, shape, bytes) = (tensor.dtype().name(), tensor.dims(), tensor.byte_len());
            (tensor.name(), object! { dtype, shape, bytes, sha256: digits(sum) })
        }))
    }
}

/// The sum of any regular file.
///
/// # Errors
/// It cannot be read; interruption by the user. This is the same for all functions here.
pub fn sum_at(context: &Context, path: &Path, work: &Work) -> Result<FileSum, Error> {
    let not_read = |reason| Error::not_read(path, reason);
    let (len, sum) = match remote::place(context, path).map_err(not_read)? {
        Place::Local(place) => {
            let (file, len) = open_file(&place).map_err(not_read)?;
            (len, sum_of(path, &file, 0..len, work)?)
        }
        Place::Url(url) if is_sharded(context, path)? => {
            let text = remote::index_text(context, path, &url).map_err(not_read)?;
            (text.len() as u64, Sha256::digest(text).into())
        }
        Place::Url(url) => {
            let file = remote::open(context, path, &url).map_err(not_read)?;
            let (len, reader) = (file.len_by_header(), Reader::of(Storage::Remote(&file)));
            (len, sum_of(path, reader.until(len), 0..len, work)?)
        }
    };
    Ok(FileSum::new(path, len, &sum))
}

/// The sum of the index of a model, if it has one.
pub fn sum_of_index(context: &Context, model: &Model, work: &Work) -> Result<Option<FileSum>, Error> {
    match (model.index(), model.index_text()) {
        (Some(index), Some(text)) => Ok(Some(FileSum::new(index, text.len() as u64, &Sha256::digest(text)))),
        (index, _) => index.map(|index| sum_at(context, index, work)).transpose(),
    }
}

/// The sum of an open file of this length.
pub fn sum_of_file(path: &Path, file: &File, len: u64, work: &Work) -> Result<FileSum, Error> {
    work.expect(len);
    Ok(FileSum::new(path, len, &sum_of(path, file, 0..len, work)?))
}

/// The sums of all these tensors, on several threads if the files can be read so.
pub fn sums_of(tensors: &[Tensor<'_>], work: &Work) -> Result<Vec<Sum>, Error> {
    remote::expect(tensors.iter().copied());
    let sum = |tensor: &Tensor<'_>| sum_in(tensor.model(), tensor.in_file(), work);
    collect(tensors, threads_for(tensors), sum)
}

/// The sum of a model in one file.
pub fn sum_of_model(context: &Context, model: &Model) -> Result<Sum, Error> {
    let (part, len) = (model.one_part()?, model.file_lens());
    let sum = sum_in(part, 0..len, &context.work("hashing", len))?;
    model.check_unchanged()?;
    Ok(sum)
}

/// The sum of a file of a model and, if requested, the sums of its tensors in header order. A server sends
/// the file once; a local file is read by several threads.
pub fn sums_of_part(
    part: &Part,
    tensors: bool,
    threads: NonZero<usize>,
    work: &Work,
) -> Result<(Sum, Vec<Sum>), Error> {
    let summary = part.index().summary();
    let (start, file) = (summary.data_start, 0..summary.file_len());
    let all = part.index().in_header_order().filter(|_| tensors);
    let ranges: Vec<_> = all.map(|tensor| start + tensor.begin()..start + tensor.end()).collect();
    if part.remote().is_some() {
        return sums_in_one_pass(part, file, &ranges, work);
    }
    let all: Vec<_> = [file].into_iter().chain(ranges).collect();
    let mut sums = collect(&all, threads, |range| sum_in(part, range.clone(), work))?;
    Ok((sums.remove(0), sums))
}

/// The sums of a file, and of ranges of it that have no byte in common.
fn sums_in_one_pass(
    part: &Part,
    file: Range<u64>,
    ranges: &[Range<u64>],
    work: &Work,
) -> Result<(Sum, Vec<Sum>), Error> {
    let mut order: Vec<usize> = (0..ranges.len()).filter(|&at| !ranges[at].is_empty()).collect();
    order.sort_by_key(|&at| ranges[at].start);
    let mut next = order.into_iter().peekable();
    let mut sums = vec![Sum::from(Sha256::new().finalize()); ranges.len()];
    let (mut whole, mut one, mut at) = (Sha256::new(), Sha256::new(), 0);
    read(part.path(), part.reader().until(file.end), file, work, |piece| {
        whole.update(piece);
        let end = at + piece.len() as u64;
        while let Some(&index) = next.peek()
            && let range = &ranges[index]
            && range.start < end
        {
            let within = |offset: u64| usize::try_from(offset.clamp(at, end) - at).unwrap_or(0);
            one.update(&piece[within(range.start)..within(range.end)]);
            if range.end > end {
                break;
            }
            sums[index] = one.finalize_reset().into();
            next.next();
        }
        at = end;
    })?;
    Ok((whole.finalize().into(), sums))
}

/// Makes something of each item on several threads, and returns all of it in the order of the items.
pub fn collect<T: Sync, R: Send>(
    items: &[T],
    threads: NonZero<usize>,
    make: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let mut all = Vec::with_capacity(items.len());
    in_order(items, threads, make, |made| {
        all.push(made?);
        Ok::<_, Error>(())
    })?;
    Ok(all)
}

fn sum_in(part: &Part, range: Range<u64>, work: &Work) -> Result<Sum, Error> {
    sum_of(part.path(), part.reader().until(range.end), range, work)
}

fn sum_of(
    path: &Path,
    file: impl ReadAt<Error = io::Error>,
    range: Range<u64>,
    work: &Work,
) -> Result<Sum, Error> {
    let mut hash = Sha256::new();
    read(path, file, range, work, |piece| hash.update(piece))?;
    Ok(hash.finalize().into())
}

/// Passes a range of a file to `take`, with progress and interruption.
pub fn read(
    path: &Path,
    file: impl ReadAt<Error = io::Error>,
    range: Range<u64>,
    work: &Work,
    mut take: impl FnMut(&[u8]),
) -> Result<(), Error> {
    let len = (range.end - range.start).min(BUFFER);
    let mut buffer = vec![0; usize::try_from(len).unwrap_or(0)];
    each_piece(path, file, range, &mut buffer, |piece| {
        take(piece);
        work.advance(piece.len() as u64)
    })
}
