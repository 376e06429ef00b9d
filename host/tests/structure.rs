//! `safetensors inspect` of files that the Python package safestructures has saved, and of bad ones. The
//! crate has the tests of each sentence.

use crate::support::{Place, file};
use serde_json::{Value, json};

/// Returns a file with the tensor "0", whose metadata has a schema and its version.
fn with_schema(schema: &str, version: &str) -> Vec<u8> {
    let header = json!({
        "__metadata__": {"_safestructures_schema_": schema, "_safestructures_schema_version_": version},
        "0": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
    });
    file(header.to_string(), &[7])
}

fn tensor(name: &str) -> String {
    format!(r#"{{"data_type": "numpy.ndarray", "value": "{name}"}}"#)
}

fn list(values: &[String]) -> String {
    format!(r#"{{"data_type": "list", "value": [{}]}}"#, values.join(", "))
}

/// Returns what follows the ordinary lines.
fn lines(bytes: &[u8]) -> String {
    let place = Place::new();
    place.put("m", bytes);
    let out = place.done(["inspect", "m"]).out;
    let (before, structure) = out.split_once("  structure: ").expect("a structure");
    assert!(before.contains("longest name: 1 byte\n"), "the ordinary lines are missing: {before}");
    format!("structure: {structure}")
}

fn json_of(bytes: &[u8]) -> Value {
    let place = Place::new();
    place.put("m", bytes);
    place.done(["inspect", "--json", "m"]).json()["structure"].take()
}

fn committed(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/structures/files");
    std::fs::read(format!("{folder}/{name}.safetensors")).expect("a committed file")
}

#[test]
fn a_structure_is_a_tree() {
    let tree = r#"structure: safestructures 1.0.0
    dict of 8
      ["epoch"]: int 7
      ["lr"]: float 0.015625
      ["note"]: str "läuft\n\"gut\""
      ["shuffle"]: bool true
      ["layers"]: list of 2
        [0]: dict of 2
          ["weight"]: tensor "0", F32 [3, 4]
          ["bias"]: tensor "1", F32 [3]
        [1]: dict of 2
          ["weight"]: tensor "2", F32 [2, 3]
          ["bias"]: None
      ["shape"]: tuple of 3
        [0]: int 3
        [1]: int 4
        [2]: tuple of 2
          [0]: int 2
          [1]: int 3
      ["labels"]: dict of 2
        [0]: str "no"
        [1]: str "yes"
      ["empty"]: list of 0
"#;
    assert_eq!(lines(&committed("training")), tree);
}

#[test]
fn a_structure_is_json() {
    let dataclass = json!({"type": "dataclass", "values": [
        {"field": "name", "value": {"type": "str", "value": "sgd"}},
        {"field": "lr", "value": {"type": "float", "value": "1e-05"}},
        {"field": "momentum", "value": {"type": "tensor", "name": "0"}},
    ]});
    assert_eq!(json_of(&committed("dataclass")), dataclass);
    let own_type = json!({"type": "list", "values": [
        {"type": "other", "name": "sensors.Range", "json": "[-40, 85.5]"},
        {"type": "dict", "values": [
            {"key": "(1, 2)", "key_type": "tuple", "value":
                {"type": "set", "values": [{"type": "int", "value": "3"}]}},
            {"key": "4", "key_type": "int", "value": {"type": "complex", "value": "(1+2j)"}},
        ]},
    ]});
    assert_eq!(json_of(&committed("own-type")), own_type);
    // An empty container before another value.
    let empty = with_schema(&list(&[list(&[]), list(&[tensor("0"), tensor("0")])]), "1.0.0");
    let there = json!({"type": "tensor", "name": "0"});
    let inner = json!({"type": "list", "values": [there, there]});
    assert_eq!(json_of(&empty), json!({"type": "list", "values": [{"type": "list", "values": []}, inner]}));
    assert_eq!(json_of(&file("{}", b"")), Value::Null);
}

#[test]
fn a_wrong_structure_is_a_sentence_below_the_ordinary_lines() {
    let deep = (0..62).fold(tensor("0"), |inner, _| list(&[inner]));
    assert!(lines(&with_schema(&deep, "1.0.0")).ends_with("tensor \"0\", U8 [1]\n"));
    let version = "the schema has version 2.0.0, but only 1.0.0 is supported";
    for (schema, version, sentence) in [
        ("7", "2.0.0", &*format!("error[structure.version] at byte 0 of the schema: {version}")),
        ("{", "1.0.0", "error[json.end] at byte 1 of the schema: the schema ends inside its JSON"),
        (
            &list(&[deep]),
            "1.0.0",
            "error[json.depth] at byte 2015 of the schema: the schema has more than 125 open brackets",
        ),
        (&" ".repeat((1 << 20) + 1), "1.0.0", "not shown: its schema has more than 1048576 bytes"),
    ] {
        let file = with_schema(schema, version);
        assert_eq!(lines(&file), format!("structure: {sentence}\n"));
        let (_, message) = sentence.split_once(": ").expect("what is wrong");
        let json = json_of(&file)["error"].take();
        let expected = if json["code"] == "limit.schema" { sentence } else { message };
        assert_eq!(json["message"], expected);
    }
}

/// What was read before the error is shown.
#[test]
fn tensors_are_compared_with_those_of_the_file() {
    let file = with_schema(&list(&[tensor("0"), tensor("9"), list(&[tensor("0")])]), "1.0.0");
    let expected = r#"structure: safestructures 1.0.0
    list of 3
      [0]: tensor "0", U8 [1]
      [1]: tensor "9", which the file does not have
      [2]: list of 1
        [0]: tensor "0", U8 [1]
  structure: error[structure.tensor] at byte 118 of the schema, in [1]: the file has no tensor of this name: "9"
  structure: [2][0] names the same tensor as [0]: "0"
"#;
    assert_eq!(lines(&file), expected);
    let error =
        json!({"code": "structure.tensor", "at": 118, "message": "the file has no tensor of this name"});
    let missing = json!({"type": "tensor", "name": "9", "error": error});
    assert_eq!(json_of(&file)["values"][1], missing);
}

/// Each sentence takes a pass over the schema, so that their number is limited.
#[test]
fn a_long_list_of_missing_tensors_takes_no_longer_than_its_bytes() {
    let values: Vec<String> = (0..16_000).map(|_| tensor("9")).collect();
    let before = std::time::Instant::now();
    let text = lines(&with_schema(&list(&values), "1.0.0"));
    assert!(before.elapsed() < std::time::Duration::from_secs(60), "{:?}", before.elapsed());
    assert_eq!(text.matches("error[structure.tensor]").count(), 8);
    let last = "  structure: and 15992 more of these notes\n";
    assert!(text.ends_with(last), "{}", &text[text.len() - 200..]);
}

#[test]
fn a_name_that_is_in_a_container_twice_is_reported() {
    let none = r#"{"data_type": "NoneType", "value": null}"#;
    let fields = format!(r#"{{"a": {none}, "b": {none}, "a": {none}}}"#);
    let inner = format!(r#"{{"data_type": "SafestructuresDataclass", "value": {fields}}}"#);
    let file = with_schema(&list(&[inner]), "1.0.0");
    let message = "in [0]: a value has a duplicate member: \"a\"";
    let end = format!("  structure: error[structure.duplicate] at byte 177 of the schema, {message}\n");
    assert!(lines(&file).ends_with(&end), "{}", lines(&file));
    let error = json!({"code": "structure.duplicate", "at": 177, "message": message});
    assert_eq!(json_of(&file), json!({"error": error}));
}

/// A name in the file is printed, and has no other effect, on a terminal or elsewhere.
#[test]
fn names_are_printed_only() {
    for (own, shown) in [
        (
            r#"{"data_type": "os.system", "value": "\u001b[31m\u202ereboot"}"#,
            r#"[0]: type "os.system": "\u001b[31m\u202ereboot""#,
        ),
        ("{\"data_type\": \"str\", \"value\": \"\u{202e}\"}", "[0]: str \"\\u{202e}\""),
    ] {
        let text = lines(&with_schema(&list(&[own.to_owned()]), "1.0.0"));
        assert!(text.contains(shown), "{text}");
    }
    let text = lines(&with_schema("7", "01.0.0"));
    assert!(text.ends_with("not three numbers as in 1.0.0, which is supported: \"01.0.0\"\n"), "{text}");
}

#[test]
fn no_command_renames_or_leaves_out_what_a_structure_names() {
    let place = Place::new();
    place.put("m", &committed("training"));
    let unset = "--unset _safestructures_schema_ --unset _safestructures_schema_version_";
    for words in [
        "convert m out.safetensors --rename *=x.*",
        "pack m -o out --except 0",
        "pack m -o out --rename *=x.*",
        "pack m --in-place --rename 0=x",
        "slice m 0=0:1 -o out",
    ] {
        let run = place.run(words.split(' '));
        assert!(run.code == Some(2) && run.err.contains(unset), "{words}: {run:?}");
    }
    assert_eq!(place.run(format!("pack m -o out --except 0 {unset}").split(' ')).code, Some(0));
}
