//! Use this when a file arrives once, from its first byte to its last, such as over a network or a serial
//! line. A [`Receiver`] copies the tensors you name into buffers; a [`Router`] passes on the bytes of all
//! tensors; a [`FileReceiver`] writes the file to storage.

use crate::error::{Error, ErrorKind};

pub(crate) mod receiver;
pub(crate) mod router;
mod storing;

// Imports of the file that is compiled in both forms.
use crate::io::WriteAt;
use crate::write::recording::{Units, write_first};
use embedded_safetensors_macros::blocking as form;

pub use receiver::{Receiver, Status, Target};
pub use router::{Router, RouterEvent};
pub use storing::FileReceiver;

/// Returns the length of a file without data whose header is as long as the limit. With it the parser rejects
/// a longer header, with the error that [`limited`] replaces.
const fn end_of_header(limit: u64) -> Option<u64> {
    Some(limit.saturating_add(8))
}

/// Replaces the parser's error for a header that is too long. Nothing else limits it in a stream.
fn limited(error: Error) -> Error {
    match error.kind {
        ErrorKind::HeaderBeyondFile { length, present: limit } => {
            ErrorKind::HeaderLength { length, limit }.at(0)
        }
        _ => error,
    }
}
