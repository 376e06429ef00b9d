//! As `job`, in C: `c/job.c` calls the C API, which is linked as programs in C link it.
#![no_std]
#![no_main]

use core::ffi::{c_char, c_void};
use embedded_safetensors::ReadAt;
use measure::{Card, Job, Step};

/// What the program in C gets; declared there, too.
#[repr(C)]
struct Task {
    card: *mut c_void,
    file_len: usize,
    name: *const c_char,
    window: *mut u8,
    window_len: usize,
    last: Step,
}

unsafe extern "C" {
    /// Returns the number of bytes read, or `u32::MAX` after an error.
    fn task(task: *const Task) -> u32;
}

measure::program!(|job| job.done = call(job));

fn call(job: &mut Job) -> Option<u32> {
    let mut card = Card::new(job.file);
    let given = Task {
        card: (&raw mut card).cast(),
        file_len: job.file.len(),
        name: job.name.as_ptr().cast(),
        window: job.window.as_mut_ptr(),
        window_len: job.window.len(),
        last: job.last,
    };
    // SAFETY: all of it exists until the call returns, and a 0 follows the name.
    let done = unsafe { task(&raw const given) };
    (done != u32::MAX).then_some(done)
}

/// The driver of the card, which is that of the program in Rust.
///
/// # Safety
/// `card` is the one of the task, and `buffer` has `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn read_card(card: *mut c_void, offset: u64, buffer: *mut u8, len: usize) -> i32 {
    // SAFETY: promised by the caller.
    let (card, buffer) = unsafe { (&mut *card.cast::<Card>(), core::slice::from_raw_parts_mut(buffer, len)) };
    card.read_at(offset, buffer).map_or(-1, |len| len as i32)
}
