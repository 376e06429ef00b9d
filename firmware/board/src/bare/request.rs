//! Requests from `cargo xtask`.
//!
//! It loads the request into the device's memory before the start. Its words are read with volatile loads,
//! so that the compiler cannot know them.

use core::ptr;

/// The address of 16 MiB of memory that no program is linked to; the request is at its start.
#[cfg(target_arch = "arm")]
pub const MEMORY: usize = 0x2100_0000;
/// The address of 16 MiB of memory that no program is linked to; the request is at its start.
#[cfg(target_arch = "riscv32")]
pub const MEMORY: usize = 0x8100_0000;

/// Four words, the third of which is the number of bytes that follow.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The words, whose meaning depends on the program.
    pub words: [u32; 4],
    /// The bytes.
    pub bytes: &'static [u8],
}

/// Returns the request.
pub fn request() -> Request {
    let words = [0, 1, 2, 3].map(word);
    let [_, _, len, _] = words;
    let bytes = (MEMORY + 16) as *const u8;
    // SAFETY: `cargo xtask` has loaded `len` bytes there, and nothing ever writes to them.
    let bytes = unsafe { core::slice::from_raw_parts(bytes, len as usize) };
    Request { words, bytes }
}

fn word(index: usize) -> u32 {
    // SAFETY: the request begins with four aligned words in the device's memory.
    unsafe { ptr::read_volatile((MEMORY as *const u32).wrapping_add(index)) }
}
