//! Makes checkpoints, right and wrong ones, for tests.

use super::table::masked;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns a number of variable length.
pub fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push((number & 0x7f).to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
    bytes
}

/// Returns a field with a number.
pub fn number(field: u64, number: u64) -> Vec<u8> {
    [varint(field << 3), varint(number)].concat()
}

/// Returns a field with a message.
pub fn message(field: u64, message: &[u8]) -> Vec<u8> {
    [&varint(field << 3 | 2)[..], &varint(message.len() as u64), message].concat()
}

/// Returns the header of an index.
pub fn header(shards: u64, order: u64) -> Vec<u8> {
    [number(1, shards), number(2, order), message(3, &number(1, 1))].concat()
}

/// Returns a shape.
pub fn shape(dims: &[u64]) -> Vec<u8> {
    let dim = |dim: &u64| message(2, &number(1, *dim));
    dims.iter().flat_map(dim).collect()
}

/// Returns an entry of a tensor with these bytes.
pub fn entry(dtype: u64, dims: &[u64], shard: u64, offset: u64, bytes: &[u8]) -> Vec<u8> {
    let crc = masked(crc32c::crc32c(bytes)).to_le_bytes();
    let place = [number(3, shard), number(4, offset), number(5, bytes.len() as u64)].concat();
    [number(1, dtype), message(2, &shape(dims)), place, varint(6 << 3 | 5), crc.to_vec()].concat()
}

/// Returns a slice along all axes, each with a start and perhaps a length.
pub fn slice(extents: &[(u64, Option<u64>)]) -> Vec<u8> {
    let extent = |(start, len): &(u64, Option<u64>)| {
        let len = len.map_or(Vec::new(), |len| number(2, len));
        message(1, &[number(1, *start), len].concat())
    };
    extents.iter().flat_map(extent).collect()
}

/// Returns the contents of a block with these keys, with a restart point at each `interval`th one.
pub fn block(pairs: &[(Vec<u8>, Vec<u8>)], interval: usize) -> Vec<u8> {
    let (mut entries, mut points, mut last) = (Vec::new(), vec![0], &[][..]);
    for (index, (key, value)) in pairs.iter().enumerate() {
        let is_point = index % interval == 0;
        if is_point && index > 0 {
            points.push(u32::try_from(entries.len()).expect("a small block"));
        }
        let shared = last.iter().zip(key).take_while(|(first, second)| first == second && !is_point).count();
        for len in [shared, key.len() - shared, value.len()] {
            entries.extend(varint(len as u64));
        }
        entries.extend_from_slice(&key[shared..]);
        entries.extend_from_slice(value);
        last = key;
    }
    points.push(u32::try_from(points.len()).expect("a small block"));
    entries.extend(points.iter().flat_map(|point| point.to_le_bytes()));
    entries
}

/// A table to which blocks are added.
#[derive(Default)]
pub struct Table {
    /// The bytes until now.
    pub bytes: Vec<u8>,
    /// The list of blocks.
    pub list: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Table {
    /// Adds stored bytes as a block, and returns its place.
    pub fn block(&mut self, stored: &[u8], method: u8) -> Vec<u8> {
        let place = [varint(self.bytes.len() as u64), varint(stored.len() as u64)].concat();
        let block = [stored, &[method]].concat();
        self.bytes.extend_from_slice(&block);
        self.bytes.extend(masked(crc32c::crc32c(&block)).to_le_bytes());
        place
    }

    /// Adds a block, and lists it with this key.
    pub fn data(&mut self, contents: &[u8], key: &[u8]) {
        let place = self.block(contents, 0);
        self.list.push((key.to_vec(), place));
    }

    /// Returns the bytes of the table.
    pub fn end(mut self) -> Vec<u8> {
        let other = self.block(&block(&[], 1), 0);
        let list = block(&self.list, 1);
        let list = self.block(&list, 0);
        let mut footer = [other, list].concat();
        footer.resize(40, 0);
        [self.bytes, footer, 0xdb47_7524_8b80_fb57_u64.to_le_bytes().to_vec()].concat()
    }
}

/// A checkpoint to which tensors are added.
pub struct Made {
    /// The keys and values of the index.
    pub pairs: Vec<(Vec<u8>, Vec<u8>)>,
    /// The bytes of each data file.
    pub shards: Vec<Vec<u8>>,
}

impl Made {
    /// Creates a checkpoint with so many data files.
    pub fn new(shards: usize) -> Self {
        Self { pairs: vec![(vec![], header(shards as u64, 0))], shards: vec![Vec::new(); shards] }
    }

    /// Adds an entry.
    pub fn pair(&mut self, key: impl Into<Vec<u8>>, value: Vec<u8>) -> &mut Self {
        self.pairs.push((key.into(), value));
        self
    }

    /// Adds a tensor with these bytes.
    pub fn tensor(&mut self, key: impl Into<Vec<u8>>, dtype: u64, dims: &[u64], bytes: &[u8]) -> &mut Self {
        self.in_shard(0, key, dtype, dims, bytes)
    }

    /// Adds a tensor to a data file.
    pub fn in_shard(
        &mut self,
        shard: usize,
        key: impl Into<Vec<u8>>,
        dtype: u64,
        dims: &[u64],
        bytes: &[u8],
    ) -> &mut Self {
        let offset = self.shards[shard].len() as u64;
        self.shards[shard].extend_from_slice(bytes);
        self.pair(key, entry(dtype, dims, shard as u64, offset, bytes))
    }

    /// Returns the index, with so many keys to a block.
    pub fn index(&self, most: usize) -> Vec<u8> {
        let mut pairs = self.pairs.clone();
        pairs.sort();
        let mut table = Table::default();
        for pairs in pairs.chunks(most) {
            let last = pairs.last().map(|(key, _)| key.clone());
            table.data(&block(pairs, 3), &last.unwrap_or_default());
        }
        table.end()
    }

    /// Writes the files into a directory, and returns the path of the index.
    pub fn write(&self, directory: &Path) -> io::Result<PathBuf> {
        for (number, shard) in self.shards.iter().enumerate() {
            let count = self.shards.len();
            fs::write(directory.join(format!("m.data-{number:05}-of-{count:05}")), shard)?;
        }
        let path = directory.join("m.index");
        fs::write(&path, self.index(2))?;
        Ok(path)
    }
}
