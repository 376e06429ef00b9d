//! Reads the digits with a network found in the model at compile time: the program contains the model's
//! bytes and the addresses of the weights in them, but no parser.
#![no_std]
#![no_main]

use app::Integer;
use board::entry;
use embedded_safetensors::{View, include_model, validate::Summary};

const MODEL: View<'static> = include_model!("../../../app/models/digits-i8.safetensors", 16);
const NETWORK: Integer<'static> = Integer::of_program(&MODEL);
const SUMMARY: Summary = MODEL.summary();

#[entry]
fn main() -> ! {
    microbit::run(&NETWORK, SUMMARY)
}
