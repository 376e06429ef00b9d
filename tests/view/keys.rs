//! Keys of `__metadata__` that differ, and that do not, as a compiler tells them apart.

use embedded_safetensors::{ErrorKind, View, validate::SortSlot};
use std::panic::catch_unwind;
use support::file::with_header;
use support::random::Random;

fn file_of(members: &[String]) -> Vec<u8> {
    with_header(&format!("{{{}}}", members.join(",")), 0)
}

fn metadata(pairs: &[String]) -> String {
    format!(r#""__metadata__":{{{}}}"#, pairs.join(","))
}

/// What stops a compiler, but at run time; and whether that is what [`View::validate_names`] says.
fn is_refused(file: &[u8]) -> bool {
    let view = View::parse(file).expect("it is sound");
    let refused = catch_unwind(|| view.with_unique_names()).is_err();
    let verdict = view.validate_names([1, 2], &mut [SortSlot::EMPTY; 64], &mut [0; 4096]);
    assert_eq!(refused, verdict.is_err(), "{}", String::from_utf8_lossy(file));
    if let Err(error) = verdict {
        assert_eq!(error.kind, ErrorKind::KeyTwice);
    }
    refused
}

#[test]
fn of_thousands_each_is_found_again() {
    let mut pairs: Vec<String> = (0..5000).map(|i| format!(r#""key.{i}":"{i}""#)).collect();
    assert!(!is_refused(&file_of(&[metadata(&pairs)])));
    for (first, second) in [(0, 4999), (0, 1), (2500, 2501), (4998, 4999), (17, 3000)] {
        let kept = std::mem::replace(&mut pairs[second], format!(r#""key.{first}":"other""#));
        assert!(is_refused(&file_of(&[metadata(&pairs)])), "{first} {second}");
        pairs[second] = kept;
    }
}

#[test]
fn however_it_is_spelled() {
    for (first, second, is_same) in [
        ("a", "a", true),
        ("", "", true),
        ("a", r"\u0061", true),
        (r"\u0061b", "ab", true),
        (r#"\""#, r"\u0022", true),
        (r"\/", "/", true),
        ("é", r"\u00e9", true),
        (r"\ud83d\ude00", "😀", true),
        ("a key that is no word", r"a key that is no wor\u0064", true),
        (r"\n", "n", false),
        (r"\\", "/", false),
        ("a", "A", false),
        ("a", "aa", false),
        ("a", "", false),
        (r#"\""#, r#"\\\""#, false),
    ] {
        let pairs = [first, "between", second].map(|key| format!(r#""{key}":"v\"}}""#));
        assert_eq!(is_refused(&file_of(&[metadata(&pairs)])), is_same, "{first} {second}");
        let spaced = metadata(&pairs).replace(',', "\n , ").replace(':', "\t: ").replace('{', "\r{ ");
        let tensor = |name| format!(r#""{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
        let file = file_of(&[tensor("s"), spaced, tensor("t")]);
        assert_eq!(is_refused(&file), is_same, "{first} {second} with spaces");
    }
}

#[test]
fn a_value_is_no_key() {
    let pairs = [r#""a":"b""#, r#""b":"a""#, r#""c":"\"a\":\"b\"""#, r#""d":"a""#].map(str::to_owned);
    assert!(!is_refused(&file_of(&[metadata(&pairs)])));
    assert!(!is_refused(&file_of(&[r#""__metadata__":null"#.to_owned()])));
    assert!(!is_refused(&file_of(&[r#""__metadata__":{}"#.to_owned()])));
}

/// What is read between proven quotes is what was written there.
#[test]
fn keys_and_values_of_any_spelling() {
    const PIECES: [(&str, &str); 12] = [
        ("a", "a"),
        ("model.", "model."),
        (r#"\""#, "\""),
        (r"\\", "\\"),
        (r"\u0041", "A"),
        ("é", "é"),
        ("{", "{"),
        ("}", "}"),
        (",", ","),
        (":", ":"),
        (r"\n", "\n"),
        (r"\ud83d\ude00", "😀"),
    ];
    let mut random = Random::new(73);
    let mut text = || (0..random.below(9)).map(|_| PIECES[random.below(12)]).unzip::<_, _, Vec<_>, Vec<_>>();
    for _ in 0..500 {
        let pairs: Vec<_> = (0..4).map(|_| (text(), text())).collect();
        let spelled: Vec<_> = pairs
            .iter()
            .map(|((key, _), (value, _))| format!(r#""{}":"{}""#, key.concat(), value.concat()))
            .collect();
        let file = file_of(&[metadata(&spelled)]);
        let view = View::parse(&file).expect("it is sound");
        let read: Vec<_> = view.metadata().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let meant: Vec<_> =
            pairs.iter().map(|((_, key), (_, value))| (key.concat(), value.concat())).collect();
        assert_eq!(read, meant);
        for (key, _) in view.metadata() {
            let at = usize::try_from(key.at()).expect("it is short");
            assert_eq!((file[at], key.as_str().is_some()), (b'"', !file_has_escape(&file[at + 1..])));
        }
        let _ = is_refused(&file);
    }
}

/// Whether there is a backslash before the next quote.
fn file_has_escape(text: &[u8]) -> bool {
    text.iter().find(|byte| matches!(byte, b'"' | b'\\')) == Some(&b'\\')
}
