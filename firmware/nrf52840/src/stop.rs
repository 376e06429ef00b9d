//! The ends that the program can come to.

use core::panic::PanicInfo;
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

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    error!("panic: {}", Display2Format(info));
    stop(PANIC)
}

/// SAFETY of the attribute: the handler may run between any two instructions, and does not go back.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    error!("fault: hard fault at {=u32:#010x}", frame.pc());
    stop(FAULT)
}
