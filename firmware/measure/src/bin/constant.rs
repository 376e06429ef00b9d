//! Firmware with a model in flash: the header was read at compile time, and only the addresses of the
//! weights are left.
#![no_std]
#![no_main]

use embedded_safetensors::{View, include_model};
use measure::Weights;

const MODEL: View<'static> =
    include_model!("../../../../crates/embedded-safetensors/examples/network.safetensors", 16);

const FC1_WEIGHT: &[[i8; 32]; 64] = MODEL.expect_array("fc1.weight");
const FC1_BIAS: &[i32; 64] = MODEL.expect_array("fc1.bias");
const FC1_SCALE: &[f32; 64] = MODEL.expect_array("fc1.scale");
static FC2_WEIGHT: &[[f32; 64]; 8] = MODEL.expect_array("fc2.weight");
static FC2_BIAS: &[f32; 8] = MODEL.expect_array("fc2.bias");

static NETWORK: Weights = Weights {
    fc1_weight: FC1_WEIGHT,
    fc1_bias: FC1_BIAS,
    fc1_scale: FC1_SCALE,
    fc2_weight: FC2_WEIGHT,
    fc2_bias: FC2_BIAS,
};

measure::program!(|job| job.done = NETWORK.sum(job.file));
