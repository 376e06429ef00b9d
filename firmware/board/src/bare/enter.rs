//! From the reset to `main`, and what the processor refuses.

use core::arch::global_asm;

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
);

// A Cortex-M0+ reads and writes no words elsewhere. The Cortex-M3 that stands in for it is told, in its register CCR, to refuse
// them as well.
#[cfg(all(target_arch = "arm", aligned_words))]
global_asm!(
    ".section .text.enter, \"ax\"",
    "enter: ldr r0, =0xe000ed14",
    "ldr r1, [r0]",
    "movs r2, #8",
    "orrs r1, r2",
    "str r1, [r0]",
    "bl main",
    ".pool",
);

#[cfg(all(target_arch = "arm", not(aligned_words)))]
global_asm!(".section .text.enter, \"ax\"", "enter: bl main");

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
