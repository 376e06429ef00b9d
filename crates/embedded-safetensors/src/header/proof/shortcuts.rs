//! What is read faster than byte by byte: text, numbers and words that are contiguous in the input, canonical
//! entries, and entries that are skimmed.

extern crate std;

use super::super::Reading::{Tensors, TensorsByToken};
use super::super::{HeaderParser, Reading, Signal, Signals};
use super::language::{Configuration, Language};
use crate::error::Error;
use crate::shape::Shape;
use crate::tensor::info::TensorInfo;
use std::format;
use std::mem::take;
use std::string::String;
use std::vec::Vec;

/// The tensors of a header: name, description, and where the name and the first offset are. Then the end of a
/// valid header, or the error.
type Report = (Vec<(Vec<u8>, TensorInfo, u32, u32)>, Result<u64, Error>);

/// Reads a header in pieces.
fn read<const IN_CONST: bool>(header: &[u8], reading: Reading, pieces: &[&[u8]]) -> Report {
    use Signal::{Dim, HeaderEnd, Metadata, Name, NeedInput, Tensor, TensorEnd};
    let selected = Signals::of(&[Name, Metadata, Tensor, Signal::Shape, Dim, TensorEnd]);
    let (mut parser, mut run) = (HeaderParser::of_file(None, reading), &[][..]);
    let (mut seen, mut name, mut name_at, mut shape) = (Vec::new(), Vec::new(), 0, Shape::SCALAR);
    let length = (header.len() as u64).to_le_bytes();
    for mut input in [&length[..]].iter().chain(pieces).copied() {
        loop {
            while let Some(it) = parser.take_entry::<IN_CONST>(&mut input) {
                let info = TensorInfo::checked(it.dtype, it.shape, it.place);
                seen.push((it.name.to_vec(), info, it.name_at, it.place.begin_at));
            }
            let signal = parser.advance::<IN_CONST>(&mut input, &mut run, selected);
            name.extend_from_slice(parser.piece_bytes(signal, run));
            match signal {
                Name => {}
                Metadata => name.clear(),
                Tensor => name_at = parser.token,
                Signal::Shape => shape = Shape::SCALAR,
                Dim => _ = shape.push(parser.number),
                TensorEnd => seen.push((take(&mut name), parser.info(shape), name_at, parser.begin_at)),
                HeaderEnd => return (seen, Ok(parser.position())),
                NeedInput => break,
                _ => return (seen, Err(parser.error())),
            }
        }
    }
    panic!("the header ends with its last piece");
}

/// Compares ways to read a header with the one byte by byte: by token, by entry, in const evaluation, and in
/// two pieces.
fn compare(header: &[u8], in_pieces: bool) -> Result<(), String> {
    let expected = read::<false>(header, TensorsByToken, &header.chunks(1).collect::<Vec<_>>());
    let ways = [read::<false>(header, TensorsByToken, &[header]), read::<true>(header, Tensors, &[header])];
    let splits = if in_pieces { 0..header.len() } else { 0..1 };
    let halves = splits.map(|at| read::<false>(header, Tensors, &<[_; 2]>::from(header.split_at(at))));
    let header = header.escape_ascii();
    ways.into_iter()
        .chain(halves)
        .find(|found| *found != expected)
        .map_or(Ok(()), |found| Err(format!("{header}: {found:?}, but byte by byte {expected:?}")))
}

/// Compares all headers that so many edits make of this one: a byte replaced, inserted or removed, from a
/// position on. Returns their number.
pub(super) fn edited(header: &[u8], edits: u32, from: usize) -> Result<u64, String> {
    const BYTES: &[u8] = b" \"\\,:{}[]019_aU\xC3\x0B";
    compare(header, edits > 0)?;
    let mut headers = 1;
    for at in (from..=header.len()).filter(|_| edits > 0) {
        let (before, after) = header.split_at(at);
        let rest = after.get(1..).unwrap_or_default();
        for byte in BYTES {
            headers += edited(&[before, &[*byte], after].concat(), edits - 1, at + 1)?;
            headers += edited(&[before, &[*byte], rest].concat(), edits - 1, at + 1)?;
        }
        headers += edited(&[before, rest].concat(), edits - 1, at)?;
    }
    Ok(headers)
}

