//! Reads digits until the card is pulled.
#![no_std]
#![no_main]

use core::cell::Cell;
use embedded_sdmmc::{Block, BlockCount, BlockDevice, BlockIdx, SdCardError};
use lm3s6965::Card;

/// The number of reads before the card is pulled, in the middle of an image.
const BLOCKS: u32 = 2000;

/// A card that stops answering after some blocks, as if it were pulled.
struct Pulled {
    card: Card,
    left: Cell<u32>,
}

impl BlockDevice for Pulled {
    type Error = SdCardError;

    fn read(&self, blocks: &mut [Block], start: BlockIdx) -> Result<(), SdCardError> {
        let left = self.left.get().checked_sub(1).ok_or(SdCardError::TimeoutReadBuffer)?;
        self.left.set(left);
        self.card.read(blocks, start)
    }

    fn write(&self, blocks: &[Block], start: BlockIdx) -> Result<(), SdCardError> {
        self.card.write(blocks, start)
    }

    fn num_blocks(&self) -> Result<BlockCount, SdCardError> {
        self.card.num_blocks()
    }
}

#[board::entry]
fn main() -> ! {
    lm3s6965::run(|sink, card| lm3s6965::read_digits(Pulled { card, left: Cell::new(BLOCKS) }, sink))
}
