//! A model that arrives by itself and cannot be rewound, cut into the bytes of its tensors.

use crate::error::{Error, ErrorKind};
use crate::header::progress::{Machine, Progress};
use crate::index::build::IndexBuilder;
use crate::index::memory::IndexMemory;
use crate::index::{Index, IndexedTensor};
use crate::util::bytes::index_below;
use crate::validate::Summary;

/// What came of the input of a [`Router`].
///
/// *Memory*: at most 80 bytes, `Copy`; it borrows from the memory of the index and from the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum RouterEvent<'m, 'c> {
    /// All input is consumed; call again with more.
    NeedInput,
    /// The header is complete and proven, and the [`index`](Router::index) is there.
    Header,
    /// Bytes of one tensor, as many as the input has, up to the end of the tensor.
    Data {
        /// The tensor that they belong to.
        tensor: IndexedTensor<'m>,
        /// Which byte of the tensor the first one is.
        offset: u64,
        /// The bytes. They are never none, so an empty tensor is never seen here.
        bytes: &'c [u8],
    },
    /// The last byte has come. Comes again at every further call without input.
    End,
}

/// Receives a model that arrives by itself, over a UART, by radio, in the body of an HTTP response: proves its
/// header while it comes by, keeps an index of it, and tells of every byte of data which tensor it belongs to.
/// The tensors may stand in the header in any order; their bytes come in the order of their offsets.
///
/// For a few tensors that fit into buffers there is [`Receiver`](crate::stream::Receiver), which needs no index.
///
/// *Memory*: at most 272 bytes, and that of the index. No heap.
///
/// ```
/// use embedded_safetensors::{index::IndexStorage, stream::{RouterEvent, Router}};
///
/// # fn main() -> Result<(), embedded_safetensors::Error> {
/// # let radio = b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   xy".chunks(7);
/// let mut storage = IndexStorage::<4, 8, 64>::new();
/// let mut router = Router::new(storage.memory());
/// let mut sum = 0;
/// for mut piece in radio {
///     loop {
///         match router.next(&mut piece)? {
///             RouterEvent::NeedInput | RouterEvent::End => break,
///             RouterEvent::Header => {}
///             RouterEvent::Data { bytes, .. } => sum += bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>(),
///         }
///     }
/// }
/// router.end_of_input()?;
/// assert_eq!(sum, u32::from(b'x') + u32::from(b'y'));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Router<'m> {
    stage: Stage<'m>,
    position: u64,
}

#[allow(clippy::large_enum_variant)] // there is no heap to put a variant in
enum Stage<'m> {
    Header(IndexBuilder<'m>),
    Data(Index<'m>),
    Failed(Error),
}

impl<'m> Router<'m> {
    /// Stands before byte 0 of a file, with memory for an index of it.
    pub const fn new(memory: IndexMemory<'m>) -> Self {
        Self { stage: Stage::Header(IndexBuilder::new(None, memory)), position: 0 }
    }

    /// Reads on until there is something to tell, and moves `input` past what it consumed.
    ///
    /// # Errors
    /// The faults of the file but for keys of `__metadata__` that occur twice; at the end of the header
    /// [`ErrorKind::Index`] when it does not fit into the memory for the index, with the numbers it has;
    /// [`ErrorKind::DataTrailing`] when bytes come behind the last one. The same error again at every further
    /// call.
    pub fn next<'c>(&mut self, input: &mut &'c [u8]) -> Result<RouterEvent<'m, 'c>, Error> {
        let outcome = match &mut self.stage {
            Stage::Header(builder) => {
                let before = input.len();
                let outcome = builder.push(input);
                self.position += (before - input.len()) as u64;
                match outcome {
                    Some(progress) => self.end_header(progress),
                    None => Err(builder.error()),
                }
            }
            Stage::Data(index) => route(index, &mut self.position, input),
            Stage::Failed(error) => Err(*error),
        };
        outcome.map_err(|error| self.fail(error))
    }

    /// The error that is due when the stream ends here, or `Ok` when it is complete.
    ///
    /// # Errors
    /// [`ErrorKind::FileTooShort`], [`ErrorKind::HeaderBeyondFile`] or [`ErrorKind::DataShort`] when something is
    /// missing; an earlier error is repeated.
    pub fn end_of_input(&mut self) -> Result<(), Error> {
        let outcome = match &mut self.stage {
            Stage::Header(builder) => builder.end_of_input(),
            Stage::Data(index) => index.summary().validate_file_len(self.position),
            Stage::Failed(error) => Err(*error),
        };
        outcome.map_err(|error| self.fail(error))
    }

    /// How many bytes of the file have been consumed.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// As [`Receiver::remaining`](crate::stream::Receiver::remaining); 0 after an error.
    pub fn remaining(&self) -> u64 {
        match &self.stage {
            Stage::Header(builder) => builder.header_len().map_or(8, |len| 8 + len) - self.position,
            Stage::Data(index) => {
                let Summary { data_start, data_len, .. } = index.summary();
                data_len - (self.position - data_start)
            }
            Stage::Failed(_) => 0,
        }
    }

    /// All tensors, once the header is proven, until there is an error.
    pub const fn index(&self) -> Option<&Index<'m>> {
        match &self.stage {
            Stage::Data(index) => Some(index),
            Stage::Header(_) | Stage::Failed(_) => None,
        }
    }

    /// Gives the index away, if there is one: see [`index`](Self::index).
    pub fn into_index(self) -> Option<Index<'m>> {
        match self.stage {
            Stage::Data(index) => Some(index),
            Stage::Header(_) | Stage::Failed(_) => None,
        }
    }

    fn end_header<'c>(&mut self, progress: Progress) -> Result<RouterEvent<'m, 'c>, Error> {
        if progress != Progress::Done {
            return Ok(RouterEvent::NeedInput);
        }
        // The builder becomes the index, or is gone.
        let gone = Stage::Failed(ErrorKind::Changed.at(self.position));
        if let Stage::Header(builder) = core::mem::replace(&mut self.stage, gone) {
            self.stage = Stage::Data(builder.finish()?);
        }
        Ok(RouterEvent::Header)
    }

    fn fail(&mut self, error: Error) -> Error {
        self.stage = Stage::Failed(error);
        error
    }
}

/// Cuts off what belongs to the tensor at the position.
fn route<'m, 'c>(
    index: &Index<'m>,
    position: &mut u64,
    input: &mut &'c [u8],
) -> Result<RouterEvent<'m, 'c>, Error> {
    let Summary { data_start, data_len, .. } = index.summary();
    let in_data = *position - data_start;
    let Some(tensor) = index.at_offset(in_data) else {
        return if input.is_empty() {
            Ok(RouterEvent::End)
        } else {
            Err(ErrorKind::DataTrailing { needed: data_len }.at(*position))
        };
    };
    let len = index_below(tensor.end() - in_data, input.len()).unwrap_or(input.len());
    let (bytes, rest) = input.split_at_checked(len).unwrap_or((input, &[]));
    if bytes.is_empty() {
        return Ok(RouterEvent::NeedInput);
    }
    *input = rest;
    *position += bytes.len() as u64;
    Ok(RouterEvent::Data { tensor, offset: in_data - tensor.begin(), bytes })
}

impl core::fmt::Debug for Stage<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Header(_) => f.write_str("Header"),
            Self::Data(index) => index.fmt(f),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Stage<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        match self {
            Self::Header(_) => defmt::write!(f, "Header"),
            Self::Data(index) => index.format(f),
            Self::Failed(error) => error.format(f),
        }
    }
}
