//! Writes files of a format into a directory, as the initial corpus of its reader's fuzzer: `seeds TARGET
//! DIRECTORY`. Each begins with the byte by which the target knows what follows.
//!
//! For PyTorch, `torch.py` writes more, with torch.

#[allow(dead_code)]
#[path = "../../../host/tests/made.rs"]
mod made;

use made::graphs::{Value, buffer, message, outside, scaled, tensor, tensor_of};
use safetensors_convert::gguf::Kind;
use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let usage = "usage: seeds TARGET DIRECTORY";
    let (target, directory) = (arguments.next().ok_or(usage)?, arguments.next().ok_or(usage)?);
    let seeds = match target.to_str() {
        Some("gguf") => gguf(),
        Some("numpy") => numpy(),
        Some("onnx") => onnx(),
        Some("tensorflow") => tensorflow(),
        Some("tflite") => tflite(),
        Some("torch") => torch(),
        _ => return Err(usage.into()),
    };
    let directory = PathBuf::from(directory);
    fs::create_dir_all(&directory)?;
    for (number, seed) in seeds.iter().enumerate() {
        fs::write(directory.join(format!("seed-{number:03}")), seed)?;
    }
    Ok(())
}

fn with(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&[kind], bytes].concat()
}

/// A file of each type; of several dims; big-endian; and of version 2.
fn gguf() -> Vec<Vec<u8>> {
    let of_kind = |kind: &Kind| {
        let data = vec![0x3C; kind.block_bytes() as usize];
        made::gguf(kind.number(), &[kind.block_elements()], &data)
    };
    let mut seeds: Vec<Vec<u8>> = Kind::ALL.iter().map(of_kind).collect();
    let three = made::gguf(0, &[2, 3, 1], &[7; 24]);
    let mut second = three.clone();
    second[4] = 2;
    seeds.extend([three, second]);
    // Each kind of value, after the only key.
    let key = |kind: u32, value: &[u8]| {
        let head = [&b"GGUF\x03\0\0\0"[..], &0u64.to_le_bytes(), &1u64.to_le_bytes()].concat();
        let name = [&1u64.to_le_bytes()[..], b"k"].concat();
        let mut file = [&head[..], &name, &kind.to_le_bytes(), value].concat();
        file.resize(file.len().next_multiple_of(32), 0);
        file
    };
    seeds.extend((0..13).filter(|kind| *kind != 9).map(|kind| key(kind, &[1, 0, 0, 0, 0, 0, 0, 0, b'v'])));
    let array =
        |kind: u32, value: &[u8]| key(9, &[&kind.to_le_bytes()[..], &2u64.to_le_bytes(), value].concat());
    seeds.extend((0..13).filter(|kind| *kind != 9).map(|kind| array(kind, &[0; 16])));
    let big = [&b"GGUF\0\0\0\x03"[..], &[0; 7], &[1], &[0; 8], &[0; 7], b"\x01w"].concat();
    let big = [&big[..], &[0, 0, 0, 1], &[0; 7], &[3], &[0, 0, 0, 0], &[0; 8]].concat();
    let padded = big.len().next_multiple_of(32);
    let big = [&big[..], &vec![0; padded - big.len()], &[0x3F; 12], &[0; 20]].concat();
    seeds.push(big);
    seeds
}

fn numpy() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for descr in ["'|b1'", "'<f4'", "'>u2'", "'<V2'", "'<f1'", "'>c8'", "'|O'", "[('a', '<f4')]"] {
        let shapes = [("False", "(4,)", 4), ("True", "(2, 2)", 4), ("False", "()", 1), ("True", "(0, 3)", 0)];
        for (order, shape, count) in shapes {
            let width = descr.trim_end_matches('\'').chars().last().and_then(|last| last.to_digit(10));
            let data = vec![1; count * width.unwrap_or(1) as usize];
            let array = made::npy(descr, order, shape, &data);
            let archive = made::archive(&[("a.npy".to_owned(), &array)], true);
            let two = made::archive(&[("a.npy".to_owned(), &array), ("b/c.npy".to_owned(), &array)], false);
            let header = [&[(array.len() - 10 - data.len()) as u8], &array[10..]].concat();
            seeds.extend([with(0, &array), with(1, &archive), with(1, &two)]);
            seeds.extend([with(2, &array), with(3, &array), with(4, &header)]);
        }
    }
    seeds
}

