//! The frame of all programs: it runs a job, and prints its costs as `name=value`, one on each line, for
//! `cargo xtask`.

use crate::memory;
use board::{Clock, exit, peak, print, print_number, request};
use core::hint::black_box;

/// Defines the entry of a program, with its memory, its task, and an additional report.
#[macro_export]
macro_rules! program {
    ($memory:expr, $task:expr) => {
        $crate::program!($memory, $task, |_| {});
    };
    ($memory:expr, $task:expr, $report:expr) => {
        #[unsafe(no_mangle)]
        extern "C" fn main() -> ! {
            $crate::run($memory, $task, $report)
        }
    };
}

/// How far a job runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The model is opened, and so its header validated.
    Open,
    /// A tensor is found, too.
    Find,
    /// The entire job is done.
    All,
}

/// The name of the instructions up to each step, and the bit that requests them.
const STEPS: [(Step, &str, u32); 3] =
    [(Step::Open, "open", 1), (Step::Find, "find", 2), (Step::All, "all", 4)];

/// A model, and a tensor of it to find and to read.
pub struct Job<L> {
    /// The file.
    pub file: &'static [u8],
    /// The tensor's name.
    pub name: &'static str,
    /// The window, or buffer, for reads.
    pub window: &'static mut [u8],
    /// The program's other memory outside the stack.
    pub memory: L,
    /// How far to run.
    pub last: Step,
    /// The number of tensors, bytes or values; `None` after an error.
    pub done: Option<u32>,
}

/// Runs the job once to measure its stack, then calls `report`; then runs it once for each requested step,
/// to count instructions.
///
/// The words of the request are the lengths of the window, of the other memory, and of the bytes; and the
/// steps. The bytes are the file, the name, and a byte with the name's length.
pub fn run<L>(memory: fn(usize) -> L, task: fn(&mut Job<L>), report: fn(&Job<L>)) -> ! {
    let request = request();
    let [window, len, _, steps] = request.words;
    let Some((file, name)) = split(request.bytes) else { exit(2) };
    let (window, memory) = (memory::window(window as usize), memory(len as usize));
    let mut job = Job { file, name, window, memory, last: Step::All, done: None };
    figure("stack", peak(task, &mut job));
    figure("done", job.done.unwrap_or(u32::MAX));
    report(&job);
    for (last, name, bit) in STEPS {
        job.last = last;
        if steps & bit != 0 {
            count(task, &mut job, name);
        }
    }
    exit(0)
}

fn split(bytes: &'static [u8]) -> Option<(&'static [u8], &'static str)> {
    let (&name_len, bytes) = bytes.split_last()?;
    let (file, name) = bytes.split_at_checked(bytes.len().checked_sub(name_len.into())?)?;
    Some((file, core::str::from_utf8(name).ok()?))
}

#[inline(never)]
fn count<L>(task: fn(&mut Job<L>), job: &mut Job<L>, name: &str) {
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
