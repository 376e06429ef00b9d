//! The two machines of QEMU that this firmware runs on: entry, memory, clock.
//!
//! The front door puts the request into the machine's memory before it starts. Its place and length are
//! read with volatile loads, so no compiler can know what will be judged.

use crate::job::Job;
use crate::stream::{NAMES, WANTED};
use crate::write::Order;
use core::arch::global_asm;
use core::ptr;
use embedded_safetensors::{Slot, Wanted};

#[cfg(target_arch = "arm")]
global_asm!(
    ".section .enter, \"a\"",
    ".word __stack_top",
    ".word enter",
    ".word fault",
    ".word fault",
    ".section .text.enter, \"ax\"",
    ".thumb_func",
    ".global enter",
    "enter: bl main",
);

#[cfg(target_arch = "riscv32")]
global_asm!(
    ".section .enter, \"ax\"",
    ".global enter",
    "enter: la sp, __stack_top",
    "la t0, trap",
    "csrw mtvec, t0",
    "call main",
    ".balign 4",
    "trap: j fault",
);

#[unsafe(no_mangle)]
extern "C" fn fault() -> ! {
    crate::print("fault\n");
    crate::exit(99)
}

#[cfg(target_arch = "arm")]
const MEMORY: usize = 0x2100_0000;
#[cfg(target_arch = "riscv32")]
const MEMORY: usize = 0x8100_0000;

const FLASH: usize = MEMORY + 0x00e0_0000;
const SLOTS: usize = MEMORY + 0x00f0_0000;
const TEXT: usize = MEMORY + 0x00f8_0000;
const NAMED: usize = MEMORY + 0x00f9_0000;
const ORDER: usize = MEMORY + 0x00fa_0000;

/// The request: four words (mode, slots, length of the bytes, length of the file), then the bytes.
pub fn request() -> (Job, &'static [u8]) {
    let [mode, slots, len, file_len] = [0, 1, 2, 3].map(word);
    let bytes = (MEMORY + 16) as *const u8;
    // SAFETY: the front door loaded `len` bytes there, and nothing ever writes to them.
    let bytes = unsafe { core::slice::from_raw_parts(bytes, len as usize) };
    (Job { mode, slots: slots as usize, file_len: u64::from(file_len) }, bytes)
}

fn word(index: usize) -> u32 {
    // SAFETY: the request begins with four aligned words in the machine's memory.
    unsafe { ptr::read_volatile((MEMORY as *const u32).wrapping_add(index)) }
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

/// Counts from its start. One tick is what the front door knows to convert into instructions.
pub struct Clock(u32);

#[cfg(target_arch = "arm")]
impl Clock {
    const CONTROL: *mut u32 = 0x4000_0000 as *mut u32;
    const VALUE: *mut u32 = 0x4000_0004 as *mut u32;
    const RELOAD: *mut u32 = 0x4000_0008 as *mut u32;

    /// Starts the board's timer 0, which counts down at 25 MHz.
    pub fn start() -> Self {
        // SAFETY: the timer's registers; nothing else uses them.
        unsafe {
            Self::RELOAD.write_volatile(u32::MAX);
            Self::VALUE.write_volatile(u32::MAX);
            Self::CONTROL.write_volatile(1);
            Self(Self::VALUE.read_volatile())
        }
    }

    /// Ticks since the start.
    pub fn ticks(&self) -> u32 {
        // SAFETY: as above.
        self.0.wrapping_sub(unsafe { Self::VALUE.read_volatile() })
    }
}

#[cfg(target_arch = "riscv32")]
impl Clock {
    /// Reads the cycle counter.
    pub fn start() -> Self {
        Self(Self::cycles())
    }

    /// Ticks since the start.
    pub fn ticks(&self) -> u32 {
        Self::cycles().wrapping_sub(self.0)
    }

    fn cycles() -> u32 {
        let cycles;
        // SAFETY: reads a counter.
        unsafe { core::arch::asm!("csrr {}, mcycle", out(reg) cycles, options(nomem, nostack)) };
        cycles
    }
}
