//! The regression as a file on the card.

use crate::file::with_model;
use app::{Counter, Text};
use core::fmt::Write;
use cortex_m::peripheral::{Peripherals, SYST, syst::SystClkSource};
use embedded_sdmmc::{BlockDevice, SdCardError};

/// Predicts with the regression on this card, and counts the instructions.
///
/// # Errors
/// Returns the exit code of the error, which is reported.
pub fn predict(card: impl BlockDevice<Error = SdCardError>, sink: &mut Text<impl Write>) -> Result<(), u8> {
    with_model(card, sink, |_, file, sink| app::predict(file, sink, &mut Instructions::new()))
}

/// The processor's timer, which counts down. The counts are those of an emulator whose clock is its
/// instructions, as `counts` in the manifest asks for: each takes 1024 ns. On a real board they mean nothing.
struct Instructions {
    start: u32,
    /// The ticks between a start and a stop with nothing between them.
    nothing: u32,
}

impl Instructions {
    const NANOSECONDS: u32 = 1024;
    /// A tick at the clock that the chip has after a reset.
    const TICK: u32 = 80;
    const LAST: u32 = 0xff_ffff;

    fn new() -> Self {
        if let Some(Peripherals { SYST: mut timer, .. }) = Peripherals::take() {
            timer.set_clock_source(SystClkSource::Core);
            timer.set_reload(Self::LAST);
            timer.clear_current();
            timer.enable_counter();
        }
        let mut counter = Self { start: 0, nothing: 0 };
        counter.start();
        counter.nothing = counter.ticks();
        counter
    }

    fn ticks(&self) -> u32 {
        self.start.wrapping_sub(SYST::get_current()) & Self::LAST
    }
}

impl Counter for Instructions {
    #[inline(always)]
    fn start(&mut self) {
        self.start = SYST::get_current();
    }

    #[inline(always)]
    fn stop(&mut self) -> Option<u32> {
        let ticks = self.ticks().saturating_sub(self.nothing);
        Some((ticks * Self::TICK + Self::NANOSECONDS / 2) / Self::NANOSECONDS)
    }
}
