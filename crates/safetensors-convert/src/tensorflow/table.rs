//! Reads a table: a file of sorted keys and values, as LevelDB has them.
//!
//! A footer of 48 bytes has the places of two blocks, of which one lists the data blocks: their places, each
//! with a key that is not before their last and before the next block's first. After each block there is a
//! byte for its compression and a checksum. One block is in memory at a time, besides the list.

use super::block::Block;
use crate::error::{beyond_limit, unsound};
use crate::proto::{Reason, varint};
use crate::zip::{Part, read_full};
use std::fs::File;
use std::io;

/// The length of the footer.
const FOOTER: usize = 48;
/// The last bytes of a table.
const MAGIC: [u8; 8] = 0xdb47_7524_8b80_fb57_u64.to_le_bytes();
/// The length of what follows a block: its compression and its checksum.
const TRAILER: usize = 5;
/// The largest block, also when it is decompressed. TensorFlow begins a new one after 256 KiB.
const LARGEST: u64 = 4 << 20;

/// Returns the checksum of some bytes as tables and checkpoints store it. They do not store the CRC itself,
/// because a CRC over bytes that contain their CRC is always the same.
pub fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Whether a file has the last bytes of a table of LevelDB, as the index of a checkpoint.
///
/// # Errors
/// Those of the system.
pub fn is_table(file: &File) -> io::Result<bool> {
    let len = file.metadata()?.len();
    let mut end = [0; MAGIC.len()];
    let at = len.saturating_sub(MAGIC.len() as u64);
    Ok(read_full(&mut Part::new(file, at, len), &mut end)? == end.len() && end == MAGIC)
}

/// Calls `visit` with every key and its value, in ascending order.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] if the file is not a table, or contradicts itself; and those of `visit`.
pub fn for_each(file: &File, mut visit: impl FnMut(&[u8], &[u8]) -> io::Result<()>) -> io::Result<()> {
    let table = Table::open(file)?;
    let list_of = |reason| unsound(format!("the list of blocks: {reason}"));
    let list = table.block(table.list)?;
    let mut list = Block::new(&list).map_err(list_of)?;
    // The bytes before which no block is, and the key of the last block in the list.
    let (mut end, mut limit) = (0, None::<Vec<u8>>);
    while let Some(place) = list.next().map_err(list_of)? {
        let place = Place::read(&mut { place }).map_err(list_of)?;
        let in_block = |reason| unsound(format!("block at byte {}: {reason}", place.at));
        if place.at < end {
            return Err(in_block("it is not after the block before it".into()));
        }
        let contents = table.block(place)?;
        end = place.end();
        let mut block = Block::new(&contents).map_err(in_block)?;
        let mut is_first = true;
        while let Some(value) = block.next().map_err(in_block)? {
            if is_first && limit.as_ref().is_some_and(|limit| block.key() <= limit) {
                return Err(in_block("its keys are not after those of the block before it".into()));
            }
            is_first = false;
            visit(block.key(), value)?;
        }
        if block.key() > list.key() {
            return Err(in_block("its keys go beyond the key in the list of blocks".into()));
        }
        limit = Some(list.key().to_vec());
    }
    match table.list.at.min(table.other.at) < end {
        true => Err(list_of("it has a block that is not before the blocks in the footer".into())),
        false => Ok(()),
    }
}

/// A table's file, and the place of the list of its blocks.
struct Table<'f> {
    file: &'f File,
    /// The offset of the footer.
    footer: u64,
    list: Place,
    /// A block with statistics or filters, which are not needed.
    other: Place,
}

/// The place of a block in the file.
#[derive(Clone, Copy)]
struct Place {
    at: u64,
    len: u64,
}

impl Place {
    fn read(bytes: &mut &[u8]) -> Result<Self, Reason> {
        Ok(Self { at: varint(bytes)?, len: varint(bytes)? })
    }

    /// Returns the end of what follows the block.
    fn end(self) -> u64 {
        self.at.saturating_add(self.len).saturating_add(TRAILER as u64)
    }
}

impl<'f> Table<'f> {
    fn open(file: &'f File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let end = "it does not end with the bytes of a table";
        let no_table = || unsound(format!("not the index of a checkpoint, or a truncated one: {end}"));
        let start = len.checked_sub(FOOTER as u64).ok_or_else(no_table)?;
        let mut footer = [0; FOOTER];
        let read = read_full(&mut Part::new(file, start, FOOTER as u64), &mut footer)?;
        let mut places = footer.strip_suffix(&MAGIC).filter(|_| read == FOOTER).ok_or_else(no_table)?;
        let in_footer = |reason| unsound(format!("the footer of the index: {reason}"));
        let other = Place::read(&mut places).map_err(in_footer)?;
        let list = Place::read(&mut places).map_err(in_footer)?;
        if places.iter().any(|byte| *byte != 0) {
            return Err(in_footer("it has other bytes than the places of two blocks".into()));
        }
        let table = Self { file, footer: start, list, other };
        table.block(other)?;
        Ok(table)
    }

    /// Reads the contents of a block.
    fn block(&self, place: Place) -> io::Result<Vec<u8>> {
        let Place { at, len } = place;
        let in_block = |reason: String| unsound(format!("block at byte {at}: {reason}"));
        if place.end() > self.footer {
            return Err(in_block(format!("it claims {len} bytes, which do not fit the file")));
        }
        let bytes = usize::try_from(len).ok().filter(|_| len <= LARGEST);
        let bytes = bytes.ok_or_else(|| too_large(at, len))?;
        let mut contents = vec![0; bytes + TRAILER];
        if read_full(&mut Part::new(self.file, at, u64::MAX), &mut contents)? < contents.len() {
            return Err(in_block("the file ends within it".into()));
        }
        let crc = contents.split_off(bytes + 1);
        if masked(crc32c::crc32c(&contents)).to_le_bytes() != crc[..] {
            return Err(in_block("its checksum is wrong".into()));
        }
        match contents.pop() {
            Some(0) => Ok(contents),
            Some(1) => decompressed(at, &contents),
            method => {
                let method = format!("it is compressed by method {}", method.unwrap_or_default());
                Err(in_block(format!("{method}; only 0 (none) and 1 (Snappy) exist")))
            }
        }
    }
}

fn too_large(at: u64, len: u64) -> io::Error {
    beyond_limit(format!("block at byte {at}: it has {len} bytes, at most {LARGEST} are supported"))
}

fn decompressed(at: u64, contents: &[u8]) -> io::Result<Vec<u8>> {
    let wrong = |_| unsound(format!("block at byte {at}: it cannot be decompressed with Snappy"));
    let len = snap::raw::decompress_len(contents).map_err(wrong)? as u64;
    if len > LARGEST {
        return Err(too_large(at, len));
    }
    snap::raw::Decoder::new().decompress_vec(contents).map_err(wrong)
}
