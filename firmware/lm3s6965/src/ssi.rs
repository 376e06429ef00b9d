//! The card's bus: SSI0 of the chip, an Arm PL022.

use crate::registers::{
    GPIO_A_AFSEL, GPIO_A_DEN, GPIO_D_DATA_0, GPIO_D_DEN, GPIO_D_DIR, RCGC1, RCGC2, Register, SSI_CPSR,
    SSI_CR0, SSI_CR1, SSI_DR, SSI_SR,
};
use core::convert::Infallible;
use core::iter;
use embedded_hal::digital::{self, OutputPin};
use embedded_hal::spi::{self, SpiBus};

/// The byte that is sent when there is nothing to send.
const IDLE: u8 = 0xff;

/// The length of its queues in bytes: so many are sent before the first received byte is read.
const QUEUE: usize = 8;

/// Enables the clock of a peripheral; its registers can be used three cycles later.
fn give_clock(gate: Register, part: u32) {
    gate.set(part);
    cortex_m::asm::delay(3);
}

/// SSI0 in SPI mode 0, 8 bits at a time.
pub struct Ssi(());

impl Ssi {
    /// The clock divisor while a card starts: 300 kHz, of at most 400 kHz allowed.
    pub const SLOW: u8 = 40;

    /// The smallest divisor: 6 MHz.
    pub const FAST: u8 = 2;

    /// Starts the interface slowly. Call it once: there is one such interface.
    pub fn new() -> Self {
        const CLOCK_IN_OUT: u32 = 1 << 2 | 1 << 4 | 1 << 5;
        give_clock(RCGC1, 1 << 4);
        give_clock(RCGC2, 1 << 0);
        GPIO_A_AFSEL.set(CLOCK_IN_OUT);
        GPIO_A_DEN.set(CLOCK_IN_OUT);
        let mut ssi = Self(());
        ssi.set_divisor(Self::SLOW);
        ssi
    }

    /// Sets the divisor of the chip's clock, an even number. The clock starts from an internal oscillator:
    /// 12 MHz ± 30 %.
    pub fn set_divisor(&mut self, divisor: u8) {
        const EIGHT_BITS: u32 = 7;
        const ENABLED: u32 = 1 << 1;
        SSI_CR1.write(0);
        SSI_CPSR.write(divisor.into());
        SSI_CR0.write(EIGHT_BITS);
        SSI_CR1.write(ENABLED);
    }

    /// Waits until all bytes that were sent have arrived.
    #[inline(always)]
    fn wait(&self) {
        const BUSY: u32 = 1 << 4;
        while SSI_SR.read() & BUSY != 0 {}
    }
}

impl spi::ErrorType for Ssi {
    type Error = Infallible;
}

impl SpiBus for Ssi {
    fn read(&mut self, words: &mut [u8]) -> Result<(), Infallible> {
        words.fill(IDLE);
        self.transfer_in_place(words)
    }

    fn write(&mut self, words: &[u8]) -> Result<(), Infallible> {
        for words in words.chunks(QUEUE) {
            words.iter().for_each(|&word| SSI_DR.write(word.into()));
            self.wait();
            words.iter().for_each(|_| _ = SSI_DR.read());
        }
        Ok(())
    }

    fn transfer(&mut self, read: &mut [u8], write: &[u8]) -> Result<(), Infallible> {
        let out = write.iter().copied().chain(iter::repeat(IDLE));
        read.iter_mut().zip(out).for_each(|(word, out)| *word = out);
        self.transfer_in_place(read)?;
        self.write(write.get(read.len()..).unwrap_or_default())
    }

    fn transfer_in_place(&mut self, words: &mut [u8]) -> Result<(), Infallible> {
        for words in words.chunks_mut(QUEUE) {
            words.iter().for_each(|&byte| SSI_DR.write(byte.into()));
            self.wait();
            words.iter_mut().for_each(|byte| *byte = SSI_DR.read() as u8);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        self.wait();
        Ok(())
    }
}

/// Port D0, which selects the card while it is low.
pub struct ChipSelect(());

impl ChipSelect {
    /// Creates the pin, deselected.
    pub fn new() -> Self {
        give_clock(RCGC2, 1 << 3);
        GPIO_D_DATA_0.write(1);
        GPIO_D_DIR.set(1);
        GPIO_D_DEN.set(1);
        GPIO_D_DATA_0.write(1);
        Self(())
    }
}

impl digital::ErrorType for ChipSelect {
    type Error = Infallible;
}

impl OutputPin for ChipSelect {
    fn set_low(&mut self) -> Result<(), Infallible> {
        GPIO_D_DATA_0.write(0);
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        GPIO_D_DATA_0.write(1);
        Ok(())
    }
}
