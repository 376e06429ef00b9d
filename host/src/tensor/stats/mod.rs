//! Statistics of tensors, in one pass over their data.
//!
//! Elements of at most 16 bits are counted by their bit patterns, so that everything about them is exact.
//! Wider ones are summarised in blocks of a fixed size, which are merged in the order of the data: the result
//! does not depend on the number of threads. Their quantiles come from buckets whose middle is near all of
//! their values.

mod aggregate;
mod bin_counts;
mod buckets;
mod codes;
mod finite;
mod moments;
mod print;
mod scan;
mod spread;
mod wide;

pub use aggregate::Aggregate;
pub use finite::{NotFinite, first_not_finite};
pub use print::{brief, json, sum, table, total};
pub use scan::{Row, measure};
pub use spread::Spread;
