//! Receives a model that arrives once, and copies the requested tensors into buffers.

use crate::error::{Error, ErrorKind};
use crate::header::Signal;
use crate::query::find::{HasQuery, Lookup, Query, end_lookup};
use crate::stream::{end_of_header, limited};
use crate::tensor::info::TensorInfo;
use crate::tensor::span::{Located, Location};
use crate::util::bytes::{copy, index_below};
use crate::validate::Summary;
use crate::values::Element;
use crate::values::convert::Arriving;
use crate::values::dtypes::{Lossless, Rounded};

/// A query, the memory for the tensor, and how much of the tensor has arrived.
///
/// *Memory*: at most 192 bytes; the name, the shape and the memory are borrowed.
///
/// ```
/// use embedded_safetensors::Dtype;
/// use embedded_safetensors::query::Query;
/// use embedded_safetensors::stream::{Receiver, Target};
///
/// const WEIGHT: Query = Query::required("fc1.weight").dtype(Dtype::I8).shape(&[64, 32]);
/// const BIAS: Query = Query::required("fc2.bias").shape(&[8]); // any dtype with values that `f32` has
///
/// let (mut weight, mut bias) = ([0; 2048], [0.0_f32; 8]);
/// let mut model = Receiver::new([Target::new(WEIGHT, &mut weight), Target::values(BIAS, &mut bias)]);
/// # let storage = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"))[..];
/// # for piece in storage.chunks(63) { model.push(piece)?; }
/// // … push the file …
/// model.end_of_input()?;
/// println!("{weight:?} {bias:?}");
/// # Ok::<(), embedded_safetensors::Error>(())
/// ```
pub struct Target<'n, 'b> {
    query: Query<'n>,
    memory: Memory<'b>,
    /// How many bytes of the tensor have arrived.
    filled: u64,
}

enum Memory<'b> {
    Bytes(&'b mut [u8]),
    Values(Arriving<'b>),
}

impl<'n, 'b> Target<'n, 'b> {
    /// Creates a target for the bytes of a tensor. The buffer must hold the entire tensor; the rest of the
    /// buffer is unchanged.
    pub const fn new(query: Query<'n>, buffer: &'b mut [u8]) -> Self {
        Self { query, memory: Memory::Bytes(buffer), filled: 0 }
    }

    /// Creates a target for the values of a tensor, converted to your type as
    /// [`Values`](crate::reader::Values) converts them. There must be space for all values of the tensor (two
    /// for an element of C64); the rest is unchanged. A conversion that could lose something is an error.
    pub const fn values<T: Element>(query: Query<'n>, values: &'b mut [T]) -> Self {
        Self { query, memory: Memory::Values(Arriving::new::<T, Lossless>(values)), filled: 0 }
    }

    /// As [`values`](Self::values), but rounds to the nearest value where that would be an error.
    pub const fn rounded<T: Element>(query: Query<'n>, values: &'b mut [T]) -> Self {
        Self { query, memory: Memory::Values(Arriving::new::<T, Rounded>(values)), filled: 0 }
    }
}

impl<'n> Target<'n, '_> {
    /// Returns the name of the tensor.
    pub const fn name(&self) -> &'n str {
        self.query.name()
    }

    /// Returns the tensor's entry in the header, or `None` before the header is validated and if it has no
    /// such tensor.
    pub const fn info(&self) -> Option<TensorInfo> {
        self.query.info()
    }

    /// Returns whether the tensor has arrived completely.
    pub fn is_complete(&self) -> bool {
        self.place().is_some_and(|place| place.end - place.begin == self.filled)
    }

    /// Returns the bytes of the tensor once it has arrived completely, or `None` before that. Always `None`
    /// for a target of values.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.memory {
            Memory::Bytes(buffer) if self.is_complete() => {
                buffer.get(..index_below(self.filled, usize::MAX)?)
            }
            _ => None,
        }
    }

    /// All of its memory, whatever has arrived: for the C API.
    #[doc(hidden)]
    pub const fn memory(&self) -> &[u8] {
        match &self.memory {
            Memory::Bytes(buffer) => buffer,
            Memory::Values(values) => values.memory(),
        }
    }

    fn place(&self) -> Option<Location> {
        self.query.locate().ok()
    }

    /// Checks that the memory holds the tensor. The data begins at byte `data_start` of the file.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`]; for values [`ErrorKind::Lossy`] and [`ErrorKind::NoConversion`].
    fn check_room(&self, data_start: u64) -> Result<(), Error> {
        let Some(Location { dtype, begin, end, .. }) = self.place() else { return Ok(()) };
        let len = end.saturating_sub(begin);
        // A header may describe more data than any file can hold.
        let at = data_start.saturating_add(begin);
        let (needed, capacity) = match &self.memory {
            Memory::Bytes(buffer) => (len, buffer.len() as u64),
            Memory::Values(values) => {
                values.check(dtype).map_err(|kind| kind.at(at))?;
                (values.needed(dtype, len), values.memory().len() as u64)
            }
        };
        if needed > capacity {
            let fits = if needed == len { capacity } else { 0 };
            return Err(ErrorKind::BufferLength { needed, capacity }.at(at.saturating_add(fits)));
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.filled = 0;
        if let Memory::Values(values) = &mut self.memory {
            values.reset();
        }
    }

    /// Takes the part of `bytes` that belongs to the tensor. `bytes` is at `offset` in the data; calls
    /// follow each other without gaps.
    fn take(&mut self, offset: u64, bytes: &[u8]) {
        let Some(Location { dtype, begin, end, .. }) = self.place() else { return };
        let before = index_below(begin.saturating_sub(offset), bytes.len()).unwrap_or(bytes.len());
        let after_it = bytes.get(before..).unwrap_or_default();
        let left = end.saturating_sub(begin).saturating_sub(self.filled);
        let len = index_below(left, after_it.len()).unwrap_or(after_it.len());
        let ours = after_it.get(..len).unwrap_or_default();
        match &mut self.memory {
            Memory::Bytes(buffer) => {
                let from = index_below(self.filled, buffer.len()).unwrap_or(buffer.len());
                copy(buffer.get_mut(from..).unwrap_or_default(), ours);
            }
            Memory::Values(values) => values.push(dtype, self.filled, ours),
        }
        self.filled += len as u64;
    }
}

