//! Stores a file that arrives once, and makes it valid only when it is complete.

use super::{Units, WriteAt, form, write_first};
use crate::error::{Error, ErrorKind};
use crate::header::Signal;
use crate::io::WriteError;
use crate::io::write::{ERASED, PREFIX};
use crate::query::find::{Lookup, Query, end_lookup};
use crate::stream::receiver::Status;
use crate::util::bytes::{copy, index_below};
use crate::validate::Summary;

/// Writes a file that arrives once to storage, such as a new model to a partition of flash, and validates its
/// header on the way.
///
/// The storage has no valid file from [`new`](Self::new) until the end of [`finish`](Self::finish): its
/// first bytes are all `0xFF`, which every reader rejects. So nothing is lost but the old file if the line
/// fails, the power fails, or the new file is invalid or not what your queries request. This requires the
/// same of the storage as [`Writer::record`](crate::write::Writer::record). If you need the old file until
/// then, write to another partition.
///
/// The header must list the tensors in the order of their offsets, as for a
/// [`Receiver`](crate::stream::Receiver).
///
/// *Memory*: at most 288 bytes, 248 where pointers have 32 bits, the storage, the queries and the buffer.
///
/// # Cancel safety
/// If a future is dropped, begin again with a new `FileReceiver`: it is not known how much was written.
#[form]
pub struct FileReceiver<'a, 'n, S> {
    out: Units<'a, S>,
    /// The first bytes of the file, which are written last, with units that are not larger.
    prefix: [u8; PREFIX],
    /// The first unit if it is larger; otherwise empty.
    first_unit: &'a mut [u8],
    lookup: Lookup,
    queries: &'a mut [Query<'n>],
    is_header_valid: bool,
    file_len: u64,
    /// How many bytes have arrived.
    position: u64,
    failure: Option<Error>,
}

