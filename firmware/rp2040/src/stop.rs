//! The ways in which the program ends: breakpoints, whose numbers are the exit codes.

use crate::console::Console;
use board::Panic;
use core::arch::asm;
use core::fmt::Write;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};
use cortex_m_rt::{ExceptionFrame, exception};

/// The exit code for a mistake of the program.
pub const MISTAKE: u8 = 5;
const FAULT: u8 = 99;
const PANIC: u8 = 101;

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Ends the program.
pub fn stop(code: u8) -> ! {
    STOPPED.store(true, Ordering::Relaxed);
    match code {
        0 => breakpoint::<0>(),
        1 => breakpoint::<1>(),
        2 => breakpoint::<2>(),
        3 => breakpoint::<3>(),
        4 => breakpoint::<4>(),
        FAULT => breakpoint::<FAULT>(),
        PANIC => breakpoint::<PANIC>(),
        _ => breakpoint::<MISTAKE>(),
    }
    sleep()
}

fn breakpoint<const CODE: u8>() {
    // SAFETY: halts in a debugger or an emulator. Without one it is a CPU fault, whose handler sleeps.
    unsafe { asm!("bkpt #{}", const CODE) }
}

fn sleep() -> ! {
    loop {
        cortex_m::asm::wfi();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let _ = writeln!(Console, "{}", Panic(info));
    stop(PANIC)
}

/// SAFETY of the attribute: the handler may run between any two instructions, and does not return.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    if STOPPED.load(Ordering::Relaxed) {
        sleep()
    }
    let _ = writeln!(Console, "fault: hard fault at {:#010x}", frame.pc());
    stop(FAULT)
}
