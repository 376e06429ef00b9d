//! A card that is pulled while it is read.

use crate::card::Card;
use core::cell::Cell;
use embedded_sdmmc::{Block, BlockCount, BlockDevice, BlockIdx, SdCardError};

/// A card that stops answering after some blocks, as if it were pulled.
pub struct Pulled<'c> {
    /// The card.
    pub card: Card,
    /// How many blocks may still be read.
    pub left: &'c Cell<u32>,
}

impl BlockDevice for Pulled<'_> {
    type Error = SdCardError;

    fn read(&self, blocks: &mut [Block], start: BlockIdx) -> Result<(), SdCardError> {
        let left = self.left.get().checked_sub(blocks.len() as u32).ok_or(SdCardError::TimeoutReadBuffer)?;
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
