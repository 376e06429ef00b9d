//! Use this when a file arrives once, from its first byte to its last, such as over a network or a serial
//! line. A [`Receiver`] copies the tensors you name into buffers; a [`Router`] passes on the bytes of all
//! tensors.

pub(crate) mod receiver;
pub(crate) mod router;

pub use receiver::{Receiver, Status, Target};
pub use router::{Router, RouterEvent};
