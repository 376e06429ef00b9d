//! Programs that show two properties of the library by being linked and run.
//!
//! *It cannot panic*: the panic handler calls an undefined function, so a program with a reachable panic
//! does not link. The program `everything` contains all of the library.
//!
//! *Its costs*: each other program does one job, in a frame that all of them share, including one that does
//! nothing. The flash of a program above that one is the cost of the job. Stack and instructions are
//! measured in the same program as the flash.
#![no_std]

mod description;
mod errors;
mod frame;
mod headers;
mod memory;
mod network;
mod quantised;
mod record;
mod weights;
mod write;

pub use board::{Broken, Card, exit, request};
pub use description::description;
pub use errors::{Console, open_or};
pub use frame::{Job, Step, figure, run};
pub use headers::{find_duplicates, parse, read_entries, validate, view};
pub use memory::{flash, heap, order, slots, text};
pub use network::{
    Network, Outcome, open_and_use, open_find_read, read_chunks, read_rows, read_slice, stream,
};
pub use quantised::{multiply_quantised, open_find_matrix, read_quantised};
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
    // SAFETY: never called, because a program that refers to it does not link.
    unsafe { a_panic_path_survived() }
}

/// The reference panics; the message is not formatted, as in firmware without a debugger.
#[cfg(feature = "reference")]
#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    board::exit(101)
}
