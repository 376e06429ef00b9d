//! The contracts of the incremental parsers besides the verdict: end of input, changed sources, repeated
//! errors.

use embedded_safetensors::{
    Error, ErrorKind,
    header::{Entries, Event, HeaderParser, Item},
    validate::{DuplicateFinder, Progress, SortSlot, Summary, Validator},
};
use std::ops::Range;
use support::file::{entry, with_entries, with_header};
use support::random::Random;
use support::verdict::full_verdict;

const VALID: &[u8] =
    b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ab";

/// A header of empty tensors with these names.
fn named(names: &[&str]) -> Vec<u8> {
    with_entries(&names.iter().map(|name| entry(name, "U8", [0], 0..0)).collect::<Vec<_>>(), 0)
}

fn parse_all(parser: &mut HeaderParser, mut input: &[u8]) -> Result<(), Error> {
    while !input.is_empty() {
        parser.next(&mut input)?;
    }
    Ok(())
}

#[test]
fn truncated_json_is_unexpected_end() {
    // The last byte of each completes an event, so the parser has not requested more input yet.
    for header in ["", r#"{"a""#, r#"{"a":{"dtype":"F32""#] {
        let file = with_header(header, 0);
        let mut parser = HeaderParser::new();
        parse_all(&mut parser, &file).expect("valid so far");
        assert_eq!(parser.end_of_input(), Err(ErrorKind::UnexpectedEnd.at(file.len() as u64)), "{header}");
    }
}

#[test]
fn finished_validation_stays_finished() {
    let mut validator = Validator::new(Some(VALID.len() as u64), &mut []);
    let mut input = VALID;
    assert_eq!(validator.push(&mut input), Ok(Progress::Done));
    assert_eq!(input, b"ab", "the data is not consumed");
    assert_eq!(validator.push(&mut input), Ok(Progress::Done));
    assert_eq!(validator.end_of_input(), Ok(()));
    assert_eq!(validator.summary(), Some(Summary { tensors: 1, data_start: 64, data_len: 2 }));
    let mut slots = [SortSlot::EMPTY; 2];
    let mut finder = DuplicateFinder::new([1, 2], &mut slots, &mut []);
    assert_eq!(finder.push(&mut &VALID[..64]), Ok(Progress::Done));
    assert_eq!(finder.push(&mut &VALID[64..]), Ok(Progress::Done));
    assert_eq!(finder.end_of_input(), Ok(()));
}

#[test]
fn length_of_a_file_is_compared_with_its_header() {
    let summary = Summary { tensors: 1, data_start: 64, data_len: 2 };
    let beyond = |present| ErrorKind::HeaderBeyondFile { length: 56, present };
    for (len, expected) in [
        (5, Err(beyond(0).at(5))),
        (63, Err(beyond(55).at(63))),
        (64, Err(ErrorKind::DataShort { needed: 2, present: 0 }.at(64))),
        (66, Ok(())),
        (67, Err(ErrorKind::DataTrailing { needed: 2 }.at(66))),
    ] {
        assert_eq!(summary.validate_file_len(len), expected, "{len}");
    }
}

/// The first hole in the order of the data is reported, also if offsets need all 64 bits.
#[test]
fn tensors_at_the_largest_offsets_are_sorted() {
    const HALF: u64 = 1 << 63;
    for (second, third) in [(HALF..HALF, 1..1), (HALF + 1..HALF + 1, HALF..HALF + 5)] {
        let row =
            |name, range: &Range<u64>| entry(name, "U8", [range.end - range.start], range.start..range.end);
        let entries = [row("a", &(0..0)), row("b", &second), row("c", &third)];
        let file = with_entries(&entries, 0);
        let at = file.len() - format!("{},{}]}}}}", third.start, third.end).len();
        let hole = ErrorKind::Hole { begin: third.start, previous_end: 0 };
        assert_eq!(full_verdict(&file), Err(hole.at(at as u64)));
    }
}

#[test]
fn file_that_shrinks_between_passes_has_changed() {
    let file = with_entries(&[entry("a", "U8", [1], 1..2), entry("b", "U8", [1], 0..1)], 0);
    let mut slots = [SortSlot::EMPTY; 2];
    let mut validator = Validator::new(None, &mut slots);
    assert_eq!(validator.push(&mut &file[..]), Ok(Progress::Rewind));
    assert_eq!(validator.push(&mut &file[..20]), Ok(Progress::NeedInput));
    assert_eq!(validator.end_of_input(), Err(ErrorKind::Changed.at(20)));
}

