//! Bad structures, each with its sentence: what, where, and the numbers.

use embedded_safestructures::{Event, Frame, LoadError, Node, Structure, Value, check_version};
use embedded_safetensors::Model;

/// Returns the sentence of the first error in a walk.
fn error(schema: &str) -> String {
    let structure = match Structure::parse(schema) {
        Ok(structure) => structure,
        Err(error) => return error.to_string(),
    };
    let mut frames = [Frame::NONE; 2];
    let mut walk = structure.walk(&mut frames);
    loop {
        match walk.next() {
            Ok(Some(_)) => {}
            Ok(None) => return "valid".to_owned(),
            Err(error) => {
                assert_eq!(walk.next().unwrap_err(), error, "another error from the next call");
                let explained = structure.explain(error);
                let (whole, short) = (explained.to_string(), format!("{explained:#}"));
                let before = format!("error[{}] at byte {} of the schema", error.kind.code(), error.at);
                let separator = if short.starts_with("in ") { ", " } else { ": " };
                assert_eq!(whole, format!("{before}{separator}{short}"));
                return whole;
            }
        }
    }
}

/// Returns a list with these values.
fn list(values: &str) -> String {
    format!(r#"{{"data_type": "list", "value": [{values}]}}"#)
}

const INT: &str = r#"{"data_type": "int", "value": "1"}"#;

/// Compares the sentences of these schemas.
fn assert_sentences(cases: &[(String, &str)]) {
    for (schema, sentence) in cases {
        assert_eq!(error(schema), *sentence, "{schema}");
    }
}

#[test]
fn text_that_is_not_json_is_rejected() {
    assert_sentences(&[
        (list(INT), "valid"),
        (String::new(), "error[json.end] at byte 0 of the schema: the schema ends inside its JSON"),
        (
            list("")[..10].to_owned(),
            "error[json.end] at byte 10 of the schema: the schema ends inside its JSON",
        ),
        (
            list("1,]"),
            "error[json.syntax] at byte 34 of the schema: unexpected ']' in the JSON of the schema",
        ),
        (
            format!("{INT} 7"),
            "error[json.syntax] at byte 35 of the schema: unexpected '7' in the JSON of the schema",
        ),
        (
            format!(r#"{INT}}},"a":{{"dtype":"U8","shape":[0],"data_offsets":[0,0],"":{INT}"#),
            "error[json.syntax] at byte 34 of the schema: unexpected '}' in the JSON of the schema",
        ),
        (
            format!(r#"{INT},"dtype":"U8""#),
            "error[json.syntax] at byte 35 of the schema: the schema is not valid JSON",
        ),
        (
            "[".repeat(126),
            "error[json.depth] at byte 125 of the schema: the schema has more than 125 open brackets",
        ),
    ]);
}

#[test]
fn values_of_a_wrong_form_are_rejected() {
    assert_sentences(&[
        (
            list(&format!("{INT}, 7")),
            "error[structure.object] at byte 68 of the schema, in [1]: a value must be an object with \
             \"data_type\" and \"value\"",
        ),
        (
            list("\"a\""),
            "error[structure.object] at byte 32 of the schema, in [0]: a value must be an object with \
             \"data_type\" and \"value\": \"a\"",
        ),
        (
            list(r#"{"value": 1}"#),
            "error[structure.type] at byte 32 of the schema, in [0]: a value has no \"data_type\", or it is not \
             a string",
        ),
        (
            list(r#"{"data_type": "int"}"#),
            "error[structure.value] at byte 32 of the schema, in [0]: a value has no \"value\"",
        ),
        (
            list(r#"{"data_type": "int", "value": "1", "value": "2"}"#),
            "error[structure.duplicate] at byte 67 of the schema, in [0]: a value has a duplicate member: \
             \"value\"",
        ),
        (
            list(r#"{"data_type": "bool", "value": 1}"#),
            "error[structure.kind] at byte 63 of the schema, in [0]: the \"value\" does not have the form of \
             its \"data_type\"",
        ),
        (
            list(r#"{"data_type": "tuple", "value": {}}"#),
            "error[structure.kind] at byte 64 of the schema, in [0]: the \"value\" of a list, a tuple or a set \
             must be an array",
        ),
    ]);
}

#[test]
fn containers_of_a_wrong_form_are_rejected() {
    let dict =
        |value: &str, keys: &str| format!(r#"{{"data_type": "dict", "value": {value}, "keys": {keys}}}"#);
    assert_sentences(&[
        (
            list(&dict("[]", "{}")),
            "error[structure.kind] at byte 63 of the schema, in [0]: the \"value\" of a dictionary or a data \
             class must be an object",
        ),
        (
            list(r#"{"data_type": "dict", "value": {}}"#),
            "error[structure.keys] at byte 32 of the schema, in [0]: a dictionary has no \"keys\", or they are \
             not an object",
        ),
        (
            list(&dict(
                &format!(r#"{{"a": {INT}, "b": {INT}}}"#),
                r#"{"a": {"data_type": "str", "value": "a"}}"#,
            )),
            "error[structure.key] at byte 105 of the schema, in [0]: the \"value\" and the \"keys\" of a \
             dictionary differ from this key on: \"b\"",
        ),
        (
            list(&list(&list(""))),
            "error[limit.frames] at byte 64 of the schema, in [0][0]: too many levels: 3 frames needed, 2 \
             available",
        ),
    ]);
}

#[test]
fn keys_must_be_those_of_the_values() {
    let dict = |values: &[&str], keys: &[&str]| {
        let members = |names: &[&str]| {
            let key = |name: &&str| format!(r#""{name}": {{"data_type": "str", "value": "{name}"}}"#);
            let members: Vec<String> = names.iter().map(key).collect();
            members.join(", ")
        };
        format!(r#"{{"data_type": "dict", "value": {{{}}}, "keys": {{{}}}}}"#, members(values), members(keys))
    };
    assert_eq!(error(&dict(&["a", "b"], &["a", "b"])), "valid");
    for (values, keys, at, name) in [
        (&["a", "b"][..], &["a"][..], 73, "b"),
        (&["a"], &["a", "b"], 124, "b"),
        (&["a", "b"], &["b", "a"], 32, "a"),
        (&[], &["a"], 44, "a"),
    ] {
        let sentence = format!(
            "error[structure.key] at byte {at} of the schema: the \"value\" and the \"keys\" of a dictionary differ \
             from this key on: {name:?}"
        );
        assert_eq!(error(&dict(values, keys)), sentence);
    }
}

/// Python loads the key of the `"keys"`; its name in the file is the text of it.
#[test]
fn a_key_has_the_text_of_its_name() {
    let dict = |name: &str, key: &str| {
        format!(r#"{{"data_type": "dict", "value": {{"{name}": {INT}}}, "keys": {{"{name}": {key}}}}}"#)
    };
    let value = |data_type: &str, value: &str| format!(r#"{{"data_type": "{data_type}", "value": {value}}}"#);
    for (name, key) in [
        ("a", value("str", r#""\u0061""#)),
        ("1", INT.to_owned()),
        ("1e-05", value("float", r#""1e-05""#)),
        ("(1+2j)", value("complex", r#""(1+2j)""#)),
        ("None", value("NoneType", "null")),
        ("True", value("bool", "true")),
        ("(1,)", value("tuple", &format!("[{INT}]"))),
    ] {
        assert_eq!(error(&dict(name, &key)), "valid");
    }
    for (name, key) in [
        ("a", value("str", r#""zzz""#)),
        ("1", value("int", r#""7""#)),
        ("true", value("bool", "true")),
        ("False", value("bool", "true")),
        ("none", value("NoneType", "null")),
        ("[1]", list(INT)),
    ] {
        let sentence = format!(
            "error[structure.key] at byte 32 of the schema: a key of a dictionary does not have the text of its \
             name, or cannot be a key: {name:?}"
        );
        assert_eq!(error(&dict(name, &key)), sentence);
        let schema = dict(name, &key);
        let root = Structure::parse(&schema).unwrap().root();
        assert_eq!(root.get(name).map(Node::at).unwrap_err().kind.code(), "structure.key");
    }
    assert_eq!(
        error(&dict("a", "7")),
        "error[structure.object] at byte 88 of the schema: a value must be an object with \"data_type\" and \
         \"value\""
    );
}

#[test]
fn numbers_have_the_form_of_their_type() {
    let is_valid = |data_type: &str, text: &str| match &*error(&list(&format!(
        r#"{{"data_type": "{data_type}", "value": {text}}}"#
    ))) {
        "valid" => true,
        sentence => {
            assert!(sentence.starts_with("error[structure.kind]"), "{sentence}");
            false
        }
    };
    for text in ["\"0\"", "\"-17\"", "\"+1\"", "7", "\"123456789012345678901234567890\""] {
        assert!(is_valid("int", text) && is_valid("float", text), "{text}");
    }
    for text in ["\"1.5\"", "\"1e-05\"", "\"-1E+16\"", "1.5", "\"nan\"", "\"inf\"", "\"-inf\""] {
        assert!(!is_valid("int", text) && is_valid("float", text), "{text}");
    }
    for text in
        ["2j", "-0j", "1e-05j", "(1+2j)", "(-1.5e+16-2.5e-07j)", "(nan+infj)", "(-inf+nanj)", "1+0j", "7"]
    {
        assert!(is_valid("complex", &format!("{text:?}")), "{text}");
    }
    for text in [
        "junk", "", "j", "()", "(1+2j", "1+2j)", "1+2", "(1+-2j)", "1++2j", "(1 + 2j)", "1+j", "++1j",
        "(+2j+)", "((1j))",
    ] {
        assert!(!is_valid("complex", &format!("{text:?}")), "{text}");
    }
    for text in ["hello", "", "-", "1_0", "0x7", "1.", ".5", "1e", "1e+", "+-1", "infinity", "1 "] {
        let text = format!("{text:?}");
        assert!(!is_valid("int", &text) && !is_valid("float", &text), "{text}");
    }
}

#[test]
fn a_float_that_overflows_is_an_error() {
    let read = |text: &str| {
        let schema = format!(r#"{{"data_type": "float", "value": "{text}"}}"#);
        Structure::parse(&schema).unwrap().root().read::<f32>().map_err(|error| error.kind.code())
    };
    assert_eq!(read("1e40"), Err("usage.number"));
    assert_eq!(read(&format!("-1{}", "0".repeat(40))), Err("usage.number"));
    assert_eq!(
        (read("inf"), read("-inf"), read("1e38")),
        (Ok(f32::INFINITY), Ok(f32::NEG_INFINITY), Ok(1e38))
    );
}

/// An array has all values of its container.
#[test]
fn keys_that_no_value_has_are_not_ignored() {
    let key = r#"{"data_type": "str", "value": "a"}"#;
    let schema =
        format!(r#"{{"data_type": "dict", "value": {{"a": {INT}}}, "keys": {{"a": {key}, "b": {key}}}}}"#);
    let root = Structure::parse(&schema).unwrap().root();
    assert_eq!(root.read::<[u8; 1]>().unwrap_err().kind.code(), "structure.key");
    let schema = list(&format!("{INT}, {INT}"));
    let root = Structure::parse(&schema).unwrap().root();
    assert_eq!(root.read(), Ok([1_u8, 1]));
    assert_eq!(root.read::<[u8; 1]>().unwrap_err().kind.code(), "usage.count");
    assert_eq!(root.read::<[u8; 3]>().unwrap_err().kind.code(), "usage.count");
}

#[test]
fn names_are_printed_as_they_are() {
    let schema =
        r#"{"data_type": "SafestructuresDataclass", "value": {"it's": {"data_type": "int", "value": "1"}}}"#;
    let mut children = Structure::parse(schema).unwrap().root().children().unwrap();
    assert_eq!(children.next().unwrap().unwrap().0.to_string(), ".it's");
}

#[test]
fn a_key_that_is_there_twice_is_an_error_of_its_lookup() {
    let none = r#"{"data_type": "None", "value": null}"#;
    let schema = format!(
        r#"{{"data_type": "SafestructuresDataclass", "value": {{"a": {none}, "b": {none}, "a": {none}}}}}"#
    );
    let root = Structure::parse(&schema).unwrap().root();
    assert!(root.get("b").is_ok());
    assert_eq!(root.get("a").map(Node::at).unwrap_err().kind.code(), "structure.duplicate");
    assert_eq!(root.get("c").map(Node::at).unwrap_err().kind.code(), "usage.path");
    assert_eq!(root.item(0).map(Node::at).unwrap_err().kind.code(), "usage.path");
}

#[test]
fn other_versions_are_rejected() {
    assert_eq!(check_version(Some("1.0.0")), Ok(()));
    for (version, sentence) in [
        (None, "the file has a schema, but \"_safestructures_schema_version_\" is missing"),
        (Some("2.0.1"), "the schema has version 2.0.1, but only 1.0.0 is supported"),
        (Some("0.0.10"), "the schema has version 0.0.10, but only 1.0.0 is supported"),
        (Some("02.0.0"), "the version of the schema is not three numbers as in 1.0.0, which is supported"),
        (Some("2..0"), "the version of the schema is not three numbers as in 1.0.0, which is supported"),
        (Some("2.0."), "the version of the schema is not three numbers as in 1.0.0, which is supported"),
        (Some("2.0.00"), "the version of the schema is not three numbers as in 1.0.0, which is supported"),
        (Some("01.0.0"), "the version of the schema is not three numbers as in 1.0.0, which is supported"),
        (Some("1.0"), "the version of the schema is not three numbers as in 1.0.0, which is supported"),
    ] {
        let error = check_version(version).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("error[structure.version] at byte 0 of the schema: {sentence}")
        );
    }
}

/// Returns a file whose only tensor is "0", with this metadata.
fn file(metadata: &[(&str, &str)]) -> Vec<u8> {
    let pairs: Vec<String> = metadata.iter().map(|(key, value)| format!("{key:?}:{value:?}")).collect();
    let header = format!(
        r#"{{"__metadata__":{{{}}},"0":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}}}"#,
        pairs.join(",")
    );
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[7]].concat()
}

#[test]
fn the_metadata_of_a_file_decides() {
    let (schema, version) = ("_safestructures_schema_", "_safestructures_schema_version_");
    let load = |metadata: &[(&str, &str)]| {
        let (file, mut text, mut window) = (file(metadata), [0; 256], [0; 32]);
        let mut model = Model::open(&file[..], &mut window).expect("a valid file");
        match Structure::of_model(&mut model, &mut text, &mut window) {
            Ok(structure) => Ok(structure.map(|structure| structure.schema().to_owned())),
            Err(LoadError::Structure(error)) => Err(error.kind.code()),
            Err(LoadError::Read(error)) => panic!("{error}"),
        }
    };
    assert_eq!(load(&[("format", "pt")]), Ok(None));
    assert_eq!(load(&[(version, "1.0.0")]), Ok(None));
    assert_eq!(load(&[(schema, "7"), (version, "1.0.0")]), Ok(Some("7".to_owned())));
    assert_eq!(load(&[(schema, "7")]), Err("structure.version"));
    assert_eq!(load(&[(schema, "7"), (version, &"1".repeat(99))]), Err("structure.version"));
    assert_eq!(load(&[(schema, "{"), (version, "1.0.0")]), Err("json.end"));
}

#[test]
fn a_missing_tensor_is_named() {
    let tensor = |name: &str| format!(r#"{{"data_type": "numpy.ndarray", "value": {name}}}"#);
    let file = file(&[]);
    let mut model = Model::open(&file[..], &mut [0; 32]).expect("a valid file");
    let mut find = |name: &str| {
        let schema = list(&tensor(name));
        let structure = Structure::parse(&schema).expect("valid JSON");
        match structure.root().item(0).unwrap().find(&mut model, &mut [0; 32]) {
            Ok(tensor) => format!("{} bytes", tensor.byte_len()),
            Err(LoadError::Structure(error)) => structure.explain(error).to_string(),
            Err(LoadError::Read(error)) => error.to_string(),
        }
    };
    assert_eq!(find("\"0\""), "1 bytes");
    assert_eq!(find("\"\\u0030\""), "1 bytes");
    assert_eq!(
        find("\"7\""),
        "error[structure.tensor] at byte 72 of the schema, in [0]: the file has no tensor of this name: \"7\""
    );
    assert_eq!(
        find("\"\\u0031\""),
        "error[structure.tensor] at byte 72 of the schema, in [0]: the file has no tensor of this name: \"1\""
    );
    assert!(find(&format!("\"\\n{}\"", "a".repeat(40))).contains("41 bytes needed, 32 available"));
}

/// Two values may name one tensor, and then share it: Python loads one array for both.
#[test]
fn a_tensor_may_be_named_by_two_values() {
    let tensor = r#"{"data_type": "torch.Tensor", "value": "0"}"#;
    assert_eq!(error(&list(&format!("{tensor}, {tensor}"))), "valid");
}

#[test]
fn a_type_that_nobody_knows_is_an_event() {
    let schema = list(r#"{"data_type": "os.system", "value": "reboot"}"#);
    let structure = Structure::parse(&schema).unwrap();
    assert!(
        matches!(structure.root().item(0).unwrap().value(), Ok(Value::Other(name, _)) if name == "os.system")
    );
    let error = structure.root().item(0).unwrap().read::<u8>().unwrap_err();
    assert_eq!(
        structure.explain(error).to_string(),
        "error[usage.type] at byte 46 of the schema, in [0]: the value has another type than requested: \
         \"os.system\""
    );
}

/// Whatever the schema is, a walk ends, and nothing panics.
#[test]
fn damaged_schemas_do_no_harm() {
    let schema = list(&format!(
        r#"{{"data_type": "dict", "value": {{"é": {}}}, "keys": {{"é": {{"data_type": "str", "value": "\u00e9"}}}}}}"#,
        list(r#"{"data_type": "int", "value": "1"}, {"data_type": "numpy.ndarray", "value": "0"}"#)
    ));
    let see = |damaged: &[u8]| {
        let Ok(text) = core::str::from_utf8(damaged) else { return };
        let Ok(structure) = Structure::parse(text) else { return };
        let mut frames = [Frame::NONE; 4];
        let mut walk = structure.walk(&mut frames);
        for _ in 0..=text.len() {
            match walk.next() {
                Ok(Some(Event::Value { node, value, .. })) => {
                    _ = (format!("{value:?}"), node.read::<f32>(), node.read::<[Option<i8>; 2]>());
                }
                Ok(Some(Event::End)) => {}
                Ok(None) => return,
                Err(error) => {
                    _ = structure.explain(error).to_string();
                    return;
                }
            }
        }
        panic!("a walk without end: {text}");
    };
    for at in 0..schema.len() {
        see(&schema.as_bytes()[..at]);
        for byte in 0..=0x7F {
            let mut damaged = schema.clone().into_bytes();
            damaged[at] = byte;
            see(&damaged);
        }
        for len in 1..8 {
            let rest = schema.as_bytes().get(at + len..).unwrap_or(&[]);
            see(&[&schema.as_bytes()[..at], rest].concat());
        }
    }
    // Each byte of the schema is a place of which an error can be told.
    let structure = Structure::parse(&schema).unwrap();
    for at in 0..=u32::try_from(schema.len()).unwrap() + 9 {
        let error = embedded_safestructures::Error { kind: check_version(None).unwrap_err().kind, at };
        assert!(structure.explain(error).to_string().contains("is missing"));
    }
}
