//! All of the library that firmware can call, with values unknown to the compiler, to show that none of it
//! can panic. Only the formatting of sentences is left out, because the standard library's code for it can
//! panic.
#![no_std]
#![no_main]

mod headers;
mod models;
mod numbers;
mod quantised;
mod recording;
mod slices;
mod storage;
mod streams;
mod structures;
mod values;
mod views;
mod writing;

use embedded_safetensors::io::{NorFile, Seekable};
use embedded_safetensors::validate::SortSlot;
use measure::Card;
use storage::File;

/// Numbers unknown to the compiler.
struct Job {
    mode: u32,
    slots: usize,
    file_len: u64,
}

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let request = measure::request();
    let ([mode, slots, _, file_len], file) = (request.words, request.bytes);
    let job = Job { mode, slots: slots as usize, file_len: file_len.into() };
    let (slots, text) = (memory_of_slots(job.slots), text());
    let mut sum = headers::all(&job, file, slots, text);
    sum ^= models::all(file, slots, text);
    sum ^= models::all(Card::new(file), slots, text);
    sum ^= models::all(Seekable::new(File::new(file)), slots, text);
    sum ^= models::all(storage::partition(&job), slots, text);
    sum ^= models::all(NorFile::new(storage::chip()).with_file_len(job.file_len), slots, text);
    sum ^= models::read_as_bytes(Seekable::new(File::new(file)), slots, text);
    sum ^= values::of_every_type(file, slots, text);
    sum ^= values::of_every_type(Card::new(file), slots, text);
    sum ^= quantised::of_every_layout(file, slots, text);
    sum ^= quantised::of_every_layout(Card::new(file), slots, text);
    sum ^= streams::all(file, text);
    sum ^= slices::all(Seekable::new(File::new(file)), slots, text) ^ slices::in_view(file);
    sum ^= views::all(file, slots, text);
    sum ^= writing::all(&job, file);
    sum ^= structures::all(file, text);
    measure::exit(sum as u32 ^ trap(file, job.slots))
}

/// Returns memory of the device for this number of slots.
fn memory_of_slots(count: usize) -> &'static mut [SortSlot] {
    let first = (measure::MEMORY + 0xf0_0000) as *mut SortSlot;
    for index in 0..count {
        // SAFETY: aligned memory of the device that nothing else uses.
        unsafe { first.wrapping_add(index).write(SortSlot::EMPTY) }
    }
    // SAFETY: initialised above, and used once.
    unsafe { core::slice::from_raw_parts_mut(first, count) }
}

/// Returns memory of the device for names.
fn text() -> &'static mut [u8] {
    // SAFETY: memory that nothing else uses, zero at the start; used once.
    unsafe { core::slice::from_raw_parts_mut((measure::MEMORY + 0xf8_0000) as *mut u8, 512) }
}

#[cfg(not(feature = "with-panic"))]
fn trap(_: &[u8], _: usize) -> u32 {
    0
}

/// An unchecked index: this program must not link.
#[cfg(feature = "with-panic")]
fn trap(file: &[u8], index: usize) -> u32 {
    file[index].into()
}