/// Compares headers with numbers near powers of two and of ten. Returns their number.
pub(super) fn with_numbers() -> Result<u64, String> {
    let edges = [8, 10, 16, 31, 32, 33, 53, 58, 59, 61, 62, 63, 64].map(|bits| 1u128 << bits);
    let tens = [u128::from(u64::MAX) / 10 * 10, 10_000_000_000_000_000_000];
    let mut headers = 0;
    for n in edges.into_iter().chain(tens).flat_map(|edge| edge - 2..edge + 3) {
        let shapes =
            [format!("{n},{n}"), format!("{n}"), format!("{n},0"), format!("0,{n}"), format!("2,{n}")];
        let tensors = [("U8", n), ("F64", n << 3), ("F4", n >> 1), ("I8", 0), ("U8", 2 * n)];
        for (shape, (dtype, end)) in shapes.iter().flat_map(|shape| tensors.map(|tensor| (shape, tensor))) {
            let entry = format!(r#"{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":[0,{end}]}}"#);
            compare(format!(r#"{{"a":{entry}}}"#).as_bytes(), false)?;
            headers += 1;
        }
    }
    Ok(headers)
}

/// An entry up to a value of an unknown field, and what is after the entry.
const ENTRY: &str = r#"{"dtype":"U8","shape":[0],"data_offsets":[0,0],"":"#;
const AFTER: &str = r#","b":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}"#;

/// Compares where an entry ends that is skimmed, and one that is read, for each valid entry whose unknown
/// field, with the closing brace, has at most so many characters. Returns the number of entries.
pub(super) fn skimmed(language: &Language, characters: u32) -> Result<u64, String> {
    let mut now = Language::start();
    let prefix = [r#"{"":"#, ENTRY].concat();
    assert!(prefix.bytes().all(|byte| language.take(&mut now, byte).is_ok()));
    extended(language, &now, ENTRY, characters)
}

fn extended(language: &Language, now: &Configuration, entry: &str, left: u32) -> Result<u64, String> {
    const CHARACTERS: [&str; 11] = ["{", "}", "[", "]", "\"", "\\", ",", ":", "0", " ", "\u{E9}"];
    if now.depth == 1 {
        return skim_all(entry).map(|()| 1);
    }
    let mut entries = 0;
    for character in CHARACTERS.iter().filter(|_| left > 0) {
        let mut next = now.clone();
        if character.bytes().all(|byte| language.take(&mut next, byte).is_ok()) {
            entries += extended(language, &next, &[entry, *character].concat(), left - 1)?;
        }
    }
    Ok(entries)
}

/// Skims an entry at each alignment to words, and in two pieces.
fn skim_all(entry: &str) -> Result<(), String> {
    let name_end = r#"{"":"#.len();
    for spaces in 0..8 {
        let header = format!(r#"{{"":{:spaces$}{entry}{AFTER}"#, "");
        let expected = Some((header.len() - AFTER.len() + r#","b""#.len()) as u64 + 8);
        let splits = name_end..if spaces == 0 { header.len() } else { name_end + 1 };
        if let Some(at) = splits.into_iter().find(|at| skim(header.as_bytes(), *at) != expected) {
            return Err(format!("{header} in two pieces of which the first has {at} bytes"));
        }
    }
    Ok(())
}

/// Skims the first entry. Returns where the second name ends, if the remaining header is valid.
fn skim(header: &[u8], split: usize) -> Option<u64> {
    let selected = Signals::of(&[Signal::Tensor]);
    let (mut parser, mut second, length) =
        (HeaderParser::of_tensors(None), None, (header.len() as u64).to_le_bytes());
    let (first, rest) = header.split_at(split);
    for mut input in [&length, first, rest] {
        loop {
            match parser.advance::<false>(&mut input, &mut &[][..], selected) {
                Signal::Tensor if parser.token == 9 => parser.skim_entry(),
                Signal::Tensor => second = Some(parser.position()),
                Signal::HeaderEnd => return second,
                Signal::NeedInput => break,
                _ => return None,
            }
        }
    }
    None
}
