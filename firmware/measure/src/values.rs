//! What programs do with the values of a model: they combine their bits.

use half::f16;

/// Adds values to a sum.
pub fn add(sum: u32, values: impl IntoIterator<Item = f32>) -> u32 {
    values.into_iter().fold(sum, |sum, value| sum.rotate_left(5) ^ value.to_bits())
}

/// Returns the sum of tensors in the program.
pub fn sum(tensors: &[&[f16]; 8]) -> u32 {
    tensors.iter().fold(0, |sum, tensor| add(sum, tensor.iter().map(|value| value.to_f32())))
}