impl AsRef<str> for Target<'_, '_> {
    /// Returns the name.
    fn as_ref(&self) -> &str {
        self.query.name()
    }
}

impl<'n> HasQuery<'n> for Target<'n, '_> {
    fn query(&mut self) -> &mut Query<'n> {
        &mut self.query
    }
}

shown!(
    Target<'_, '_>, it =>
        "Target {{ name: {:?}, info: {:?}, filled: {:?}, .. }}", it.name(), it.info(), it.filled
);

/// How much of a model has arrived.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Status {
    /// The header is incomplete and not yet validated.
    Header,
    /// The header is valid and has all required tensors. Data is still missing.
    Data,
    /// The last byte has arrived.
    Complete,
}

impl Status {
    /// Returns whether the last byte has arrived.
    pub const fn is_complete(self) -> bool {
        matches!(self, Self::Complete)
    }
}

/// Receives a model that arrives once, over a UART, a radio or HTTP, and copies the tensors you name into
/// your buffers. All other tensors are skipped.
///
/// Pass the bytes to [`push`](Self::push) as they arrive, in pieces of any size. The header is validated as
/// by [`Validator`](crate::validate::Validator) before any data is copied. Only the names of targets are
/// checked for duplicates.
///
/// The header must list the tensors in the order of their offsets, as the Rust crate `safetensors` writes
/// them, because a stream cannot be read again. A [`Router`](crate::stream::Router) accepts any order.
///
/// `B` is an array, a slice or another container of [`Target`]s.
///
/// *Memory*: at most 232 bytes and the targets. Neither the header nor an index of it is stored. No heap.
pub struct Receiver<B> {
    targets: B,
    lookup: Lookup,
    is_header_valid: bool,
    /// The first error.
    failure: Option<Error>,
    /// How many bytes of the data have arrived.
    received: u64,
}

impl<'n, 'b, B: AsMut<[Target<'n, 'b>]>> Receiver<B> {
    /// Creates a receiver for a new file. Bytes that the targets hold from an earlier file are discarded.
    pub fn new(mut targets: B) -> Self {
        let all = targets.as_mut();
        all.iter_mut().for_each(Target::reset);
        let lookup = Lookup::new(None, false, all);
        Self { targets, lookup, is_header_valid: false, failure: None, received: 0 }
    }

    /// Rejects a header that is longer, as soon as its length has arrived. Without a limit it may have
    /// 100,000,000 bytes, and a sender that adds spaces keeps the receiver busy with them. Call this before
    /// the first [`push`](Self::push).
    #[must_use]
    pub fn with_header_limit(mut self, limit: u64) -> Self {
        self.lookup = Lookup::new(end_of_header(limit), false, self.targets.as_mut());
        self
    }

