//! A network whose model is part of the program. The compiler reads the header, and only the addresses of
//! the weights in flash remain. There is no parser, no copy and no initialisation at run time. If the file
//! and the program disagree, the build fails.

use embedded_safetensors::{View, include_model};

/// Aligned to 16 bytes in flash, which is enough for every dtype.
const MODEL: View<'static> = include_model!("network.safetensors", 16);

// A wrong name, dtype or shape is a build error that shows the name, and the dtype and shape in the file.
static FC1_WEIGHT: &[[i8; 32]; 64] = MODEL.expect_array("fc1.weight");
static FC1_BIAS: &[i32; 64] = MODEL.expect_array("fc1.bias");
static FC1_SCALE: &[f32; 64] = MODEL.expect_array("fc1.scale");
static FC2_WEIGHT: &[[f32; 64]; 8] = MODEL.expect_array("fc2.weight");
static FC2_BIAS: &[f32; 8] = MODEL.expect_array("fc2.bias");

fn main() {
    let samples = [25; 32];
    let hidden = quantized(FC1_WEIGHT, FC1_BIAS, FC1_SCALE, &samples);
    let outputs = dense(FC2_WEIGHT, FC2_BIAS, &hidden);
    let largest = (0..outputs.len()).max_by(|&a, &b| outputs[a].total_cmp(&outputs[b]));
    println!("{} outputs, the largest is number {}", outputs.len(), largest.unwrap_or(0));
}

/// Computes a quantized layer. Layers of incompatible sizes do not compile.
fn quantized<const I: usize, const O: usize>(
    weight: &[[i8; I]; O],
    bias: &[i32; O],
    scale: &[f32; O],
    input: &[i8; I],
) -> [f32; O] {
    core::array::from_fn(|output| {
        let products =
            weight[output].iter().zip(input).map(|(&weight, &input)| i32::from(weight) * i32::from(input));
        (products.sum::<i32>() + bias[output]).max(0) as f32 * scale[output]
    })
}

/// Computes a layer of floats.
fn dense<const I: usize, const O: usize>(
    weight: &[[f32; I]; O],
    bias: &[f32; O],
    input: &[f32; I],
) -> [f32; O] {
    core::array::from_fn(|output| {
        let products = weight[output].iter().zip(input).map(|(weight, input)| weight * input);
        products.sum::<f32>() + bias[output]
    })
}
