//! Damage: to the tokens of a header, to the bytes of a file, to its length.

use crate::random::Random;

use crate::headers::file_of;
use crate::headers::spell::Token;

const TOKENS: [&str; 36] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "[]",
    "{}",
    "null",
    "true",
    "fals",
    "0",
    "1",
    "-0",
    "-1",
    "1.0",
    "1e1",
    "01",
    "1.",
    "18446744073709551615",
    "18446744073709551616",
    "1e309",
    "\"\"",
    "\"dtype\"",
    "\"shape\"",
    "\"data_offsets\"",
    "\"__metadata__\"",
    "\"F32\"",
    "\"f32\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\q\"",
    "\"\\u00g0\"",
    "\"\u{1}\"",
    "\u{feff}",
    "\"",
];

const BYTES: [&[u8]; 16] = [
    b"\0",
    b"\x1f",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x82",
    b"\"",
    b"\\",
    b"\\u",
    b"0",
    b"9",
    b" ",
    b"\x0c",
];

/// Damages the tokens once.
pub fn tokens(random: &mut Random, tokens: &mut Vec<Token>) {
    if tokens.is_empty() {
        return;
    }
    let (place, other) = (random.below(tokens.len()), random.below(tokens.len()));
    match random.below(7) {
        0 => drop(tokens.remove(place)),
        1 => tokens.insert(place, tokens[place].clone()),
        2 => tokens.swap(place, other),
        3 => tokens[place] = tokens[other].clone(),
        4 => tokens[place] = random.pick(&TOKENS).as_bytes().to_vec(),
        5 => tokens.insert(place, random.pick(&TOKENS).as_bytes().to_vec()),
        _ => digit(random, &mut tokens[place]),
    }
}

/// Changes or inserts a digit in a number.
fn digit(random: &mut Random, token: &mut Token) {
    if token.first().is_some_and(u8::is_ascii_digit) {
        let place = random.below(token.len());
        let digit = random.pick(b"0123456789");
        if random.percent(50) { token[place] = digit } else { token.insert(place, digit) }
    }
}

/// Damages the bytes of a header once.
pub fn bytes(random: &mut Random, header: &mut Vec<u8>) {
    if header.is_empty() {
        return;
    }
    let place = random.below(header.len());
    match random.below(6) {
        0 => drop(header.remove(place)),
        1 => header[place] ^= 1 << random.below(8),
        2 => header.truncate(place),
        3 => splice(random, header, place),
        _ => drop(header.splice(place..place, random.pick(&BYTES).iter().copied())),
    }
}

/// Copies a piece of the header to another offset.
fn splice(random: &mut Random, header: &mut Vec<u8>, place: usize) {
    let from = random.below(header.len());
    let piece = header[from..header.len().min(from + 1 + random.below(40))].to_vec();
    header.splice(place..place, piece);
}

/// Returns the file of this header, with a wrong length or a missing end if `damaged`.
pub fn file(random: &mut Random, header: &[u8], data_len: u64, damaged: bool) -> Vec<u8> {
    let mut length = header.len() as u64;
    if damaged {
        length = match random.below(4) {
            0 => length.wrapping_sub(1),
            1 => length + 1,
            2 => length ^ (1 << random.below(64)),
            _ => length,
        };
    }
    let mut file = file_of(header, data_len);
    file[..8].copy_from_slice(&length.to_le_bytes());
    if damaged && random.percent(50) {
        file.truncate(random.below(file.len() + 1));
    }
    file
}
