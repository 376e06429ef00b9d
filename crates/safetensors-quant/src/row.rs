//! The arithmetic of a row, group by group.

use crate::layout::{Format, Layout, Scheme};
use crate::low_usize;
use embedded_safetensors::Dtype;
use embedded_safetensors::values::bytes_of_mut;

/// How many groups have their scales read together.
pub(crate) const BATCH: usize = 16;

/// The longest scale.
const WIDEST: usize = 4;

/// How many bytes of weights are taken from a row at a time: at least those of any group of 4-bit values.
const BLOCK: usize = 64;

/// The scales and zero points of consecutive groups of a row, as they are in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors {
    scales: [u8; WIDEST * BATCH],
    /// The zero points, or the global scale.
    third: [u8; BATCH],
    /// The index of the first group.
    pub(crate) first: usize,
    /// How many groups.
    pub(crate) count: usize,
}

/// The scale and the zero point of a group.
#[derive(Clone, Copy)]
struct Factor {
    scale: f32,
    zero: i32,
}

/// The zero point of 4-bit integers if there are none in the file.
const MIDDLE: u8 = 8;

/// The values of 4-bit integers.
const INTEGERS: [i8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The values of 4-bit floats.
const FLOATS: [f32; 16] =
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];

/// The same, doubled.
const DOUBLED: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

impl Factors {
    /// Starts with the first groups.
    #[inline(never)] // one copy for rows and products
    pub(crate) fn new(layout: &Layout) -> Self {
        let zero = if layout.format == Format::Narrow { MIDDLE } else { 0 };
        let count = low_usize(layout.groups).min(BATCH);
        Self { scales: [0; WIDEST * BATCH], third: [zero; BATCH], first: 0, count }
    }

    /// Continues with the next groups. A global scale remains.
    pub(crate) fn advance(&mut self, layout: &Layout) {
        self.first += self.count;
        self.count = low_usize(layout.groups).saturating_sub(self.first).min(BATCH);
    }

    /// Returns the memory for the scales.
    pub(crate) fn scales(&mut self, layout: &Layout) -> &mut [u8] {
        self.scales.get_mut(..layout.scale_len() * self.count).unwrap_or_default()
    }

    /// Returns the memory for the zero points, or for a global scale that has not been read.
    pub(crate) fn third(&mut self, layout: &Layout) -> &mut [u8] {
        let len = match (layout.scheme.has_global_scale(), self.first) {
            (false, _) => self.count,
            (true, 0) => size_of::<f32>(),
            (true, _) => 0,
        };
        self.third.get_mut(..len).unwrap_or_default()
    }

    /// Copies them from the memory that [`Layout::split`] splits.
    pub(crate) fn copy(&mut self, layout: &Layout, row: u64, memory: &[u8]) {
        let first = self.first as u64;
        let scale = layout.scale_at(row, first).wrapping_sub(layout.scales.start);
        copy(self.scales(layout), memory.get(low_usize(scale)..).unwrap_or_default());
        if let Some(third) = layout.third {
            let at = third.row(row).wrapping_sub(third.start) + first + layout.scales_len();
            copy(self.third(layout), memory.get(low_usize(at)..).unwrap_or_default());
        }
    }

    /// Returns the factor of the group with this index here.
    fn get(&self, layout: &Layout, index: usize) -> Factor {
        let len = layout.scale_len();
        let mut bytes = [0; WIDEST];
        copy(&mut bytes, self.scales.get(index * len..index * len + len).unwrap_or_default());
        let zero = self.third.get(index).copied().unwrap_or(0);
        let zero = match layout.format {
            Format::Signed => zero.cast_signed().into(),
            _ => zero.into(),
        };
        let scale = scale_of(layout.scale, bytes);
        let [first, second, third, fourth, ..] = self.third;
        let global = f32::from_le_bytes([first, second, third, fourth]);
        let scale = match layout.scheme {
            Scheme::Nvfp4 => scale * global,
            Scheme::Nvfp4Packed => scale / global,
            _ => scale,
        };
        Factor { scale, zero }
    }

