//! What is where in the flash: 32 MiB from address 0 of the flash on, in sectors of 256 KiB.
//!
//! The front door reads this file too, to put models in and to take recordings out.

use core::ops::Range;

/// How many bytes the flash has, and so its image.
pub const FLASH: u32 = 32 << 20;

/// The model.
pub const MODEL: Range<u32> = 0..0x0010_0000;

/// The recording, which a run of `digits` makes anew.
pub const RECORDING: Range<u32> = 0x0010_0000..0x0020_0000;

/// The manifest of the conformance vectors: JSON, and `0xFF` behind it.
pub const MANIFEST: Range<u32> = 0x0020_0000..0x0040_0000;

/// The conformance vectors, one behind the other.
pub const VECTORS: Range<u32> = 0x0040_0000..FLASH;
