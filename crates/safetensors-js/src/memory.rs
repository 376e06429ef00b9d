//! The memory after the program. It grows by need and never shrinks: each file has an instance of its own,
//! which JavaScript drops with the file.

use core::arch::wasm32::{memory_grow, memory_size};
use core::slice::from_raw_parts_mut;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const PAGE: usize = 1 << 16;

/// Where unused memory begins; 0 before the first call.
static TOP: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    /// Where the program, its data and its stack end, as the linker says.
    static __heap_base: u8;
}

/// Returns the address of new memory, at the first multiple of 8 after the last one; 0 if there is no more.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(bytes: usize) -> usize {
    let start = match TOP.load(Relaxed) {
        0 => (&raw const __heap_base as usize).next_multiple_of(8),
        top => top,
    };
    let Some(end) = start.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(8)) else {
        return 0;
    };
    let missing = end.saturating_sub(memory_size(0).saturating_mul(PAGE));
    if missing > 0 && memory_grow(0, missing.div_ceil(PAGE)) == usize::MAX {
        return 0;
    }
    TOP.store(end, Relaxed);
    start
}

/// Takes back the memory from this address on: nothing may use it any more.
pub fn release(start: usize) {
    TOP.store(start, Relaxed);
}

/// Returns new memory for this many values; none if there is no more.
pub fn take<T: Copy>(count: usize, value: T) -> &'static mut [T] {
    const { assert!(align_of::<T>() <= 8) };
    let start = count.checked_mul(size_of::<T>()).map_or(0, |bytes| reserve(bytes));
    if start == 0 {
        return &mut [];
    }
    for index in 0..count {
        // SAFETY: it is inside the memory, aligned, and no other call returns it before `release`.
        unsafe { (start as *mut T).add(index).write(value) };
    }
    lent(start, count)
}

/// Returns values in memory that was reserved: numbers, of which JavaScript may write any.
pub fn lent<T: Copy>(address: usize, count: usize) -> &'static mut [T] {
    if count == 0 {
        return &mut [];
    }
    // SAFETY: `take` has written the values. index.js passes only what it got from `reserve`, as bytes or as
    // numbers of the right size, and uses that memory neither during a call nor for two arguments.
    unsafe { from_raw_parts_mut(address as *mut T, count) }
}
