//! A model that arrives by itself and cannot be rewound, caught in buffers that its tensors are bound to.

use crate::error::{Error, ErrorKind};
use crate::header::Signal;
use crate::query::find::{Lookup, Query, Seek};
use crate::tensor::info::TensorInfo;
use crate::tensor::location::{Located, Location};
use crate::util::bytes::{copy, index_below};
use crate::validate::Summary;

/// The name of a tensor, the buffer that its bytes go to, and what has come of it.
///
/// *Memory*: at most 136 bytes; name and buffer are borrowed.
pub struct Target<'n, 'b> {
    query: Query<'n>,
    buffer: &'b mut [u8],
    filled: usize,
}

impl<'n, 'b> Target<'n, 'b> {
    /// A tensor that the model must have. The buffer must hold all of it; what is left of the buffer is not changed.
    pub const fn required(name: &'n str, buffer: &'b mut [u8]) -> Self {
        Self { query: Query::required(name), buffer, filled: 0 }
    }

    /// A tensor that the model may lack. As [`required`](Self::required) otherwise.
    pub const fn optional(name: &'n str, buffer: &'b mut [u8]) -> Self {
        Self { query: Query::optional(name), buffer, filled: 0 }
    }
}

impl<'n> Target<'n, '_> {
    /// The name of the tensor.
    pub const fn name(&self) -> &'n str {
        self.query.name()
    }

    /// What the header says of the tensor. Nothing before the header is proven, or when it has no such tensor.
    pub const fn info(&self) -> Option<TensorInfo> {
        self.query.info()
    }

    /// The bytes of the tensor, once it has come whole; until then nothing, however much of it is there.
    pub fn bytes(&self) -> Option<&[u8]> {
        let (_, len) = self.place()?;
        if len == self.filled as u64 { self.buffer.get(..self.filled) } else { None }
    }

    /// Where in the data the tensor begins, and how long it is.
    fn place(&self) -> Option<(u64, u64)> {
        let Location { begin, end, .. } = self.query.locate().ok()?;
        Some((begin, end.saturating_sub(begin)))
    }

    /// # Errors
    /// [`ErrorKind::BufferLength`], the data beginning at byte `data_start` of the file.
    fn check_room(&self, data_start: u64) -> Result<(), Error> {
        let capacity = self.buffer.len() as u64;
        match self.place() {
            Some((begin, needed)) if needed > capacity => {
                // A header may describe more than any file can hold.
                let at = data_start.saturating_add(begin + capacity);
                Err(ErrorKind::BufferLength { needed, capacity }.at(at))
            }
            _ => Ok(()),
        }
    }

    /// Takes what belongs to the tensor of bytes that stand at `offset` in the data. They come without gaps.
    fn take(&mut self, offset: u64, bytes: &[u8]) {
        let Some((begin, len)) = self.place() else { return };
        let before = index_below(begin.saturating_sub(offset), bytes.len()).unwrap_or(bytes.len());
        let end = index_below(len, self.buffer.len()).unwrap_or(self.buffer.len());
        let room = self.buffer.get_mut(self.filled..end).unwrap_or(&mut []);
        self.filled += copy(room, bytes.get(before..).unwrap_or(&[]));
    }
}

impl<'n> Seek<'n> for Target<'n, '_> {
    fn query(&mut self) -> &mut Query<'n> {
        &mut self.query
    }
}

shown!(Target<'_, '_>, it => "Target {{ name: {:?}, info: {:?}, filled: {:?}, .. }}", it.name(), it.info(), it.filled);

/// How far a model has come.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Status {
    /// The header is coming; nothing of it is proven.
    Header,
    /// The header is proven, and has all that was bound. The data are coming.
    Data,
    /// The last byte has come.
    Complete,
}

impl Status {
    /// Whether the last byte has come.
    pub const fn is_complete(self) -> bool {
        matches!(self, Self::Complete)
    }
}

/// Receives a model that arrives by itself, over a UART, by radio, in the body of an HTTP response: proves its
/// header while it comes by, copies the tensors that were bound to their buffers, and skips the others. It keeps
/// neither the header nor an index of it.
///
/// The header is validated as by [`Validator`](crate::validate::Validator), before any byte of data is copied.
/// Of names that occur twice it sees those that are bound. A stream cannot be read again, so the tensors must
/// be listed in the order of their offsets, as the reference writes them; a [`Router`](crate::stream::Router) takes
/// them in any order.
///
/// `B` is an array, a slice, or whatever else holds [`Target`]s.
///
/// *Memory*: at most 232 bytes and the targets. No heap.
///
/// ```
/// use embedded_safetensors::stream::{Receiver, Target};
///
/// # fn main() -> Result<(), embedded_safetensors::Error> {
/// # let uart = b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   xy".chunks(7);
/// let mut a = [0; 16];
/// let mut model = Receiver::new([Target::required("a", &mut a)]);
/// for piece in uart {
///     if model.push(piece)?.is_complete() {
///         break;
///     }
/// }
/// model.end_of_input()?; // an error unless all of it has come
/// assert_eq!(model.targets()[0].bytes(), Some(&b"xy"[..]));
/// # Ok(())
/// # }
/// ```
pub struct Receiver<B> {
    targets: B,
    lookup: Lookup,
    is_proven: bool,
    /// What was found wrong.
    failure: Option<Error>,
    /// How many bytes of the data have come.
    received: u64,
}

