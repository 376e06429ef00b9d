//! The registers of the chip that are used, by their names in its data sheet.

use core::ptr;

/// A register of the chip.
#[derive(Clone, Copy)]
pub struct Register(usize);

/// Run mode clock gating: what has a clock.
pub const RCGC1: Register = Register(0x400f_e104);
pub const RCGC2: Register = Register(0x400f_e108);

/// Port A, on which the wires of SSI0 lie.
pub const GPIO_A_AFSEL: Register = Register(0x4000_4420);
pub const GPIO_A_DEN: Register = Register(0x4000_451c);

/// Port D. Of its data, only those bits are written that the address names: here bit 0.
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
        // SAFETY: one of the registers above, whose part has a clock. Reading one changes no memory.
        unsafe { ptr::read_volatile(self.0 as *const u32) }
    }

    #[inline(always)]
    pub fn write(self, value: u32) {
        // SAFETY: as above, and none of them has to do with memory. That two drivers share some is safe too: there is one
        // thread and no interrupt, so nothing comes between reading a register and writing it.
        unsafe { ptr::write_volatile(self.0 as *mut u32, value) };
    }

    pub fn set(self, bits: u32) {
        self.write(self.read() | bits);
    }
}