    /// Takes the next bytes of the file, in a piece of any size.
    ///
    /// # Errors
    /// Errors in the header, as soon as they are found; [`ErrorKind::HeaderLength`] when it is longer than
    /// the [limit](Self::with_header_limit); at its end [`ErrorKind::OutOfOrder`] when its
    /// tensors are not in the order of their offsets: use a [`Router`](crate::stream::Router);
    /// [`ErrorKind::NotFound`] when a tensor that is not [optional](Query::optional) is missing;
    /// [`ErrorKind::DtypeMismatch`], [`ErrorKind::RankMismatch`] and [`ErrorKind::ShapeMismatch`] when one is
    /// not as requested; [`ErrorKind::BufferLength`] when a tensor does not fit into its memory;
    /// [`ErrorKind::Lossy`] and [`ErrorKind::NoConversion`] when its values cannot be converted;
    /// [`ErrorKind::DuplicateName`] when a target's name is a duplicate; [`ErrorKind::Rank`] when a target's
    /// tensor has more dimensions than a [`Shape`](crate::Shape) holds; [`ErrorKind::DataTrailing`] when
    /// bytes follow the last tensor. Every further call returns the same error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Status, Error> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let mut input = bytes;
        if !self.is_header_valid && !self.take_header(&mut input)? {
            return Ok(Status::Header);
        }
        self.take_data(input)
    }

    /// Reports that the stream has ended. Returns `Ok` if the file is complete.
    ///
    /// # Errors
    /// [`ErrorKind::FileTooShort`], [`ErrorKind::HeaderBeyondFile`] or [`ErrorKind::DataShort`] when bytes
    /// are missing; an earlier error is returned again.
    pub fn end_of_input(&mut self) -> Result<(), Error> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        self.lookup.end_of_input().map_err(|error| self.fail(error))?;
        let file_len = self.position();
        match self.summary() {
            Some(summary) => summary.validate_file_len(file_len).map_err(|error| self.fail(error)),
            None => Ok(()),
        }
    }

    /// Returns `true` once the header is complete and valid.
    fn take_header(&mut self, input: &mut &[u8]) -> Result<bool, Error> {
        match self.lookup.run(input, self.targets.as_mut()) {
            Signal::HeaderEnd => {}
            Signal::Failed => return Err(self.fail(limited(self.lookup.error()))),
            _ => return Ok(false),
        }
        self.end_header().map_err(|error| self.fail(error))?;
        self.is_header_valid = true;
        Ok(true)
    }

    /// An error in the file takes precedence over a buffer that is too small.
    fn end_header(&mut self) -> Result<(), Error> {
        self.lookup.conclude()?;
        let (data_start, targets) = (self.lookup.parser().position(), self.targets.as_mut());
        end_lookup::<Error>(targets, 0, data_start)?;
        targets.iter().try_for_each(|one| one.check_room(data_start))
    }

    fn take_data(&mut self, bytes: &[u8]) -> Result<Status, Error> {
        let len = index_below(self.left(), bytes.len()).unwrap_or(bytes.len());
        let (data, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
        self.targets.as_mut().iter_mut().for_each(|one| one.take(self.received, data));
        self.received += data.len() as u64;
        match self.left() {
            0 if rest.is_empty() => Ok(Status::Complete),
            0 => Err(self.fail(ErrorKind::DataTrailing { needed: self.received }.at(self.position()))),
            _ => Ok(Status::Data),
        }
    }
}

impl<B> Receiver<B> {
    /// Returns how many bytes of the file have arrived.
    pub const fn position(&self) -> u64 {
        self.lookup.parser().position() + self.received
    }

    /// Returns the summary of the header, once it is valid.
    pub const fn summary(&self) -> Option<Summary> {
        if self.is_header_valid { Some(self.lookup.summary()) } else { None }
    }

    /// Returns how many bytes of the file are still missing. The number is exact once the header is valid.
    /// Before that, it is a lower bound: the bytes to the end of the header, or to the end of the first 8
    /// bytes of the file. After an error it is 0.
    ///
    /// If you never read more than this, you read nothing that follows the model on the same line.
    pub const fn remaining(&self) -> u64 {
        let parser = self.lookup.parser();
        match parser.header_len() {
            _ if self.failure.is_some() => 0,
            _ if self.is_header_valid => self.left(),
            Some(len) => 8 + len - parser.position(),
            None => 8 - parser.position(),
        }
    }

    const fn left(&self) -> u64 {
        self.lookup.summary().data_len - self.received
    }

    /// Returns the targets, with the bytes that have arrived.
    pub fn targets<'n, 'b>(&self) -> &[Target<'n, 'b>]
    where
        B: AsRef<[Target<'n, 'b>]>,
    {
        self.targets.as_ref()
    }

    /// Returns the targets.
    pub fn into_targets(self) -> B {
        self.targets
    }

    const fn fail(&mut self, error: Error) -> Error {
        self.failure = Some(error);
        error
    }
}

impl<B: core::fmt::Debug> core::fmt::Debug for Receiver<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut lines = f.debug_struct("Receiver");
        lines.field("at", &self.position()).field("summary", &self.summary());
        lines.field("targets", &self.targets).finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl<B: defmt::Format> defmt::Format for Receiver<B> {
    fn format(&self, f: defmt::Formatter<'_>) {
        let (at, summary) = (self.position(), self.summary());
        defmt::write!(
            f,
            "Receiver {{ at: {=u64}, summary: {}, targets: {}, .. }}",
            at,
            summary,
            self.targets
        );
    }
}
