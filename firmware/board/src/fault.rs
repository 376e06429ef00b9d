//! CPU faults: prints a line, and exits.

use crate::{Console, exit};
use core::fmt::Write;

const EXIT_CODE: u32 = 99;

fn report(name: &str, address: usize) -> ! {
    // The console never fails.
    let _ = writeln!(Console, "fault: {name} at {address:#010x}");
    exit(EXIT_CODE)
}

/// Jumps to an address without code, as through a wrong function pointer, to test that faults are reported.
pub fn run_into_a_fault() -> ! {
    // SAFETY: the jump causes a CPU fault, and its handler does not return.
    let code: extern "C" fn() -> ! = unsafe { core::mem::transmute(NOWHERE as *const ()) };
    code()
}

#[cfg(target_arch = "arm")]
use cortex_m::NOWHERE;
#[cfg(target_arch = "riscv32")]
use riscv::NOWHERE;

#[cfg(target_arch = "arm")]
mod cortex_m {
    use cortex_m_rt::{ExceptionFrame, exception};

    /// An address that never has code, with the bit set that stands for Thumb code.
    pub const NOWHERE: usize = 0xe000_0001;

    #[exception]
    unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
        super::report("hard fault", frame.pc() as usize)
    }
}

#[cfg(target_arch = "riscv32")]
mod riscv {
    use ::riscv::register::{mcause, mepc};
    use riscv_rt::TrapFrame;

    /// An address without memory on QEMU's device.
    pub const NOWHERE: usize = 0xe000_0000;

    #[unsafe(export_name = "ExceptionHandler")]
    fn on_exception(_: &TrapFrame) -> ! {
        super::report(name(mcause::read().code()), mepc::read())
    }

    fn name(cause: usize) -> &'static str {
        match cause {
            0 => "misaligned code",
            1 => "no code",
            2 => "illegal instruction",
            4 | 6 => "misaligned memory",
            5 | 7 => "no memory",
            _ => "exception",
        }
    }
}
