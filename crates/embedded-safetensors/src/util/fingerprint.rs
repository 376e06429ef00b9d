//! A header's fingerprint, by which a later pass recognises the header that was validated.

#[cfg(all(target_arch = "arm", not(target_has_atomic = "32")))]
use crate::util::bytes::low_u32;

/// A hash of bytes that arrive in pieces, one word of 8 bytes at a time.
///
/// It detects accidental changes, all but one in 2^64. It has no key, so it does not detect a deliberate
/// change by someone who can write to the storage while it is read. At worst such a header names other parts
/// of the data: each tensor is still valid by itself and inside the data.
#[derive(Clone, Copy)]
pub(crate) struct Fingerprint {
    hashes: Hashes,
    /// The bytes after the last complete word, the last in the highest byte, and zeros.
    tail: u64,
}

impl Fingerprint {
    pub(crate) const fn new() -> Self {
        Self { hashes: [0; size_of::<Hashes>() >> 3], tail: 0 }
    }

    /// Takes the bytes that follow the first `seen` ones.
    pub(crate) fn push(&mut self, seen: u32, bytes: &[u8]) {
        let (mut seen, mut left) = (seen, bytes);
        loop {
            if seen & 7 == 0 {
                left = self.push_words(left);
            }
            let Some((&byte, rest)) = left.split_first() else { return };
            (seen, left) = (seen + 1, rest);
            self.tail = (self.tail >> 8) | ((byte as u64) << 56);
            if seen & 7 == 0 {
                self.push_words(&self.tail.to_le_bytes());
                self.tail = 0;
            }
        }
    }

    /// Takes complete words, and returns the bytes after them.
    #[inline(never)]
    fn push_words<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let words = bytes.chunks_exact(8);
        let (mut hashes, left) = (self.hashes, words.remainder());
        for word in words {
            if let Some(word) = word.first_chunk() {
                hashes = absorb_next(hashes, u64::from_le_bytes(*word));
            }
        }
        self.hashes = hashes;
        left
    }

    /// Returns the hash of all bytes, of which there were `seen`.
    pub(crate) const fn finish(&self, seen: u32) -> u64 {
        // The lower half is used alone as well.
        combine(self.hashes) ^ self.tail ^ (self.tail >> 32) ^ seen as u64
    }
}

/// Odd, with bits set throughout: the golden ratio.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(not(all(target_arch = "arm", not(target_has_atomic = "32"))))]
const fn absorb(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word).wrapping_mul(FACTOR);
    // The low bits of a product do not depend on the high bits of its factors.
    product ^ (product >> 32)
}

/// For processors without long multiplication (a Cortex-M0): two short products for each half. Each step is
/// invertible, so every change of one word is detected.
#[cfg(all(target_arch = "arm", not(target_has_atomic = "32")))]
const fn absorb(hash: u64, word: u64) -> u64 {
    const fn half(low: u32, high: u32, word: u32) -> (u32, u32) {
        let product = (low ^ word).wrapping_mul(low_u32(FACTOR >> 32));
        (product ^ (product >> 16), (high ^ product.rotate_left(13)).wrapping_mul(low_u32(FACTOR)))
    }
    let (low, high) = half(low_u32(hash), low_u32(hash >> 32), low_u32(word));
    let (low, high) = half(low, high, low_u32(word >> 32));
    ((high as u64) << 32) | low as u64
}

/// The hashes of every fourth word each. A 64-bit processor begins a multiplication before the last one is
/// done, and then need not wait for it. The first hash takes the next word.
#[cfg(target_pointer_width = "64")]
type Hashes = [u64; 4];

#[cfg(target_pointer_width = "64")]
const fn absorb_next([next, a, b, c]: Hashes, word: u64) -> Hashes {
    [a, b, c, absorb(next, word)]
}

#[cfg(target_pointer_width = "64")]
const fn combine([a, b, c, d]: Hashes) -> u64 {
    absorb(absorb(absorb(absorb(0, a), b), c), d)
}

#[cfg(not(target_pointer_width = "64"))]
type Hashes = [u64; 1];

#[cfg(not(target_pointer_width = "64"))]
const fn absorb_next([hash]: Hashes, word: u64) -> Hashes {
    [absorb(hash, word)]
}

#[cfg(not(target_pointer_width = "64"))]
const fn combine([hash]: Hashes) -> u64 {
    hash
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::Fingerprint;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    fn of(bytes: &[u8], piece: usize) -> u64 {
        let mut fingerprint = Fingerprint::new();
        let mut seen = 0;
        for chunk in bytes.chunks(piece) {
            fingerprint.push(seen, chunk);
            seen += u32::try_from(chunk.len()).expect("short");
        }
        fingerprint.finish(seen)
    }

    #[test]
    fn hash_does_not_depend_on_pieces() {
        let text: Vec<u8> = (0..=255).collect();
        for len in 0..text.len() {
            let whole = of(&text[..len], 300);
            for piece in [1, 3, 7, 8, 9, 16] {
                assert_eq!(of(&text[..len], piece), whole, "{len} bytes in pieces of {piece}");
            }
        }
    }

    #[test]
    fn every_bit_and_length_changes_hash() {
        let text = [0x5A; 40];
        let mut seen: BTreeSet<u64> = (0..=40).map(|len| of(&text[..len], 64)).collect();
        for bit in 0..320 {
            let mut other = text;
            other[bit / 8] ^= 1 << (bit % 8);
            seen.insert(of(&other, 64));
        }
        assert_eq!(seen.len(), 41 + 320);
    }
}
