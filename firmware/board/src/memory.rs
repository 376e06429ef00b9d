//! Measures all memory that the program has used: static memory and the stack.
//!
//! From the first instruction after reset, all memory between the two is painted. Memory that is no longer
//! painted at the end was used.

use core::ptr;

/// The paint of cortex-m-rt.
const PAINT: u32 = 0xcccc_cccc;

unsafe extern "C" {
    static __sdata: u32;
    static __sheap: u32;
    static _stack_start: u32;
}

// Does what cortex-m-rt does for its feature `paint-stack`. Called while the stack is empty.
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

/// The memory used, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ram {
    /// Static memory: initialised, uninitialised, and the padding between them.
    pub statics: u32,
    /// The deepest stack since reset.
    pub stack: u32,
    /// Whether no paint is left. Then the stack may have grown beyond its memory.
    pub all: bool,
}

impl Ram {
    /// Returns the memory used until now. This takes some time, because all unused memory is read.
    pub fn used() -> Self {
        let (low, top) = (&raw const __sheap, &raw const _stack_start);
        let deepest = deepest(low, top);
        Self {
            statics: distance(&raw const __sdata, low),
            stack: distance(deepest, top),
            all: deepest == low,
        }
    }

    /// Returns the sum of static memory and the stack.
    pub fn total(self) -> u32 {
        self.statics + self.stack
    }
}

fn deepest(low: *const u32, top: *const u32) -> *const u32 {
    let mut at = low;
    // SAFETY: reads aligned memory of the device.
    while at < top && unsafe { ptr::read_volatile(at) } == PAINT {
        at = at.wrapping_add(1);
    }
    at
}

fn distance(from: *const u32, to: *const u32) -> u32 {
    (to.addr() - from.addr()) as u32
}
