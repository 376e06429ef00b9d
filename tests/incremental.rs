//! What the doors promise besides the verdict: ends of input, changing sources, repeated last words.

use embedded_safetensors::{
    Error, ErrorKind,
    header::{Entries, HeaderParser, Item},
    validate::{DuplicateFinder, Progress, SortSlot, Summary, Validator},
};
use support::file::with_header;

const SOUND: &[u8] =
    b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ab";

/// A header of empty tensors with these names.
fn named(names: &[&str]) -> Vec<u8> {
    let entry = |name: &&str| format!(r#""{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
    with_header(&format!("{{{}}}", names.iter().map(entry).collect::<Vec<_>>().join(",")), 0)
}

fn parse_all(parser: &mut HeaderParser, mut input: &[u8]) -> Result<(), Error> {
    while !input.is_empty() {
        parser.next(&mut input)?;
    }
    Ok(())
}

#[test]
fn the_end_of_input_is_judged_wherever_it_comes() {
    let header = &SOUND[..64];
    for len in 0..header.len() {
        let mut parser = HeaderParser::new();
        parse_all(&mut parser, &header[..len]).expect("sound so far");
        let error = parser.end_of_input().expect_err("the header is cut");
        let kind = match len {
            0..8 => ErrorKind::FileTooShort,
            _ => ErrorKind::HeaderBeyondFile { length: 56, present: len as u64 - 8 },
        };
        assert_eq!(error, kind.at(len as u64));
        assert_eq!(parser.end_of_input(), Err(error), "the last word is repeated");
    }
}

#[test]
fn a_header_that_is_all_there_but_ends_too_early_is_not_complete() {
    // The last byte of each completes an event, so that nothing has asked for more yet.
    for header in ["", r#"{"a""#, r#"{"a":{"dtype":"F32""#] {
        let file = with_header(header, 0);
        let mut parser = HeaderParser::new();
        parse_all(&mut parser, &file).expect("sound so far");
        assert_eq!(parser.end_of_input(), Err(ErrorKind::UnexpectedEnd.at(file.len() as u64)), "{header}");
    }
}

#[test]
fn a_check_that_passed_stays_passed() {
    let mut check = Validator::new(Some(SOUND.len() as u64), &mut []);
    let mut input = SOUND;
    assert_eq!(check.push(&mut input), Ok(Progress::Done));
    assert_eq!(input, b"ab", "the data is left alone");
    assert_eq!(check.push(&mut input), Ok(Progress::Done));
    assert_eq!(check.end_of_input(), Ok(()));
    assert_eq!(check.summary(), Some(Summary { tensors: 1, data_start: 64, data_len: 2 }));
}

#[test]
fn a_file_that_shrinks_between_passes_has_changed() {
    let entry = |name, range| format!(r#""{name}":{{"dtype":"U8","shape":[1],"data_offsets":{range}}}"#);
    let file = with_header(&format!("{{{},{}}}", entry("a", "[1,2]"), entry("b", "[0,1]")), 0);
    let mut slots = [SortSlot::EMPTY; 2];
    let mut check = Validator::new(None, &mut slots);
    assert_eq!(check.push(&mut &file[..]), Ok(Progress::Rewind));
    assert_eq!(check.push(&mut &file[..20]), Ok(Progress::NeedInput));
    assert_eq!(check.end_of_input(), Err(ErrorKind::Changed.at(20)));
}

#[test]
fn the_length_of_a_file_can_be_judged_afterwards() {
    let summary = Summary { tensors: 1, data_start: 64, data_len: 2 };
    assert_eq!(summary.validate_file_len(66), Ok(()));
    assert_eq!(summary.validate_file_len(65), Err(ErrorKind::DataShort { needed: 2, present: 1 }.at(65)));
    assert_eq!(summary.validate_file_len(67), Err(ErrorKind::DataTrailing { needed: 2 }.at(66)));
    let cut = ErrorKind::HeaderBeyondFile { length: 56, present: 2 };
    assert_eq!(summary.validate_file_len(10), Err(cut.at(10)));
}

/// The same file with one of its two equal entries, and a comma, turned into spaces.
fn without_entry(twice: &[u8], first: bool) -> Vec<u8> {
    let text = String::from_utf8_lossy(&twice[8..]);
    let (entry, other) = text[1..text.len() - 1].split_at((text.len() - 3) / 2);
    let spaces = |cut: &str| " ".repeat(cut.len());
    let (other_spaces, entry_spaces) = (spaces(other), spaces(entry) + " ");
    let header = match first {
        true => format!("{{{entry_spaces}{}}}", &other[1..]),
        false => format!("{{{entry}{other_spaces}}}"),
    };
    with_header(&header, 0)
}

#[test]
fn suspects_that_do_not_come_by_again_are_not_called_duplicates() {
    let twice = named(&["weight", "weight"]);
    let changed = [without_entry(&twice, true), without_entry(&twice, false), named(&["bias"])];
    for other in &changed {
        let (mut slots, mut text) = ([SortSlot::EMPTY; 4], [0; 2]);
        let mut check = DuplicateFinder::new([1, 2], &mut slots, &mut text);
        assert_eq!(check.push(&mut &twice[..]), Ok(Progress::Rewind));
        let error = check.push(&mut &other[..]).expect_err("it changed");
        assert_eq!(error.kind, ErrorKind::Changed);
        assert_eq!(check.push(&mut &twice[..]), Err(error), "the last word is repeated");
    }
}

#[test]
fn names_that_go_on_changing_come_to_an_end() {
    let (mut slots, mut text) = ([SortSlot::EMPTY; 2], [0; 2]);
    let mut check = DuplicateFinder::new([1, 2], &mut slots, &mut text);
    for round in 0.. {
        let names: Vec<String> = (0..4 + round).map(|i| format!("{round}.{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match check.push(&mut &named(&names)[..]) {
            Ok(Progress::Rewind) => assert!(round < 100, "it does not come to an end"),
            Ok(progress) => return assert_eq!(progress, Progress::Done, "all input is consumed"),
            Err(error) => return assert_eq!(error.kind, ErrorKind::Changed),
        }
    }
}

#[test]
fn entries_say_when_their_file_is_cut() {
    let mut name = [0; 8];
    let mut entries = Entries::new(&mut name);
    assert_eq!(entries.next(&mut &SOUND[..30]), Ok(Item::NeedInput));
    assert_eq!(entries.position(), 30);
    let cut = ErrorKind::HeaderBeyondFile { length: 56, present: 22 };
    assert_eq!(entries.end_of_input(), Err(cut.at(30)));
    assert_eq!(entries.next(&mut &SOUND[30..]), Err(cut.at(30)), "the last word is repeated");
}
