//! An SD card in memory, with a FAT16 file system.

use embedded_sdmmc::{
    Block, BlockCount, BlockDevice, BlockIdx, Error, Mode, TimeSource, Timestamp, VolumeIdx, VolumeManager,
};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

/// FAT16 needs at least 4085 clusters, which are blocks here.
const BLOCKS: u16 = 4200;

/// Stands in for the card that firmware gets from `SdCard::new(spi, delay)`. Clones are the same card.
#[derive(Clone)]
pub struct Card {
    blocks: Rc<RefCell<Vec<Block>>>,
    /// How many blocks can be written until the power fails.
    writes_left: Rc<Cell<u32>>,
}

/// The power has failed.
#[derive(Debug)]
pub struct NoPower;

impl fmt::Display for NoPower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the card has no power")
    }
}

impl std::error::Error for NoPower {}

impl Card {
    /// Creates a card with one partition, from block 1 on, and no files.
    pub fn formatted() -> Self {
        let mut blocks = vec![Block::new(); BLOCKS.into()];
        if let [boot_record, partition, table, ..] = &mut blocks[..] {
            write_boot_record(boot_record);
            write_partition(partition);
            put(table, 0, &[0xF8, 0xFF, 0xFF, 0xFF]); // two reserved entries
        }
        Self { blocks: Rc::new(RefCell::new(blocks)), writes_left: Rc::new(Cell::new(u32::MAX)) }
    }

    /// Lets the power fail when this block is written, counted from 1. Half of it is.
    #[allow(dead_code)] // as the next one, only for the guide
    pub fn lose_power_at(&self, write: u32) {
        self.writes_left.set(write);
    }

    /// Gives the card power again. Returns whether it had failed.
    #[allow(dead_code)]
    pub fn restart(&self) -> bool {
        self.writes_left.replace(u32::MAX) == 0
    }

    fn check_power(&self) -> Result<(), NoPower> {
        if self.writes_left.get() > 0 { Ok(()) } else { Err(NoPower) }
    }
}

fn write_boot_record(block: &mut Block) {
    put(block, 446 + 4, &[0x06]); // FAT16
    put(block, 446 + 8, &1u32.to_le_bytes());
    put(block, 446 + 12, &u32::from(BLOCKS - 1).to_le_bytes());
    put(block, 510, &[0x55, 0xAA]);
}

fn write_partition(block: &mut Block) {
    put(block, 11, &512u16.to_le_bytes()); // bytes in a block
    put(block, 13, &[1]); // blocks in a cluster
    put(block, 14, &1u16.to_le_bytes()); // blocks before the table
    put(block, 16, &[1]); // tables
    put(block, 17, &16u16.to_le_bytes()); // entries of the root directory
    put(block, 19, &(BLOCKS - 1).to_le_bytes()); // blocks of the partition
    put(block, 22, &17u16.to_le_bytes()); // blocks of the table
    put(block, 510, &[0x55, 0xAA]);
}

fn put(block: &mut Block, at: usize, bytes: &[u8]) {
    block.contents[at..at + bytes.len()].copy_from_slice(bytes);
}

impl BlockDevice for Card {
    type Error = NoPower;

    fn read(&self, blocks: &mut [Block], start: BlockIdx) -> Result<(), NoPower> {
        self.check_power()?;
        let stored = self.blocks.borrow();
        blocks.iter_mut().zip(&stored[start.0 as usize..]).for_each(|(to, from)| *to = from.clone());
        Ok(())
    }

    fn write(&self, blocks: &[Block], start: BlockIdx) -> Result<(), NoPower> {
        for (to, from) in self.blocks.borrow_mut()[start.0 as usize..].iter_mut().zip(blocks) {
            self.check_power()?;
            self.writes_left.set(self.writes_left.get() - 1);
            let len = if self.writes_left.get() > 0 { 512 } else { 256 };
            to.contents[..len].copy_from_slice(&from.contents[..len]);
            self.check_power()?;
        }
        Ok(())
    }

    fn num_blocks(&self) -> Result<BlockCount, NoPower> {
        Ok(BlockCount(BLOCKS.into()))
    }
}

/// Files are dated 1970.
pub struct NoClock;

impl TimeSource for NoClock {
    fn get_timestamp(&self) -> Timestamp {
        Timestamp {
            year_since_1970: 0,
            zero_indexed_month: 0,
            zero_indexed_day: 0,
            hours: 0,
            minutes: 0,
            seconds: 0,
        }
    }
}

/// Creates a card with one file in its root directory.
pub fn with_file(name: &str, bytes: &[u8]) -> Result<VolumeManager<Card, NoClock>, Error<NoPower>> {
    let manager = VolumeManager::new(Card::formatted(), NoClock);
    let volume = manager.open_volume(VolumeIdx(0))?;
    let root = volume.open_root_dir()?;
    let file = root.open_file_in_dir(name, Mode::ReadWriteCreate)?;
    file.write(bytes)?;
    file.close()?;
    root.close()?;
    volume.close()?;
    Ok(manager)
}
