//! Compares entire headers, whose canonical entries are recognised at once, with the same headers byte by
//! byte.

use embedded_safetensors::{
    Error, View,
    validate::{Progress, SortSlot, Summary, Validator, validate_header},
};
use support::file::with_header;
use support::random::Random;
use support::share;

/// Returns the parser's verdict alone: nothing can be recognised in single bytes.
fn byte_by_byte(file: &[u8], slots: &mut [SortSlot]) -> Result<Summary, Error> {
    let mut check = Validator::new(Some(file.len() as u64), slots);
    let mut at = 0;
    loop {
        let mut byte = &file[at..(at + 1).min(file.len())];
        match check.push(&mut byte)? {
            Progress::NeedInput => at += 1,
            Progress::Rewind => at = 0,
            Progress::Done => return Ok(check.summary().expect("validated")),
        }
    }
}

/// Returns the scanner's verdict token by token, with the entire file available.
fn token_by_token(file: &[u8]) -> Result<Summary, Error> {
    let mut slots = [SortSlot::EMPTY; 2];
    let mut check = Validator::new(Some(file.len() as u64), &mut slots).by_token();
    loop {
        match check.push(&mut &*file)? {
            Progress::Done => return Ok(check.summary().expect("validated")),
            Progress::Rewind => {}
            Progress::NeedInput => panic!("all of it is there"),
        }
    }
}

fn compare(file: &[u8]) -> Result<Summary, Error> {
    let whole = validate_header(file, &mut [SortSlot::EMPTY; 2]);
    assert_eq!(whole, token_by_token(file), "{}", String::from_utf8_lossy(file));
    assert_eq!(whole, byte_by_byte(file, &mut [SortSlot::EMPTY; 2]), "{}", String::from_utf8_lossy(file));
    assert_eq!(validate_header(file, &mut []), byte_by_byte(file, &mut []), "without slots");
    for size in [1, 50, 90] {
        assert_eq!(in_pieces(file, size), whole, "{size} at a time: {}", String::from_utf8_lossy(file));
    }
    let view = View::parse(file).map(|view| view.summary());
    assert_eq!(view, validate_header(file, &mut []), "a view of {}", String::from_utf8_lossy(file));
    whole
}

/// Some entries are entirely in one piece, and some are not.
fn in_pieces(file: &[u8], size: usize) -> Result<Summary, Error> {
    let mut slots = [SortSlot::EMPTY; 2];
    let mut check = Validator::new(Some(file.len() as u64), &mut slots);
    loop {
        let at = usize::try_from(check.position()).expect("fits in usize");
        let mut piece = &file[at..(at + size).min(file.len())];
        match check.push(&mut piece) {
            Ok(Progress::Done) => return Ok(check.summary().expect("validated")),
            Err(error) => {
                assert_eq!(check.push(&mut piece), Err(error), "an error is repeated");
                return Err(error);
            }
            Ok(_) => {}
        }
    }
}

