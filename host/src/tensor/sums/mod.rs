//! Computes, stores and verifies SHA-256 sums of files and tensors.

mod digest;
mod embedded;
mod finding;
mod list;
mod textconv;
mod verify;

pub use digest::{
    FileSum, TensorSums, collect, sum_at, sum_of_file, sum_of_index, sum_of_model, sums_of, sums_of_part,
};
pub use embedded::{C2PA, check_embedded, embed};
pub use finding::{Found, print_difference};
pub use list::{has_control, line};
pub use textconv::write_text;
pub use verify::{SUMS, first_unlisted, verify};
