//! Statistics of tensors, in one pass over their data.
//!
//! Elements of at most 16 bits are counted by their bit patterns: everything about them is exact. Wider ones
//! are summarised in blocks of a fixed size, which are merged in the order of the data: the result does not
//! depend on the number of threads. Their quantiles come from buckets whose middle is near all of their
//! values.

mod counts;
mod finite;
mod moments;
mod part;
mod scan;
mod spread;

pub use counts::ERROR;
pub use finite::{NotFinite, first_not_finite};
pub use part::{Edge, Part};
pub use scan::{Row, measure};
pub use spread::{QUANTILES, Spread};
