//! Memory outside the stack that programs borrow. The request, with its file, lies in front of it: 12 MiB at most where a program has a heap, else 14.

use crate::network::{NAMES, WANTED};
use crate::write::Order;
use board::MEMORY;
use embedded_safetensors::{query::Query, validate::SortSlot};

const HEAP: usize = MEMORY + 0x00c0_0000;
const FLASH: usize = MEMORY + 0x00e0_0000;
const SLOTS: usize = MEMORY + 0x00f0_0000;
const TEXT: usize = MEMORY + 0x00f8_0000;
const NAMED: usize = MEMORY + 0x00f9_0000;
const ORDER: usize = MEMORY + 0x00fa_0000;
const WINDOW: usize = MEMORY + 0x00ff_0000;

const FLASH_LEN: usize = 0x1_0000;
const TEXT_LEN: usize = 512;
/// Up to the end of the machine's memory.
const MOST_WINDOW: usize = 0x1_0000;

/// Memory to read through.
pub(crate) fn window(len: usize) -> &'static mut [u8] {
    lend(WINDOW, len.min(MOST_WINDOW))
}

/// Memory for names.
pub fn text() -> &'static mut [u8] {
    lend(TEXT, TEXT_LEN)
}

/// Memory that emulates flash.
pub fn flash() -> &'static mut [u8] {
    lend(FLASH, FLASH_LEN)
}

/// Where there is memory for a heap.
pub fn heap() -> *mut u8 {
    HEAP as *mut u8
}

fn lend(place: usize, len: usize) -> &'static mut [u8] {
    // SAFETY: memory of the machine that nothing else uses, zero from the start; a program asks once for each.
    unsafe { core::slice::from_raw_parts_mut(place as *mut u8, len) }
}

/// Memory for so many slots.
pub fn slots(count: usize) -> &'static mut [SortSlot] {
    let first = SLOTS as *mut SortSlot;
    for index in 0..count {
        // SAFETY: aligned memory of the machine that nothing else uses.
        unsafe { first.wrapping_add(index).write(SortSlot::EMPTY) }
    }
    // SAFETY: just written; each program asks for it once.
    unsafe { core::slice::from_raw_parts_mut(first, count) }
}

/// Memory for what a search finds.
pub fn wanted() -> &'static mut [Query<'static>; WANTED] {
    let place = NAMED as *mut [Query<'static>; WANTED];
    // SAFETY: aligned memory of the machine that nothing else uses; asked for once.
    unsafe {
        place.write(NAMES.map(Query::optional));
        &mut *place
    }
}

/// Memory to sort in.
pub fn order() -> &'static mut Order {
    // SAFETY: aligned memory of the machine that nothing else uses, zero from the start; asked for once.
    unsafe { &mut *(ORDER as *mut Order) }
}
