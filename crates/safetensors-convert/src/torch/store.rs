//! The storages of a file: where their bytes are, and the zip archives that have them since PyTorch 1.6.

use super::read::Bytes;
use super::rebuild::MOST;
use crate::error::{ensure, ensure_within, unsound};
use crate::source::{at, at_mut};
use crate::text::quoted;
use crate::zip::{Contents, Entry, check_ratio, entries, open_entry};
use embedded_safetensors::Dtype;
use hashbrown::HashTable;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};

/// The versions of the format of archives.
const VERSIONS: std::ops::RangeInclusive<u32> = 1..=10;
/// The longest of their entries with a word or a number.
const SHORT: u64 = 64;
/// The largest number of bytes of the storages in memory.
const KEPT: usize = 8 << 20;

/// Where a storage begins that was not found yet.
const UNPLACED: u64 = u64::MAX;

/// How the bytes of a storage are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// In the file as they are.
    Plain,
    /// In an entry of the archive as they are, with a checksum.
    Stored,
    /// In an entry of the archive, deflated.
    Deflated,
    /// In the pickle.
    Pickled,
    /// In the pickle, as text whose characters are the bytes.
    Latin,
    /// In memory.
    Kept,
}

/// The place of a storage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storage {
    /// The key by which the pickle names it.
    pub key: u64,
    /// Where it begins: in the file, in the pickle, or its index among those in memory.
    pub at: u64,
    /// What it takes in the archive or as text, in bytes.
    pub packed: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Its checksum.
    pub crc: u32,
    /// The dtype, `None` for bytes, as the pickle names it first; `None` if it does not name it.
    pub dtype: Option<Option<Dtype>>,
    pub kind: Kind,
    /// The number of bytes of an element, as the pickle names it first.
    pub width: u8,
}

/// All storages of a file.
#[derive(Debug, Default)]
pub(super) struct Store {
    storages: Vec<Storage>,
    /// The storages in memory, and what they take in bytes.
    kept: Vec<Box<[u8]>>,
    of_kept: usize,
    /// The numbers of the storages that are not in the pickle, by their keys.
    keys: HashTable<u32>,
    hasher: RandomState,
    /// Whether they follow the pickle, and are known once it names them.
    pub follow: bool,
}

impl Store {
    /// Creates the list of an archive's storages from the keys of its entries.
    pub fn of_archive(entries: Vec<(u64, Entry)>) -> Self {
        let storage = |(key, entry): (u64, Entry)| {
            let Contents { is_deflated, crc, packed, unpacked: len, at } = entry.contents;
            let kind = if is_deflated { Kind::Deflated } else { Kind::Stored };
            Storage { key, at, packed, len, crc, dtype: None, kind, width: 1 }
        };
        let mut storages: Vec<Storage> = entries.into_iter().map(storage).collect();
        // They were collected in the memory of the entries, which is twice as large.
        storages.shrink_to_fit();
        let mut store = Self { storages, ..Self::default() };
        (0..).zip(0..store.storages.len()).for_each(|(index, _)| store.name(index));
        store
    }

    /// Makes a storage one that is found by its key.
    fn name(&mut self, index: u32) {
        let hash = |index: &u32| self.hasher.hash_one(at(&self.storages, *index).map(|storage| storage.key));
        self.keys.insert_unique(hash(&index), index, hash);
    }

    /// Returns the number of the storage with this key.
    fn named(&self, key: u64) -> Option<u32> {
        let is_it = |index: &u32| at(&self.storages, *index).is_some_and(|storage| storage.key == key);
        self.keys.find(self.hasher.hash_one(Some(key)), is_it).copied()
    }

