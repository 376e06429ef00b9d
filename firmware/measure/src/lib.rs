//! Programs that show two properties of the library by being linked and run.
//!
//! *It cannot panic*: the panic handler calls an undefined function, so a program with a reachable panic
//! does not link. The program `everything` contains all of the library.
//!
//! *Its costs*: each other program does one job, in a frame that all of them share, including one that does
//! nothing. The flash of a program above that one is the cost of the job. Stack and instructions are
//! measured in the same program as the flash.
#![no_std]

mod chip;
mod sizes;
mod values;
mod wire;

pub use board::{Broken, Card, MEMORY, exit, request};
pub use chip::Chip;
pub use values::{add, sum};
pub use wire::Wire;

use board::{Clock, peak, print, print_number};
use core::hint::black_box;
use core::panic::PanicInfo;
use embedded_safetensors::integrity::{Sha256, Sum};
use embedded_safetensors::{ReadAt, ReadError, TensorReader};
use safetensors_slots::Offer;

#[cfg(not(feature = "panics"))]
#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn a_panic_path_survived() -> !;
    }
    // SAFETY: never called, because a program that refers to it does not link.
    unsafe { a_panic_path_survived() }
}

/// The message is not formatted, as in firmware without a debugger.
#[cfg(feature = "panics")]
#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    exit(101)
}

/// The window for reads; the request with its file is before it.
const WINDOW: usize = MEMORY + 0x00ff_0000;
/// Up to the end of the device's memory.
const MOST_WINDOW: usize = 0x1_0000;

/// Defines the entry of a program by its task, and by another report of it.
#[macro_export]
macro_rules! program {
    ($task:expr) => {
        $crate::program!($task, || {});
    };
    ($task:expr, $report:expr) => {
        #[unsafe(no_mangle)]
        extern "C" fn main() -> ! {
            $crate::run($task, $report)
        }
    };
}

/// How far a job runs.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Step {
    /// The model is opened, and so its header validated.
    Open,
    /// A tensor is found, too.
    Find,
    /// The entire job is done.
    All,
}

/// A model, and a tensor of it to find and to read.
pub struct Job {
    /// The file.
    pub file: &'static [u8],
    /// The tensor's name; a 0 follows it in memory.
    pub name: &'static str,
    /// The window, or buffer, for reads.
    pub window: &'static mut [u8],
    /// How far to run.
    pub last: Step,
    /// The number of tensors, bytes or values; `None` after an error.
    pub done: Option<u32>,
}

/// The number of bytes or values read.
pub type Outcome = Result<u32, ReadError<Broken>>;

/// Runs the job once to measure its stack, then calls `report`; then, if the second word of the request is
/// not 0, runs it once for each step, to count instructions.
///
/// The first word is the length of the window, the third the number of bytes: the file, the name, a 0, and a
/// byte with the name's length. The fourth is for `everything`.
pub fn run(task: fn(&mut Job), report: fn()) -> ! {
    let request = request();
    let [window_len, counts, _, _] = request.words;
    let Some((file, name)) = split(request.bytes) else { exit(2) };
    let len = (window_len as usize).min(MOST_WINDOW);
    // SAFETY: memory of the device that nothing else uses, zero at the start; used once.
    let window = unsafe { core::slice::from_raw_parts_mut(WINDOW as *mut u8, len) };
    let mut job = Job { file, name, window, last: Step::All, done: None };
    figure("stack", peak(task, &mut job));
    figure("done", job.done.unwrap_or(u32::MAX));
    report();
    let steps = if counts == 0 { 0 } else { 3 };
    for (last, name) in
        [(Step::Open, "open"), (Step::Find, "find"), (Step::All, "all")].into_iter().take(steps)
    {
        job.last = last;
        count(task, &mut job, name);
    }
    exit(0)
}

fn split(bytes: &'static [u8]) -> Option<(&'static [u8], &'static str)> {
    let (bytes, &[_, name_len]) = bytes.split_last_chunk()?;
    let (file, name) = bytes.split_at_checked(bytes.len().checked_sub(name_len.into())?)?;
    Some((file, core::str::from_utf8(name).ok()?))
}

#[inline(never)]
fn count(task: fn(&mut Job), job: &mut Job, name: &str) {
    let clock = Clock::start();
    let nothing = clock.ticks();
    let clock = Clock::start();
    black_box(task)(job);
    let ticks = clock.ticks().wrapping_sub(nothing);
    figure(name, ticks);
}

/// Prints a figure.
pub fn figure(name: &str, value: u32) {
    print(name);
    print("=");
    print_number(value);
    print("\n");
}

/// Reads all of a tensor, chunk by chunk. Inlined, so that it uses no stack of its own.
#[inline(always)]
pub fn read_chunks<S: ReadAt>(
    mut reader: TensorReader<'_, S>,
    window: &mut [u8],
) -> Result<u32, ReadError<S::Error>> {
    let mut bytes = 0u32;
    while let Some(chunk) = reader.next_chunk(window)? {
        bytes = bytes.wrapping_add(chunk.len() as u32);
    }
    Ok(bytes)
}

/// Returns the offer of a file.
#[inline(never)]
pub fn offer(file: &[u8]) -> Offer {
    let mut sum = Sha256::new();
    sum.update(file);
    let (len, sum) = (file.len() as u32, sum.finish());
    Offer { key: 0, device: [0; 16], len, counter: 1, sum, signature: [0; 64] }
}
