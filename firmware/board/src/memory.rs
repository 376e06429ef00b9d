//! How much memory the program has needed, all of it: static memory and the stack.
//!
//! From the first instruction after a reset on, all memory between the two is painted. What is not painted any more at the
//! end was needed.

use core::ptr;

/// As cortex-m-rt paints.
const PAINT: u32 = 0xcccc_cccc;

unsafe extern "C" {
    static __sdata: u32;
    static __sheap: u32;
    static _stack_start: u32;
}

// What cortex-m-rt does for its feature `paint-stack`. Called before anything lies on the stack.
#[cfg(target_arch = "riscv32")]
core::arch::global_asm!(
    ".global __pre_init",
    "__pre_init: la t0, __sheap",
    "li t1, {paint}",
    "1: bgeu t0, sp, 2f",
    "sw t1, 0(t0)",
    "addi t0, t0, 4",
    "j 1b",
    "2: ret",
    paint = const PAINT,
);

/// Memory that has been needed, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ram {
    /// What the linker gave an address: with a value at start, without one, and what it left between them.
    pub statics: u32,
    /// The most that the stack has had, from the reset until now.
    pub stack: u32,
    /// Whether nothing is left. Then the stack may have gone on into memory that is not its own, and have had more.
    pub all: bool,
}

impl Ram {
    /// What has been needed until now. It takes some time: all that was never needed is looked at.
    pub fn used() -> Self {
        let (low, top) = (&raw const __sheap, &raw const _stack_start);
        let deepest = deepest(low, top);
        Self {
            statics: distance(&raw const __sdata, low),
            stack: distance(deepest, top),
            all: deepest == low,
        }
    }

    /// Static memory and the stack.
    pub fn total(self) -> u32 {
        self.statics + self.stack
    }
}

fn deepest(low: *const u32, top: *const u32) -> *const u32 {
    let mut place = low;
    // SAFETY: aligned memory of the machine.
    while place < top && unsafe { ptr::read_volatile(place) } == PAINT {
        place = place.wrapping_add(1);
    }
    place
}

fn distance(from: *const u32, to: *const u32) -> u32 {
    (to.addr() - from.addr()) as u32
}