    /// Returns the number of the storage with this key, and this number of elements of a width and a dtype.
    pub fn find(&mut self, key: &str, count: i64, width: u8, dtype: Option<Dtype>) -> io::Result<u32> {
        let len = u64::try_from(count).ok().and_then(|count| count.checked_mul(width.into()));
        let len = len.ok_or_else(|| unsound("has an invalid id of a storage"))?;
        let number = number_of(key)
            .ok_or_else(|| unsound(format!("names a storage {}, which is not a number", quoted(key))))?;
        let index = match self.named(number) {
            Some(index) => index,
            None => {
                ensure(self.follow, || format!("needs storage {key}, which the file does not have"))?;
                let (at, kind) = (UNPLACED, Kind::Plain);
                let storage = Storage { key: number, at, packed: len, len, crc: 0, dtype: None, kind, width };
                let index = self.add(storage)?;
                self.name(index);
                index
            }
        };
        let found = self.get(index)?.len;
        ensure(found == len, || format!("needs {len} bytes of storage {key}, which has {found}"))?;
        // PyTorch reads the numbers of the second as those of the first.
        let first = at_mut(&mut self.storages, index).map(|storage| *storage.dtype.get_or_insert(dtype));
        ensure(first.is_none_or(|first| first == dtype), || {
            format!("names storage {key} with another dtype than before")
        })?;
        Ok(index)
    }

    /// Adds a storage in the pickle.
    pub fn add_pickled(&mut self, at: u64, packed: u64, len: u64, kind: Kind) -> io::Result<u32> {
        self.add(Storage { key: u64::MAX, at, packed, len, crc: 0, dtype: None, kind, width: 1 })
    }

    /// Adds a storage in memory.
    pub fn add_kept(&mut self, bytes: &[u8]) -> io::Result<u32> {
        let (at, len) = (self.kept.len() as u64, bytes.len() as u64);
        self.of_kept += bytes.len() + size_of::<Box<[u8]>>();
        ensure_within(self.of_kept <= KEPT, || {
            format!(
                "the small arrays in the pickle have more than {KEPT} bytes; in Python, save with protocol=4"
            )
        })?;
        self.kept.push(bytes.into());
        self.add_pickled(at, len, len, Kind::Kept)
    }

    fn add(&mut self, storage: Storage) -> io::Result<u32> {
        ensure_within(self.storages.len() < MOST, || {
            format!("the file has more than {MOST} storages and arrays")
        })?;
        self.storages.push(storage);
        u32::try_from(self.storages.len() - 1).map_err(|_| unsound("has too many storages"))
    }

    pub fn get(&self, index: u32) -> io::Result<&Storage> {
        at(&self.storages, index).ok_or_else(|| unsound("names a storage that does not exist"))
    }

    /// Returns a storage in memory.
    pub fn kept(&self, storage: &Storage) -> &[u8] {
        usize::try_from(storage.at).ok().and_then(|index| self.kept.get(index)).map_or(&[], |bytes| bytes)
    }

    /// Returns the number of storages.
    pub fn len(&self) -> usize {
        self.storages.len()
    }

    /// Takes the number of a storage that the pickle has named and that follows it; `None` if there is none
    /// with this key, or if it was taken.
    pub fn take(&mut self, key: &str) -> Option<u32> {
        let number = self.named(number_of(key)?)?;
        let storage = at_mut(&mut self.storages, number)?;
        (std::mem::take(&mut storage.at) == UNPLACED).then_some(number)
    }

    /// Sets where a storage begins.
    pub fn place(&mut self, index: u32, begin: u64) {
        at_mut(&mut self.storages, index).into_iter().for_each(|storage| storage.at = begin);
    }

    /// Returns the least key of a storage that was named, but not taken; forgets the keys.
    pub fn untaken(&mut self) -> Option<u64> {
        self.keys = HashTable::new();
        self.storages.iter().filter(|storage| storage.at == UNPLACED).map(|storage| storage.key).min()
    }
}

/// Returns the number that a key spells, if it has only one spelling.
pub(super) fn number_of(key: &str) -> Option<u64> {
    let number: u64 = key.parse().ok()?;
    (number.to_string() == key).then_some(number)
}

