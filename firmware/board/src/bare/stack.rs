//! Measures the depth of a task's stack: paints the memory below, runs the task, and checks how much paint
//! is left.

use core::hint::black_box;
use core::ptr;

const PAINT: u32 = 0xa5a5_5a5a;

unsafe extern "C" {
    static __stack_low: u32;
}

/// Runs `task`, and returns the bytes of stack that it and all its calls have used.
#[inline(never)]
pub fn peak<T>(task: fn(&mut T), data: &mut T) -> u32 {
    let low = &raw const __stack_low;
    let here = pointer();
    paint(low.cast_mut(), here);
    // `black_box` prevents inlining, so that the frame is below ours.
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
    let mut at = low;
    while at.cast_const() < here {
        // SAFETY: stack below the stack pointer is unused. This function is inlined, so it has no frame
        // there either.
        unsafe { at.write_volatile(PAINT) };
        at = at.wrapping_add(1);
    }
}

#[inline(always)]
fn depth(low: *const u32, here: *const u32) -> u32 {
    let mut at = low;
    // SAFETY: reads the memory that was painted.
    while at < here && unsafe { ptr::read_volatile(at) } == PAINT {
        at = at.wrapping_add(1);
    }
    (here.addr() - at.addr()) as u32
}
