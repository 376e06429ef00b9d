//! The network of the model in the firmware's flash: its file, and its answers.

use crate::model::{self, ModelFile};

const INPUTS: usize = 32;
const HIDDEN: usize = 64;
const OUTPUTS: usize = 8;

/// Its tensors, in the order of the firmware's names.
pub const TENSORS: [&str; 5] = ["fc1.weight", "fc1.bias", "fc1.scale", "fc2.weight", "fc2.bias"];

/// Returns the model file: pseudo-random but always the same, with its tensors in the order of most
/// writers.
pub fn file() -> Vec<u8> {
    // Xorshift: 8-bit numbers that look like weights.
    let mut state = 0x9e37_79b9_u32;
    let mut numbers = |count| -> Vec<i8> {
        let next = |_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state.to_le_bytes()[3].cast_signed()
        };
        (0..count).map(next).collect()
    };
    let floats =
        |numbers: Vec<i8>| numbers.into_iter().flat_map(|number| (f32::from(number) / 64.0).to_le_bytes());
    let [scale, fc2_bias, fc2_weight] =
        [HIDDEN, OUTPUTS, OUTPUTS * HIDDEN].map(|count| floats(numbers(count)));
    let fc1_bias = numbers(HIDDEN).into_iter().flat_map(|bias| (16 * i32::from(bias)).to_le_bytes());
    let fc1_weight = numbers(HIDDEN * INPUTS).into_iter().map(i8::cast_unsigned);
    ModelFile::default()
        .with("fc1.scale", "F32", "[64]", scale)
        .with("fc2.bias", "F32", "[8]", fc2_bias)
        .with("fc2.weight", "F32", "[8,64]", fc2_weight)
        .with("fc1.bias", "I32", "[64]", fc1_bias)
        .with("fc1.weight", "I8", "[64,32]", fc1_weight)
        .bytes()
}

/// Returns inputs of both signs, different for every seed.
pub fn input(seed: u8) -> Vec<u8> {
    let inputs = (1u8..).take(INPUTS);
    inputs.map(|index| index.wrapping_mul(37).wrapping_add(seed.wrapping_mul(101))).collect()
}

/// Computes the answer of the network in `file`, as the bits of its outputs.
pub fn answer(file: &[u8], input: &[u8]) -> Option<[u32; OUTPUTS]> {
    let tensor = |name| file.get(model::range(file, name)?);
    let bias = words(tensor("fc1.bias")?).map(i32::from_le_bytes);
    let scale = words(tensor("fc1.scale")?).map(f32::from_le_bytes);
    let rows = tensor("fc1.weight")?.chunks_exact(INPUTS);
    let hidden = rows.zip(bias).zip(scale).map(|((row, bias), scale)| {
        let product =
            |(weight, value): (&u8, &u8)| i32::from(weight.cast_signed()) * i32::from(value.cast_signed());
        (row.iter().zip(input).map(product).sum::<i32>() + bias).max(0) as f32 * scale
    });
    let hidden: Vec<f32> = hidden.collect();
    let bias = words(tensor("fc2.bias")?).map(f32::from_le_bytes);
    let rows = tensor("fc2.weight")?.chunks_exact(4 * HIDDEN);
    let outputs = rows.zip(bias).map(|(row, bias)| {
        let weights = words(row).map(f32::from_le_bytes);
        weights.zip(&hidden).fold(bias, |sum, (weight, value)| sum + weight * value).to_bits()
    });
    outputs.collect::<Vec<_>>().try_into().ok()
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    bytes.as_chunks().0.iter().copied()
}
