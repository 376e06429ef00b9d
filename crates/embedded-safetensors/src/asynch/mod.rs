//! The same API for storage that is waited for: names, verdicts and memory are those of the blocking one, and so is the code, which is compiled
//! for both.
//!
//! ```
//! use embedded_safetensors::asynch::{Model, ReadAt};
//! use embedded_safetensors::{ReadError, query::Query};
//!
//! /// Reads two tensors of a network, a sector at a time.
//! async fn load<S: ReadAt>(
//!     storage: &mut S,
//!     weights: &mut [u8],
//!     bias: &mut [u8],
//! ) -> Result<(), ReadError<S::Error>> {
//!     let mut sector = [0; 512];
//!     let mut model = Model::open(storage, &mut sector).await?;
//!     let mut queries = [Query::required("fc.weight"), Query::required("fc.bias")];
//!     model.find_all(&mut queries, &mut sector).await?;
//!     let [fc_weight, fc_bias] = &queries;
//!     model.reader(fc_weight)?.read_to_end(weights).await?;
//!     model.reader(fc_bias)?.read_to_end(bias).await?;
//!     Ok(())
//! }
//! # use core::{future::Future, pin::pin, task::{Context, Poll, Waker}};
//! # let header = br#"{"fc.bias":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"fc.weight":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#;
//! # let file = [&(header.len() as u64).to_le_bytes(), &header[..], b"bww"].concat();
//! # let (mut weights, mut bias) = ([0; 2], [0; 1]);
//! # let mut storage = &file[..];
//! # let loaded = pin!(load(&mut storage, &mut weights, &mut bias)).poll(&mut Context::from_waker(Waker::noop()));
//! # assert_eq!(loaded, Poll::Ready(Ok(())));
//! # assert_eq!((&weights, &bias), (b"ww", b"b"));
//! ```
//!
//! # Cancel safety
//! A future may be dropped wherever it waits, by a timeout or a `select`. Whatever it was made from can then
//! be used as before, if the storage keeps to what [`ReadAt`] asks for:
//!
//! | dropped | what holds | how to go on |
//! |---|---|---|
//! | [`Model::open`], [`Model::open_unordered`] | the source is dropped too; nothing is known of the file | lend the source as `&mut`, and open again |
//! | a lookup in a [`Model`] | the model is as it was; nothing is found, and [`Query::info`](crate::query::Query::info) is `None` | make it again: it begins at the first byte of the header |
//! | [`TensorReader::next_chunk`], [`read_to_end`](TensorReader::read_to_end), [`read_at`](TensorReader::read_at), `read` | the reader stands where it stood | make it again; what the storage has read already is read once more |
//! | a call of [`Values`] or a [`SliceReader`] that reads | the reader stands where it stood | the same |
//! | a call of a [`Writer`] | what the sink has taken is counted; of the rest, what it says of its own dropped futures | ask [`Writer::position`] or [`next_tensor`](Writer::next_tensor), and write what comes next |
//!
//! Buffers and windows that were lent may hold anything then. A future that was never polled has done nothing.
//!
//! # Memory
//! A future holds what the blocking call has on its stack: at most 600 bytes on a 32-bit machine for one of a
//! [`Model`], 100 for one of a [`TensorReader`], 176 for one of [`Values`], 440 for one of a [`SliceReader`] or of the values of
//! a slice, and what the futures of the storage take.
//!
//! # Panics
//! One is left, that of every `async fn`: its future panics when it is polled again after it was done, which no
//! executor does.
//!
//! # Threads
//! No future is asked to be [`Send`], as in `embedded-io-async`: drivers of microcontrollers rarely are, and
//! their executors do not ask for it. Futures over a source whose own futures are `Send` are `Send` too, so
//! an executor with threads takes them where the type of the source is known.

// The files are those of the blocking form, which is made of them without `async` and `.await`. What they import from `super` is here.
#![allow(clippy::duplicate_mod)]

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
use embedded_io_async as eio;
use embedded_safetensors_macros::asynchronous as form;
#[cfg(feature = "embedded-storage-async")]
use embedded_storage_async::nor_flash;
use write_at::{invalidate, write_full};

pub use model::Model;
#[cfg(feature = "embedded-storage-async")]
pub use nor::NorFile;
pub use read_at::ReadAt;
pub use recording::Recording;
pub use seekable::Seekable;
pub use slice::SliceReader;
pub use streaming::Streaming;
pub use tensor::TensorReader;
pub use values::Values;
pub use write_at::WriteAt;
pub use writer::{Sink, Writer};

/// Fills the buffer from byte `at` of the file on. The blocking one is longer, and keeps less on the stack.
///
/// # Errors
/// Those of the storage; [`ReadError::UnexpectedEof`].
async fn read_full<S: ReadAt>(
    source: &mut S,
    mut at: u64,
    mut left: &mut [u8],
) -> Result<(), ReadError<S::Error>> {
    while !left.is_empty() {
        let len = arrived(source.read_at(at, left).await, at, left.len())?;
        at += len as u64;
        left = left.get_mut(len..).unwrap_or(&mut []);
    }
    Ok(())
}
