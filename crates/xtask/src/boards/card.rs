//! A memory card as cameras and recorders format it: one partition with FAT32, files in its root.

use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions};
use fscommon::StreamSlice;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;

const SECTOR: u64 = 512;
/// The emulator wants a power of two. There is nothing in most of it, which takes no place on a disk.
const CARD: u64 = SECTOR << 20;
/// Where the partition begins.
const PARTITION: u64 = SECTOR << 11;

/// Writes a card with these files, whose names have up to eight capitals, a dot and up to three more.
pub fn write(path: &Path, files: &[(&str, &[u8])]) -> Result<(), String> {
    write_to(path, files).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Writes a card that was never formatted.
pub fn write_empty(path: &Path) -> Result<(), String> {
    let card = create(path).map(drop);
    card.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn create(path: &Path) -> io::Result<File> {
    let card = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    card.set_len(CARD)?;
    Ok(card)
}

fn write_to(path: &Path, files: &[(&str, &[u8])]) -> io::Result<()> {
    let mut card = create(path)?;
    card.write_all(&partition_table())?;
    let mut volume = StreamSlice::new(card, PARTITION, CARD)?;
    fatfs::format_volume(&mut volume, FormatVolumeOptions::new().fat_type(FatType::Fat32))?;
    volume.rewind()?;
    let volume = FileSystem::new(volume, FsOptions::new())?;
    for (name, bytes) in files {
        volume.root_dir().create_file(name)?.write_all(bytes)?;
    }
    volume.unmount()
}

/// The first sector: one partition, up to the end.
fn partition_table() -> [u8; 512] {
    const FAT32: u8 = 0x0c;
    let mut table = [0; 512];
    let sectors = |bytes: u64| u32::try_from(bytes / SECTOR).unwrap_or(u32::MAX).to_le_bytes();
    // Places on cylinders mean nothing to anybody: the highest that can be said.
    table[446..454].copy_from_slice(&[0, 0xfe, 0xff, 0xff, FAT32, 0xfe, 0xff, 0xff]);
    table[454..458].copy_from_slice(&sectors(PARTITION));
    table[458..462].copy_from_slice(&sectors(CARD - PARTITION));
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    table
}
