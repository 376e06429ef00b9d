//! Firmware that proves two things of the core by being linked and run.
//!
//! *It cannot panic*: the panic handler calls a function that exists nowhere, so the link fails as soon
//! as one panic path survives in what a binary uses. *It needs this much*: the binary `cost` runs the
//! core under QEMU and prints the stack and the instructions that each door took.
#![no_std]

mod description;
mod job;
mod machine;
mod record;
mod stream;
mod write;

pub use board::{Broken, Card, Clock, exit, peak, print, print_number};
pub use description::description;
pub use job::{Job, find_duplicates, parse, read_entries, validate, view};
pub use machine::{flash, order, request, slots, text, wanted};
pub use record::{record, record_file};
pub use stream::{BLOCK, NAMES, Then, WANTED, open_find_stream};
pub use write::{Order, Wire, write_file};

use core::panic::PanicInfo;

unsafe extern "C" {
    fn a_panic_path_survived() -> !;
}

#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: never called: a program that refers to it does not link.
    unsafe { a_panic_path_survived() }
}