#[form]
impl<'a, 'n, S: WriteAt> FileReceiver<'a, 'n, S> {
    /// Prepares the storage for a file of `file_len` bytes. The old contents are lost.
    ///
    /// `queries` are the tensors that the file must have; none is needed. The buffer has at least 8 bytes.
    /// With units of more than 8 bytes, it has at least two units: the first holds the first unit of the
    /// file. Writes end at multiples of the largest power of two that the rest holds. If the rest is one page
    /// of flash or one block of a card, each is written once, but for the first.
    ///
    /// The storage is consumed; pass `&mut storage` to keep it when this fails.
    ///
    /// # Errors
    /// Before anything is overwritten: [`ErrorKind::FileTooShort`] when no file has so few bytes;
    /// [`ErrorKind::BufferLength`]; [`ErrorKind::Unit`] when a unit is not a power of two;
    /// [`ErrorKind::Capacity`], [`ErrorKind::Longer`] and [`ErrorKind::Partition`] when the storage is
    /// unsuitable. Those of the storage.
    pub async fn new(
        storage: S,
        file_len: u64,
        queries: &'a mut [Query<'n>],
        buffer: &'a mut [u8],
    ) -> Result<Self, WriteError<S::Error>> {
        if file_len < PREFIX as u64 {
            return Err(ErrorKind::FileTooShort.at(file_len).into());
        }
        let unit = storage.unit();
        let first = if unit > PREFIX { unit } else { 0 };
        let needed = (first as u64).saturating_mul(2).max(PREFIX as u64);
        let capacity = buffer.len() as u64;
        let (first_unit, buffer) = match buffer.split_at_mut_checked(first) {
            Some(parts) if needed <= capacity => parts,
            _ => return Err(ErrorKind::BufferLength { needed, capacity }.at(0).into()),
        };
        let start = (unit.max(PREFIX) as u64).min(file_len);
        let out = Units::begin(storage, start, file_len, buffer).await?;
        first_unit.fill(0xFF);
        let lookup = Lookup::new(Some(file_len), false, queries);
        let (prefix, is_header_valid, position, failure) = (ERASED, false, 0, None);
        Ok(Self { out, prefix, first_unit, lookup, queries, is_header_valid, file_len, position, failure })
    }

    /// Takes the next bytes of the file, in a piece of any size, and writes them.
    ///
    /// # Errors
    /// Those of [`Receiver::push`](crate::stream::Receiver::push) for the header;
    /// [`ErrorKind::DataShort`] or [`ErrorKind::DataTrailing`] when it does not describe a file of this
    /// length; [`ErrorKind::FirstUnit`] when the data begins inside the first unit of the storage, which
    /// could then be written in part with a complete header. They are returned as soon as they are found, and
    /// every further call returns the same error. Those of the storage:
    /// [`position`](Self::position) is then the first byte that was not taken, and the call can be repeated
    /// from there as for [`Writer::record`](crate::write::Writer::record).
    pub async fn push(&mut self, bytes: &[u8]) -> Result<Status, WriteError<S::Error>> {
        if let Some(error) = self.failure {
            return Err(error.into());
        }
        let room = index_below(self.file_len - self.position, bytes.len()).unwrap_or(bytes.len());
        let (mut left, excess) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        while !left.is_empty() {
            let len = self.store(left).await?;
            let (stored, rest) = left.split_at_checked(len).unwrap_or((left, &[]));
            (left, self.position) = (rest, self.position + stored.len() as u64);
            self.check(stored).inspect_err(|error| self.failure = Some(*error))?;
        }
        if !excess.is_empty() {
            let needed = self.lookup.summary().data_len;
            let error = ErrorKind::DataTrailing { needed }.at(self.file_len);
            self.failure = Some(error);
            return Err(error.into());
        }
        Ok(match self.is_header_valid {
            false => Status::Header,
            true if self.position < self.file_len => Status::Data,
            true => Status::Complete,
        })
    }

    /// Stores bytes from the front of `bytes`, which is not empty, and returns how many.
    async fn store(&mut self, bytes: &[u8]) -> Result<usize, WriteError<S::Error>> {
        let at = self.position;
        let front = self.front();
        match index_below(at, front.len()).and_then(|at| front.get_mut(at..)) {
            Some(front) => Ok(copy(front, bytes)),
            None => self.out.take(at, bytes).await,
        }
    }

    /// Makes the file valid, flushes the storage and returns it.
    ///
    /// # Errors
    /// [`ErrorKind::HeaderBeyondFile`] or [`ErrorKind::DataShort`] when bytes are missing; an earlier error
    /// is returned again. The storage then has no valid file. Those of the storage: it then has no valid
    /// file, or the complete one; open it to see which.
    pub async fn finish(mut self) -> Result<S, WriteError<S::Error>> {
        if let Some(error) = self.failure {
            return Err(error.into());
        }
        self.lookup.end_of_input()?;
        if let Some(summary) = self.summary() {
            summary.validate_file_len(self.position)?;
        }
        self.out.end(self.file_len).await?;
        let Self { mut out, prefix, first_unit, .. } = self;
        write_first(&mut out.storage, if first_unit.is_empty() { &prefix } else { first_unit }).await?;
        Ok(out.storage)
    }
}

impl<S> FileReceiver<'_, '_, S> {
    /// The bytes that are written last.
    const fn front(&mut self) -> &mut [u8] {
        if self.first_unit.is_empty() { &mut self.prefix } else { self.first_unit }
    }

    /// Returns how many bytes of the file have arrived.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Returns the summary of the header, once it is valid.
    pub const fn summary(&self) -> Option<Summary> {
        if self.is_header_valid { Some(self.lookup.summary()) } else { None }
    }

    /// Validates these bytes, if they belong to the header.
    ///
    /// # Errors
    /// As `push`.
    fn check(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.is_header_valid {
            return Ok(());
        }
        match self.lookup.run(&mut &*bytes, self.queries) {
            Signal::HeaderEnd => {}
            Signal::Failed => return Err(self.lookup.error()),
            _ => return Ok(()),
        }
        self.lookup.conclude()?;
        let summary = self.lookup.summary();
        summary.validate_file_len(self.file_len)?;
        end_lookup::<Error>(self.queries, 0, summary.data_start)?;
        let unit = self.first_unit.len() as u64;
        if summary.data_start < unit && summary.data_len > 0 {
            return Err(ErrorKind::FirstUnit { unit }.at(summary.data_start));
        }
        self.is_header_valid = true;
        Ok(())
    }
}

impl<S> core::fmt::Debug for FileReceiver<'_, '_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut lines = f.debug_struct("FileReceiver");
        lines.field("at", &self.position).field("summary", &self.summary()).finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl<S> defmt::Format for FileReceiver<'_, '_, S> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "FileReceiver {{ at: {=u64}, summary: {}, .. }}", self.position, self.summary());
    }
}
