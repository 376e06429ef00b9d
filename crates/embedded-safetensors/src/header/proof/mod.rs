//! The proof that the scanner reads the language of headers.
//!
//! [`walk`] takes the scanner and an automaton side by side, from the first byte of a header. The automaton,
//! [`language`], is written independently. From each pair of their states it takes all 256 bytes, and the
//! end of the header. Both must continue, or both must fail: at the same byte, with the same code, reported
//! at the same byte. Each pair that is reached is a start in turn, until there are no others. So both agree
//! on every header, of any length, that never has more open brackets than the bound of the walk. A second
//! bound is the limit of the format: there too few and too many brackets are walked.
//!
//! The scanner's state is [reduced](walk::reduced), or there would be no end:
//!
//! * Positions become distances: an error is at the start of the token, or so many bytes before the last
//!   one.
//! * A number becomes how many digits it has, and how they compare with as many digits of 2^64 - 1.
//! * A string becomes the prefix of a word that matters where it is, or no such prefix. So the hash that
//!   finds a dtype is run on every prefix of every name, followed by every byte.
//! * An escape becomes what its digits can still be: ASCII, or half a pair.
//! * Fields that a state does not use are left out.
//!
//! That nothing else matters is tested, not proved: from each pair three scanners take each byte. Two differ
//! in all that is left out; the third was not reduced after the byte before.
//!
//! Between the two bounds nothing is walked; the code is the same at all depths. Also not part of the proof:
//! the length of the header, events and their texts, and the byte that a sentence names.
//!
//! [`shortcuts`] compares what is read faster with the scanner byte by byte, on all strings up to a bound.
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
    part(&std::format!("to {deepest} open brackets"), || Walk::all(&language, "", 0..=deepest));
    for brackets in [r#"{"":"#, "[", r#"[{"":"#] {
        let inner = brackets.repeat(usize::from(MAX_DEPTH));
        let opened = inner.match_indices(['{', '[']).nth(usize::from(MAX_DEPTH) - 3);
        let path = [r#"{"":{"":"#, &inner[..opened.expect("enough").0]].concat();
        let about = std::format!("{} to {} open {brackets}", MAX_DEPTH - 1, MAX_DEPTH + 1);
        part(&about, || Walk::all(&language, &path, MAX_DEPTH - 1..=MAX_DEPTH));
    }
}

#[test]
fn shortcuts_read_what_the_machine_reads() {
    for (header, edits) in [
        (r#"{"a":{"dtype":"U8","shape":[1,2],"data_offsets":[0,2]}}"#, bound(2, 1)),
        (r#"{"": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [0, 3]}}"#, bound(2, 1)),
        (r#"{"__metadata__":{"":"b"}, "_":{"dtype":"F8_E5M2FNUZ","shape":[1,1],"data_offsets":[0,1]}}"#, 1),
        (r#"{"\u0020":{"data_offsets":[1,9],"dtype":"I64","shape":[1,1,1,1,1,1,1,1]}}"#, 1),
        (r#"{"__metadata__":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}"#, 1),
        (r#"{"":{"shape":[],"dtype":"U8","shape":[],"data_offsets":[0,1],"dtype":"U8"}}"#, 1),
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
