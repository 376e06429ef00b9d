//! SHA-256.

use super::sum::Sum;
use crate::util::bytes::{copy, low_usize};
use sha2::compress256;

/// The length of a block.
const BLOCK: usize = 64;
/// Where in the last block the length of the input begins.
const LENGTH_AT: u64 = 56;

/// A SHA-256: detects any accidental change. It is the sum of `sha256sum`, and of `safetensors hash`.
///
/// *Memory*: 104 bytes.
///
/// ```
/// use embedded_safetensors::integrity::{Sha256, Sum};
///
/// let mut sum = Sha256::new();
/// sum.update(b"a");
/// sum.update(b"bc");
/// assert_eq!(sum.finish()[..4], [0xba, 0x78, 0x16, 0xbf]);
/// ```
// Blocks are collected here: the buffer of the crate `digest` has panic paths.
#[derive(Clone)]
pub struct Sha256 {
    state: [u32; 8],
    /// How many bytes were added.
    len: u64,
    /// The bytes after the last complete block.
    block: [u8; BLOCK],
}

impl Sha256 {
    /// Creates the sum of no bytes.
    #[inline]
    pub const fn new() -> Self {
        // The fractional parts of the square roots of the first eight primes: FIPS 180-4, 5.3.3.
        let state = [
            0x6a09_e667,
            0xbb67_ae85,
            0x3c6e_f372,
            0xa54f_f53a,
            0x510e_527f,
            0x9b05_688c,
            0x1f83_d9ab,
            0x5be0_cd19,
        ];
        Self { state, len: 0, block: [0; BLOCK] }
    }
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

impl Sum for Sha256 {
    type Value = [u8; 32];

    fn update(&mut self, bytes: &[u8]) {
        let held = low_usize(self.len & 63);
        self.len = self.len.wrapping_add(bytes.len() as u64);
        let mut left = bytes;
        if held > 0 {
            let room = self.block.get_mut(held..).unwrap_or_default();
            let is_full = left.len() >= room.len();
            let taken = copy(room, left);
            if !is_full {
                return;
            }
            left = left.get(taken..).unwrap_or_default();
            compress(&mut self.state, &self.block);
        }
        while let Some((block, rest)) = left.split_first_chunk() {
            compress(&mut self.state, block);
            left = rest;
        }
        copy(&mut self.block, left);
    }

    fn finish(mut self) -> [u8; 32] {
        let bits = self.len << 3;
        self.update(&[0x80]);
        while self.len & 63 != LENGTH_AT {
            self.update(&[0]);
        }
        self.update(&bits.to_be_bytes());
        let mut value = [0; 32];
        for (bytes, word) in value.chunks_exact_mut(4).zip(self.state) {
            copy(bytes, &word.to_be_bytes());
        }
        value
    }

    fn head(value: &[u8; 32]) -> u32 {
        value.first_chunk().map_or(0, |head| u32::from_be_bytes(*head))
    }
}

#[inline(never)]
fn compress(state: &mut [u32; 8], block: &[u8; BLOCK]) {
    compress256(state, core::slice::from_ref(block.into()));
}

shown!(Sha256, it => "Sha256 {{ len: {:?}, .. }}", it.len);
