//! Shared code for firmware on emulated boards.
//!
//! Output and exit code use semihosting, which QEMU and debuggers such as probe-rs support.
//!
//! | exit code | meaning |
//! |---|---|
//! | 4 | the program has used more RAM than its limit |
//! | 99 | a CPU fault: `fault: … at 0x…` |
//! | 101 | a panic: `panic: MESSAGE at FILE:LINE` |
#![no_std]

#[cfg(feature = "bare")]
mod bare;
mod console;
mod one_line;

#[cfg(feature = "bare")]
pub use bare::{Broken, Card, Clock, MEMORY, Request, peak, request};
pub use console::{Console, exit, print, print_number};
pub use one_line::Panic;

#[cfg(feature = "runtime")]
mod board;
#[cfg(feature = "runtime")]
mod fault;
#[cfg(feature = "runtime")]
mod memory;
#[cfg(feature = "runtime")]
mod panic;

#[cfg(feature = "runtime")]
pub use board::Board;
#[cfg(feature = "runtime")]
pub use fault::run_into_a_fault;
#[cfg(feature = "runtime")]
pub use memory::Ram;
#[cfg(feature = "runtime")]
pub use panic::run_into_a_panic;

#[cfg(all(feature = "runtime", target_arch = "arm"))]
pub use cortex_m_rt::entry;
#[cfg(all(feature = "runtime", target_arch = "riscv32"))]
pub use riscv_rt::entry;
