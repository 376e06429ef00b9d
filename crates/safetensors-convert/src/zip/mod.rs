//! Zip archives, as numpy and PyTorch write them: one disk, stored or deflated, of any size, not encrypted.

mod directory;
mod entry;
mod pack;
mod part;
mod stray;

pub use directory::{Entry, check_ratio, entries, is_unsafe, most_unpacked};
pub use entry::{Contents, open_contents, open_entry};
pub use pack::Archive;
pub use part::{Exact, Part, read_full};
pub use stray::{Stray, ends_like_archive, open_stray, strays};
