//! Memory of the machine that programs are lent, outside the stack; and what they are asked for.

use crate::job::Job;
use crate::stream::{NAMES, WANTED};
use crate::write::Order;
use board::MEMORY;
use embedded_safetensors::{Slot, Wanted};

const FLASH: usize = MEMORY + 0x00e0_0000;
const SLOTS: usize = MEMORY + 0x00f0_0000;
const TEXT: usize = MEMORY + 0x00f8_0000;
const NAMED: usize = MEMORY + 0x00f9_0000;
const ORDER: usize = MEMORY + 0x00fa_0000;

/// What is asked for: the request's words are mode, slots, length of the bytes, length of the file.
pub fn request() -> (Job, &'static [u8]) {
    let board::Request { words: [mode, slots, _, file_len], bytes } = board::request();
    (Job { mode, slots: slots as usize, file_len: u64::from(file_len) }, bytes)
}

/// Memory for `count` slots, outside the stack.
pub fn slots(count: usize) -> &'static mut [Slot] {
    let first = SLOTS as *mut Slot;
    for index in 0..count {
        // SAFETY: aligned memory of the machine that nothing else uses.
        unsafe { first.wrapping_add(index).write(Slot::EMPTY) }
    }
    // SAFETY: just written; each program asks for it once.
    unsafe { core::slice::from_raw_parts_mut(first, count) }
}

/// Memory for names, outside the stack.
pub fn text() -> &'static mut [u8] {
    // SAFETY: memory of the machine that nothing else uses, zero from the start; asked for once.
    unsafe { core::slice::from_raw_parts_mut(TEXT as *mut u8, 512) }
}

/// Memory for what a search finds, outside the stack.
pub fn wanted() -> &'static mut [Wanted<'static>; WANTED] {
    let place = NAMED as *mut [Wanted<'static>; WANTED];
    // SAFETY: aligned memory of the machine that nothing else uses; asked for once.
    unsafe {
        place.write(NAMES.map(Wanted::optional));
        &mut *place
    }
}

/// Memory that stands for flash, outside the stack.
pub fn flash() -> &'static mut [u8] {
    // SAFETY: memory of the machine that nothing else uses, zero from the start; asked for once.
    unsafe { core::slice::from_raw_parts_mut(FLASH as *mut u8, 1 << 16) }
}

/// Memory to sort in, outside the stack.
pub fn order() -> &'static mut Order {
    // SAFETY: aligned memory of the machine that nothing else uses, zero from the start; asked for once.
    unsafe { &mut *(ORDER as *mut Order) }
}
