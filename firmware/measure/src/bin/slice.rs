//! Firmware that does nothing but open a model, find tensors and read a slice of one, as `f32`.
#![no_std]
#![no_main]

use linkcheck::{Card, Then};

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let (_, file) = linkcheck::request();
    let read = linkcheck::open_find_stream(&mut Card::new(file), linkcheck::wanted(), Then::ReadSlice);
    linkcheck::exit(read.is_none().into())
}
