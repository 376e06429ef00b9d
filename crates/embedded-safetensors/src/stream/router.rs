//! Receives a model that arrives once, and assigns its bytes to tensors.

use crate::error::{Error, ErrorKind};
use crate::header::HeaderParser;
use crate::header::progress::{Machine, Progress};
use crate::index::build::IndexBuilder;
use crate::index::memory::IndexMemory;
use crate::index::{Index, IndexedTensor};
use crate::stream::{end_of_header, limited};
use crate::util::bytes::index_below;
use crate::validate::Summary;

/// The result of passing input to a [`Router`].
///
/// *Memory*: at most 80 bytes, `Copy`; it borrows from the memory of the index and from the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum RouterEvent<'m, 'c> {
    /// All input is consumed; call again with more.
    NeedInput,
    /// The header is complete and valid, and the [`index`](Router::index) is available.
    Header,
    /// Bytes of one tensor: as many as the input has, up to the end of the tensor. They may begin and end
    /// inside an element.
    Data {
        /// The tensor that the bytes belong to.
        tensor: IndexedTensor<'m>,
        /// The offset in the tensor of the first byte.
        offset: u64,
        /// The bytes. They are never empty, so empty tensors do not appear here.
        bytes: &'c [u8],
    },
    /// The last byte has arrived. Further calls without input return this again.
    End,
}

/// Receives a model that arrives once, over a UART, a radio or HTTP, and returns every byte of data with
/// the tensor it belongs to.
///
/// Pass the bytes to [`next`](Self::next) as they arrive, in pieces of any size. The header is validated,
/// and an index of it is kept in memory. The header may list the tensors in any order; their bytes arrive
/// in the order of the offsets.
///
/// If you need a few tensors that fit into buffers, use [`Receiver`](crate::stream::Receiver), which needs
/// no index.
///
/// *Memory*: at most 272 bytes and that of the index. No heap.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Router<'m> {
    stage: Stage<'m>,
    position: u64,
}

#[allow(clippy::large_enum_variant)] // there is no heap to box a variant on
enum Stage<'m> {
    Header(IndexBuilder<'m>),
    Data(Index<'m>),
    Failed(Error),
}

impl<'m> Router<'m> {
    /// Creates a router for a new file, with memory for its index.
    pub const fn new(memory: IndexMemory<'m>) -> Self {
        Self { stage: Stage::Header(IndexBuilder::new(None, memory)), position: 0 }
    }

    /// As [`Receiver::with_header_limit`](crate::stream::Receiver::with_header_limit). Call this before the
    /// first [`next`](Self::next).
    #[must_use]
    pub const fn with_header_limit(mut self, limit: u64) -> Self {
        if let Stage::Header(builder) = &mut self.stage {
            builder.parser = HeaderParser::of_tensors(end_of_header(limit));
        }
        self
    }

    /// Reads until there is an event, and moves `input` past the consumed bytes.
    ///
    /// # Errors
    /// All errors in the file except duplicate keys of `__metadata__`; [`ErrorKind::HeaderLength`] when the
    /// header is longer than the [limit](Self::with_header_limit); at the end of the header
    /// [`ErrorKind::Index`] when the index does not fit into its memory, with the sizes it needs;
    /// [`ErrorKind::DataTrailing`] when bytes follow the last one. Every further call returns the same
    /// error.
    pub fn next<'c>(&mut self, input: &mut &'c [u8]) -> Result<RouterEvent<'m, 'c>, Error> {
        let outcome = match &mut self.stage {
            Stage::Header(builder) => {
                let before = input.len();
                let outcome = builder.push(input);
                self.position += (before - input.len()) as u64;
                match outcome {
                    Some(progress) => self.end_header(progress),
                    None => Err(limited(builder.failure())),
                }
            }
            Stage::Data(index) => route(index, &mut self.position, input),
            Stage::Failed(error) => Err(*error),
        };
        outcome.map_err(|error| self.fail(error))
    }

    /// Reports that the stream has ended. Returns `Ok` if the file is complete.
    ///
    /// # Errors
    /// [`ErrorKind::FileTooShort`], [`ErrorKind::HeaderBeyondFile`] or [`ErrorKind::DataShort`] when bytes
    /// are missing; an earlier error is returned again.
    pub fn end_of_input(&mut self) -> Result<(), Error> {
        let outcome = match &mut self.stage {
            Stage::Header(builder) => builder.end_of_input(),
            Stage::Data(index) => index.summary().validate_file_len(self.position),
            Stage::Failed(error) => Err(*error),
        };
        outcome.map_err(|error| self.fail(error))
    }

    /// Returns how many bytes of the file have been consumed.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Returns how many bytes of the file are still missing, as
    /// [`Receiver::remaining`](crate::stream::Receiver::remaining); 0 after an error.
    pub fn remaining(&self) -> u64 {
        match &self.stage {
            Stage::Header(builder) => builder.parser.header_len().map_or(8, |len| 8 + len) - self.position,
            Stage::Data(index) => {
                let Summary { data_start, data_len, .. } = index.summary();
                data_len - (self.position - data_start)
            }
            Stage::Failed(_) => 0,
        }
    }

    /// Returns the index of all tensors, once the header is valid and until there is an error.
    pub const fn index(&self) -> Option<&Index<'m>> {
        match &self.stage {
            Stage::Data(index) => Some(index),
            Stage::Header(_) | Stage::Failed(_) => None,
        }
    }

    /// Returns the index and drops the router. `None` as for [`index`](Self::index).
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
        // `finish` consumes the builder, so the stage is an error until there is an index.
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

/// Takes the bytes that belong to the tensor at the current position.
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
