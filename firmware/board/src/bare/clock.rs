//! Counts executed instructions with a timer of the emulated device.

/// Counts ticks from its start. `cargo xtask` converts ticks to instructions.
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

    /// Returns the ticks since the start.
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

    /// Returns the ticks since the start.
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
