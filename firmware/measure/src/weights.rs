//! A small network, at any address: a layer of 8-bit integers, then a layer of floats.

use crate::frame::figure;

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
    /// Prints the addresses of the weights, and the network's outputs for the input, as bits of floats.
    /// Returns whether the input has the right length.
    pub fn report(&self, input: &[u8]) -> bool {
        address("fc1.weight", self.fc1_weight);
        address("fc1.bias", self.fc1_bias);
        address("fc1.scale", self.fc1_scale);
        address("fc2.weight", self.fc2_weight);
        address("fc2.bias", self.fc2_bias);
        let Ok(input) = input.try_into() else { return false };
        for (name, output) in ["0", "1", "2", "3", "4", "5", "6", "7"].iter().zip(self.answer(input)) {
            figure(name, output.to_bits());
        }
        true
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

fn address<T>(name: &str, value: &T) {
    figure(name, (&raw const *value).addr() as u32);
}
