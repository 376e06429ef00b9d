//! Equal and distinct keys of `__metadata__`, as told apart at compile time.

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

/// Returns whether the build would stop, tested at run time; and checks that [`View::validate_names`] agrees.
fn is_rejected(file: &[u8]) -> bool {
    let view = View::parse(file).expect("valid file");
    let rejected = catch_unwind(|| view.with_unique_names()).is_err();
    let verdict = view.validate_names([1, 2], &mut [SortSlot::EMPTY; 64], &mut [0; 4096]);
    assert_eq!(rejected, verdict.is_err(), "{}", String::from_utf8_lossy(file));
    if let Err(error) = verdict {
        assert_eq!(error.kind, ErrorKind::DuplicateKey);
    }
    rejected
}

#[test]
fn duplicate_among_thousands_is_detected() {
    let mut pairs: Vec<String> = (0..5000).map(|i| format!(r#""key.{i}":"{i}""#)).collect();
    assert!(!is_rejected(&file_of(&[metadata(&pairs)])));
    for (first, second) in [(0, 4999), (0, 1), (2500, 2501), (4998, 4999), (17, 3000)] {
        let kept = std::mem::replace(&mut pairs[second], format!(r#""key.{first}":"other""#));
        assert!(is_rejected(&file_of(&[metadata(&pairs)])), "{first} {second}");
        pairs[second] = kept;
    }
}

#[test]
fn duplicates_are_detected_in_any_spelling() {
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
        assert_eq!(is_rejected(&file_of(&[metadata(&pairs)])), is_same, "{first} {second}");
        let spaced = metadata(&pairs).replace(',', "\n , ").replace(':', "\t: ").replace('{', "\r{ ");
        let tensor = |name| format!(r#""{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
        let file = file_of(&[tensor("s"), spaced, tensor("t")]);
        assert_eq!(is_rejected(&file), is_same, "{first} {second} with spaces");
    }
}

#[test]
fn value_is_not_a_key() {
    let pairs = [r#""a":"b""#, r#""b":"a""#, r#""c":"\"a\":\"b\"""#, r#""d":"a""#].map(str::to_owned);
    assert!(!is_rejected(&file_of(&[metadata(&pairs)])));
    assert!(!is_rejected(&file_of(&[r#""__metadata__":null"#.to_owned()])));
    assert!(!is_rejected(&file_of(&[r#""__metadata__":{}"#.to_owned()])));
}

/// Text between validated quotes is read as it was written.
#[test]
fn keys_and_values_of_any_spelling_are_decoded() {
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
        let view = View::parse(&file).expect("valid file");
        let read: Vec<_> = view.metadata().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let expected: Vec<_> =
            pairs.iter().map(|((_, key), (_, value))| (key.concat(), value.concat())).collect();
        assert_eq!(read, expected);
        for (key, _) in view.metadata() {
            let at = usize::try_from(key.at()).expect("fits in usize");
            assert_eq!((file[at], key.as_str().is_some()), (b'"', !has_escape(&file[at + 1..])));
        }
        let _ = is_rejected(&file);
    }
}

/// Whether there is a backslash before the next quote.
fn has_escape(text: &[u8]) -> bool {
    text.iter().find(|byte| matches!(byte, b'"' | b'\\')) == Some(&b'\\')
}