/// An index; its block; and its keys and values.
fn tensorflow() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    // Data files have only zeros. Two elements have 2, 4, 8 or 16 bytes.
    for (dtype, len) in (1..34).flat_map(|dtype| [2, 4, 8, 16].map(|len| (dtype, len))) {
        let (index, _) = made::tensorflow(&[("a", dtype, 2, &vec![0; len]), ("b/c", 1, 1, &[0; 4])]);
        // The list of blocks has the place of the only one; blocks begin at the first byte.
        let end = index.windows(8).position(|bytes| bytes == [0, 0, 0, 0, 1, 0, 0, 0]).map_or(0, |at| at + 8);
        let block = &index[..end];
        let (mut rest, mut pairs) = (&block[..end.saturating_sub(8)], Vec::new());
        while let [0, key, value, after @ ..] = rest {
            let (key_len, value_len) = (usize::from(*key), usize::from(*value));
            pairs.extend([&[*key], &after[..key_len], &[*value], &after[key_len..][..value_len]].concat());
            rest = &after[key_len + value_len..];
        }
        seeds.extend([with(0, &index), with(1, block), with(2, &pairs)]);
    }
    seeds
}

/// A tensor of each dtype in each field and in another file, and in a graph in a node.
fn onnx() -> Vec<Vec<u8>> {
    let lens = [2, 4, 8, 16].map(|len| vec![1; len]);
    let fields = [4, 5, 7, 9, 10, 11].into_iter();
    let fields = fields.flat_map(|field| lens.iter().map(move |bytes| message(field, bytes)));
    let place = outside(&[("location", "w.bin"), ("offset", "4"), ("length", "8")]);
    let of = |dtype, elements: &[u8]| {
        let tensor = tensor("w", dtype, &[2], elements);
        let attribute =
            |field, bytes: &[u8]| message(5, &[message(1, b"value"), message(field, bytes)].concat());
        let constant = [message(2, b"x"), message(4, b"Constant"), attribute(5, &tensor)].concat();
        let branch = [message(2, b"y"), attribute(6, &message(1, &constant))].concat();
        made::graphs::onnx(&[message(5, &tensor), message(1, &branch)].concat())
    };
    let fields: Vec<_> = fields.chain([place]).collect();
    (1..29).flat_map(|dtype| fields.iter().map(move |elements| of(dtype, elements))).collect()
}

/// A tensor of each dtype with scales, a state, and one with elements after the tables.
fn tflite() -> Vec<Vec<u8>> {
    let of = |(dtype, len): (u64, usize)| {
        let first = [tensor_of("w", dtype, &[2, 1], 1), vec![scaled(&[1.0, 2.0], &[1, 0], 0)]].concat();
        let state = [tensor_of("w", dtype, &[2], 0), vec![(5, Value::Number(1))]].concat();
        let other = vec![tensor_of("w", 9, &[2], 2)];
        let place = vec![(1, Value::Number(8)), (2, Value::Number(2))];
        made::graphs::tflite(&[("", vec![first, state]), ("b", other)], &[buffer(&vec![1; len]), place])
    };
    (0..23).flat_map(|dtype| [2, 4, 8, 16].map(|len| (dtype, len))).map(of).collect()
}

fn torch() -> Vec<Vec<u8>> {
    let old = |tensor| made::dictionary(&[("w", tensor)]);
    let pickle = made::dictionary(&[
        ("a", made::tensor("1", "FloatStorage", 1, false)),
        ("b", made::newer_tensor("2", "float8_e4m3fn", [24, 24], false)),
        ("c", b"G?\xF0\0\0\0\0\0\0".to_vec()),
    ]);
    let file = made::pytorch(&pickle, &[Vec::new(), vec![1; 4], vec![2; 24]]);
    let before = made::old_pytorch(&old(made::tensor("0", "FloatStorage", 2, true)), 2, &[1; 8]);
    vec![with(0, &file), with(1, &pickle), with(2, &pickle), with(0, &before)]
}
