//! The registers of the chip that are used, with their names in the data sheet.

use core::ptr;

/// A register of the chip.
#[derive(Clone, Copy)]
pub struct Register(usize);

/// Run mode clock gating: enables the clocks of peripherals.
pub const RCGC1: Register = Register(0x400f_e104);
pub const RCGC2: Register = Register(0x400f_e108);

/// Port A, with the wires of SSI0.
pub const GPIO_A_AFSEL: Register = Register(0x4000_4420);
pub const GPIO_A_DEN: Register = Register(0x4000_451c);

/// Port D. A write to the data register changes only the bits selected by the address: here bit 0.
pub const GPIO_D_DATA_0: Register = Register(0x4000_7004);
pub const GPIO_D_DIR: Register = Register(0x4000_7400);
pub const GPIO_D_DEN: Register = Register(0x4000_751c);

/// The synchronous serial interface 0, an Arm PL022.
pub const SSI_CR0: Register = Register(0x4000_8000);
pub const SSI_CR1: Register = Register(0x4000_8004);
pub const SSI_DR: Register = Register(0x4000_8008);
pub const SSI_SR: Register = Register(0x4000_800c);
pub const SSI_CPSR: Register = Register(0x4000_8010);

impl Register {
    #[inline(always)]
    pub fn read(self) -> u32 {
        // SAFETY: one of the registers above, whose peripheral has a clock. Reading it changes no memory.
        unsafe { ptr::read_volatile(self.0 as *const u32) }
    }

    #[inline(always)]
    pub fn write(self, value: u32) {
        // SAFETY: as above, and none of them affects memory. Drivers may share registers: there is one
        // thread and no interrupt, so a read and the following write are not interrupted.
        unsafe { ptr::write_volatile(self.0 as *mut u32, value) };
    }

    pub fn set(self, bits: u32) {
        self.write(self.read() | bits);
    }
}
