//! The table of partitions, and the file in one of them.

use core::fmt;
use embedded_safetensors::io::{NorError, NorFile};
use esp_bootloader_esp_idf::partitions::{
    Error, FlashRegion, NorFlashRegion, PARTITION_TABLE_MAX_LEN, read_partition_table,
};
use esp_storage::FlashStorage;

/// What can be wrong with the flash.
#[derive(Debug)]
pub enum Trouble {
    /// There is no table, or it is broken.
    NoTable(Error),
    /// No partition is called so.
    NoPartition(&'static str),
    /// The partition cannot be read as it is.
    Encrypted,
    /// Reading fails.
    Flash(NorError<Error>),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTable(error) => write!(f, "the flash has no table of partitions ({error})"),
            Self::NoPartition(label) => write!(f, "no partition of the flash is called `{label}`"),
            Self::Encrypted => f.write_str("the partition is encrypted"),
            Self::Flash(error) => error.fmt(f),
        }
    }
}

/// The partition that is called so.
#[inline(never)] // the table is not needed any more when it returns
pub fn find<'f, 'd>(
    flash: &'f mut FlashStorage<'d>,
    label: &'static str,
) -> Result<FlashRegion<'f, 'd>, Trouble> {
    let mut buffer = [0; PARTITION_TABLE_MAX_LEN];
    let table = read_partition_table(flash, &mut buffer).map_err(Trouble::NoTable)?;
    let partition = table.iter().find(|partition| partition.label_as_str() == label);
    Ok(partition.ok_or(Trouble::NoPartition(label))?.as_flash_region(flash))
}

/// The file that begins where the partition begins.
pub fn file<'r, 'f, 'd>(
    region: &'r mut FlashRegion<'f, 'd>,
) -> Result<NorFile<NorFlashRegion<'r, 'f, 'd>>, Trouble> {
    region.as_nor_flash().map(NorFile::new).map_err(|_| Trouble::Encrypted)
}

/// How much flash there is.
pub fn flash_bytes(flash: &FlashStorage<'_>) -> u32 {
    u32::try_from(flash.capacity()).unwrap_or(u32::MAX)
}