/// Reads the list of an archive: its storages, the common start of all names, and whether it is big-endian.
/// Returns the entry with the pickle.
///
/// # Errors
/// It is not what PyTorch writes.
pub(super) fn read_list(bytes: &mut Bytes) -> io::Result<Entry> {
    let file = &bytes.file;
    let entries = entries(file)?;
    ensure_within(entries.len() <= MOST + 16, || {
        format!("the archive has {} entries, too many", entries.len())
    })?;
    check_ratio(&entries, file.metadata()?.len())?;
    let prefix = prefix(&entries)?;
    let (mut storages, mut pickle, mut is_big) = (Vec::new(), None, false);
    for entry in entries {
        let rest = entry.name.strip_prefix(&prefix).ok_or_else(|| {
            unsound(format!("entry {} is not in the directory {}", quoted(&entry.name), quoted(&prefix)))
        })?;
        match rest {
            "data.pkl" => pickle = Some(entry),
            "version" | ".data/version" => check_version(file, &entry)?,
            "byteorder" => is_big = byte_order(file, &entry)?,
            // They say nothing about tensors.
            ".format_version" | ".storage_alignment" | ".data/serialization_id" => {}
            _ if entry.contents.unpacked == 0 && (rest.is_empty() || rest.ends_with('/')) => {}
            _ => storages.push((storage_key(rest, &entry)?, entry)),
        }
    }
    let pickle = pickle.ok_or_else(|| {
        let name = quoted(&format!("{prefix}data.pkl"));
        unsound(format!("the archive has no entry {name}, which every file of this format has"))
    })?;
    (bytes.store, bytes.prefix, bytes.is_big) = (Store::of_archive(storages), prefix, is_big);
    Ok(pickle)
}

/// Returns the directory that all entries are in, with its slash.
fn prefix(entries: &[Entry]) -> io::Result<String> {
    let first = &entries.first().ok_or_else(|| unsound("the archive has no entries"))?.name;
    let directory = first.split_inclusive('/').next().filter(|directory| directory.ends_with('/'));
    let alone = || unsound(format!("entry {} of the archive is not in a directory", quoted(first)));
    directory.map(str::to_owned).ok_or_else(alone)
}

/// Returns the key of a storage from the name of its entry in the directory.
fn storage_key(rest: &str, entry: &Entry) -> io::Result<u64> {
    let name = quoted(&entry.name);
    if let Some(key) = rest.strip_prefix("data/") {
        let no_number = || unsound(format!("entry {name} has a storage key that is not a number"));
        return number_of(key).ok_or_else(no_number);
    }
    Err(unsound(match rest == "constants.pkl" || rest.starts_with("code/") {
        true => format!(
            "entry {name} is code: a TorchScript archive, which is a program; in Python, save its weights with \
             torch.save(torch.jit.load(FILE).state_dict(), NEW)"
        ),
        false => format!("entry {name} is not part of a file that torch.save writes"),
    }))
}

fn word(file: &File, entry: &Entry) -> io::Result<String> {
    let name = quoted(&entry.name);
    let len = entry.contents.unpacked;
    ensure(len <= SHORT, || format!("entry {name} has {len} bytes, too many"))?;
    let mut bytes = Vec::new();
    open_entry(file, entry).read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).map_err(|_| unsound(format!("entry {name} is not UTF-8")))?;
    Ok(text.trim_end().to_owned())
}

fn check_version(file: &File, entry: &Entry) -> io::Result<()> {
    let version = word(file, entry)?;
    ensure(version.parse().is_ok_and(|version| VERSIONS.contains(&version)), || {
        let (name, version) = (quoted(&entry.name), quoted(&version));
        format!("entry {name} has the version {version}; versions 1 to 10 are known")
    })
}

/// Returns whether the file is big-endian.
fn byte_order(file: &File, entry: &Entry) -> io::Result<bool> {
    let order = word(file, entry)?;
    ensure(["little", "big"].contains(&&*order), || {
        format!("entry {} has the unknown byte order {}", quoted(&entry.name), quoted(&order))
    })?;
    Ok(order == "big")
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Kind, MOST, Store};
    use std::io::ErrorKind;

    /// Storages cost memory, also those that no tensor uses.
    #[test]
    fn storages_are_limited() {
        let mut store = Store { follow: true, ..Store::default() };
        for _ in 0..MOST - 1 {
            store.add_pickled(0, 4, 4, Kind::Pickled).expect("a storage");
        }
        store.find("7", 4, 1, None).expect("the last storage");
        store.find("7", 4, 1, None).expect("the same storage");
        let error = store.find("8", 4, 1, None).expect_err("too many");
        assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
        assert_eq!(error.to_string(), "the file has more than 2000000 storages and arrays");
        let error = store.add_kept(b"a").expect_err("too many");
        assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
        assert!(store.add_kept(&[0; KEPT]).is_err_and(|error| error.to_string().contains("protocol=4")));
    }
}
