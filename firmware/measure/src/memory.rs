//! Memory outside the stack for programs. The request with its file is before it: at most 12 MiB if the
//! program has a heap, otherwise 14.

use crate::network::{NAMES, TENSORS};
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
/// Up to the end of the device's memory.
const MOST_WINDOW: usize = 0x1_0000;

/// Returns the window for reads.
pub(crate) fn window(len: usize) -> &'static mut [u8] {
    slice_at(WINDOW, len.min(MOST_WINDOW))
}

/// Returns memory for names.
pub fn text() -> &'static mut [u8] {
    slice_at(TEXT, TEXT_LEN)
}

/// Returns memory that emulates flash.
pub fn flash() -> &'static mut [u8] {
    slice_at(FLASH, FLASH_LEN)
}

/// Returns the start of the memory for a heap.
pub fn heap() -> *mut u8 {
    HEAP as *mut u8
}

fn slice_at(address: usize, len: usize) -> &'static mut [u8] {
    // SAFETY: memory of the device that nothing else uses, zero at the start; each program uses it once.
    unsafe { core::slice::from_raw_parts_mut(address as *mut u8, len) }
}

/// Returns memory for this number of slots.
pub fn slots(count: usize) -> &'static mut [SortSlot] {
    let first = SLOTS as *mut SortSlot;
    for index in 0..count {
        // SAFETY: aligned memory of the device that nothing else uses.
        unsafe { first.wrapping_add(index).write(SortSlot::EMPTY) }
    }
    // SAFETY: initialised above; each program uses it once.
    unsafe { core::slice::from_raw_parts_mut(first, count) }
}

/// Returns memory for the queries of a search.
pub fn queries() -> &'static mut [Query<'static>; TENSORS] {
    let queries = NAMED as *mut [Query<'static>; TENSORS];
    // SAFETY: aligned memory of the device that nothing else uses; used once.
    unsafe {
        queries.write(NAMES.map(Query::optional));
        &mut *queries
    }
}

/// Returns memory for sorting.
pub fn order() -> &'static mut Order {
    // SAFETY: aligned memory of the device that nothing else uses, zero at the start; used once.
    unsafe { &mut *(ORDER as *mut Order) }
}
