//! Computes, stores and verifies SHA-256 sums of files and tensors.

mod digest;
mod embedded;
mod finding;
mod lines;
mod list;
mod single;
mod textconv;
mod verify;

pub use digest::{Trouble, hex_of_file, hex_of_part, sha256_of, sum_at, sum_of_tensor, sum_of_text};
pub use embedded::{Embedded, check_embedded, embed};
pub use finding::Found;
pub use lines::{has_control, line};
pub use single::{Single, Text, no_room};
pub use textconv::write_text;
pub use verify::{first_unlisted, verify};
