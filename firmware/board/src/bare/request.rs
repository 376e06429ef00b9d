//! What the front door asks for.
//!
//! It puts the request into the machine's memory before it starts. Its place and length are read with volatile loads, so no
//! compiler can know what will be done with it.

use core::ptr;

/// Where the machine has memory that no program is linked to: 16 MiB, which begin with the request.
#[cfg(target_arch = "arm")]
pub const MEMORY: usize = 0x2100_0000;
/// Where the machine has memory that no program is linked to: 16 MiB, which begin with the request.
#[cfg(target_arch = "riscv32")]
pub const MEMORY: usize = 0x8100_0000;

/// Four words, of which the third says how many bytes follow.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The words, with the meaning that a program gives them.
    pub words: [u32; 4],
    /// The bytes.
    pub bytes: &'static [u8],
}

/// What is asked for.
pub fn request() -> Request {
    let words = [0, 1, 2, 3].map(word);
    let [_, _, len, _] = words;
    let bytes = (MEMORY + 16) as *const u8;
    // SAFETY: the front door loaded `len` bytes there, and nothing ever writes to them.
    let bytes = unsafe { core::slice::from_raw_parts(bytes, len as usize) };
    Request { words, bytes }
}

fn word(index: usize) -> u32 {
    // SAFETY: the request begins with four aligned words in the machine's memory.
    unsafe { ptr::read_volatile((MEMORY as *const u32).wrapping_add(index)) }
}
