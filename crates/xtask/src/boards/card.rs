//! A memory card as cameras and recorders format it: one partition with FAT32, files in its root.
//!
//! ```text
//! sector     0  partition table
//!         2048  the partition: boot sector, FSInfo; both again 6 sectors on
//!       + 32    file allocation table, and its copy
//!       + ...   clusters: the root directory, then one file behind the other
//! ```

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

const SECTOR: u32 = 512;
const BYTES: usize = SECTOR as usize;
/// The emulator wants a power of two. There is nothing in most of it, which takes no place on a disk.
const CARD_SECTORS: u32 = 1 << 20;
const PARTITION_AT: u32 = 2048;
const PARTITION_SECTORS: u32 = CARD_SECTORS - PARTITION_AT;
const FAT32: u8 = 0x0c;

const RESERVED: u32 = 32;
const COPY_OF_BOOT: u32 = 6;
const FATS: u32 = 2;
/// With fewer than 65,525 clusters it would be FAT16.
const CLUSTER_SECTORS: u32 = 8;
const CLUSTER: usize = CLUSTER_SECTORS as usize * BYTES;
/// Four bytes for each cluster; for a few more than there are.
const FAT_SECTORS: u32 = (PARTITION_SECTORS / CLUSTER_SECTORS * 4).div_ceil(SECTOR);
const CLUSTERS_AT: u32 = PARTITION_AT + RESERVED + FATS * FAT_SECTORS;
const CLUSTERS: u32 = (CARD_SECTORS - CLUSTERS_AT) / CLUSTER_SECTORS;

/// Clusters are numbered from 2 on.
const ROOT: u32 = 2;
const LAST_OF_FILE: u32 = 0x0fff_ffff;
const MEDIA: u32 = 0x0fff_fff8;

/// A file: its name as it stands in a directory, and its bytes.
struct Entry<'a> {
    name: [u8; 11],
    bytes: &'a [u8],
    len: u32,
    /// The first of its clusters, and how many there are.
    first: u32,
    clusters: u32,
}

/// Writes a card with these files, whose names have up to eight capitals, a dot and up to three more.
pub fn write(path: &Path, files: &[(&str, &[u8])]) -> Result<(), String> {
    let (entries, free) = place(files)?;
    let card = File::create(path).and_then(|mut card| write_to(&mut card, &entries, free));
    card.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Writes a card that was never formatted.
pub fn write_empty(path: &Path) -> Result<(), String> {
    let card = File::create(path).and_then(|card| card.set_len(u64::from(CARD_SECTORS) * u64::from(SECTOR)));
    card.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Gives each file its clusters, and the first cluster behind them.
fn place<'a>(files: &[(&str, &'a [u8])]) -> Result<(Vec<Entry<'a>>, u32), String> {
    let (mut free, mut entries) = (ROOT + 1, Vec::new());
    for &(name, bytes) in files {
        let name = short_name(name).ok_or_else(|| format!("{name} is no name on a card"))?;
        let len = u32::try_from(bytes.len()).map_err(|_| FULL)?;
        let clusters = len.div_ceil(CLUSTER_SECTORS * SECTOR);
        // An empty file has none.
        let first = if clusters == 0 { 0 } else { free };
        free = free.checked_add(clusters).filter(|free| *free <= ROOT + CLUSTERS).ok_or(FULL)?;
        entries.push(Entry { name, bytes, len, first, clusters });
    }
    if entries.len() <= CLUSTER / 32 { Ok((entries, free)) } else { Err(FULL.to_owned()) }
}

const FULL: &str = "the files do not fit on the card";

