//! Indexes that are longer, wider or deeper than allowed: the error reports what would be enough, and no more
//! is held in memory.

use embedded_safetensors::error::Class;
use safetensors_files::EditErrorKind;
use safetensors_files::shards::{ShardErrorKind::Limit, ShardIndex, ShardLimits};
use std::io::{self, Read};

const SMALL: ShardLimits = ShardLimits { bytes: 300, text: 10, depth: 4, tensors: 3, shards: 2, values: 4 };

/// Returns the exceeded limit and what would be enough, read in pieces of any size.
fn exceeded(text: &str) -> Option<(&'static str, u64, u64)> {
    let outcomes = [1, 2, 7, usize::MAX].map(|piece| {
        let error = ShardIndex::read(Pieces(text.as_bytes(), piece), &SMALL).err()?;
        assert_eq!(error.kind().class(), Some(Class::Limit), "{error}");
        let EditErrorKind::Shards(Limit { what, allowed, needed }) = error.kind() else { panic!("{error}") };
        Some((*what, *allowed, *needed))
    });
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
    outcomes[0]
}

struct Pieces<'t>(&'t [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.1.min(buffer.len());
        self.0.read(&mut buffer[..len])
    }
}

fn map(tensors: usize, shards: usize) -> String {
    let entries: Vec<_> =
        (0..tensors).map(|number| format!("\"{number}\": \"s{}\"", number % shards)).collect();
    format!("{{\"weight_map\": {{{}}}}}", entries.join(", "))
}

#[test]
fn index_at_the_limits_is_read() {
    assert_eq!(exceeded(&map(3, 2)), None);
    assert_eq!(exceeded(r#"{"a": [[{}]], "weight_map": {"0123456789": "x"}}"#), None);
    assert_eq!(exceeded(r#"{"metadata": {"a": [1, {"b": 2}]}, "weight_map": {}}"#), None);
    assert_eq!(exceeded(&format!("{}{}", map(1, 1), " ".repeat(300 - map(1, 1).len()))), None);
}

#[test]
fn error_reports_what_would_be_enough() {
    assert_eq!(exceeded(&map(9, 2)), Some(("tensors", 3, 9)));
    assert_eq!(exceeded(&map(3, 3)), Some(("shards", 2, 3)));
    assert_eq!(
        exceeded(r#"{"weight_map": {"0123456789a": "x", "0": "y"}, "z": "01234567890123"}"#),
        Some(("bytes in one string", 10, 14))
    );
    assert_eq!(exceeded(r#"{"a": [[[[{"b\"[[[[": 1}]]]]]}"#), Some(("levels of arrays and objects", 4, 6)));
    for values in [r#"[1, 2, 3, 4], "b": {"c": 5}"#, r#"1, "b": 2, "c": 3, "d": [4], "e": [5]"#] {
        let text = format!("{{\"metadata\": {{\"a\": {values}}}, \"weight_map\": {{}}}}");
        assert_eq!(exceeded(&text), Some(("values in its metadata", 4, 7)), "{text}");
    }
    let long = format!("{}{}", map(1, 1), " ".repeat(301));
    let Some(("bytes", 300, needed)) = exceeded_once(&long) else { panic!("it is longer") };
    assert!(needed > 300);
    let error = ShardIndex::read(map(9, 2).as_bytes(), &SMALL).expect_err("exceeds a limit");
    assert_eq!(error.to_string(), "index: too many tensors: 9 or more, at most 3 are allowed");
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::FileTooLarge);
}

fn exceeded_once(text: &str) -> Option<(&'static str, u64, u64)> {
    match ShardIndex::read(text.as_bytes(), &SMALL).expect_err("exceeds a limit").kind() {
        EditErrorKind::Shards(Limit { what, allowed, needed }) => Some((*what, *allowed, *needed)),
        _ => None,
    }
}

/// A reader that never ends.
#[test]
fn reading_stops_at_the_limit() {
    let endless = b"{\"a\": \"".chain(io::repeat(b'x'));
    let error = ShardIndex::read(endless, &SMALL).expect_err("endless");
    assert!(matches!(error.kind(), EditErrorKind::Shards(Limit { .. })), "{error}");
    let deep = io::repeat(b'[');
    let error = ShardIndex::read(deep, &ShardLimits::USUAL).expect_err("endless");
    assert!(matches!(error.kind(), EditErrorKind::Shards(Limit { .. })), "{error}");
}

#[test]
fn reader_error_is_reported() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let error = ShardIndex::read(b"{\"weight_map\"".chain(Broken), &SMALL).expect_err("not readable");
    assert_eq!(error.kind().class(), None);
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn hundred_thousand_tensors_are_read() {
    let index = ShardIndex::read(map(100_000, 500).as_bytes(), &ShardLimits::USUAL).expect("valid index");
    assert_eq!((index.len(), index.shards().len(), index.shard_of("99999")), (100_000, 500, Some("s499")));
}
