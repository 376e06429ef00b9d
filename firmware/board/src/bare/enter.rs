//! The entry from reset to `main`, and the handler of CPU faults.

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
