//! Firmware that does nothing but look a tensor up in a model in memory, which it proves first, and read its elements in place.
#![no_std]
#![no_main]

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let (_, file) = linkcheck::request();
    linkcheck::exit(linkcheck::view(file).is_err().into())
}
