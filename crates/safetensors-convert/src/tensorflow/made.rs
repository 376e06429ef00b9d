//! Makes checkpoints, right and wrong ones, for tests.

use super::slices::{Extent, key};
use super::table::masked;
pub use crate::made::{message, number, varint};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The header of an index.
pub fn header(shards: u64, order: u64) -> Vec<u8> {
    [number(1, shards), number(2, order), message(3, &number(1, 1))].concat()
}

pub fn shape(dims: &[u64]) -> Vec<u8> {
    dims.iter().flat_map(|dim| message(2, &number(1, *dim))).collect()
}

/// The entry of a tensor with these bytes.
pub fn entry(dtype: u64, dims: &[u64], shard: u64, offset: u64, bytes: &[u8]) -> Vec<u8> {
    let crc = masked(crc32c::crc32c(bytes)).to_le_bytes();
    let place = [number(3, shard), number(4, offset), number(5, bytes.len() as u64)].concat();
    [number(1, dtype), message(2, &shape(dims)), place, varint(6 << 3 | 5), crc.to_vec()].concat()
}

/// A slice as TensorFlow writes it: `0,2:-` is the start and the length along the first axis, and all of the
/// second one.
pub fn extents(spec: &str) -> Vec<Extent> {
    let number = |text: &str| text.parse().expect("a number");
    let axes = spec.split(':').filter(|axis| !axis.is_empty()).map(|axis| match axis.split_once(',') {
        Some((start, len)) => Extent { start: number(start), len: Some(number(len)) },
        None => Extent { start: 0, len: None },
    });
    axes.collect()
}

/// The field of a variable that lists a slice.
pub fn listed(spec: &str) -> Vec<u8> {
    let len = |extent: &Extent| extent.len.map_or(Vec::new(), |len| number(2, len));
    let of = |extent: Extent| message(1, &[number(1, extent.start), len(&extent)].concat());
    message(7, &extents(spec).into_iter().flat_map(of).collect::<Vec<u8>>())
}

/// The contents of a block with these keys, with a restart point at each `interval`th one.
pub fn block(pairs: &[(Vec<u8>, Vec<u8>)], interval: usize) -> Vec<u8> {
    let small = |number: usize| u32::try_from(number).expect("a small block");
    let (mut entries, mut points, mut last) = (Vec::new(), vec![0], &[][..]);
    for (index, (key, value)) in pairs.iter().enumerate() {
        let is_point = index % interval == 0;
        points.extend((is_point && index > 0).then(|| small(entries.len())));
        let shared = last.iter().zip(key).take_while(|(first, second)| first == second && !is_point).count();
        entries
            .extend([shared, key.len() - shared, value.len()].into_iter().flat_map(|len| varint(len as u64)));
        entries.extend([&key[shared..], value].concat());
        last = key;
    }
    points.push(small(points.len()));
    entries.extend(points.iter().flat_map(|point| point.to_le_bytes()));
    entries
}

/// A table to which blocks are added.
#[derive(Default)]
pub struct Table {
    pub bytes: Vec<u8>,
    /// The keys and places in the list of blocks.
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
    pub fn data(&mut self, stored: &[u8], method: u8, key: &[u8]) -> &mut Self {
        let place = self.block(stored, method);
        self.list.push((key.to_vec(), place));
        self
    }

    /// Returns the bytes of the table.
    pub fn end(&mut self) -> Vec<u8> {
        let other = self.block(&block(&[], 1), 0);
        let list = block(&self.list, 1);
        let list = self.block(&list, 0);
        let mut footer = [other, list].concat();
        footer.resize(40, 0);
        [&self.bytes[..], &footer, &0xdb47_7524_8b80_fb57_u64.to_le_bytes()].concat()
    }
}

/// A checkpoint to which tensors are added.
pub struct Made {
    /// The keys and values of the index.
    pub pairs: Vec<(Vec<u8>, Vec<u8>)>,
    /// The bytes of each data file.
    pub shards: Vec<Vec<u8>>,
    filled: usize,
}

impl Made {
    /// Creates a checkpoint with so many data files.
    pub fn new(shards: usize) -> Self {
        let pairs = vec![(vec![], header(shards as u64, 0))];
        Self { pairs, shards: vec![Vec::new(); shards], filled: 0 }
    }

    /// Creates a checkpoint with a variable `v` of bytes, and its slices.
    pub fn partitioned(dims: &[u64], slices: &[(&str, &[u8])]) -> Self {
        let mut made = Self::new(1);
        let own = [number(1, 4), message(2, &shape(dims))].concat();
        made.pair("v", own.into_iter().chain(slices.iter().flat_map(|(spec, _)| listed(spec))).collect());
        for (spec, bytes) in slices {
            let extents = extents(spec);
            let own = extents.iter().zip(dims).map(|(extent, dim)| extent.len.unwrap_or(*dim));
            made.tensor(key(b"v", &extents), 4, &own.collect::<Vec<_>>(), bytes);
        }
        made
    }

    /// Adds an entry.
    pub fn pair(&mut self, key: impl Into<Vec<u8>>, value: Vec<u8>) -> &mut Self {
        self.pairs.push((key.into(), value));
        self
    }

    /// Adds a tensor with these bytes to the data file that is filled.
    pub fn tensor(&mut self, key: impl Into<Vec<u8>>, dtype: u64, dims: &[u64], bytes: &[u8]) -> &mut Self {
        let (number, shard) = (self.filled as u64, &mut self.shards[self.filled]);
        let offset = shard.len() as u64;
        shard.extend_from_slice(bytes);
        self.pair(key, entry(dtype, dims, number, offset, bytes))
    }

    /// Fills another data file from now on.
    pub fn fill(&mut self, shard: usize) -> &mut Self {
        self.filled = shard;
        self
    }

    /// Returns the index, with so many keys to a block.
    pub fn index(&self, most: usize) -> Vec<u8> {
        let mut pairs = self.pairs.clone();
        pairs.sort();
        let mut table = Table::default();
        for pairs in pairs.chunks(most) {
            table.data(&block(pairs, 3), 0, &pairs[pairs.len() - 1].0);
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
