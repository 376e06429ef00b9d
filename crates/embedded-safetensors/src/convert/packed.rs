//! The narrowest floats, which may share bytes.

use super::decode::Minifloat;
use super::floats::Float;

/// Puts as values what a stream of bits has from bit `skip` of the first byte on, the lowest bit of each byte first.
pub(super) fn unpack<T: Float>(format: Minifloat, packed: &[u8], skip: u8, values: &mut [T]) {
    let mut reader = Bits { bytes: packed.iter(), read: 0, len: 0 };
    reader.take(skip as u32);
    values.iter_mut().for_each(|value| value.put(format.widen(reader.take(format.bits))));
}

/// Reads up to eight bits at a time; zeros behind the end.
struct Bits<'a> {
    bytes: core::slice::Iter<'a, u8>,
    /// What is read and not taken, the next bit lowest.
    read: u32,
    len: u32,
}

impl Bits<'_> {
    fn take(&mut self, count: u32) -> u32 {
        if self.len < count {
            let byte = self.bytes.next().copied().unwrap_or_default();
            self.read |= (byte as u32) << self.len;
            self.len += 8;
        }
        let taken = self.read & ((1 << count) - 1);
        self.read >>= count;
        self.len -= count;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::{F8_E4M3, F8_E4M3FNUZ, F8_E5M2FNUZ};
    use super::unpack;

    /// Machines that calculate with many numbers at a time do not unpack them, and the tables are read on such.
    #[test]
    fn bytes_are_unpacked_as_they_are_widened() {
        let bytes: [u8; 256] = core::array::from_fn(|byte| u8::try_from(byte).unwrap());
        for format in [F8_E4M3, F8_E4M3FNUZ, F8_E5M2FNUZ] {
            let mut values = [0f32; 256];
            unpack(format, &bytes, 0, &mut values);
            assert_eq!(values.map(f32::to_bits), bytes.map(|byte| format.widen(byte.into())));
        }
    }
}
