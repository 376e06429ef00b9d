//! The ends that the program can come to.

use board::Panic;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU8, Ordering};
use cortex_m::peripheral::DCB;
use cortex_m_rt::{ExceptionFrame, exception};
use defmt::{Display2Format, error};

const FAULT: u8 = 99;
const PANIC: u8 = 101;

/// Ends the program: with an exit code, if there is a debugger to take it.
pub fn stop(code: u8) -> ! {
    if DCB::is_debugger_attached() {
        board::exit(code.into());
    }
    loop {
        cortex_m::asm::wfi();
    }
}

/// What the program dies of first.
static DEATH: AtomicU8 = AtomicU8::new(0);

/// Ends the program with a last message. Where it dies in the middle of a message the log panics, and nothing is logged any
/// more: the code of the first death tells.
fn die(code: u8, log: impl FnOnce()) -> ! {
    match DEATH.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => log(),
        Err(first) => stop(first),
    }
    stop(code)
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    die(PANIC, || error!("{}", Display2Format(&Panic(info))))
}

/// SAFETY of the attribute: the handler may run between any two instructions, and does not go back.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    die(FAULT, || error!("fault: hard fault at {=u32:#010x}", frame.pc()))
}
