//! Use this when a file arrives once, from its first byte to its last, such as over a network or a serial
//! line. A [`Receiver`] copies the tensors you name into buffers; a [`Router`] passes on the bytes of all
//! tensors; a [`FileReceiver`] writes the file to storage.

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
