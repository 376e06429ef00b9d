//! Use this when your storage is asynchronous. The API is that of the blocking types, with the same names,
//! verdicts and memory. Both are compiled from the same code.
//!
//! # Cancel safety
//! A future may be dropped at any `.await`, by a timeout or a `select`. The object it borrowed can then be
//! used as before, if the storage keeps the contract of [`ReadAt`]. If you drop the future of
//!
//! * [`Model::open`] or another `open` of it: the source is dropped too. To keep it, pass it as `&mut`;
//!   then open again.
//! * any other call of a [`Model`]: the model is unchanged. Nothing is found, and
//!   [`Query::info`](crate::query::Query::info) is `None`, even if an earlier lookup had found the tensor.
//!   Repeat the call; it begins at the first byte of the header.
//! * [`TensorReader::next_chunk`], [`read_to_end`](TensorReader::read_to_end),
//!   [`read_at`](TensorReader::read_at) or `read`: the reader is unchanged. Repeat the call; bytes that
//!   were read already are read again.
//! * a read of [`Values`] or a [`SliceReader`]: the reader is unchanged. Repeat the call.
//! * [`ReadAhead::for_each`]: the parts whose closure has returned are used. Repeat the call; it begins with
//!   the next part.
//! * a call of a [`Writer`]: the bytes that the sink has taken are counted. For the others, see how the
//!   sink treats its own dropped futures. Get the position from [`Writer::position`] or
//!   [`next_tensor`](Writer::next_tensor), and write from there on.
//!
//! Borrowed buffers, windows, slots and the memory of an index may then hold anything. A future that was
//! never polled has done nothing.
//!
//! # Memory
//! A future holds what the blocking call has on its stack, and the futures of the storage and of your
//! closure. Without these, it takes on a 32-bit target at most 600 bytes for a [`Model`], 100 for a
//! [`TensorReader`], 176 for [`Values`], 440 for a [`SliceReader`] or the values of a slice, and 330 for a
//! [`ReadAhead`]. One that computes a [sum](crate::integrity) takes at most 600 bytes for a model and 200 for
//! a tensor, and twice the size of the sum.
//!
//! # Panics
//! As with every `async fn`, a future panics if it is polled again after it has completed. Executors do not
//! do that.
//!
//! # Threads
//! As in `embedded-io-async`, futures need not be [`Send`]: drivers of microcontrollers rarely are, and
//! their executors do not require it. If the futures of the source are `Send`, the futures here are too,
//! except [`ReadAhead`]'s. So a multithreaded executor accepts them wherever the type of the source is known.

// These are the same files as in the blocking form, for which a macro removes `async` and `.await`. Their
// imports from `super` are here.
#![allow(clippy::duplicate_mod)]

mod ahead;
#[path = "../integrity/feed.rs"]
mod feed;
#[path = "../model.rs"]
mod model;
#[path = "../io/nor.rs"]
#[cfg(feature = "embedded-storage-async")]
mod nor;
#[path = "../io/read_at.rs"]
mod read_at;
#[path = "../write/recording.rs"]
mod recording;
#[path = "../io/seekable.rs"]
mod seekable;
#[path = "../reader/slice.rs"]
mod slice;
#[path = "../stream/storing.rs"]
mod storing;
#[path = "../write/streaming.rs"]
mod streaming;
#[path = "../reader/tensor.rs"]
mod tensor;
#[path = "../reader/values.rs"]
mod values;
#[path = "../io/write_at.rs"]
mod write_at;
#[path = "../write/writer.rs"]
mod writer;

use crate::io::ReadError;
use crate::io::read::arrived;
use core::ops::Range;
use embedded_io_async as eio;
use embedded_safetensors_macros::asynchronous as form;
#[cfg(feature = "embedded-storage-async")]
use embedded_storage_async::nor_flash;
use feed::feed;
use recording::{Units, write_first};
use write_at::{invalidate, write_full};

pub use ahead::{Bytes, Part, ReadAhead};
pub use model::Model;
#[cfg(feature = "embedded-storage-async")]
pub use nor::NorFile;
pub use read_at::ReadAt;
pub use recording::Recording;
pub use seekable::Seekable;
pub use slice::SliceReader;
pub use storing::FileReceiver;
pub use streaming::Streaming;
pub use tensor::TensorReader;
pub use values::Values;
pub use write_at::WriteAt;
pub use writer::{Sink, Writer};

/// Fills the buffer from byte `at` of the file on. The blocking version has more code, but uses less stack.
///
/// # Errors
/// Those of the storage; [`ReadError::UnexpectedEof`].
#[expect(clippy::manual_async_fn)] // the future of an `async fn` would store the arguments twice
pub fn read_full<S: ReadAt>(
    source: &mut S,
    mut at: u64,
    mut left: &mut [u8],
) -> impl Future<Output = Result<(), ReadError<S::Error>>> {
    async move {
        while !left.is_empty() {
            let len = arrived(source.read_at(at, left).await, at, left.len())?;
            at += len as u64;
            left = left.get_mut(len..).unwrap_or(&mut []);
        }
        Ok(())
    }
}

/// Fills `memory[part]` as [`read_full`] does, by [`ReadAt::read_within`]. The rest of the memory may hold
/// anything afterwards.
///
/// # Errors
/// Those of the storage; [`ReadError::UnexpectedEof`].
#[expect(clippy::manual_async_fn)] // the future of an `async fn` would store the arguments twice
pub fn read_part<S: ReadAt>(
    source: &mut S,
    mut at: u64,
    mut memory: &mut [u8],
    mut part: Range<usize>,
) -> impl Future<Output = Result<(), ReadError<S::Error>>> {
    async move {
        while !part.is_empty() {
            let len = arrived(source.read_within(at, memory, part.clone()).await, at, part.len())?;
            at += len as u64;
            // What is filled must not change any more.
            memory = memory.get_mut(part.start + len..).unwrap_or_default();
            part = 0..part.len() - len;
        }
        Ok(())
    }
}
