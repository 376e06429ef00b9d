//! How deep a task's stack goes: paint what lies below, run, look how far the paint is gone.

use core::hint::black_box;
use core::ptr;

const PAINT: u32 = 0xa5a5_5a5a;

unsafe extern "C" {
    static __stack_low: u32;
}

/// Runs `task` and gives the bytes of stack that it and all it calls needed.
#[inline(never)]
pub fn peak<T>(task: fn(&mut T), data: &mut T) -> u32 {
    let low = &raw const __stack_low;
    let here = pointer();
    paint(low.cast_mut(), here);
    // Opaque, so that it is called and its frame lies below ours.
    black_box(task)(data);
    depth(low, here)
}

#[inline(always)]
fn pointer() -> *const u32 {
    let here: usize;
    // SAFETY: reads the stack pointer.
    unsafe {
        #[cfg(target_arch = "arm")]
        core::arch::asm!("mov {}, sp", out(reg) here, options(nomem, nostack));
        #[cfg(target_arch = "riscv32")]
        core::arch::asm!("mv {}, sp", out(reg) here, options(nomem, nostack));
    }
    here as *const u32
}

#[inline(always)]
fn paint(low: *mut u32, here: *const u32) {
    let mut place = low;
    while place.cast_const() < here {
        // SAFETY: stack below the pointer: nobody's. Inlined, so no frame lies there either.
        unsafe { place.write_volatile(PAINT) };
        place = place.wrapping_add(1);
    }
}

#[inline(always)]
fn depth(low: *const u32, here: *const u32) -> u32 {
    let mut place = low;
    // SAFETY: reads the memory that was painted.
    while place < here && unsafe { ptr::read_volatile(place) } == PAINT {
        place = place.wrapping_add(1);
    }
    (here.addr() - place.addr()) as u32
}
