//! The card in the board's slot.

use crate::ssi::{ChipSelect, Ssi};
use core::convert::Infallible;
use core::fmt::{self, Display};
use embedded_hal::delay::DelayNs;
use embedded_hal::spi::{self, Operation, SpiBus, SpiDevice};
use embedded_hal_bus::spi::{DeviceError, ExclusiveDevice, NoDelay};
use embedded_sdmmc::{Error, SdCard, SdCardError, TimeSource, Timestamp};

/// The card's driver.
pub type Card = SdCard<Slot, Pause>;

/// Starts the card in the slot, if one answers. Call it once: there is one slot.
pub fn card() -> Card {
    let (mut bus, select) = (Ssi::new(), ChipSelect::new());
    // A card needs at least 74 clocks without a selected device to start.
    let Ok(()) = bus.write(&[0xff; 10]);
    let Ok(device) = ExclusiveDevice::new_no_delay(bus, select);
    let card = SdCard::new(Slot { device, answers_58: false }, Pause);
    if card.get_card_type().is_some() {
        card.spi(|slot| slot.device.bus_mut().set_divisor(Ssi::FAST));
    }
    card
}

/// The SPI device that the driver uses.
///
/// QEMU's card answers command 58 with its idle bit set although it is not idle, which the driver takes for
/// a failure. The bit is cleared here in that answer only; a card that follows the standard does not set
/// it.
pub struct Slot {
    device: ExclusiveDevice<Ssi, ChipSelect, NoDelay>,
    /// Whether the next answer is the one to command 58.
    answers_58: bool,
}

const COMMAND_58: u8 = 0x40 | 58;

/// The bit in an answer's first byte that means: no answer yet.
const NO_ANSWER: u8 = 1 << 7;

/// The bit in an answer's first byte that means: the card is idle.
const CARD_IDLE: u8 = 1 << 0;

impl spi::ErrorType for Slot {
    type Error = DeviceError<Infallible, Infallible>;
}

impl SpiDevice for Slot {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Self::Error> {
        self.device.transaction(operations)?;
        for operation in operations {
            match operation {
                Operation::Write([COMMAND_58, 0, 0, 0, 0, _]) => self.answers_58 = true,
                Operation::Transfer([answer], _) if self.answers_58 && *answer & NO_ANSWER == 0 => {
                    *answer &= !CARD_IDLE;
                    self.answers_58 = false;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Delays by counting cycles, at least as long as requested at the chip's highest clock.
pub struct Pause;

impl DelayNs for Pause {
    fn delay_ns(&mut self, nanoseconds: u32) {
        const IN_A_CYCLE: u32 = 64;
        cortex_m::asm::delay(nanoseconds.div_ceil(IN_A_CYCLE));
    }
}

/// Dates files 1980, because the board has no clock.
pub struct NoClock;

impl TimeSource for NoClock {
    fn get_timestamp(&self) -> Timestamp {
        Timestamp {
            year_since_1970: 10,
            zero_indexed_month: 0,
            zero_indexed_day: 0,
            hours: 0,
            minutes: 0,
            seconds: 0,
        }
    }
}

/// An error of a card, or of a file on it.
pub type CardError = Error<SdCardError>;

/// An error of a card, or of a file on it, that is formatted as a sentence.
#[derive(Debug)]
pub struct DescribedError {
    /// The driver's error.
    pub error: CardError,
    /// The requested file.
    pub file: &'static str,
}

impl Display for DescribedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { error, file } = self;
        match error {
            Error::DeviceError(error) => write_card_error(error, f),
            Error::NotFound => write!(f, "there is no file {file} on the card"),
            Error::FormatError(_) | Error::NoSuchVolume | Error::BadBlockSize(_) => {
                f.write_str("the card has no FAT file system")
            }
            other => other.fmt(f),
        }
    }
}

fn write_card_error(error: &SdCardError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error {
        SdCardError::CardNotFound => f.write_str("no card answers"),
        SdCardError::CrcError(..) => f.write_str("what the card sends arrives damaged"),
        SdCardError::TimeoutReadBuffer
        | SdCardError::TimeoutWaitNotBusy
        | SdCardError::TimeoutCommand(_)
        | SdCardError::TimeoutACommand(_) => f.write_str("the card does not answer any more"),
        other => other.fmt(f),
    }
}
