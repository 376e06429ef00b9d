//! Files that arrive once, from their first byte to their last: over a network, from a serial line. A
//! [`Receiver`] fills buffers with a few tensors; a [`Router`] gives away all of them.

pub(crate) mod receiver;
pub(crate) mod router;

pub use receiver::{Receiver, Status, Target};
pub use router::{Router, RouterEvent};
