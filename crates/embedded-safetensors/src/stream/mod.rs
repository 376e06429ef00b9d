//! Files that arrive once, from their first byte to their last.

pub(crate) mod receiver;
pub(crate) mod router;
