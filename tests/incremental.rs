//! The contracts of the incremental parsers besides the verdict: end of input, changed sources, repeated
//! errors.

use embedded_safetensors::{
    ErrorKind,
    header::{Entries, Event, HeaderParser, Item},
    validate::{DuplicateFinder, Progress, SortSlot, Summary, Validator},
};
use support::file::{entry, with_entries, with_header};
use support::random::Random;
use support::verdict::full_verdict;

const VALID: &[u8] =
    b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ab";

/// A header of empty tensors with these names.
fn named<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Vec<u8> {
    let entries = names.into_iter().map(|name| entry(name.as_ref(), "U8", [0], 0..0));
    with_entries(&entries.collect::<Vec<_>>(), 0)
}

#[test]
fn truncated_json_is_unexpected_end() {
    // The last byte of each completes an event, so the parser has not requested more input yet.
    for header in ["", r#"{"a""#, r#"{"a":{"dtype":"F32""#] {
        let file = with_header(header, 0);
        let (mut parser, mut input) = (HeaderParser::new(), &file[..]);
        while !input.is_empty() {
            parser.next(&mut input).expect("valid so far");
        }
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
    for (second, begin, end) in [(HALF, 1, 1), (HALF + 1, HALF, HALF + 5)] {
        let entries = [("a", 0, 0), ("b", second, second), ("c", begin, end)];
        let entries = entries.map(|(name, begin, end)| entry(name, "U8", [end - begin], begin..end));
        let file = with_entries(&entries, 0);
        let at = file.len() - format!("{begin},{end}]}}}}").len();
        let hole = ErrorKind::Hole { begin, previous_end: 0 };
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

#[test]
fn changed_names_are_not_duplicates() {
    let duplicate = named(["weight", "weight"]);
    // One of the entries, and the comma, become spaces.
    let one = entry("weight", "U8", [0], 0..0);
    let len = 2 * one.len() + 1;
    let [first, second] = [format!("{{{one:<len$}}}"), format!("{{{one:>len$}}}")];
    for other in [with_header(&first, 0), with_header(&second, 0), named(["bias"])] {
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
    let duplicate = named(["weight", "weight"]);
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
        let names = (0..count).map(|i| format!("{round}.{i}"));
        match (round, validator.push(&mut &named(names)[..])) {
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
    let value = entry("a", "U8", [0], 0..0).replace('}', ",\"b\":");
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let kinds = (0..125).map(|_| random.pick(&[(r#"{"a":"#, "}"), ("[", "]")]));
        let (open, mut closed): (String, Vec<&str>) = kinds.unzip();
        closed.reverse();
        let file = |closed: &[&str]| with_entries(&[format!("{value}{open}0{}}}", closed.concat())], 0);
        assert_eq!(full_verdict(&file(&closed)).map(|table| table.tensors.len()), Ok(1), "{open}");
        let wrong = random.below(125);
        closed[wrong] = if closed[wrong] == "}" { "]" } else { "}" };
        let file = file(&closed);
        let at = file.len() - 2 - closed.len() + wrong;
        let error = full_verdict(&file).expect_err("another kind of bracket");
        assert_eq!((error.kind.code(), error.at), ("json.syntax", at as u64), "{open}");
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
