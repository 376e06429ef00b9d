//! The layout of the flash: 32 MiB from the start of the flash, in sectors of 256 KiB.

use core::ops::Range;

/// The bytes of flash, and so of its image.
pub const FLASH: u32 = 32 << 20;

/// The model.
pub const MODEL: Range<u32> = 0..0x0010_0000;

/// The recording, which each run of `digits` replaces.
pub const RECORDING: Range<u32> = 0x0010_0000..0x0020_0000;

/// The manifest of the conformance vectors: JSON, followed by `0xFF`.
pub const MANIFEST: Range<u32> = 0x0020_0000..0x0040_0000;

/// The conformance vectors, concatenated.
pub const VECTORS: Range<u32> = 0x0040_0000..FLASH;

/// The sentence transformer, in place of the partitions above.
pub const MINILM: Range<u32> = 0..0x0180_0000;

/// Its vocabulary.
pub const VOCABULARY: Range<u32> = 0x0180_0000..0x0190_0000;

/// The length of a text, in the four bytes before it, and the text.
pub const TEXT: Range<u32> = 0x0190_0000..0x01a0_0000;
