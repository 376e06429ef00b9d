//! The frame that programs have in common: it runs a job, and prints what it took.
//!
//! Every program has it, also the one that does nothing. So what a program has more than that is the job; and the stack and the
//! instructions are those of the very program whose bytes were counted.
#![no_std]

mod frame;
mod job;
mod network;

pub use board::{Broken, Card, exit, request};
pub use frame::{figure, heap, run};
pub use job::{Job, Step};
pub use network::Network;

use core::panic::PanicInfo;

/// As firmware without a debugger has it: nothing is formatted.
#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    board::exit(101)
}
