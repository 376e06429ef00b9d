//! Firmware that does nothing but open a model, find tensors and stream one of them.
#![no_std]
#![no_main]

use linkcheck::{Card, Then};

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let (_, file) = linkcheck::request();
    let streamed = linkcheck::open_find_stream(&mut Card::new(file), linkcheck::wanted(), Then::Stream);
    linkcheck::exit(streamed.is_none().into())
}