/// Returns the same file with one of its two equal entries, and a comma, replaced by spaces.
fn without_entry(duplicate: &[u8], first: bool) -> Vec<u8> {
    let text = String::from_utf8_lossy(&duplicate[8..]);
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
fn changed_names_are_not_duplicates() {
    let duplicate = named(&["weight", "weight"]);
    let changed = [without_entry(&duplicate, true), without_entry(&duplicate, false), named(&["bias"])];
    for other in &changed {
        let (mut slots, mut text) = ([SortSlot::EMPTY; 4], [0; 2]);
        let mut validator = DuplicateFinder::new([1, 2], &mut slots, &mut text);
        assert_eq!(validator.push(&mut &duplicate[..]), Ok(Progress::Rewind));
        let error = validator.push(&mut &other[..]).expect_err("changed");
        assert_eq!(error.kind, ErrorKind::Changed);
        assert_eq!(validator.push(&mut &duplicate[..]), Err(error), "the error is repeated");
    }
}

#[test]
fn duplicate_check_reports_a_truncated_or_invalid_header() {
    let (mut slots, mut text) = ([SortSlot::EMPTY; 4], [0; 2]);
    let mut finder = DuplicateFinder::new([1, 2], &mut slots, &mut text);
    assert_eq!(finder.push(&mut &VALID[..30]), Ok(Progress::NeedInput));
    assert_eq!(finder.position(), 30);
    let cut = ErrorKind::HeaderBeyondFile { length: 56, present: 22 }.at(30);
    assert_eq!((finder.end_of_input(), finder.end_of_input()), (Err(cut), Err(cut)));
    let duplicate = named(&["weight", "weight"]);
    let mut finder = DuplicateFinder::new([1, 2], &mut slots, &mut text);
    assert_eq!(finder.push(&mut &duplicate[..]), Ok(Progress::Rewind));
    assert_eq!(finder.push(&mut &duplicate[..20]), Ok(Progress::NeedInput));
    assert_eq!(finder.end_of_input(), Err(ErrorKind::Changed.at(20)));
    let unknown = with_entries(&[entry("a", "U9", [0], 0..0)], 0);
    let mut finder = DuplicateFinder::new([1, 2], &mut slots, &mut text);
    let error = finder.push(&mut &unknown[..]).expect_err("no such dtype");
    assert_eq!((error.kind.code(), finder.push(&mut &VALID[..])), ("dtype.unknown", Err(error)));
}

#[test]
fn duplicate_check_ends_if_names_keep_changing() {
    let (mut slots, mut text) = ([SortSlot::EMPTY; 2], [0; 2]);
    let mut validator = DuplicateFinder::new([1, 2], &mut slots, &mut text);
    // A round for each of the names of the first pass.
    for (round, count) in [4, 1000, 1000, 1000, 1000].into_iter().enumerate() {
        let names: Vec<String> = (0..count).map(|i| format!("{round}.{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match (round, validator.push(&mut &named(&names)[..])) {
            (0..4, outcome) => assert_eq!(outcome, Ok(Progress::Rewind), "{round}"),
            (_, outcome) => assert_eq!(outcome.map_err(|error| error.kind), Err(ErrorKind::Changed)),
        }
    }
}

#[test]
fn events_begin_where_their_tokens_do() {
    const HEADER: &str = r#"{"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,5]}}"#;
    let file = with_header(HEADER, 5);
    let (mut parser, mut input, mut found) = (HeaderParser::new(), &file[..], String::new());
    loop {
        let event = parser.next(&mut input).expect("valid");
        let at = usize::try_from(parser.event_start()).expect("small");
        match event {
            Event::Length(_) => {}
            Event::HeaderEnd => break assert_eq!(at, 8 + HEADER.len()),
            event => {
                let name = format!("{event:?}");
                found += &format!("{}{} ", name.split('(').next().unwrap(), char::from(file[at + 1]));
            }
        }
    }
    let metadata = "Name_ Metadata_ Keyk KeyEndk Valuev ValueEndv MetadataEnd, ";
    assert_eq!(found, metadata.to_owned() + "Namea Tensora DtypeU Shape2 Dim] Begin, End] TensorEnd} ");
}

/// The kind of each open bracket is remembered, however deep it is.
#[test]
fn brackets_of_any_kinds_are_nested() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let objects: Vec<bool> = (0..125).map(|_| random.percent(50)).collect();
        let open: String = objects.iter().map(|&object| if object { r#"{"a":"# } else { "[" }).collect();
        let mut closed: Vec<u8> =
            objects.iter().rev().map(|&object| if object { b'}' } else { b']' }).collect();
        let file = |closed: &[u8]| {
            let value = format!("{open}0{}", closed.escape_ascii());
            with_header(
                &format!(r#"{{"a":{{"dtype":"U8","shape":[0],"data_offsets":[0,0],"b":{value}}}}}"#),
                0,
            )
        };
        assert_eq!(full_verdict(&file(&closed)).map(|table| table.tensors.len()), Ok(1), "{objects:?}");
        let wrong = random.below(125);
        closed[wrong] = if closed[wrong] == b'}' { b']' } else { b'}' };
        let file = file(&closed);
        let at = file.len() - 2 - closed.len() + wrong;
        let error = full_verdict(&file).expect_err("another kind of bracket");
        assert_eq!((error.kind.code(), error.at), ("json.syntax", at as u64), "{objects:?}");
    }
}

#[test]
fn entries_report_a_truncated_file() {
    let mut name = [0; 8];
    let mut entries = Entries::new(&mut name);
    assert_eq!(entries.next(&mut &VALID[..30]), Ok(Item::NeedInput));
    assert_eq!(entries.position(), 30);
    let cut = ErrorKind::HeaderBeyondFile { length: 56, present: 22 };
    assert_eq!(entries.end_of_input(), Err(cut.at(30)));
    assert_eq!(entries.next(&mut &VALID[30..]), Err(cut.at(30)), "the error is repeated");
    let (mut entries, mut input) = (Entries::new(&mut name), VALID);
    assert!(matches!(entries.next(&mut input), Ok(Item::Tensor(entry)) if entry.name_bytes() == b"a"));
    assert_eq!(entries.next(&mut input), Ok(Item::HeaderEnd));
    assert_eq!(entries.end_of_input(), Ok(()));
}
