//! The ways in which the program ends.

use board::Panic;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU8, Ordering};
use cortex_m::peripheral::DCB;
use cortex_m_rt::{ExceptionFrame, exception};
use defmt::{Display2Format, error};

const FAULT: u8 = 99;
const PANIC: u8 = 101;

/// Ends the program, with an exit code if a debugger is attached.
pub fn stop(code: u8) -> ! {
    if DCB::is_debugger_attached() {
        board::exit(code.into());
    }
    loop {
        cortex_m::asm::wfi();
    }
}

/// The code of the first failure.
static DEATH: AtomicU8 = AtomicU8::new(0);

/// Ends the program with a last message. If it fails inside a message, the log itself panics and no more is
/// logged; then the code of the first failure is used.
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

/// SAFETY of the attribute: the handler may run between any two instructions, and does not return.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    die(FAULT, || error!("fault: hard fault at {=u32:#010x}", frame.pc()))
}
