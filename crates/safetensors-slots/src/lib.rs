#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "embedded-storage-async")]
pub mod asynch;
mod delta;
mod error;
#[cfg(test)]
mod exhaustive;
mod journal;
mod offer;
mod receiving;
mod slots;
mod state;

// Imports of the files that are compiled for both the blocking and the asynchronous form.
use embedded_safetensors::io::NorFile;
use embedded_safetensors::{Model, ReadAt};
use embedded_safetensors_macros::blocking as form;
use embedded_storage::nor_flash::NorFlash;

pub use error::{SlotError, VerifyError};
#[cfg(feature = "ed25519")]
pub use offer::Ed25519;
pub use offer::{Authority, Offer};
pub use slots::Slots;
pub use state::{Installed, Layout, Phase};

/// Memory through which a flash is read and written, aligned for drivers that use DMA.
#[derive(Clone, Debug)]
#[repr(align(16))]
pub struct Page<const LEN: usize>(pub [u8; LEN]);

/// Returns as many of the low bits of a number as a `u32` has: lengths of flash are below 4 GiB.
#[allow(clippy::cast_possible_truncation)]
const fn low_u32(number: usize) -> u32 {
    number as u32
}
