//! Reads the digits with a network that the compiler has found in the model: what is left of the model in the program is its
//! bytes, and the addresses of the weights among them. There is no parser in it.
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