    /// Fills the values of these groups. The row's weights are at the [end](Layout::tail) of `values`.
    pub(crate) fn widen(&self, layout: &Layout, values: &mut [f32]) {
        let group = low_usize(layout.group);
        for index in 0..self.count {
            let begin = (self.first + index) * group;
            widen_group(layout, self.get(layout, index), begin, values);
        }
    }

    /// Adds the products of these groups, in order.
    pub(crate) fn add_products(&self, layout: &Layout, weights: &[u8], inputs: &[i8], sum: f32) -> f32 {
        let group = low_usize(layout.group);
        let mut sum = sum;
        for index in 0..self.count {
            let (begin, factor) = ((self.first + index) * group, self.get(layout, index));
            // The last group of 8-bit floats may be shorter.
            let len = inputs.len().saturating_sub(begin).min(group);
            let weights = part(weights, layout.format.bytes(begin), layout.format.bytes(len));
            let integer = products(layout.format, factor.zero, weights, part(inputs, begin, len)) as f32;
            let float = match layout.format {
                Format::Floats => integer * 0.5,
                Format::WideFloats if weights.iter().any(|byte| byte & 0x7F == 0x7F) => f32::NAN,
                Format::WideFloats => integer * SMALLEST_E4M3,
                _ => integer,
            };
            sum += float * factor.scale;
        }
        sum
    }
}