fn entry(name: &str, dtype: &str, shape: &str, begin: u64, end: u64) -> String {
    format!(r#""{name}":{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":[{begin},{end}]}}"#)
}

/// A file of these entries.
fn file_of(entries: &[String], data_len: u64) -> Vec<u8> {
    let header = format!("{{{}}}", entries.join(","));
    with_header(&header, usize::try_from(data_len).expect("fits in usize"))
}

/// Returns one entry of each kind, and the header's end.
fn valid_file() -> Vec<u8> {
    let entries = [
        entry("first", "F32", "", 0, 4),
        entry("model.layers.0.weight", "F16", "4,8", 4, 68),
        entry("", "I8", "7,10,1", 68, 138),
        entry("last", "F4", "0,4294967296", 138, 138),
        entry("__metadata_", "U8", "4294967295,0", 138, 138),
        entry("#]~", "BOOL", "0", 138, 138),
    ];
    file_of(&entries, 138)
}

/// Returns `__metadata__` at the start or between tensors, with every one-letter escape in it.
fn with_metadata(at_start: bool) -> Vec<u8> {
    let metadata =
        r#""__metadata__":{"key":"a value of some length","\"\\\/\b\f\n\r\t": "", "":"{\"a\":[1]}"}"#;
    let mut entries = vec![entry("a", "U8", "1", 0, 1), entry("b", "U8", "2", 1, 3)];
    entries.insert(usize::from(!at_start), metadata.to_owned());
    file_of(&entries, 3)
}

#[test]
fn every_byte_replaced_removed_and_doubled() {
    for file in [valid_file(), with_metadata(true), with_metadata(false)] {
        replace_every_byte(&file);
    }
}

fn replace_every_byte(file: &[u8]) {
    assert!(compare(file).is_ok());
    let header_len = u64::from_le_bytes(*file.first_chunk().expect("a length"));
    for at in 8..8 + usize::try_from(header_len).expect("fits in usize") {
        for byte in [
            0, 0x1F, b' ', b'"', b'\\', b'}', b'{', b']', b',', b':', b'.', b'-', b'0', b'9', b'a', 0x7F,
            0xC3,
        ] {
            let mut changed = file.to_vec();
            changed[at] = byte;
            let _ = compare(&changed);
            changed.insert(at, file[at]);
            changed[0] += 1;
            let _ = compare(&changed);
        }
        let mut shorter = file.to_vec();
        shorter.remove(at);
        shorter[0] -= 1;
        let _ = compare(&shorter);
    }
}

/// Some results are valid nevertheless.
#[test]
fn pieces_copied_over_each_other() {
    for (seed, valid_file) in [(72, valid_file()), (73, with_metadata(true)), (74, with_metadata(false))] {
        copy_pieces(&valid_file, seed);
    }
}

fn copy_pieces(valid_file: &[u8], seed: u64) {
    let (mut random, mut accepted) = (Random::new(seed), 0);
    let header_len = u64::from_le_bytes(*valid_file.first_chunk().expect("a length"));
    let header_len = usize::try_from(header_len).expect("fits in usize");
    let cases = share::of(30_000);
    for _ in 0..cases {
        let mut header = valid_file[8..8 + header_len].to_vec();
        for _ in 0..=random.below(3) {
            let (from, to) = (random.below(header.len()), random.below(header.len()));
            let piece = header[from..header.len().min(from + random.below(20))].to_vec();
            let replaced = random.below(piece.len() + 1).min(header.len() - to);
            header.splice(to..to + replaced, piece);
        }
        let file =
            [&(header.len() as u64).to_le_bytes(), &header[..], &valid_file[8 + header_len..]].concat();
        accepted += u64::from(compare(&file).is_ok());
    }
    assert!(accepted * 300 > cases, "{accepted}");
}

#[test]
fn every_length_of_the_header() {
    let file = valid_file();
    let header_len = file.len() - 8 - 138;
    for len in 0..file.len() - 8 {
        let mut changed = file.clone();
        changed[..8].copy_from_slice(&(len as u64).to_le_bytes());
        assert_eq!(compare(&changed).is_ok(), len == header_len);
    }
    for len in 0..file.len() {
        let _ = compare(&file[..len]);
    }
}

#[test]
fn numbers_at_every_limit() {
    let edges = [8, 10, 16, 31, 32, 33, 53, 58, 59, 61, 62, 63].map(|bits| 1u128 << bits);
    let ends = [1 << 64, u128::from(u64::MAX) / 10 * 10, 10_000_000_000_000_000_000];
    for number in edges.into_iter().chain(ends).flat_map(|edge| edge - 2..edge + 3) {
        for shape in [
            format!("{number},{number}"),
            format!("{number}"),
            format!("{number},0"),
            format!("0,{number}"),
            format!("2,{number}"),
        ] {
            for (dtype, end) in
                [("U8", number), ("F64", number << 3), ("F4", number >> 1), ("I8", 0), ("U8", 2 * number)]
            {
                let second =
                    format!(r#""b":{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":[0,{end}]}}"#);
                let _ = compare(&file_of(&[entry("a", "U8", "0", 0, 0), second], 0));
            }
        }
    }
}
