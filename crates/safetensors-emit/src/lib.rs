#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod c;
mod constants;
mod error;
mod names;
mod out_dir;
pub mod plan;
mod rust;
mod sums;

pub use constants::Constants;
pub use embedded_safetensors::FileModel;
pub use error::EmitError;
pub use names::check_prefix;
pub use out_dir::build;

#[cfg(test)]
mod tests;
