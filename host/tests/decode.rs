//! `safetensors decode`, the conformance runner protocol.

use crate::support::{Place, Run, file, sound, tensor};
use serde_json::{Value, json};

fn decode(contents: &[u8]) -> Run {
    Place::new().run_piped(["decode"], contents)
}

fn accepted(contents: &[u8]) -> Value {
    let run = decode(contents);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    serde_json::from_str(&run.out).expect("JSON")
}

#[test]
fn a_file_is_one_object_in_the_order_of_its_header() {
    let header = concat!(
        r#"{"__metadata__":{"format":"pt","":"\n"},"#,
        r#""b":{"shape":[],"data_offsets":[4,8],"extra":[1],"dtype":"F32"},"#,
        r#""a":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]}}"#
    );
    let out = concat!(
        r#"{"tensors":{"b":{"dtype":"F32","shape":[],"data_offsets":[4,8],"#,
        r#""sha256":"e5e088a0b66163a0a26a5e053d2a4496dc16ab6e0e3dd1adf2d16aa84a078c9d"},"#,
        r#""a":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4],"#,
        r#""sha256":"88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589"}},"#,
        r#""metadata":{"":"\u000a","format":"pt"}}"#,
        "\n"
    );
    decode(&file(header, b"abcdefgh")).is(0, out, "");
}

#[test]
fn metadata_is_an_object_or_null() {
    let none = json!({"tensors": {}, "metadata": null});
    assert_eq!(accepted(&file("{}", b"")), none);
    assert_eq!(accepted(&file(r#"{"__metadata__":null}"#, b"")), none);
    assert_eq!(accepted(&file(r#"{"__metadata__":{}}"#, b"")), json!({"tensors": {}, "metadata": {}}));
}

#[test]
fn names_and_values_read_back_exactly() {
    let names = [
        "",
        "__metadata",
        "__metadata__ ",
        "__metadata_\"",
        "\0\u{1}\u{1f}\u{7f}\"\\/\u{8}\u{c}\n\r\t",
        "é層😀e\u{301}\u{202e}\u{2028}\u{feff}\u{ffff}",
    ];
    for ascii in [false, true] {
        let members: Vec<_> = names.iter().map(|name| spell(name, ascii)).collect();
        let entries: Vec<_> = members.iter().map(|name| tensor(name, 0, 0)).collect();
        let metadata: Vec<_> = members.iter().map(|name| format!("\"{name}\":\"{name}\"")).collect();
        let header = format!(r#"{{{},"__metadata__":{{{}}}}}"#, entries.join(","), metadata.join(","));
        let decoded = accepted(&file(header, b""));
        for name in names {
            assert_eq!(decoded["tensors"][name]["shape"], json!([0]), "{name:?}");
            assert_eq!(decoded["metadata"][name], name);
        }
    }
}

/// The inside of a JSON string.
fn spell(text: &str, ascii: bool) -> String {
    let escape = |unit: u16| format!("\\u{unit:04x}");
    let units = |character: char| character.encode_utf16(&mut [0; 2]).iter().copied().map(escape).collect();
    let spelled = text.chars().map(|character| match character {
        '"' | '\\' | '\0'..' ' => units(character),
        _ if ascii => units(character),
        _ => character.to_string(),
    });
    spelled.collect()
}

#[test]
fn an_escaped_spelling_of_metadata_is_metadata() {
    let decoded = accepted(&file(r#"{"\u005f_meta\u0064ata__":{"k":"v"}}"#, b""));
    assert_eq!(decoded, json!({"tensors": {}, "metadata": {"k": "v"}}));
}

#[test]
fn numbers_are_exact_up_to_64_bits() {
    let header = r#"{"a":{"dtype":"U8","shape":[18446744073709551615,0],"data_offsets":[0,0]}}"#;
    let decoded = accepted(&file(header, b""));
    assert_eq!(decoded["tensors"]["a"]["shape"], json!([u64::MAX, 0]));
}

#[test]
fn shapes_of_any_rank_and_names_of_any_length() {
    let rank = 1_000_000;
    let dims = vec!["1"; rank].join(",");
    let name = "n".repeat(300_000);
    let header = format!(r#"{{"{name}":{{"dtype":"U8","shape":[{dims}],"data_offsets":[0,1]}}}}"#);
    let decoded = accepted(&file(header, b"x"));
    assert_eq!(decoded["tensors"][&name]["shape"].as_array().map(Vec::len), Some(rank));
}

#[test]
fn the_digest_is_that_of_the_tensors_own_bytes() {
    let data: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let header = format!("{{{},{}}}", tensor("rest", 7, 300_000), tensor("start", 0, 7));
    let decoded = accepted(&file(header, &data));
    for (name, bytes) in [("start", &data[..7]), ("rest", &data[7..])] {
        assert_eq!(decoded["tensors"][name]["sha256"], sha256(bytes), "{name}");
    }
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn duplicate_names_are_rejected() {
    let header = format!("{{{},{}}}", tensor("a", 0, 0), tensor(r"\u0061", 0, 0));
    let run = decode(&file(header, b""));
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert!(run.err.starts_with("-: error[name.duplicate] at byte 61: "), "{run:?}");
}

#[test]
fn a_file_argument_is_read() {
    let place = Place::new();
    place.put("m", &file("{}", b""));
    place.run(["decode", "m"]).is(0, "{\"tensors\":{},\"metadata\":null}\n", "");
    place.run(["decode", "gone"]).is(2, "", "gone: cannot be read: no such file or directory\n");
}

/// `git diff` compares these texts: see the page of `diff`.
#[test]
fn the_text_depends_on_the_contents_alone() {
    let place = Place::new();
    let text = |name: &str| place.run(["decode", name]).out;
    let mut changed = sound();
    place.put("a", &changed).put("b", &changed);
    assert_eq!(text("a"), text("b"));
    *changed.last_mut().expect("a byte") += 1;
    place.put("b", &changed);
    let (old, new) = (text("a"), text("b"));
    let lines = |text: &str| text.split("},").map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines(&old), lines(&new));
    let differing: Vec<_> = old.iter().zip(&new).filter(|(old, new)| old != new).collect();
    assert!(old.len() == new.len() && differing.len() == 1, "{old:?} {new:?}");
    assert!(differing[0].0.starts_with("\"b\":"), "{differing:?}");
    assert_eq!(place.run(["pack", "b", "--in-place", "--set", "k=v"]).code, Some(0));
    assert!(text("b").contains(r#""metadata":{"k":"v"}"#), "{}", text("b"));
}