fn write_to(card: &mut File, entries: &[Entry<'_>], free: u32) -> std::io::Result<()> {
    card.set_len(u64::from(CARD_SECTORS) * u64::from(SECTOR))?;
    put(card, 0, &partition_table())?;
    for copy in [0, COPY_OF_BOOT] {
        put(card, PARTITION_AT + copy, &boot_sector())?;
        put(card, PARTITION_AT + copy + 1, &information(free))?;
    }
    for copy in 0..FATS {
        put(card, PARTITION_AT + RESERVED + copy * FAT_SECTORS, &allocation(entries))?;
    }
    put(card, cluster_at(ROOT), &directory(entries))?;
    entries
        .iter()
        .filter(|entry| entry.first > 0)
        .try_for_each(|entry| put(card, cluster_at(entry.first), entry.bytes))
}

fn put(card: &mut File, sector: u32, bytes: &[u8]) -> std::io::Result<()> {
    card.seek(SeekFrom::Start(u64::from(sector) * u64::from(SECTOR)))?;
    card.write_all(bytes)
}

fn cluster_at(cluster: u32) -> u32 {
    CLUSTERS_AT + (cluster - ROOT) * CLUSTER_SECTORS
}

fn partition_table() -> [u8; BYTES] {
    // Places on cylinders mean nothing to anybody: the highest that can be said.
    let no_cylinder = [0xfe, 0xff, 0xff];
    let (at, len) = (PARTITION_AT.to_le_bytes(), PARTITION_SECTORS.to_le_bytes());
    signed(&[(446, &[0]), (447, &no_cylinder), (450, &[FAT32]), (451, &no_cylinder), (454, &at), (458, &len)])
}

fn boot_sector() -> [u8; BYTES] {
    let short = |value: u32| [value.to_le_bytes()[0], value.to_le_bytes()[1]];
    signed(&[
        (0, b"\xeb\x58\x90XTASK   "),
        (11, &short(SECTOR)),
        (13, &short(CLUSTER_SECTORS)[..1]),
        (14, &short(RESERVED)),
        (16, &short(FATS)[..1]),
        (21, &[0xf8]),
        // Sectors of a track, heads of a disk.
        (24, &short(63)),
        (26, &short(255)),
        (28, &PARTITION_AT.to_le_bytes()),
        (32, &PARTITION_SECTORS.to_le_bytes()),
        (36, &FAT_SECTORS.to_le_bytes()),
        (44, &ROOT.to_le_bytes()),
        // Where FSInfo is, and the copy of this sector.
        (48, &short(1)),
        (50, &short(COPY_OF_BOOT)),
        // A disk, with the serial number, name and file system that follow.
        (64, b"\x80\x00\x29\x5a\xfe\x7e\x45NO NAME    FAT32   "),
    ])
}

/// FSInfo: how much is free, and where to look for it first.
fn information(free: u32) -> [u8; BYTES] {
    let left = (ROOT + CLUSTERS - free).to_le_bytes();
    signed(&[(0, b"RRaA"), (484, b"rrAa"), (488, &left), (492, &free.to_le_bytes())])
}

/// A sector with these bytes at these places, and the mark at its end that all such sectors have.
fn signed(parts: &[(usize, &[u8])]) -> [u8; BYTES] {
    let mut sector = [0; BYTES];
    for (at, bytes) in parts.iter().chain(&[(510, &[0x55, 0xaa][..])]) {
        sector[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    sector
}

/// The number of the next cluster for each: the files lie in one piece.
fn allocation(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut table = vec![MEDIA, LAST_OF_FILE, LAST_OF_FILE];
    for entry in entries.iter().filter(|entry| entry.first > 0) {
        let behind = entry.first + entry.clusters;
        table.extend((entry.first + 1..behind).chain([LAST_OF_FILE]));
    }
    table.iter().flat_map(|next| next.to_le_bytes()).collect()
}

fn directory(entries: &[Entry<'_>]) -> Vec<u8> {
    const ARCHIVED: u8 = 0x20;
    // The first day that there is.
    const DATE: [u8; 2] = [0x21, 0];
    let entry = |entry: &Entry<'_>| {
        let ([a, b, c, d], len) = (entry.first.to_le_bytes(), entry.len);
        let [name, times] = [&entry.name[..], &[ARCHIVED, 0, 0, 0, 0]];
        [name, times, &DATE, &DATE, &[c, d, 0, 0], &DATE, &[a, b], &len.to_le_bytes()].concat()
    };
    entries.iter().flat_map(entry).collect()
}

/// `MODEL.ST` as a directory has it: both parts filled up with spaces.
fn short_name(name: &str) -> Option<[u8; 11]> {
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    let fits = |part: &str, most| part.len() <= most && part.bytes().all(is_usual);
    (fits(stem, 8) && fits(extension, 3) && !stem.is_empty()).then_some(())?;
    format!("{stem:8}{extension:3}").into_bytes().try_into().ok()
}

fn is_usual(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// The bytes there.
    fn bytes(card: &File, at: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let mut card = card;
        card.seek(SeekFrom::Start(at as u64)).unwrap();
        card.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Reads a file by what the sectors say alone, none of the figures above.
    fn read_back(card: &File, name: &[u8; 11]) -> Option<Vec<u8>> {
        let number =
            |at, len| bytes(card, at, len).iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let len = usize::try_from(card.metadata().unwrap().len()).unwrap();
        assert_eq!((number(450, 1), number(510, 2)), (0x0c, 0xaa55));
        let volume = number(454, 4) * 512;
        assert_eq!(number(458, 4) * 512 + volume, len);
        let sector = number(volume + 11, 2);
        let cluster = number(volume + 13, 1) * sector;
        let table = volume + number(volume + 14, 2) * sector;
        let data = table + number(volume + 16, 1) * number(volume + 36, 4) * sector;
        assert!((len - data) / cluster >= 65_525, "this would be FAT16");
        let follow = |first| {
            let is_cluster = |at: &usize| (2..0x0fff_fff8).contains(at);
            let next = |at: &usize| Some(number(table + 4 * at, 4) & 0x0fff_ffff).filter(is_cluster);
            let chain = std::iter::successors(Some(first).filter(is_cluster), next);
            chain.flat_map(|at| bytes(card, data + (at - 2) * cluster, cluster)).collect::<Vec<u8>>()
        };
        let root = follow(number(volume + 44, 4));
        let entry = root.chunks(32).find(|entry| entry.starts_with(name))?;
        let half = |at: usize| usize::from(u16::from_le_bytes([entry[at], entry[at + 1]]));
        let mut file = follow(half(20) << 16 | half(26));
        file.truncate(half(30) << 16 | half(28));
        Some(file)
    }

    #[test]
    fn what_is_on_a_card_is_found_by_what_the_card_says() {
        let path = crate::workspace::target_dir().join("unit-tests/card.img");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let long: Vec<u8> = (0..=250).cycle().take(3 * CLUSTER + 1).collect();
        let files: [(&str, &[u8]); 4] =
            [("MODEL.ST", &long), ("EMPTY", &[]), ("A.B", b"short"), ("EXACT_12.BIN", &long[..CLUSTER])];
        write(&path, &files).unwrap();
        let card = File::open(&path).unwrap();
        for (name, bytes) in files {
            assert!(read_back(&card, &short_name(name).unwrap()).unwrap() == bytes, "{name}");
        }
        assert_eq!(read_back(&card, b"OTHER      "), None);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn names_are_those_of_cards() {
        assert_eq!(short_name("MODEL.ST"), Some(*b"MODEL   ST "));
        for name in ["", ".ST", "model.st", "TOOLONGNAME", "A.LONG", "A.B.C"] {
            assert_eq!(short_name(name), None, "{name}");
        }
    }
}
