//! Any bytes as a TensorFlow checkpoint: it is rejected, or every tensor has as many bytes as its shape says.
//!
//! The first byte of an input selects what the others are: an index; the contents of its only block; or keys
//! and values, each after its length. The checksums of the index are right in the latter two.
#![no_main]

mod common;

use common::{check, file_of, read_first};
use libfuzzer_sys::fuzz_target;
use safetensors_convert::TensorSource;
use safetensors_convert::tensorflow::Checkpoint;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::LazyLock;

/// The length of each data file.
const DATA: usize = 4096;

static INDEX: LazyLock<File> = LazyLock::new(|| file_of(&[]));
static SHARD: LazyLock<File> = LazyLock::new(|| file_of(&[0; DATA]));

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    let index = match kind % 3 {
        0 => rest.to_vec(),
        1 => table(rest),
        _ => table(&block(&pairs(rest))),
    };
    INDEX.set_len(0).expect("an empty file");
    INDEX.write_all_at(&index, 0).expect("written");
    match Checkpoint::open(Path::new("m.index"), open) {
        Ok(checkpoint) => read_all(&checkpoint),
        Err(error) => check(&error),
    }
});

fn open(path: &Path) -> io::Result<File> {
    match path.extension().is_some_and(|suffix| suffix == "index") {
        true => INDEX.try_clone(),
        false => SHARD.try_clone(),
    }
}

fn read_all(checkpoint: &Checkpoint) {
    let mut names: HashSet<&str> = checkpoint.left_out().iter().map(|(name, _)| &**name).collect();
    for tensor in checkpoint.tensors() {
        let is_new = names.insert(&tensor.name);
        assert!(
            is_new || checkpoint.left_out().iter().any(|(name, _)| *name == tensor.name),
            "a duplicate name"
        );
    }
    read_first(checkpoint, usize::MAX, u64::MAX).for_each(drop);
}

/// Takes keys and values, each after a byte with its length.
fn pairs(mut rest: &[u8]) -> BTreeMap<&[u8], &[u8]> {
    let mut take = || {
        let (&len, bytes) = rest.split_first()?;
        let (taken, after) = bytes.split_at(usize::from(len).min(bytes.len()));
        rest = after;
        Some(taken)
    };
    std::iter::from_fn(|| Some((take()?, take()?))).collect()
}

/// A block with one restart point, in which no keys share bytes.
fn block(pairs: &BTreeMap<&[u8], &[u8]>) -> Vec<u8> {
    let mut block = Vec::new();
    for (key, value) in pairs {
        block.push(0);
        [key.len(), value.len()].iter().for_each(|len| varint(&mut block, *len));
        block.extend([*key, value].concat());
    }
    block.extend([0, 0, 0, 0, 1, 0, 0, 0]);
    block
}

/// A table with one block.
fn table(contents: &[u8]) -> Vec<u8> {
    let mut table = Vec::new();
    let place = stored(&mut table, contents);
    let list = block(&BTreeMap::from([(&[0xff; 300][..], &place[..])]));
    let list = stored(&mut table, &list);
    let other = stored(&mut table, &block(&BTreeMap::new()));
    let mut footer = [other, list].concat();
    footer.resize(40, 0);
    table.extend(footer);
    table.extend(0xdb47_7524_8b80_fb57_u64.to_le_bytes());
    table
}

/// Adds a block with its checksum, and returns its place.
fn stored(table: &mut Vec<u8>, contents: &[u8]) -> Vec<u8> {
    let mut place = Vec::new();
    [table.len(), contents.len()].iter().for_each(|number| varint(&mut place, *number));
    table.extend_from_slice(contents);
    table.push(0);
    let crc = crc32c::crc32c(&[contents, &[0]].concat());
    table.extend(crc.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes());
    place
}

fn varint(bytes: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}
