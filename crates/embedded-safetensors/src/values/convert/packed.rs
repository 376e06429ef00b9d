//! Floats of 4 and 6 bits, which share bytes.

use super::element::each;
use super::floats::{Float, MANY, Minifloat};

/// Converts a bit stream, from bit `skip` of the first byte on, the lowest bit of each byte first.
pub(super) fn unpack<T: Float>(format: Minifloat, packed: &[u8], skip: u8, values: &mut [T]) {
    let mut reader = Bits { bytes: packed.iter(), read: 0, len: 0 };
    reader.take(skip as u32);
    values.iter_mut().for_each(|value| value.put(format.widen(reader.take(format.bits))));
}

/// [`unpack`] for targets with SIMD, compiled for each format.
pub(super) fn unpack_many<T>(
    bits: u32,
    packed: &[u8],
    skip: u8,
    values: &mut [T],
    put: impl Fn(&mut T, [u8; 1]),
) {
    let mut reader = Bits { bytes: packed.iter(), read: 0, len: 0 };
    reader.take(skip as u32);
    for values in values.chunks_mut(MANY) {
        let mut elements = [0; MANY];
        elements.iter_mut().for_each(|element| [*element, ..] = reader.take(bits).to_le_bytes());
        each(&elements, values, &put);
    }
}

/// Reads up to eight bits at a time; zeros after the end.
struct Bits<'a> {
    bytes: core::slice::Iter<'a, u8>,
    /// The bits that are read but not taken, the next one lowest.
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
    use super::super::floats::{F4, F6_E2M3, F6_E3M2, F8_E4M3, F8_E4M3FNUZ, F8_E5M2FNUZ};
    use super::{unpack, unpack_many};

    /// The tables are tested on targets with SIMD. This tests the code of the others.
    #[test]
    fn simd_and_scalar_code_unpack_the_same() {
        let bytes: [u8; 256] = core::array::from_fn(|byte| u8::try_from(byte).unwrap());
        for format in [F4, F6_E2M3, F6_E3M2, F8_E4M3, F8_E4M3FNUZ, F8_E5M2FNUZ] {
            for skip in 0..8 {
                let (mut one_by_one, mut many) = ([0f32; 251], [0u32; 251]);
                unpack(format, &bytes, skip, &mut one_by_one);
                unpack_many(format.bits, &bytes, skip, &mut many, |value, [element]| {
                    *value = format.widen(element.into());
                });
                assert_eq!(one_by_one.map(f32::to_bits), many);
            }
        }
    }
}
