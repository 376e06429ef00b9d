//! The proof that the scanner reads the language of headers.
//!
//! [`walk`] takes the scanner and an automaton side by side, from the first byte of a header. The automaton,
//! [`language`], is written independently. From each pair of their states it takes all 256 bytes, and the
//! end of the header. Both must continue, or both must fail: at the same byte, with the same code, reported
//! at the same byte. Each pair that is reached is a start in turn, until there are no others.
//!
//! The scanner's state is [reduced](Walk::reduced), or there would be no end:
//!
//! * Positions become distances: an error is at the start of the token, or so many bytes before the last
//!   one.
//! * A number of three digits or more becomes how many there are, and how they compare with as many digits
//!   of 2^64 - 1.
//! * A string becomes the prefix of a word that matters where it is, or no such prefix.
//! * An escape becomes what its digits can still be: ASCII, or half a pair. In keys of `__metadata__` its
//!   digits are kept, but for those of the first half of a pair.
//! * Fields that a state does not use are left out.
//!
//! If reduction keeps all that matters, both agree on every header, of any length, that never has more open
//! brackets than the bound of the walk. That it does is tested, not proved:
//!
//! * A second scanner takes each byte. It has other values where a value was left out or replaced, and runs
//!   the code for const evaluation.
//! * With `PROVE`, each number and string that would be replaced takes every byte before it is. So all pairs
//!   of bytes follow each prefix of a word.
//!
//! A fault may escape that concerns a single number of four digits or more, a single surrogate pair, a single
//! escape outside of keys, or a single string that is two bytes longer than a prefix of a word.
//!
//! Between the bound and the limit of the format, every byte is taken along four paths, to the limit and
//! back; the last has no period. All pairs are walked that they reach at the limit and one bracket below it.
//! Not walked are the length of the header, products and sizes of tensors, events and their texts, and the
//! byte that a sentence names.
//!
//! [`shortcuts`] compares what is read faster with the scanner byte by byte: headers with numbers at limits,
//! and six headers, in which up to two bytes are replaced, inserted or removed, or one without `PROVE`. They
//! are read by token, by entry and in const evaluation, and those with one edit less also in two pieces.
//! Entries are skimmed with each short value of an unknown field.
//!
//! What the numbers of tensors mean is in `validate/layout.smt2`.

extern crate std;

mod language;
mod shortcuts;
mod walk;

use language::{Language, MAX_DEPTH};
use std::println;
use std::string::String;
use std::time::Instant;
use walk::Walk;

/// Returns the bound of a test: the first with `PROVE`, as in the stage `prove`.
fn bound<T>(full: T, quick: T) -> T {
    if std::env::var_os("PROVE").is_some() { full } else { quick }
}

/// Prints what a part has visited.
fn part(about: &str, visit: impl FnOnce() -> Result<String, String>) {
    let start = Instant::now();
    let visited = visit().unwrap_or_else(|difference| panic!("{about}: {difference}"));
    println!("{about}: {visited}, {:.1} s", start.elapsed().as_secs_f32());
}

#[test]
fn machine_reads_the_language() {
    let language = Language::new();
    let deepest = bound(6, 3);
    part(&std::format!("to {deepest} open brackets"), || Walk::all(&language, "", 0..deepest + 1));
    // Objects, arrays, both in turn, and the golden ratio.
    for kinds in [u128::MAX, 0, u128::MAX / 3, 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C834] {
        let brackets = (2..MAX_DEPTH).map(|depth| kinds >> depth & 1);
        let opened = brackets.clone().map(|kind| if kind == 1 { r#"{"":"# } else { "[" });
        let closed = brackets.rev().map(|kind| if kind == 1 { "}" } else { "]" });
        let path: String = [r#"{"":{"":"#].into_iter().chain(opened).chain(["0"]).chain(closed).collect();
        let about = std::format!("to {} open brackets, {kinds:x}", MAX_DEPTH + 1);
        part(&about, || Walk::all(&language, &path, MAX_DEPTH - 1..MAX_DEPTH + 1));
    }
}

#[test]
fn shortcuts_read_what_the_machine_reads() {
    let edits = bound(2, 1);
    for header in [
        r#"{"a":{"dtype":"U8","shape":[1,2],"data_offsets":[0,2]}}"#,
        r#"{"": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [0, 3]}}"#,
        r#"{"__metadata__":{"":"b"}, "_":{"dtype":"F8_E5M2FNUZ","shape":[1,1],"data_offsets":[0,1]}}"#,
        r#"{"\u0020":{"data_offsets":[1,9],"dtype":"I64","shape":[1,1,1,1,1,1,1,1]}}"#,
        r#"{"__metadata__":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}"#,
        r#"{"":{"shape":[],"dtype":"U8","shape":[],"data_offsets":[0,1],"dtype":"U8"}}"#,
    ] {
        part(&std::format!("{edits} edits of {header}"), || {
            Ok(std::format!("{} headers", shortcuts::edited(header.as_bytes(), edits, 0)?))
        });
    }
    part("numbers at limits", || Ok(std::format!("{} headers", shortcuts::with_numbers()?)));
}

#[test]
fn skimmed_entries_end_where_the_machine_ends_them() {
    let characters = bound(8, 6);
    part(&std::format!("skimmed, {characters} characters"), || {
        Ok(std::format!("{} entries", shortcuts::skimmed(&Language::new(), characters)?))
    });
}
