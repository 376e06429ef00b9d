//! The files that are measured, each written by a process of its own.

use super::torch;
use safetensors_convert::zip::Archive;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// The longest header.
const HEADER: usize = 100_000_000;
pub const TENSORS: u64 = 100_000;
/// More than are held at once, so that several passes are needed.
const KEYS: u64 = 3_000_000;
pub const RANK: usize = 1_000_000;
pub const HUGE: u64 = 6 << 30;

pub fn write(name: &str, path: &str) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let entry = |more: &str| format!(r#"{{"a":{{"dtype":"U8","shape":[0],"data_offsets":[0,0],{more}"#);
    match name {
        "values" => header(&mut out, &(entry(r#""x":["#) + &"[0],".repeat(HEADER / 4 - 25) + "0]}}"), 0),
        "nesting" => header(&mut out, &(entry(r#""x":"#) + &"[".repeat(HEADER - 100)), 0),
        "spaces" => header(&mut out, &" ".repeat(HEADER), 0),
        "name" => header(&mut out, &format!("{{{}}}", empty(90_000_000)), 0),
        "names" => header(&mut out, &format!("{{{0},{0}}}", empty(20_000_000)), 0),
        "value" => header(&mut out, &pairs(1, &r"\u0041".repeat(HEADER / 6 - 20)), 0),
        "keys" => header(&mut out, &pairs(KEYS, ""), 0),
        "dimensions" => {
            let dims = "1,".repeat(RANK - 1) + "1";
            header(&mut out, &format!(r#"{{"a":{{"dtype":"U8","data_offsets":[0,1],"shape":[{dims}]}}}}"#), 1)
        }
        "tensors" => header(&mut out, &tensors(0..TENSORS), TENSORS),
        "reversed" => header(&mut out, &tensors((0..TENSORS).rev()), TENSORS),
        "longer" => header(&mut out, &tensors((0..TENSORS).rev()), TENSORS + 1),
        // The first three are a layer of GPTQ.
        "layers" => {
            let layer = [
                r#""l.qweight":{"dtype":"I32","shape":[4,8],"data_offsets":[0,128]}"#,
                r#""l.qzeros":{"dtype":"I32","shape":[1,1],"data_offsets":[128,132]}"#,
                r#""l.scales":{"dtype":"F16","shape":[1,8],"data_offsets":[132,148]}"#,
            ];
            let all = tensors(148..TENSORS).replacen('{', &format!("{{{},", layer.join(",")), 1);
            header(&mut out, &all, TENSORS)
        }
        "huge" | "few" => {
            let len = if name == "huge" { HUGE } else { HUGE.div_ceil(1_000_000) };
            let text = format!(r#"{{"a":{{"dtype":"U8","shape":[{len}],"data_offsets":[0,{len}]}}}}"#);
            header(&mut out, &text, 0)?;
            out.into_inner()?.set_len(8 + text.len() as u64 + len)
        }
        "matrix" => {
            let text = r#"{"a.weight":{"dtype":"F32","shape":[2000,3000],"data_offsets":[0,24000000]}}"#;
            header(&mut out, text, 24_000_000)
        }
        "lora" => {
            let down = r#""a.lora_A.weight":{"dtype":"F8_E4M3","shape":[4,3000],"data_offsets":[0,12000]}"#;
            let up = r#""a.lora_B.weight":{"dtype":"F8_E4M3","shape":[2000,4],"data_offsets":[12000,20000]}"#;
            let text = format!("{{{down},{up}}}");
            header(&mut out, &text, 0)?;
            out.into_inner()?.set_len(8 + text.len() as u64 + 20_000)
        }
        "doubles" => {
            header(&mut out, r#"{"a":{"dtype":"F64","shape":[4000000],"data_offsets":[0,32000000]}}"#, 0)?;
            // Their upper bits are as good as random, so that every counter is used.
            let numbers = (0..4_000_000_u64).map(|index| index.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            numbers.map(u64::to_le_bytes).try_for_each(|number| out.write_all(&number))
        }
        "turned.npy" => {
            let text = "{'descr': '>f4', 'fortran_order': True, 'shape': (8000, 3000)}";
            out.write_all(&[b"\x93NUMPY\x01\x00", &[62, 0][..], text.as_bytes()].concat())?;
            out.write_all(&b"<@@=".repeat(24_000_000))
        }
        "zip.pt" => torch::zip(&mut out),
        "legacy.pt" => torch::legacy(&mut out),
        "blocks.gguf" => blocks(&mut out),
        "pickle" => pickle(&mut out, 1_048_000, 16_000),
        "pickles" => pickle(&mut out, 2_097_000, 65_000),
        "names.zip" => names(&mut out, 7, b'a', 0),
        "controls.zip" => names(&mut out, 11, 1, 300),
        "long.zip" => names(&mut out, 11, b'a', 60_000),
        _ => panic!("no file is called {name}"),
    }
}

/// A model with this header, and so many bytes of data.
fn header(out: &mut dyn Write, text: &str, data: u64) -> io::Result<()> {
    out.write_all(&(text.len() as u64).to_le_bytes())?;
    out.write_all(text.as_bytes())?;
    (0..data).try_for_each(|index| out.write_all(&[byte(index)]))
}

/// The byte at this index of the data, which is that of the tensor with this number.
pub fn byte(index: u64) -> u8 {
    u8::try_from(index % 251).expect("it is less")
}

/// An entry with a name of this length.
fn empty(name: usize) -> String {
    format!(r#""{}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#, "n".repeat(name))
}

fn pairs(count: u64, value: &str) -> String {
    let pairs: Vec<String> = (0..count).map(|index| format!(r#""{index}":"{value}""#)).collect();
    format!(r#"{{"__metadata__":{{{}}}}}"#, pairs.join(","))
}

fn tensors(order: impl Iterator<Item = u64>) -> String {
    let tensors = order.map(|index| {
        format!(r#""t{index}":{{"dtype":"U8","shape":[1],"data_offsets":[{index},{}]}}"#, index + 1)
    });
    format!("{{{}}}", tensors.collect::<Vec<_>>().join(","))
}

/// A model in GGUF whose tensors have one block of Q8_0 each.
fn blocks(out: &mut dyn Write) -> io::Result<()> {
    let mut text = [b"GGUF\x03\0\0\0", &TENSORS.to_le_bytes()[..], &[0; 8]].concat();
    for number in 0..TENSORS {
        let name = number.to_string();
        text.extend([&(name.len() as u64).to_le_bytes(), name.as_bytes()].concat());
        text.extend([1_u32.to_le_bytes(), 32_u32.to_le_bytes(), [0; 4], 8_u32.to_le_bytes()].concat());
        text.extend((64 * number).to_le_bytes());
    }
    text.resize(text.len().next_multiple_of(32), 0);
    out.write_all(&text)?;
    (0..TENSORS).try_for_each(|_| out.write_all(&[0; 64]))
}

/// A pickle with all that is remembered of one: texts, an item in each part of the memo, items on the stack,
/// and imported names.
fn pickle(out: &mut dyn Write, items: usize, names: u32) -> io::Result<()> {
    (0..90_000).try_for_each(|number| write!(out, "U\x05{number:05}0"))?;
    out.write_all(b"U\x0512345")?;
    let put = |index: u32| [&b"r"[..], &(index << 7).to_le_bytes()].concat();
    (0..524_288).try_for_each(|index| out.write_all(&put(index)))?;
    out.write_all(&b"N".repeat(items))?;
    (0..names).try_for_each(|number| write!(out, "c{number:060}\n1\n0"))
}

/// An archive of pickles that import names of this many letters each.
fn names(out: &mut dyn Write, entries: u32, letter: u8, len: usize) -> io::Result<()> {
    let mut archive = Archive::new(out, true);
    let most = 1_000_000 / len.max(60);
    for entry in 0..entries {
        archive.add(&format!("{entry}.pkl"), |out: &mut dyn Write| {
            for number in 0..most {
                let name = [format!("cm\n{entry}_{number}").into_bytes(), vec![letter; len]].concat();
                out.write_all(&[&name, &b"\n0"[..]].concat())?;
            }
            out.write_all(b"N.")
        })?;
    }
    archive.finish().map(|_| ())
}
