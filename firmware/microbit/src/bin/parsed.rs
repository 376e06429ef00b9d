//! Reads the digits with a network found in the model at run time, so that the program contains the parser
//! that `digits` saves.
#![no_std]
#![no_main]

use app::{Failure, Integer, Text};
use board::{Console, entry, exit};
use core::convert::Infallible;
use core::hint::black_box;
use embedded_safetensors::{View, include_aligned, validate::Summary};

#[entry]
fn main() -> ! {
    // `black_box` prevents parsing at compile time.
    let file = black_box(include_aligned!("../../../app/models/digits-i8.safetensors", 16));
    match find(file) {
        Ok((network, summary)) => microbit::run(&network, summary),
        Err(failure) => exit(failure.report(&mut Text(Console)).into()),
    }
}

fn find(file: &[u8]) -> Result<(Integer<'_>, Summary), Failure<Infallible>> {
    let model = View::parse(file)?;
    Ok((Integer::find(&model)?, model.summary()))
}
