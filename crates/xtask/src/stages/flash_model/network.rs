//! The network whose model lies in the firmware's flash: its file, and what it answers.

use crate::model::{self, ModelFile};

pub const INPUTS: usize = 32;
const HIDDEN: usize = 64;
pub const OUTPUTS: usize = 8;

/// Its tensors, in the order in which the firmware names them.
pub const TENSORS: [&str; 5] = ["fc1.weight", "fc1.bias", "fc1.scale", "fc2.weight", "fc2.bias"];

/// The model file: made up, but the same every time; in the order in which the usual writers sort tensors.
pub fn file() -> Vec<u8> {
    let mut numbers = Numbers(0x9e37_79b9);
    let mut floats = |count| -> Vec<u8> {
        (0..count).flat_map(|_| (f32::from(numbers.next()) / 64.0).to_le_bytes()).collect()
    };
    let scale = floats(HIDDEN);
    let fc2_bias = floats(OUTPUTS);
    let fc2_weight = floats(OUTPUTS * HIDDEN);
    let mut integers = |count| -> Vec<i32> { (0..count).map(|_| i32::from(numbers.next())).collect() };
    let fc1_bias = integers(HIDDEN).into_iter().flat_map(|bias| (16 * bias).to_le_bytes());
    let fc1_weight =
        integers(HIDDEN * INPUTS).into_iter().flat_map(|weight| weight.to_le_bytes().into_iter().take(1));
    ModelFile::default()
        .with("fc1.scale", "F32", "[64]", scale)
        .with("fc2.bias", "F32", "[8]", fc2_bias)
        .with("fc2.weight", "F32", "[8,64]", fc2_weight)
        .with("fc1.bias", "I32", "[64]", fc1_bias)
        .with("fc1.weight", "I8", "[64,32]", fc1_weight)
        .bytes()
}

/// Xorshift: numbers of 8 bits that look like weights.
struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> i8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0.to_le_bytes()[3].cast_signed()
    }
}

/// What the network in `file` answers, as the bits of its outputs.
pub fn answer(file: &[u8], input: &[u8]) -> Option<Vec<u32>> {
    let tensor = |name| file.get(model::range(file, name)?);
    let bias = words(tensor("fc1.bias")?).map(i32::from_le_bytes);
    let scale = words(tensor("fc1.scale")?).map(f32::from_le_bytes);
    let rows = tensor("fc1.weight")?.chunks_exact(INPUTS);
    let hidden = rows.zip(bias).zip(scale).map(|((row, bias), scale)| {
        let products = row
            .iter()
            .zip(input)
            .map(|(weight, value)| i32::from(weight.cast_signed()) * i32::from(value.cast_signed()));
        (products.sum::<i32>() + bias).max(0) as f32 * scale
    });
    let hidden: Vec<f32> = hidden.collect();
    let bias = words(tensor("fc2.bias")?).map(f32::from_le_bytes);
    let rows = tensor("fc2.weight")?.chunks_exact(4 * HIDDEN);
    let outputs = rows.zip(bias).map(|(row, bias)| {
        let weights = words(row).map(f32::from_le_bytes);
        weights.zip(&hidden).fold(bias, |sum, (weight, value)| sum + weight * value)
    });
    Some(outputs.map(f32::to_bits).collect())
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    bytes.chunks_exact(4).filter_map(|word| word.first_chunk().copied())
}
