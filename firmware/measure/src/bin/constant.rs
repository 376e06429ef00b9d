//! Firmware with a model in flash: the header was read at compile time, and only the addresses of the
//! tensors are left.
#![no_std]
#![no_main]

use embedded_safetensors::{View, include_model};
use half::f16;

const MODEL: View<'static> = include_model!("../../../app/models/digits-f16.safetensors", 16);

static TENSORS: [&[f16]; 8] = [
    MODEL.expect_array::<[_; 400]>("fc1.bias"),
    MODEL.expect_array::<[[_; 64]; 400]>("fc1.weight").as_flattened(),
    MODEL.expect_array::<[_; 400]>("fc2.bias"),
    MODEL.expect_array::<[[_; 400]; 400]>("fc2.weight").as_flattened(),
    MODEL.expect_array::<[_; 400]>("fc3.bias"),
    MODEL.expect_array::<[[_; 400]; 400]>("fc3.weight").as_flattened(),
    MODEL.expect_array::<[_; 10]>("fc4.bias"),
    MODEL.expect_array::<[[_; 400]; 10]>("fc4.weight").as_flattened(),
];

measure::program!(|job| job.done = Some(measure::sum(&TENSORS)));
