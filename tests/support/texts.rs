//! Names and other texts with every kind of character.

use std::collections::BTreeSet;

use crate::random::Random;

/// Texts that JSON or UTF-8 treat specially, and common names.
const MARKED: [&str; 40] = [
    "\"",
    "\\",
    "/",
    "\0",
    "\u{1}",
    "\u{8}",
    "\t",
    "\n",
    "\u{b}",
    "\u{c}",
    "\r",
    "\u{1b}",
    "\u{1f}",
    " ",
    "\u{7f}",
    "\u{80}",
    "é",
    "e\u{301}",
    "\u{7ff}",
    "\u{800}",
    "\u{2028}",
    "\u{2029}",
    "\u{d7ff}",
    "\u{e000}",
    "\u{feff}",
    "\u{fffd}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{10000}",
    "\u{1f600}",
    "\u{10ffff}",
    "__metadata__",
    "__padding__.0",
    "dtype",
    "{\"a\":1}",
    "\\u0041",
    "'",
    "<&>",
    ".weight",
    "0",
];

/// The only name that a tensor may not have.
pub const RESERVED: &str = "__metadata__";

/// Returns a random text: empty, plain, with every kind of character, or very long.
pub fn text(random: &mut Random) -> String {
    match random.below(40) {
        0 => String::new(),
        1..=14 => format!("layers.{}.{}", random.below(100), random.pick(&["weight", "bias", "é", "w"])),
        15..=38 => {
            let len = random.below(12);
            (0..len).map(|_| piece(random)).collect()
        }
        _ => {
            let piece = piece(random);
            piece.repeat(random.below(2000))
        }
    }
}

/// Returns a character, or a few.
fn piece(random: &mut Random) -> String {
    match random.below(4) {
        0 => random.pick(&MARKED).to_owned(),
        1 => char::from(0x20 + u8::try_from(random.below(0x5f)).expect("ASCII")).to_string(),
        2 => any_char(0x80, random).to_string(),
        _ => any_char(0x11_0000, random).to_string(),
    }
}

fn any_char(end: usize, random: &mut Random) -> char {
    let number = u32::try_from(random.below(end)).expect("fits in usize");
    char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Returns distinct names, none of them reserved. Some are prefixes of others, or differ only in the last
/// character.
pub fn names(count: usize, random: &mut Random) -> Vec<String> {
    let (mut names, mut taken) = (Vec::<String>::new(), BTreeSet::from([RESERVED.to_owned()]));
    while names.len() < count {
        let name = match random.below(names.len() + 1) {
            other if other < names.len() && random.percent(30) => relative(&names[other], random),
            _ => text(random),
        };
        // Otherwise the loop would not end when all short ones are taken.
        let name = if taken.contains(&name) { format!("{name}{}", random.below(10_000)) } else { name };
        if taken.insert(name.clone()) {
            names.push(name);
        }
    }
    names
}

/// Returns a name with a common prefix.
fn relative(name: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = name.chars().collect();
    match random.below(3) {
        0 => chars.truncate(random.below(chars.len() + 1)),
        1 => drop(chars.pop()),
        _ => {}
    }
    let tail = if random.percent(70) { piece(random) } else { String::new() };
    chars.into_iter().collect::<String>() + &tail
}
