//! SipHash-1-3 of bytes that arrive in pieces. It is a keyed hash: no file can be made whose names all
//! collide for a reader that chose its key at random.

/// A hash in progress.
///
/// *Memory*: 48 bytes.
#[derive(Clone, Copy)]
pub(crate) struct NameHash {
    v: [u64; 4],
    tail: u64,
    len: u64,
}

impl NameHash {
    pub(crate) const fn new(key: [u64; 2]) -> Self {
        let [k0, k1] = key;
        let v = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        Self { v, tail: 0, len: 0 }
    }

    /// Returns how many bytes have been taken.
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    #[inline]
    pub(crate) const fn push(&mut self, bytes: &[u8]) {
        let mut left = bytes;
        while self.len & 7 != 0 {
            let Some((&byte, rest)) = left.split_first() else { return };
            self.push_byte(byte);
            left = rest;
        }
        left = self.push_words(left);
        match bytes.last_chunk() {
            Some(last) => self.push_end(u64::from_le_bytes(*last), left.len() as u64),
            None => self.push_few(left),
        }
    }

    /// Takes the last `bytes` bytes of `last`, fewer than all, at the start of a word.
    const fn push_end(&mut self, last: u64, bytes: u64) {
        self.tail = (last >> 1) >> (63 - (bytes << 3));
        self.len += bytes;
    }

    const fn push_few(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            self.push_byte(byte);
            bytes = rest;
        }
    }

    /// Takes words from the front, and returns the rest.
    const fn push_words<'b>(&mut self, mut bytes: &'b [u8]) -> &'b [u8] {
        while let Some((word, rest)) = bytes.split_first_chunk() {
            self.absorb(u64::from_le_bytes(*word));
            self.len += 8;
            bytes = rest;
        }
        bytes
    }

    const fn push_byte(&mut self, byte: u8) {
        self.tail |= (byte as u64) << ((self.len & 7) << 3);
        self.len += 1;
        if self.len & 7 == 0 {
            self.absorb(self.tail);
            self.tail = 0;
        }
    }

    pub(crate) const fn finish(mut self) -> u64 {
        self.absorb(self.tail | (self.len << 56));
        self.v[2] ^= 0xff;
        self.round();
        self.round();
        self.round();
        self.v[0] ^ self.v[1] ^ self.v[2] ^ self.v[3]
    }

    const fn absorb(&mut self, word: u64) {
        self.v[3] ^= word;
        self.round();
        self.v[0] ^= word;
    }

    const fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.v;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.v = [a, b, c, d];
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::NameHash;
    use std::hash::Hasher;

    #[test]
    fn agrees_with_published_values() {
        let mut hash = NameHash::new([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
        assert_eq!(hash.finish().to_le_bytes(), *b"\xdc\xc4\x0f\x05\x58\x01\xac\xab");
        hash.push(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
        assert_eq!(hash.finish().to_le_bytes(), *b"\x56\x99\x51\x2a\x6d\xd8\x20\xd3");
    }

    #[test]
    fn agrees_with_the_standard_library() {
        // The standard library's default hasher is SipHash-1-3 with the key (0, 0).
        let text: std::vec::Vec<u8> = (0..=255).collect();
        for len in 0..text.len() {
            let mut standard = std::collections::hash_map::DefaultHasher::new();
            standard.write(&text[..len]);
            for piece in [1, 3, 8, 300] {
                let mut ours = NameHash::new([0, 0]);
                text[..len].chunks(piece).for_each(|chunk| ours.push(chunk));
                assert_eq!(ours.finish(), standard.finish(), "length {len}, pieces of {piece}");
            }
        }
    }
}
