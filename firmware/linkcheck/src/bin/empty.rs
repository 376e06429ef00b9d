//! What any firmware costs, to be taken off the others.
#![no_std]
#![no_main]

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    linkcheck::exit(0)
}
