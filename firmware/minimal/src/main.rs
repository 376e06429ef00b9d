//! A model in the program: the compiler reads its header; the weights are statics in flash. There is no
//! parser and no copy in RAM. A name, dtype or shape that the program does not expect is a build error.
//!
//! For your board, change `memory.x`, the target and runner in `.cargo/config.toml`, and the output.
//! For your model, replace `model.safetensors` (made by `model.py`) and the statics.
#![no_std]
#![no_main]

use cortex_m_semihosting::{debug, hprintln};
use embedded_safetensors::{View, include_model};
use half::f16;
use panic_semihosting as _;

/// Is at a multiple of 16 bytes in flash, enough for every dtype.
const MODEL: View<'static> = include_model!("../model.safetensors", 16);

static WEIGHT: &[[i8; 8]; 3] = MODEL.expect_array("fc.weight");
static SCALE: &[f16; 3] = MODEL.expect_array("fc.scale");
static BIAS: &[f32; 3] = MODEL.expect_array("fc.bias");

/// Replaces the samples of a sensor.
const INPUTS: [i8; 8] = [3, -1, 4, 1, -5, 9, 2, -6];

#[cortex_m_rt::entry]
fn main() -> ! {
    let outputs = layer(WEIGHT, SCALE, BIAS, &INPUTS);
    hprintln!("outputs in thousandths: {:?}", outputs.map(|output| (output * 1e3) as i32));
    debug::exit(debug::EXIT_SUCCESS);
    loop {
        cortex_m::asm::wfi();
    }
}

/// Computes a dense layer with one scale for each output. Sizes that do not match do not compile.
fn layer<const I: usize, const O: usize>(
    weight: &[[i8; I]; O],
    scale: &[f16; O],
    bias: &[f32; O],
    inputs: &[i8; I],
) -> [f32; O] {
    core::array::from_fn(|output| {
        let products =
            weight[output].iter().zip(inputs).map(|(&weight, &input)| i32::from(weight) * i32::from(input));
        bias[output] + scale[output].to_f32() * products.sum::<i32>() as f32
    })
}
