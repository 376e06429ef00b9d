//! The partition table, and the file in a partition.

use core::fmt;
use embedded_safetensors::io::{NorError, NorFile};
use esp_bootloader_esp_idf::partitions::{
    Error, FlashRegion, NorFlashRegion, PARTITION_TABLE_MAX_LEN, read_partition_table,
};
use esp_storage::FlashStorage;

/// An error of the flash or its partitions.
#[derive(Debug)]
pub enum FlashError {
    /// The partition table is missing or invalid.
    NoTable(Error),
    /// No partition has this name.
    NoPartition(&'static str),
    /// The partition is encrypted, and cannot be read.
    Encrypted,
    /// Reading has failed.
    Flash(NorError<Error>),
}

impl fmt::Display for FlashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTable(error) => write!(f, "the flash has no table of partitions ({error})"),
            Self::NoPartition(label) => write!(f, "no partition of the flash is called `{label}`"),
            Self::Encrypted => f.write_str("the partition is encrypted"),
            Self::Flash(error) => error.fmt(f),
        }
    }
}

/// Finds the partition with this label.
#[inline(never)] // its stack is free again when it returns
pub fn find<'f, 'd>(
    flash: &'f mut FlashStorage<'d>,
    label: &'static str,
) -> Result<FlashRegion<'f, 'd>, FlashError> {
    let mut buffer = [0; PARTITION_TABLE_MAX_LEN];
    let table = read_partition_table(flash, &mut buffer).map_err(FlashError::NoTable)?;
    let partition = table.iter().find(|partition| partition.label_as_str() == label);
    Ok(partition.ok_or(FlashError::NoPartition(label))?.as_flash_region(flash))
}

/// Returns the file at the start of the partition.
pub fn file<'r, 'f, 'd>(
    region: &'r mut FlashRegion<'f, 'd>,
) -> Result<NorFile<NorFlashRegion<'r, 'f, 'd>>, FlashError> {
    region.as_nor_flash().map(NorFile::new).map_err(|_| FlashError::Encrypted)
}

/// Returns the bytes of flash.
pub fn flash_bytes(flash: &FlashStorage<'_>) -> u32 {
    u32::try_from(flash.capacity()).unwrap_or(u32::MAX)
}
