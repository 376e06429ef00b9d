//! Reads the digits with a network that is found in the model when the program runs, by the parser that is then in it: what
//! `digits` saves.
#![no_std]
#![no_main]

use app::{Failure, Integer, Text};
use board::{Console, entry, exit};
use core::convert::Infallible;
use core::hint::black_box;
use embedded_safetensors::{View, include_aligned, validate::Summary};

#[entry]
fn main() -> ! {
    // Or the compiler might do the parser's work.
    let file = black_box(include_aligned!("../../../app/models/digits-i8.safetensors", 16));
    match find(file) {
        Ok((network, summary)) => microbit::run(&network, summary),
        Err(failure) => exit(failure.tell(&mut Text(Console)).into()),
    }
}

fn find(file: &[u8]) -> Result<(Integer<'_>, Summary), Failure<Infallible>> {
    let model = View::parse(file)?;
    Ok((Integer::find(&model)?, model.summary()))
}
