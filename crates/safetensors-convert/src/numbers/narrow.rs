//! Rounds singles to floats of 16 bits, without counting the losses.

use super::wide;
use embedded_safetensors::Dtype;

/// Makes `out`, which is half as long as the bytes of the singles, the nearest elements; the even ones if two
/// are equally near. Large numbers become infinite; NaNs become quiet and keep their upper bits. The dtype is
/// F16 or BF16: for others, `out` stays as it is.
pub fn narrow(to: Dtype, singles: &[u8], out: &mut [u8]) {
    wide::run(
        #[inline(always)]
        || match to {
            Dtype::F16 => each(singles, out, half),
            Dtype::BF16 => each(singles, out, brain),
            _ => {}
        },
    );
}

#[inline(always)]
fn each(singles: &[u8], out: &mut [u8], round: impl Fn(u32) -> u32) {
    for (single, out) in singles.as_chunks().0.iter().zip(out.as_chunks_mut::<2>().0) {
        let [low, high, ..] = round(u32::from_le_bytes(*single)).to_le_bytes();
        *out = [low, high];
    }
}

/// The bits of the infinity.
const INFINITE: u32 = 255 << 23;

#[inline(always)]
fn brain(bits: u32) -> u32 {
    let is_nan = bits & !(1 << 31) > INFINITE;
    let nearest = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16;
    if is_nan { bits >> 16 | 1 << 6 } else { nearest }
}

#[inline(always)]
fn half(bits: u32) -> u32 {
    // 2^-14, the smallest normal F16.
    const NORMAL: u32 = (127 - 14) << 23;
    // A sum with this number has the unit of subnormal elements, 2^-24, as its last bit.
    const MAGIC: f32 = 0.5;
    let magnitude = bits & !(1 << 31);
    // A carry out of the largest exponent makes an infinity.
    let rounded = magnitude.wrapping_add(0xFFF + (magnitude >> 13 & 1)) >> 13;
    let normal = rounded.wrapping_sub(112 << 10).min(0x7C00);
    let subnormal = (f32::from_bits(magnitude) + MAGIC).to_bits().wrapping_sub(MAGIC.to_bits());
    let number = if magnitude < NORMAL { subnormal } else { normal };
    let nan = 0x7E00 | magnitude >> 13 & 0x3FF;
    (if magnitude > INFINITE { nan } else { number }) | bits >> 16 & 0x8000
}

#[cfg(test)]
mod tests {
    use super::narrow;
    use crate::numbers::Caster;
    use embedded_safetensors::Dtype;

    /// Every sign and exponent, with mantissas near all ties, and at random.
    #[test]
    fn singles_are_rounded_as_by_casts() {
        let mut singles = Vec::new();
        let mut state = 1u32;
        for upper in 0..=u16::MAX {
            for lower in [0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFF, 0x1000, 0x1001, 0x3000, 0xFFFF] {
                singles.push(f32::from_bits(u32::from(upper) << 16 | lower));
            }
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            singles.push(f32::from_bits(u32::from(upper) << 16 | state >> 16));
        }
        let bytes: Vec<u8> = singles.iter().flat_map(|single| single.to_le_bytes()).collect();
        for to in [Dtype::F16, Dtype::BF16] {
            let (mut expected, mut found) = (Vec::new(), vec![0; singles.len() * 2]);
            let caster = Caster::new(Dtype::F32, to, false);
            caster.expect("a target").cast(&bytes, &mut expected).expect("no error");
            narrow(to, &bytes, &mut found);
            let pairs = found.as_chunks::<2>().0.iter().zip(expected.as_chunks::<2>().0);
            for ((found, expected), single) in pairs.zip(&singles) {
                assert_eq!(found, expected, "{single:e} to {to}, {:#x}", single.to_bits());
            }
        }
    }
}
