//! Runs a job, and prints what it took: `name=value` on lines of their own, for the front door to read.

use crate::job::{Job, Step};
use board::{Clock, MEMORY, exit, peak, print, print_number, request};
use core::hint::black_box;

/// Where programs that have a heap have it: behind files of up to 12 MiB, and no program that has one is given a longer file.
const HEAP: usize = MEMORY + 0x00c0_0000;

/// What each step's instructions are called.
const STEPS: [(Step, &str); 3] = [(Step::Open, "open"), (Step::Find, "find"), (Step::Read, "read")];

/// Runs the job: once for its stack, of which `report` says what else is known; then, if the request says so, once up to each
/// step for its instructions.
pub fn run(task: fn(&mut Job), report: fn()) -> ! {
    let asked = request();
    let [.., count_steps] = asked.words;
    let Some(mut job) = Job::new(asked) else { exit(2) };
    figure("stack", peak(task, &mut job));
    figure("found", job.found.unwrap_or(u32::MAX));
    report();
    if count_steps != 0 {
        for (last, name) in STEPS {
            job.last = last;
            count(task, &mut job, name);
        }
    }
    exit(job.found.is_none().into())
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

/// The memory for a heap: where it is, and how many bytes the request gives it.
pub fn heap() -> (*mut u8, usize) {
    let [_, len, ..] = request().words;
    (HEAP as *mut u8, len as usize)
}

/// Prints a figure.
pub fn figure(name: &str, value: u32) {
    print(name);
    print("=");
    print_number(value);
    print("\n");
}
