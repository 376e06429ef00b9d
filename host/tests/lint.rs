//! `safetensors lint`: each code has a file that triggers exactly it, and a sound twin that does not.
#![cfg(unix)]

use crate::support::{Place, file, tensor};
use serde_json::Value;
use std::fs;

const FORMAT: &str = r#""__metadata__":{"format":"pt"}"#;

/// A file with this header, padded with spaces to a multiple of 8, and so much data.
fn padded(header: &str, data: usize) -> Vec<u8> {
    let header = format!("{header}{}", " ".repeat(header.len().next_multiple_of(8) - header.len()));
    file(header, &vec![0; data])
}

/// A sound file with these entries after the metadata.
fn of(entries: &str, data: usize) -> Vec<u8> {
    padded(&format!("{{{FORMAT},{entries}}}"), data)
}

fn entry(name: &str, dtype: &str, shape: &str, range: [u64; 2]) -> String {
    format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{range:?}}}"#).replace(", ", ",")
}

fn named(name: &str) -> Vec<u8> {
    of(&tensor(name, 0, 8), 8)
}

/// A code, whether it is a warning, a file that has it, and one that does not.
type Case = (&'static str, bool, Vec<u8>, Vec<u8>);

fn cases() -> Vec<Case> {
    [header_text(), layout(), names(), contents()].concat()
}

fn header_text() -> Vec<Case> {
    let sound = named("a");
    let member = tensor("a", 0, 8);
    let with = |old: &str, new: &str| of(&member.replace(old, new), 8);
    let header = format!("{{{FORMAT},{member}}}");
    vec![
        ("header.first-byte", true, padded(&format!(" {header}"), 8), sound.clone()),
        ("canonical.whitespace", true, with("\"shape\":", "\"shape\": "), with("\"a\"", "\"a b\"")),
        ("canonical.escape", true, named("\\u0061"), named("a\\\"b")),
        (
            "canonical.member-order",
            false,
            with(r#""dtype":"U8","shape":[8]"#, r#""shape":[8],"dtype":"U8""#),
            sound.clone(),
        ),
        ("entry.unknown-member", true, with("{\"dtype\"", "{\"x\":{\"y\":[1]},\"dtype\""), sound),
    ]
}

fn layout() -> Vec<Case> {
    let (sound, member) = (named("a"), tensor("a", 0, 8));
    let header = format!("{{{FORMAT},{member}}}");
    let room = |spaces: usize| padded(&format!("{header}{}", " ".repeat(spaces)), 8);
    // With fewer spaces than the reference may need.
    let to = (header.len()..).find(|len| len % 8 == 4).expect("a length");
    let unaligned = file(format!("{header}{}", " ".repeat(to - header.len())), &[0; 8]);
    let tabs = format!("{header}{}", "\t".repeat(header.len().next_multiple_of(8) + 8 - header.len()));
    let pair = |first: [u64; 2], second: [u64; 2]| {
        of(&format!("{},{}", entry("a", "U8", "[8]", first), entry("b", "U8", "[8]", second)), 16)
    };
    let mixed = |bytes: u64| {
        let (first, second) = ([0, bytes], [bytes, bytes + 8]);
        let first = entry("a", "U8", &format!("[{bytes}]"), first);
        of(
            &format!("{first},{}", entry("b", "F64", "[1]", second)),
            usize::try_from(bytes + 8).expect("small"),
        )
    };
    let sorted = format!("{},{}", entry("b", "F64", "[1]", [0, 8]), entry("a", "U8", "[8]", [8, 16]));
    let sorted = of(&sorted, 16);
    vec![
        ("padding.not-spaces", true, file(&tabs, &[0; 8]), sound.clone()),
        ("padding.large", true, room(70_000), room(0)),
        ("padding.room", false, room(64), room(0)),
        ("align.data", true, unaligned, sound),
        ("align.tensor", true, mixed(4), sorted.clone()),
        ("order.offset", true, pair([8, 16], [0, 8]), pair([0, 8], [8, 16])),
        ("order.writer", false, mixed(8), sorted),
    ]
}

fn names() -> Vec<Case> {
    let long = |len: usize| named(&"n".repeat(len));
    let pair = |one: &str, other: &str| of(&format!("{},{}", tensor(one, 0, 8), tensor(other, 8, 16)), 16);
    vec![
        ("name.empty", true, named(""), named("a")),
        ("name.slash", false, named("a/b"), named("a.b")),
        ("name.space", true, named("a "), named("a b")),
        ("name.control", true, named("a\u{200b}b"), named("é")),
        ("name.not-nfc", true, named("e\u{301}a"), named("\u{e9}a")),
        ("name.long", true, long(256), long(255)),
        ("name.empty-part", true, named("a..b"), named("a.b")),
        ("name.group", false, pair("a", "a.b"), pair("a", "ab.c")),
    ]
}

fn contents() -> Vec<Case> {
    // Equal or not, but not constant.
    let pair = |last: [u8; 2]| {
        let header = format!("{{{FORMAT},{},{}}}", tensor("a", 0, 4096), tensor("b", 4096, 8192));
        let tensors = last.map(|last| [vec![1; 4095], vec![last]].concat());
        [padded(&header, 0), tensors.concat()].concat()
    };
    let format = |value: &str| {
        padded(&format!(r#"{{"__metadata__":{{"format":"{value}"}},{}}}"#, tensor("a", 0, 8)), 8)
    };
    vec![
        (
            "dtype.new",
            false,
            of(&entry("a", "F8_E8M0", "[8]", [0, 8]), 8),
            of(&entry("a", "F8_E4M3", "[8]", [0, 8]), 8),
        ),
        ("metadata.format", false, padded(&format!("{{{}}}", tensor("a", 0, 8)), 8), named("a")),
        ("metadata.format-value", true, format("np"), format("mlx")),
        ("data.duplicate", true, pair([2, 2]), pair([2, 3])),
    ]
}

/// The codes of a file's findings, and the exit code.
fn codes(place: &Place, args: &[&str]) -> (Vec<String>, Option<i32>) {
    let run = place.run([&["lint", "--json"], args].concat());
    let object = run.json();
    let findings = object["findings"].as_array().unwrap_or_else(|| panic!("{object}")).clone();
    assert_eq!(object["ok"], Value::Bool(run.code == Some(0)));
    (findings.iter().map(|finding| finding["code"].as_str().expect("a code").to_owned()).collect(), run.code)
}

#[test]
fn each_code_has_a_file_with_exactly_it_and_a_twin_without() {
    let place = Place::new();
    for (code, is_warning, bad, sound) in cases() {
        place.put("bad", &bad).put("sound", &sound);
        let exit = Some(i32::from(is_warning));
        assert_eq!(codes(&place, &["bad"]), (vec![code.to_owned()], exit), "{code}");
        assert_eq!(codes(&place, &["sound"]), (vec![], Some(0)), "the twin of {code}");
        assert_eq!(codes(&place, &["bad", "--allow", code]), (vec![], Some(0)), "{code}");
        let text = place.run(["lint", "bad"]).out;
        let begin = format!("bad: {}[{code}] at byte ", if is_warning { "warning" } else { "note" });
        assert!(text.contains(&begin) && text.contains("\n    "), "a byte and advice: {text}");
        if let Some(advised) = text.split('`').nth(1).and_then(|text| text.strip_prefix("safetensors ")) {
            place.put("advised", format!("\"$1\" {advised}").as_bytes());
            let run = place.shell("bash advised \"$0\"");
            let still = codes(&place, &["new.safetensors"]).0.contains(&code.to_owned());
            assert!(run.code == Some(0) && !still, "{advised}: {run:?}");
            fs::remove_file(place.path("new.safetensors")).expect("a file");
        }
    }
}

/// A new name that is taken, and old names that no rule of `pack --rename` can stand for.
#[test]
fn a_command_that_would_fail_is_not_advised() {
    let place = Place::new();
    for (name, other) in [("a/b", "a.b"), (" a=b", "c"), ("a*/b", "c"), ("a\\u0000", "c")] {
        place.put("m", &of(&format!("{},{}", tensor(name, 0, 8), tensor(other, 8, 16)), 16));
        let run = place.run(["lint", "m"]);
        assert!(run.out.contains("`safetensors pack FILE --rename OLD=NEW -o new.safetensors`"), "{run:?}");
    }
}

/// A code without a case would not be tested.
#[test]
fn every_code_has_a_case() {
    let run = Place::new().run(["lint", "--allow", "name.slahs", "x"]);
    assert_eq!(run.code, Some(2));
    let (_, list) = run.err.split_once("[possible values: ").expect("the list of codes");
    let (list, hint) = list.split_once(']').expect("the end of the list");
    assert!(hint.contains("did you mean \"name.slash\"?"), "{hint}");
    let mut listed: Vec<&str> = list.split(", ").collect();
    let cases = cases();
    let mut tested: Vec<&str> = cases.iter().map(|case| case.0).collect();
    listed.sort_unstable();
    tested.sort_unstable();
    assert_eq!(listed, tested);
}

#[test]
fn the_byte_of_a_finding_is_where_it_is() {
    let place = Place::new();
    let bytes = named("a ");
    place.put("m", &bytes);
    let run = place.run(["lint", "--json", "m"]);
    let object = run.json();
    let at = usize::try_from(object["findings"][0]["at"].as_u64().expect("a byte")).expect("small");
    assert!(bytes[at..].starts_with(b"\"a \":"), "{object}");
    assert_eq!(object["findings"][0]["tensor"], "a ");
}

#[test]
fn equal_tensors_are_found_in_several_files_and_grouped() {
    let place = Place::new();
    let entries: Vec<String> =
        (0..6).map(|index| tensor(&format!("t{index}"), index * 5000, (index + 1) * 5000)).collect();
    let data = [[&[6; 4999][..], &[7]].concat().repeat(5), vec![8; 5000]].concat();
    let mut bytes = padded(&format!("{{{FORMAT},{}}}", entries.join(",")), 0);
    bytes.extend(data);
    place.put("m", &bytes);
    let expected =
        "tensor \"t1\": 5 equal tensors, which waste 20.0 KB: \"t0\", \"t1\", \"t2\", \"t3\" and 1 more\n";
    let run = place.run(["lint", "m"]);
    assert!(run.code == Some(1) && run.out.contains(expected), "{run:?}");
    place.done(["split", "m", "-o", "parts", "--max-size", "10000"]);
    let run = place.run(["lint", "parts"]);
    assert!(run.code == Some(1) && run.out.contains(expected), "{run:?}");
    // The byte is one of the file that has the second tensor.
    let finding = "parts/model-00001-of-00003.safetensors: warning[data.duplicate] at byte ";
    assert!(run.out.starts_with(finding), "{run:?}");
}

/// One code after another, and of each file by file.
#[test]
fn findings_of_several_files_are_sorted_by_their_codes() {
    let place = Place::new();
    for (name, tensors) in [("1", ["a ", "b/"]), ("2", ["c ", "d/"])] {
        let [first, second] = [tensor(tensors[0], 0, 8), tensor(tensors[1], 8, 16)];
        place.put(format!("m/{name}.safetensors"), &of(&format!("{first},{second}"), 16));
    }
    let map = r#"{"weight_map":{"a ":"1.safetensors","b/":"1.safetensors","c ":"2.safetensors","d/":"2.safetensors"}}"#;
    place.put("m/model.safetensors.index.json", map.as_bytes());
    let run = place.run(["lint", "--json", "m"]);
    let object = run.json();
    let findings = object["findings"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let found: Vec<String> =
        findings.map(|finding| text(&finding["code"]) + " " + &text(&finding["file"])).collect();
    let expected = ["name.space 1", "name.space 2", "name.slash 1", "name.slash 2"];
    assert_eq!(found, expected.map(|finding| format!("{finding}.safetensors")));
}

/// Biases of 0 and weights of 1, of which a new model has many, should not be tied.
#[test]
fn equal_tensors_that_are_constant_are_no_finding() {
    let place = Place::new();
    for (dtype, len, element) in
        [("F32", 1250, &1_f32.to_le_bytes()[..]), ("U8", 5000, &[0]), ("F64", 625, &[1, 2, 3, 4, 5, 6, 7, 8])]
    {
        let [one, other] = [("a", 0), ("b", 5000)]
            .map(|(name, begin)| entry(name, dtype, &format!("[{len}]"), [begin, begin + 5000]));
        let header = padded(&format!("{{{FORMAT},{one},{other}}}"), 0);
        let mut data = element.repeat(10_000 / element.len());
        place.put("constant", &[&header[..], &data].concat());
        assert_eq!(codes(&place, &["constant"]), (vec![], Some(0)), "{dtype}");
        for at in [3333, 8333] {
            data[at] = 99;
        }
        place.put("other", &[&header[..], &data].concat());
        assert_eq!(codes(&place, &["other"]), (vec!["data.duplicate".to_owned()], Some(1)), "{dtype}");
    }
}

/// transformers, by the sources of its releases: 4.26 to 4.38 accept pt, tf and flax, 4.39 to 4.57 also mlx.
/// Up to 4.47 there must be metadata. 5.0 and later do not read it.
#[test]
fn formats_that_transformers_rejects_are_found() {
    let place = Place::new();
    let no_key = "note[metadata.format] at byte 8: the metadata has no key \"format\": transformers 4.26 to 4.57 \
        rejects the file";
    let none = "note[metadata.format] at byte 8: there is no metadata: transformers 4.26 to 4.47 rejects \
        the file";
    let other = |format: &str| {
        format!(
            "warning[metadata.format-value] at byte 8: the metadata has the format \"{format}\", but transformers \
             4.26 to 4.57 accepts only pt, tf, flax and mlx"
        )
    };
    for (metadata, expected) in [
        ("", none),
        (r#""__metadata__":{"by":"x"},"#, no_key),
        (r#""__metadata__":{"format":""},"#, &other("")),
        (r#""__metadata__":{"format":"PT"},"#, &other("PT")),
    ] {
        place.put("m", &padded(&format!("{{{metadata}{}}}", tensor("a", 0, 8)), 8));
        let run = place.run(["lint", "m"]);
        assert!(run.out.starts_with(&format!("m: {expected}\n")), "{run:?}");
    }
    for value in ["pt", "tf", "flax", "mlx"] {
        let header = format!(r#"{{"__metadata__":{{"format":"{value}"}},{}}}"#, tensor("a", 0, 8));
        place.put("m", &padded(&header, 8));
        assert_eq!(codes(&place, &["m"]), (vec![], Some(0)), "{value}");
    }
}

/// The names for which `torch.nn.Module.register_parameter` and `add_module` raise `KeyError`.
#[test]
fn names_that_no_torch_module_has_are_found() {
    let place = Place::new();
    let empty_part = ["name.empty-part".to_owned()];
    for name in ["a..b", ".a", "a.", ".", "..", "metadata", "__meta__", "__METADATA__", "a.b.c", "a_.-b"] {
        place.put("m", &named(name));
        let is_found = name.split('.').any(str::is_empty);
        assert_eq!(codes(&place, &["m"]).0, if is_found { &empty_part[..] } else { &[] }, "{name}");
    }
    place.put("m", &of(&format!("{},{}", tensor("", 0, 8), tensor(".a", 8, 16)), 16));
    assert_eq!(codes(&place, &["m"]).0, ["name.empty", "name.empty-part"]);
    // In files of their own.
    place.put("m", &of(&format!("{},{}", tensor("a", 0, 8), tensor("a.b.c", 8, 16)), 16));
    place.done(["split", "m", "-o", "parts", "--max-size", "8"]);
    for model in ["m", "parts"] {
        let run = place.run(["lint", model]);
        let expected = "note[name.group] at byte 40: tensor \"a\": the name is that of a group, too, which has \"a.b.c\"\n";
        assert!(run.code == Some(0) && run.out.contains(expected), "{run:?}");
    }
}

#[test]
fn many_findings_of_a_code_are_counted() {
    let place = Place::new();
    let entries: Vec<String> =
        (0..30).map(|index| tensor(&format!("{index:02} "), index * 8, (index + 1) * 8)).collect();
    place.put("m", &of(&entries.join(","), 240));
    let run = place.run(["lint", "m"]);
    assert_eq!(run.out.matches("warning[name.space]").count(), 20, "{run:?}");
    assert!(run.out.contains("    and 10 more, which --json shows\n"), "{run:?}");
    assert!(run.out.ends_with("m: 30 warnings, 0 notes\n"), "{run:?}");
    assert_eq!(codes(&place, &["m"]).0.len(), 30);
}

/// A metadata key that is a duplicate makes the file invalid, which `check` reports.
#[test]
fn an_invalid_file_has_a_verdict_and_an_unreadable_one_is_exit_code_2() {
    let place = Place::new();
    place.put("m", &padded(r#"{"__metadata__":{"a":"","a":""}}"#, 0)).put("sound", &named("a"));
    let run = place.run(["lint", "m"]);
    assert_eq!((run.code, run.out + &run.err), (Some(1), place.run(["check", "m"]).out));
    assert_eq!(place.run(["lint", "missing", "m", "sound"]).code, Some(2));
    place.run(["lint", "sound"]).is(0, "sound: 0 warnings, 0 notes\n", "");
    place.run_piped(["lint", "-"], &named("a")).is(0, "-: 0 warnings, 0 notes\n", "");
}
