//! The frame that all programs have: it runs a job, and prints what that took, `name=value` on lines of their own, for
//! `cargo xtask` to read.

use crate::memory;
use board::{Clock, exit, peak, print, print_number, request};
use core::hint::black_box;

/// The entry of a program: what it is lent, what it does, and what it reports besides.
#[macro_export]
macro_rules! program {
    ($lend:expr, $task:expr) => {
        $crate::program!($lend, $task, |_| {});
    };
    ($lend:expr, $task:expr, $report:expr) => {
        #[unsafe(no_mangle)]
        extern "C" fn main() -> ! {
            $crate::run($lend, $task, $report)
        }
    };
}

/// How far a job goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The model is opened: its header is proven.
    Open,
    /// A tensor is found, too.
    Find,
    /// All is done.
    All,
}

/// What instructions up to each step are called, and the bit that asks for them.
const STEPS: [(Step, &str, u32); 3] =
    [(Step::Open, "open", 1), (Step::Find, "find", 2), (Step::All, "all", 4)];

/// A model, and a tensor of it to find and to read.
pub struct Job<L> {
    /// The file.
    pub file: &'static [u8],
    /// The tensor's name.
    pub name: &'static str,
    /// Memory to read through.
    pub window: &'static mut [u8],
    /// What else the program has outside the stack.
    pub lent: L,
    /// How far to go.
    pub last: Step,
    /// What was done: tensors, bytes or values that came; nothing after an error.
    pub done: Option<u32>,
}

/// Runs the job once for its stack, after which `report` says what else is known; then once for each requested step, to count
/// instructions.
///
/// The words of the request are the lengths of the window, of what else is lent, and of the bytes; and the steps. The bytes are the
/// file, the name, and a byte that says how long that is.
pub fn run<L>(lend: fn(usize) -> L, task: fn(&mut Job<L>), report: fn(&Job<L>)) -> ! {
    let asked = request();
    let [window, lent, _, steps] = asked.words;
    let Some((file, name)) = split(asked.bytes) else { exit(2) };
    let (window, lent) = (memory::window(window as usize), lend(lent as usize));
    let mut job = Job { file, name, window, lent, last: Step::All, done: None };
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