/// Copies as many bytes as both slices have. `copy_from_slice` has a panic path.
fn copy(to: &mut [u8], from: &[u8]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

fn part<T>(slice: &[T], begin: usize, len: usize) -> &[T] {
    slice.get(begin..begin + len).unwrap_or_default()
}

/// Fills the values of one group, from `begin` on.
fn widen_group(layout: &Layout, factor: Factor, begin: usize, values: &mut [f32]) {
    let format = layout.format;
    let group = values.len().saturating_sub(begin).min(low_usize(layout.group));
    let (table, Factor { scale, zero }) = (table(format, factor), factor);
    let most = if format.is_narrow() { 2 * BLOCK } else { BLOCK };
    let (mut done, mut block) = (0, [0; BLOCK]);
    while done < group {
        let (first, len) = (begin + done, (group - done).min(most));
        // The values may overwrite these weights.
        let tail = layout.tail(values);
        let bytes = bytes_of_mut(values).get(tail).unwrap_or_default();
        copy(&mut block, part(bytes, format.bytes(first), format.bytes(len)));
        let values = values.get_mut(first..first + len).unwrap_or_default();
        match format {
            Format::Narrow | Format::Floats => look_up(&table, &block, values),
            Format::Signed => {
                multiply(scale, &block, values, |byte| (i32::from(byte.cast_signed()) - zero) as f32);
            }
            Format::Unsigned => multiply(scale, &block, values, |byte| (i32::from(byte) - zero) as f32),
            Format::WideFloats => multiply(scale, &block, values, of_e4m3),
        }
        done += len;
    }
}

/// Returns the values of all elements of 4 bits: fewer products than elements.
fn table(format: Format, Factor { scale, zero }: Factor) -> [f32; 16] {
    match format {
        Format::Floats => FLOATS.map(|value| value * scale),
        Format::Narrow => INTEGERS.map(|element| (i32::from(element) - zero) as f32 * scale),
        Format::Signed | Format::Unsigned | Format::WideFloats => [0.0; 16],
    }
}

// Here and below, `chunks` and `chunks_exact` would have a panic path where the compiler optimises for size.
fn look_up(table: &[f32; 16], weights: &[u8], values: &mut [f32]) {
    let mut values = values.iter_mut();
    for byte in weights {
        let (Some(low), Some(high)) = (values.next(), values.next()) else { return };
        *low = of_nibble(table, *byte);
        *high = of_nibble(table, *byte >> 4);
    }
}

fn of_nibble<T: Copy + Default>(table: &[T; 16], bits: u8) -> T {
    table.get(usize::from(bits & 15)).copied().unwrap_or_default()
}

fn multiply(scale: f32, weights: &[u8], values: &mut [f32], exact: impl Fn(u8) -> f32) {
    for (value, byte) in values.iter_mut().zip(weights) {
        *value = exact(*byte) * scale;
    }
}

/// Returns the sum of the products of a group. It is exact.
fn products(format: Format, zero: i32, weights: &[u8], inputs: &[i8]) -> i64 {
    match format {
        Format::Narrow => products_of_nibbles(&INTEGERS, zero, weights, inputs).into(),
        Format::Floats => products_of_nibbles(&DOUBLED, 0, weights, inputs).into(),
        Format::Signed => products_of_bytes(zero, weights, inputs, |byte| byte.cast_signed().into()),
        Format::Unsigned => products_of_bytes(zero, weights, inputs, i32::from),
        Format::WideFloats => products_of_bytes(0, weights, inputs, steps_of_e4m3),
    }
}

/// A group has at most 128 elements, so the sum fits.
fn products_of_nibbles(table: &[i8; 16], zero: i32, weights: &[u8], inputs: &[i8]) -> i32 {
    let (mut sum, mut inputs) = (0, inputs.iter());
    for byte in weights {
        let (Some(low), Some(high)) = (inputs.next(), inputs.next()) else { return sum };
        sum += (i32::from(of_nibble(table, *byte)) - zero) * i32::from(*low);
        sum += (i32::from(of_nibble(table, *byte >> 4)) - zero) * i32::from(*high);
    }
    sum
}

/// Adds block by block, because the sum of a block fits into 32 bits.
fn products_of_bytes(zero: i32, weights: &[u8], inputs: &[i8], integer: impl Fn(u8) -> i32) -> i64 {
    let (mut sum, mut done) = (0, 0);
    while done < weights.len() {
        let len = (weights.len() - done).min(BLOCK);
        let pairs = part(weights, done, len).iter().zip(part(inputs, done, len));
        let of_block =
            pairs.fold(0, |sum, (weight, input)| sum + (integer(*weight) - zero) * i32::from(*input));
        sum += i64::from(of_block);
        done += len;
    }
    sum
}

/// Returns the value of a scale: F32, F16, BF16 or F8_E4M3; F8_E8M0 for all other dtypes. The bytes after
/// those of the element are ignored.
fn scale_of(dtype: Dtype, bytes: [u8; 4]) -> f32 {
    let [low, high, ..] = bytes;
    match dtype {
        Dtype::F32 => f32::from_le_bytes(bytes),
        Dtype::F16 => of_f16(u16::from_le_bytes([low, high])),
        Dtype::BF16 => f32::from_le_bytes([0, 0, low, high]),
        Dtype::F8_E4M3 => of_e4m3(low),
        // A power of two: only the exponent of an `f32`.
        _ => f32::from_bits(match low {
            0 => 1 << 22,
            255 => f32::NAN.to_bits(),
            exponent => u32::from(exponent) << 23,
        }),
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

/// The smallest positive number of F8_E4M3. All others are multiples of it.
const SMALLEST_E4M3: f32 = 1.0 / 512.0;

fn of_e4m3(byte: u8) -> f32 {
    let (sign, magnitude) = (u32::from(byte & 0x80) << 24, u32::from(byte & 0x7F));
    f32::from_bits(match magnitude {
        ..8 => sign | (f32::from(byte & 7) * SMALLEST_E4M3).to_bits(),
        8..0x7F => sign | ((magnitude << 20) + (120 << 23)),
        _ => f32::NAN.to_bits(),
    })
}

/// Returns how many times the smallest number this one is; anything for a NaN.
fn steps_of_e4m3(byte: u8) -> i32 {
    let (exponent, significand) = (byte >> 3 & 15, i32::from(byte & 7));
    let steps = if exponent == 0 { significand } else { (8 + significand) << (exponent - 1) };
    if byte & 0x80 == 0 { steps } else { -steps }
}
