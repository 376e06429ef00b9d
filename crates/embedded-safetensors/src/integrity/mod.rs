//! Use this when you need to know whether a model has changed: after a transfer, after years in flash, or
//! after a write that may have been interrupted.
//!
//! The format has no checksum. Compute a sum of the file or of one tensor, and compare it with a value that
//! you know; or let the file contain its own sum:
//!
//! | the expected sum is | use |
//! |---|---|
//! | in the program, or sent with the file | [`Model::verify`](crate::Model::verify) |
//! | in the file | [`Model::verify_embedded`](crate::Model::verify_embedded) |
//! | of one tensor | [`TensorReader::sum`](crate::TensorReader::sum) |
//! | of a file that arrives in a stream | [`Sum::update`] with each piece, or a [`Verifier`] |
//!
//! A sum detects accidental changes. Against a deliberate change it helps only if the expected value comes
//! from elsewhere, such as a signed manifest: who can change the file can change the sum in it, too.
//!
//! # The embedded sum
//!
//! A file contains its own sum as the value of the key `safetensors.sha256` ([`KEY`]) of `__metadata__`: the
//! SHA-256 of the whole file, in which the 64 digits of the value are read as `0`. So it covers the header,
//! too. `safetensors hash --embed` writes it.
//!
//! - The value is exactly 64 hexadecimal digits in lowercase. If uppercase were allowed, a bit of a letter
//!   could change without notice.
//! - Neither the key nor the value has escapes, so that other programs find the digits in the bytes.
//! - The key is in `__metadata__` once.

#[cfg(feature = "crc32")]
mod crc32;
pub(crate) mod feed;
#[cfg(feature = "sha2")]
mod sha256;
mod sum;
mod verifier;

// Imports of the file that is compiled for both the blocking and the asynchronous form.
use crate::io::ReadAt;
use embedded_safetensors_macros::blocking as form;

#[cfg(feature = "crc32")]
pub use crc32::Crc32;
#[cfg(feature = "sha2")]
pub use sha256::Sha256;
pub use sum::Sum;
pub(crate) use sum::check;
pub use verifier::{EmbeddedSum, KEY, Verifier, ZEROS};
