//! Compares entire headers, whose canonical entries are recognised at once, with the same headers byte by
//! byte.

use embedded_safetensors::{
    Error, View,
    validate::{Progress, SortSlot, Summary, Validator, validate_header},
};
use support::file::with_header;

/// Returns the verdict on a file that arrives in pieces of this size. An error is repeated.
fn in_pieces(file: &[u8], mut check: Validator<'_>, size: usize) -> Result<Summary, Error> {
    loop {
        let at = usize::try_from(check.position()).expect("fits in usize");
        let mut piece = &file[at..file.len().min(at + size)];
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

fn compare(file: &[u8]) -> Result<Summary, Error> {
    let text = String::from_utf8_lossy(file);
    let mut slots = [SortSlot::EMPTY; 2];
    let whole = validate_header(file, &mut slots);
    // Nothing can be recognised in single bytes; of the larger pieces, some have entire entries.
    for size in [1, 50, 90] {
        let check = Validator::new(Some(file.len() as u64), &mut slots);
        assert_eq!(in_pieces(file, check, size), whole, "{size} at a time: {text}");
    }
    let check = Validator::new(Some(file.len() as u64), &mut slots).by_token();
    assert_eq!(in_pieces(file, check, file.len()), whole, "token by token: {text}");
    let without_slots = validate_header(file, &mut []);
    let check = Validator::new(Some(file.len() as u64), &mut []);
    assert_eq!(in_pieces(file, check, 1), without_slots, "without slots: {text}");
    assert_eq!(View::parse(file).map(|view| view.summary()), without_slots, "a view of {text}");
    whole
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
