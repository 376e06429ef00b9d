//! Programs that prove two things of the core by being linked and run.
//!
//! *It cannot panic*: the panic handler calls a function that exists nowhere, so no program links in which one panic path survives.
//! The program `everything` has all of the core in it.
//!
//! *It takes this much*: each other program does one job, in a frame that all of them have, also the one that does nothing. So what a
//! program has more in flash than that one is the job; and the stack and the instructions that it prints are those of the very program
//! whose bytes were counted.
#![no_std]

mod description;
mod errors;
mod frame;
mod headers;
mod memory;
mod network;
mod record;
mod weights;
mod write;

pub use board::{Broken, Card, exit, request};
pub use description::description;
pub use errors::{Console, open_or};
pub use frame::{Job, Step, figure, run};
pub use headers::{find_duplicates, parse, read_entries, validate, view};
pub use memory::{flash, heap, order, slots, text};
pub use network::{Network, Outcome, open_find_read, read_chunks, read_rows, read_slice, stream};
pub use record::record_file;
pub use weights::Weights;
pub use write::{Order, Wire, write_file};

use core::panic::PanicInfo;

#[cfg(not(feature = "reference"))]
unsafe extern "C" {
    fn a_panic_path_survived() -> !;
}

#[cfg(not(feature = "reference"))]
#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: never called: a program that refers to it does not link.
    unsafe { a_panic_path_survived() }
}

/// The reference panics. As firmware without a debugger has it, nothing is formatted.
#[cfg(feature = "reference")]
#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    board::exit(101)
}
