//! Tests of the private parts of views.

extern crate std;

use super::json_str::{JsonStr, hash};
use super::links::{Link, link};
use super::message::Message;
use super::verdict::validate_and_list;
use super::walk::tensor_at;
use super::{Tensor, View};
use crate::dtype::{Dtype, DtypeSet};
use crate::error::{Error, ErrorKind, QuantRole};
use crate::util::top_k::SortSlot;
use crate::values::native::Aligned;
use std::collections::{BTreeMap, BTreeSet};
use std::format;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

/// Reads the conformance vectors of one verdict.
fn vectors(verdict: &str) -> Vec<Vec<u8>> {
    let directory = format!("{}/../../tests/vectors/{verdict}", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(directory).expect("vectors exist");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("readable file")).collect()
}

fn file_of(header: &str) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file
}

/// Builds a file of empty tensors with these names, which are already escaped.
fn named(names: &[String]) -> Vec<u8> {
    let entry = |name: &String| format!(r#""{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
    file_of(&format!("{{{}}}", names.iter().map(entry).collect::<Vec<_>>().join(",")))
}

/// Looks up a name in the header, in a table, and in chains.
fn lookups(view: &View<'_>, name: &str) -> [Result<Option<u64>, Error>; 3] {
    let mut tensors = view.tensors();
    let table: Vec<Tensor<'_>> = std::iter::from_fn(|| tensors.next_of_any_rank()).collect();
    let mut links = vec![Link::NONE; table.len()];
    let chains = link(&mut links, &table)
        .and_then(|()| View { links: &links, ..view.with_tensors(&table) }.find(name));
    let found = [view.find(name), view.with_tensors(&table).find(name), chains];
    found.map(|outcome| outcome.map(|tensor| tensor.map(|tensor| tensor.name().at())))
}

#[test]
fn build_error_matches_display() {
    let mut codes = BTreeSet::new();
    for file in [vectors("invalid"), vectors("either")].concat() {
        let outcomes = [View::parse(&file), View::parse_unordered(&file, &mut [SortSlot::EMPTY; 4])];
        for error in outcomes.into_iter().filter_map(Result::err) {
            assert_eq!(Message::about(error, None).as_str(), error.to_string());
            codes.insert(error.kind.code());
        }
    }
    assert!(codes.len() > 35, "{codes:?}");
}

#[test]
fn files_that_are_no_models_are_recognised() {
    let zeros = [0; 4096];
    for (file, expected) in [
        (&b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a"[..], "`git lfs pull`"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"<!doctype HTML>\n", "web page"),
        (b"<html>\n<head>", "web page"),
        (b"<hTMl lang=en>", "web page"),
        (b"<htm is short", "header too large: its length is"),
        (b"version\n is not", "header too large: its length is"),
        (&zeros, "at byte 8: the first 8 bytes are zeros"),
        (b"\x01\0\0\0\0\0\0\0 ", "at byte 9: the header ends before its JSON text does"),
    ] {
        let error = View::parse(file).expect_err("no model");
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
        assert_eq!(Message::about(error, None).as_str(), text);
    }
}

/// The verdict on a prefix is that on the file without the bytes after its last tensor.
#[test]
fn prefix_ends_with_the_last_tensor() {
    let files = [vectors("valid"), vectors("invalid"), vectors("either")].concat();
    for (file, after) in files.iter().flat_map(|file| [(file, &b""[..]), (file, b"\xFF\0{")]) {
        let memory = [file, after].concat();
        let end = match View::parse(&memory) {
            Err(Error { kind: ErrorKind::DataTrailing { .. }, at }) => usize::try_from(at).unwrap(),
            _ => memory.len(),
        };
        let found = View::parse_prefix(&memory).map(|(view, rest)| (view.file(), view.summary(), rest));
        let expected = View::parse(&memory[..end]);
        assert_eq!(found, expected.map(|view| (view.file(), view.summary(), &memory[end..])));
    }
    let file = file_of(r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#);
    let short = ErrorKind::DataShort { needed: 2, present: 1 }.at(file.len() as u64 + 1);
    assert_eq!(View::parse_prefix(&[&file[..], b"x"].concat()).map(drop), Err(short));
}

#[test]
fn build_error_writes_numbers_and_bytes_like_display() {
    for number in
        (0..64).map(|bit| 1 << bit).chain((0..20).map(|power| 10_u64.pow(power))).chain([0, 9, 99, u64::MAX])
    {
        let error = ErrorKind::Size { range: number, needed: number - 1.min(number) }.at(number);
        assert_eq!(Message::about(error, None).as_str(), error.to_string());
    }
    for byte in 0..=u8::MAX {
        let error = ErrorKind::UnexpectedByte(byte).at(8);
        assert_eq!(Message::about(error, None).as_str(), error.to_string());
    }
    let needed = DtypeSet::of(&[Dtype::F16, Dtype::F32, Dtype::F64]);
    for kind in [
        ErrorKind::QuantDtype { role: QuantRole::Scale, found: Dtype::U8, needed },
        ErrorKind::SumMismatch { expected: 0x1234_5678, found: 0xABC },
    ] {
        assert_eq!(Message::about(kind.at(9), None).as_str(), kind.at(9).to_string());
    }
}

#[test]
fn build_error_names_its_tensor() {
    let entry = |name| format!(r#""{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
    let entries = [(entry("a"), "a"), (entry("b"), "b"), (entry("c\\u0062"), "cb"), (entry("d"), "d")];
    let entries = [&entries[..], &[(r#""e":{"dtype":1"#.into(), "e")]].concat();
    let texts: Vec<&str> = entries.iter().map(|(text, _)| text.as_str()).collect();
    let header = format!(r#"{{"__metadata__":{{"k":"v"}},{}"#, texts.join(","));
    let file = file_of(&header);
    let offset = |text: &str| 8 + header.find(text).expect("text in header");
    for at in 0..file.len() {
        let is_inside = |text: &str| (offset(text)..offset(text) + text.len()).contains(&at);
        let expected = entries.iter().find(|(text, _)| is_inside(text)).map(|(_, name)| *name);
        let name = tensor_at(&file, at as u64).map(|name| name.to_string());
        assert_eq!(name.as_deref(), expected, "byte {at}");
    }
    let (hole, at) = (ErrorKind::Hole { begin: 4, previous_end: 0 }, offset(texts[2]) as u64);
    for kind in [hole, ErrorKind::DtypeType] {
        let expected = format!("error[{}] at byte {at}: tensor \"cb\": {kind}", kind.code());
        assert_eq!(Message::of(kind.at(at), &file).as_str(), expected);
    }
}

#[test]
fn long_names_and_long_messages_are_cut_between_characters() {
    for (name, shown) in [("ä".repeat(100), 100), ("ä".repeat(101), 100), ("ä".repeat(1000), 100)] {
        let mut message = Message::new();
        message.push_name(&name);
        let front: String = name.chars().take(shown).collect();
        let mark = if name.chars().count() > shown { "…" } else { "" };
        assert_eq!(message.as_str(), format!("\"{front}{mark}\""));
    }
    let mut message = Message::new();
    message.push_name(&"\0".repeat(1000));
    assert_eq!(message.as_str(), format!("\"{}…\"", r"\u{0}".repeat(10)));
    for pad in 0..4 {
        let text = "x".repeat(pad) + &"€".repeat(1000);
        let mut message = Message::new();
        message.push(&text);
        let shown = message.as_str().strip_suffix("…").expect("cut text");
        assert!(text.starts_with(shown) && shown.len() > 1010, "{}", shown.len());
    }
}

#[test]
fn names_are_escaped_as_in_the_command() {
    for (name, shown) in [
        ("a\"b\\c", r#""a\"b\\c""#),
        ("\n\r\t", r#""\n\r\t""#),
        ("a\u{1b}[31mb\u{9b}2J\0\x7f\u{10}", r#""a\u{1b}[31mb\u{9b}2J\u{0}\u{7f}\u{10}""#),
        ("\u{202e}fed\u{2028}\u{ad}\u{e0101}", r#""\u{202e}fed\u{2028}\u{ad}\u{e0101}""#),
        ("é 層 \u{1F600} '", "\"é 層 \u{1F600} '\""),
    ] {
        let mut message = Message::new();
        message.push_name(name);
        assert_eq!(message.as_str(), shown);
    }
}

/// Miri is hundreds of times slower, so it tests every 25th file.
const STEP: usize = if cfg!(miri) { 25 } else { 1 };

#[test]
fn all_lookups_agree() {
    for file in [vectors("valid"), vectors("either")].concat().iter().step_by(STEP) {
        let Ok(view) = View::parse_unordered(file, &mut [SortSlot::EMPTY; 64]) else { continue };
        let mut tensors = view.tensors();
        let mut names: Vec<String> = std::iter::from_fn(|| tensors.next_of_any_rank())
            .map(|tensor| tensor.name().to_string())
            .collect();
        names.push("not there".into());
        for name in names {
            let [header, table, chains] = lookups(&view, &name);
            assert_eq!(header, table, "{name}");
            let is_unique = view.validate_names([0, 0], &mut [SortSlot::EMPTY; 64], &mut [0; 64]).is_ok();
            assert!(chains == header || !is_unique, "{name}: {chains:?}, not {header:?}");
        }
    }
}

#[test]
fn chains_find_every_name() {
    for count in [1, 2, 3, 100, 1000 / STEP] {
        let names: Vec<String> = (0..count).map(|i| format!("model.layers.{i}.weight")).collect();
        let file = named(&names);
        let view = View::parse(&file).expect("valid file");
        for (i, name) in names.iter().enumerate().step_by(7) {
            let at = view.tensors().flatten().nth(i).map(|tensor| tensor.name().at());
            assert_eq!(lookups(&view, name), [Ok(at); 3]);
        }
        assert_eq!(lookups(&view, "model.layers.x.weight"), [Ok(None); 3]);
    }
}

/// Two names with one hash are neither duplicates nor each other.
#[test]
fn names_with_equal_hash_are_found() {
    let mut names = BTreeMap::new();
    let pair = (0_u32..).find_map(|number| {
        let name = format!("{number:x}");
        names.insert(hash(name.as_bytes()), name.clone()).map(|other| [other, name])
    });
    let pair = pair.expect("there are fewer hashes");
    let file = named(&pair);
    let view = View::parse(&file).expect("valid file");
    for (name, tensor) in pair.iter().zip(view.tensors().flatten()) {
        assert_eq!(lookups(&view, name), [Ok(Some(tensor.name().at())); 3], "{name}");
    }
}

#[test]
fn link_reports_first_duplicate_name() {
    let mut names: Vec<String> = (0..50).map(|i| format!("t{i}")).collect();
    names.extend(["last".into(), "\\u00741\\u0037".into(), "t3".into()]);
    let file = named(&names);
    let view = View::parse(&file).expect("duplicate names are not checked");
    let table: Vec<Tensor<'_>> = view.tensors().flatten().collect();
    let error = link(&mut vec![Link::NONE; table.len()], &table);
    assert_eq!(error, Err(ErrorKind::DuplicateName.at(table[51].name().at())), "t17");
}

#[test]
fn short_table_takes_the_first_tensors() {
    let file = named(&["a".into(), "b".into(), "c".into()]);
    let mut table = [Tensor::NONE; 2];
    let validated = validate_and_list::<false>(Aligned::anywhere(&file), &mut table).expect("valid file");
    assert_eq!(validated.summary.tensors, 3);
    assert!(table[0].name() == "a" && table[1].name() == "b");
}

/// Strings as spelled in a header, and decoded.
const SPELLINGS: [(&str, &str); 10] = [
    ("", ""),
    ("it's", "it's"),
    ("fc1.weight", "fc1.weight"),
    ("fc1\\u002eweight", "fc1.weight"),
    ("\\u0066c1.weigh\\u0074", "fc1.weight"),
    ("äöü €", "äöü €"),
    ("\\ud83d\\ude00\\uD83D\\uDE01", "😀😁"),
    ("😀\\ud83d\\ude01", "😀😁"),
    ("\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\u{8}\u{c}\n\r\t"),
    ("\\u005cn", "\\n"),
];

#[test]
fn strings_are_decoded() {
    for (spelled, meant) in SPELLINGS {
        let quoted = JsonStr::new(spelled.as_bytes(), 8);
        assert_eq!(quoted.to_string(), meant);
        assert_eq!(format!("{quoted:?}"), format!("{meant:?}"));
        assert_eq!(quoted.chars().collect::<String>(), meant);
        assert_eq!(quoted.as_str(), if spelled.contains('\\') { None } else { Some(meant) });
        assert_eq!(quoted.decode(&mut [0; 40]), Ok(meant));
        assert_eq!(quoted.hash(), hash(meant.as_bytes()));
        let mut short = vec![0; meant.len().saturating_sub(1)];
        let kind = ErrorKind::BufferLength { needed: meant.len() as u64, capacity: short.len() as u64 };
        assert!(meant.is_empty() || quoted.decode(&mut short) == Err(kind.at(8)));
    }
}

#[test]
fn strings_compare_by_decoded_characters() {
    let ends = ["", "x", "\\u0078", "\\\\", "é"];
    let meanings = ["", "x", "x", "\\", "é"];
    for (spelled, meant) in SPELLINGS {
        for (other_spelled, other_meant) in SPELLINGS {
            for (i, j) in (0..25).map(|pair| (pair / 5, pair % 5)) {
                let (a, b) = (String::from(spelled) + ends[i], String::from(other_spelled) + ends[j]);
                let (quoted, other) = (JsonStr::new(a.as_bytes(), 1), JsonStr::new(b.as_bytes(), 2));
                let (left, right) =
                    (String::from(meant) + meanings[i], String::from(other_meant) + meanings[j]);
                assert_eq!(quoted == other, left == right, "{a} and {b}");
                assert_eq!(quoted == *right, left == right, "{a} and {right}");
            }
        }
    }
}