impl<'n, 'b, B: AsMut<[Target<'n, 'b>]>> Receiver<B> {
    /// Stands before byte 0 of a file. What the targets hold of an earlier one is forgotten.
    pub fn new(mut targets: B) -> Self {
        let bound = targets.as_mut();
        bound.iter_mut().for_each(|one| one.filled = 0);
        let lookup = Lookup::new(None, false, bound);
        Self { targets, lookup, is_proven: false, failure: None, received: 0 }
    }

    /// Takes the bytes that follow those of the call before, as many as have come.
    ///
    /// # Errors
    /// The faults of the header, where they show; at its end [`ErrorKind::OutOfOrder`] when its tensors are not
    /// in the order of their offsets, for which there is [`Router`](crate::stream::Router); [`ErrorKind::NotFound`] when one is missing that is not
    /// [optional](Target::optional); [`ErrorKind::BufferLength`] when one does not fit into its buffer;
    /// [`ErrorKind::NameTwice`] when two tensors have a name that is bound; [`ErrorKind::Rank`] when a bound tensor
    /// has more dimensions than a [`Shape`](crate::Shape) holds; [`ErrorKind::DataTrailing`] when bytes come
    /// behind the last one. The same error again at every further call.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Status, Error> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let mut input = bytes;
        if !self.is_proven && !self.take_header(&mut input)? {
            return Ok(Status::Header);
        }
        self.take_data(input)
    }

    /// The error that is due when the stream ends here, or `Ok` when it is complete.
    ///
    /// # Errors
    /// [`ErrorKind::FileTooShort`], [`ErrorKind::HeaderBeyondFile`] or [`ErrorKind::DataShort`] when something is
    /// missing; an earlier error is repeated.
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

    /// `true`: it is complete and proven.
    fn take_header(&mut self, input: &mut &[u8]) -> Result<bool, Error> {
        match self.lookup.run(input, self.targets.as_mut()) {
            Signal::HeaderEnd => {}
            Signal::Failed => return Err(self.fail(self.lookup.error())),
            _ => return Ok(false),
        }
        self.end_header().map_err(|error| self.fail(error))?;
        self.is_proven = true;
        Ok(true)
    }

    /// A fault of the file goes before what the caller lacks.
    fn end_header(&mut self) -> Result<(), Error> {
        self.lookup.conclude()?;
        let (data_start, targets) = (self.lookup.parser().position(), self.targets.as_mut());
        if let Some(index) = Lookup::settle(targets) {
            return Err(self.lookup.not_found(index));
        }
        targets.iter().try_for_each(|one| one.check_room(data_start))
    }

    fn take_data(&mut self, bytes: &[u8]) -> Result<Status, Error> {
        let len = index_below(self.left(), bytes.len()).unwrap_or(bytes.len());
        let (data, behind) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
        self.targets.as_mut().iter_mut().for_each(|one| one.take(self.received, data));
        self.received += data.len() as u64;
        match self.left() {
            0 if behind.is_empty() => Ok(Status::Complete),
            0 => Err(self.fail(ErrorKind::DataTrailing { needed: self.received }.at(self.position()))),
            _ => Ok(Status::Data),
        }
    }
}

impl<B> Receiver<B> {
    /// How many bytes of the file have come.
    pub const fn position(&self) -> u64 {
        self.lookup.parser().position() + self.received
    }

    /// What the header describes, once it is proven.
    pub const fn summary(&self) -> Option<Summary> {
        if self.is_proven { Some(self.lookup.summary()) } else { None }
    }

    /// How many bytes are still to come: once the header is proven exactly so many, before that at least so many,
    /// to the end of the header or of its first 8 bytes; 0 after an error. Who reads no more of them keeps out what
    /// follows the model on the same line.
    pub const fn remaining(&self) -> u64 {
        let parser = self.lookup.parser();
        match parser.header_len() {
            _ if self.failure.is_some() => 0,
            _ if self.is_proven => self.left(),
            Some(len) => 8 + len - parser.position(),
            None => 8 - parser.position(),
        }
    }

    const fn left(&self) -> u64 {
        self.lookup.summary().data_len - self.received
    }

    /// The targets, with what has come of each.
    pub fn targets<'n, 'b>(&self) -> &[Target<'n, 'b>]
    where
        B: AsRef<[Target<'n, 'b>]>,
    {
        self.targets.as_ref()
    }

    /// Gives the targets back.
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
