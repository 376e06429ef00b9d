//! A small network, at any address: a layer of 8-bit integers, then a layer of floats.

const INPUTS: usize = 32;
const HIDDEN: usize = 64;
const OUTPUTS: usize = 8;

/// The references to its weights.
pub struct Weights {
    /// A row of the first layer for each of its outputs.
    pub fc1_weight: &'static [[i8; INPUTS]; HIDDEN],
    /// Added to the sums of the first layer.
    pub fc1_bias: &'static [i32; HIDDEN],
    /// The scale of the sums of the first layer.
    pub fc1_scale: &'static [f32; HIDDEN],
    /// A row of the second layer for each of its outputs.
    pub fc2_weight: &'static [[f32; HIDDEN]; OUTPUTS],
    /// Added to the sums of the second layer.
    pub fc2_bias: &'static [f32; OUTPUTS],
}

impl Weights {
    /// Returns the bits of the network's outputs for an input, combined; `None` for an input of another
    /// length.
    pub fn sum(&self, input: &[u8]) -> Option<u32> {
        let outputs = self.answer(input.try_into().ok()?);
        Some(outputs.iter().fold(0, |sum: u32, output| sum.rotate_left(5) ^ output.to_bits()))
    }

    fn answer(&self, input: &[u8; INPUTS]) -> [f32; OUTPUTS] {
        let mut hidden = [0.0; HIDDEN];
        let units = self.fc1_weight.iter().zip(self.fc1_bias).zip(self.fc1_scale);
        for (value, ((row, bias), scale)) in hidden.iter_mut().zip(units) {
            let products =
                row.iter().zip(input).map(|(weight, input)| i32::from(*weight) * i32::from(*input as i8));
            *value = (products.sum::<i32>() + bias).max(0) as f32 * scale;
        }
        let mut outputs = *self.fc2_bias;
        for (output, row) in outputs.iter_mut().zip(self.fc2_weight) {
            *output = row.iter().zip(&hidden).fold(*output, |sum, (weight, value)| sum + weight * value);
        }
        outputs
    }
}
