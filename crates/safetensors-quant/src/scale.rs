//! Scales as `f32`.

use embedded_safetensors::Dtype;

/// Returns the value of a scale: F32, F16 or BF16; F8_E8M0 for all other dtypes. The bytes after those of the
/// element are ignored.
pub(crate) fn scale_of(dtype: Dtype, bytes: [u8; 4]) -> f32 {
    let [low, high, ..] = bytes;
    match dtype {
        Dtype::F32 => f32::from_le_bytes(bytes),
        Dtype::F16 => of_f16(u16::from_le_bytes([low, high])),
        Dtype::BF16 => f32::from_le_bytes([0, 0, low, high]),
        _ => of_e8m0(low),
    }
}

fn of_f16(bits: u16) -> f32 {
    const SMALLEST: f32 = 1.0 / (1 << 24) as f32;
    let (sign, magnitude) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7FFF));
    f32::from_bits(match magnitude {
        ..0x0400 => sign | (f32::from(bits & 0x7FFF) * SMALLEST).to_bits(),
        0x0400..0x7C00 => sign | ((magnitude << 13) + (112 << 23)),
        _ => sign | 0x7F80_0000 | magnitude << 13,
    })
}

/// A power of two: only the exponent of an `f32`.
fn of_e8m0(byte: u8) -> f32 {
    match byte {
        0 => f32::from_bits(1 << 22),
        255 => f32::NAN,
        exponent => f32::from_bits(u32::from(exponent) << 23),
    }
}
