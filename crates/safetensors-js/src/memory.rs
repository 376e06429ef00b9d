//! The memory after the program. It grows by need, and nothing is returned: each file has an instance of its
//! own, which JavaScript drops with the file.

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

/// Returns the address of new memory, which is directly after the last one if that ends at a multiple of 8.
pub fn reserve(bytes: usize) -> Option<usize> {
    let top = match TOP.load(Relaxed) {
        0 => &raw const __heap_base as usize,
        top => top,
    };
    let start = top.checked_next_multiple_of(8)?;
    let end = start.checked_add(bytes)?;
    let missing = end.saturating_sub(memory_size(0).saturating_mul(PAGE));
    if missing > 0 && memory_grow(0, missing.div_ceil(PAGE)) == usize::MAX {
        return None;
    }
    TOP.store(end, Relaxed);
    Some(start)
}

/// Returns new memory for this many values; none if there is no more.
pub fn take<T: Copy>(count: usize, value: T) -> &'static mut [T] {
    const { assert!(align_of::<T>() <= 8) };
    let Some(start) = count.checked_mul(size_of::<T>()).and_then(reserve) else { return &mut [] };
    for index in 0..count {
        // SAFETY: it is inside the memory, aligned, and no other call returns it.
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
