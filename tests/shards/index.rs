//! Indexes: content, spelling, and invalid ones.

use embedded_safetensors::error::Class;
use safetensors_files::shards::{ShardErrorKind, ShardIndex, ShardLimits};
use safetensors_files::{EditError, EditErrorKind};

fn read(text: &str) -> Result<ShardIndex, EditError> {
    ShardIndex::read(text.as_bytes(), &ShardLimits::USUAL)
}

fn written(index: &ShardIndex) -> String {
    let mut text = Vec::new();
    index.write(&mut text).expect("succeeds");
    String::from_utf8(text).expect("ASCII")
}

/// As Python's `json.dumps(…, indent=2)` prints it.
const SPELLED: &str = r#"{
  "metadata": {
    "total_size": 24,
    "note": "\u00e9\u2028\u007f/\t\u0001\b\f\n\r\"\\\ud83d\ude00",
    "nested": [
      1,
      -2.5,
      true,
      null,
      [],
      {},
      {
        "a": "b"
      }
    ]
  },
  "weight_map": {
    "z": "m-00001-of-00002.safetensors",
    "a": "m-00002-of-00002.safetensors",
    "\u00fc": "m-00001-of-00002.safetensors"
  }
}"#;

#[test]
fn index_is_written_like_python() {
    let index = read(SPELLED).expect("valid index");
    assert_eq!(written(&index), SPELLED);
    assert_eq!(written(&read(&written(&index)).expect("valid index")), SPELLED);
    assert_eq!(index.total_size(), Some(24));
    let tensors: Vec<_> = index.tensors().map(|(tensor, shard)| (tensor, &shard[..7])).collect();
    assert_eq!(tensors, [("z", "m-00001"), ("a", "m-00002"), ("\u{fc}", "m-00001")]);
    assert_eq!(
        index.shards().collect::<Vec<_>>(),
        ["m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"]
    );
    assert_eq!((index.len(), index.shard_of("b")), (3, None));
    assert_eq!(index.metadata().map(|(key, _)| key).collect::<Vec<_>>(), ["total_size", "note", "nested"]);
}

#[test]
fn new_index_keeps_insertion_order() {
    let mut index = ShardIndex::new();
    assert_eq!(written(&index), "{\n  \"metadata\": {},\n  \"weight_map\": {}\n}");
    index.set_metadata("total_size", 3).expect("a number");
    index.set_metadata("format", "pt").expect("not a size");
    index.set_metadata("total_size", 4).expect("a number");
    for (tensor, shard) in [("b", "1.safetensors"), ("a", "sub/2.safetensors")] {
        index.insert(tensor, shard).expect("a safe name");
    }
    let text = concat!(
        r#"{"metadata": {"total_size": 4, "format": "pt"},"#,
        r#" "weight_map": {"b": "1.safetensors", "a": "sub/2.safetensors"}}"#,
    );
    assert_eq!(written(&index), written(&read(text).expect("valid index")));
    assert_eq!(index.total_size(), Some(4));
    let error = index.insert("a", "3.safetensors").expect_err("present");
    let kind = error.kind();
    assert!(matches!(kind, EditErrorKind::Shards(ShardErrorKind::Duplicate(name)) if name == "a"), "{error}");
    assert_eq!((index.len(), index.shards().len()), (2, 2));
}

/// Returns the message, and checks the class.
fn read_error(text: &str) -> String {
    let error = read(text).expect_err(text);
    assert_eq!(error.kind().class(), Some(Class::File), "{error}");
    let message = error.to_string();
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::InvalidData);
    message.strip_prefix("index: ").expect("names the index").to_owned()
}

#[test]
fn invalid_index_is_rejected_with_line_and_column() {
    for (text, message) in [
        ("", "not an index, at line 1, column 0: EOF while parsing a value"),
        (
            "[]",
            "not an index, at line 1, column 1: invalid type: sequence, expected an object with \
                \"weight_map\"",
        ),
        (
            r#"{"metadata": {"total_size": -1}, "weight_map": {}}"#,
            "total_size is -1, which is not a number of bytes",
        ),
        (
            r#"{"metadata": {"total_size": "8"}, "weight_map": {}}"#,
            "total_size is \"8\", which is not a number of bytes",
        ),
        (
            r#"{"metadata": {"total_size": "0123456789012345678901234567890123456789"}, "weight_map": {}}"#,
            "total_size is \"012345678901234567890123456789012345678, which is not a number of bytes",
        ),
    ] {
        assert_eq!(read_error(text), message, "{text}");
    }
}

#[test]
fn duplicates_are_rejected() {
    for (text, message) in [
        (r#"{"weight_map": {"a": "1", "b": "1", "a": "1"}}"#, "duplicate \"a\""),
        (r#"{"weight_map": {"a": "1", "\u0061": "2"}}"#, "duplicate \"a\""),
        (r#"{"weight_map": {}, "weight_map": {}}"#, "duplicate \"weight_map\""),
        (r#"{"metadata": {}, "weight_map": {}, "metadata": {}}"#, "duplicate \"metadata\""),
        (r#"{"metadata": {"a": 1, "a": 1}, "weight_map": {}}"#, "duplicate \"a\""),
    ] {
        assert_eq!(read_error(text), message, "{text}");
    }
}

#[test]
fn unsafe_names_are_rejected() {
    for (name, reason) in [
        ("", "it is empty"),
        ("/etc/passwd", "it is absolute"),
        ("..", "it leads out of its directory"),
        ("../m", "it leads out of its directory"),
        ("a/../../m", "it leads out of its directory"),
        ("a/..", "it leads out of its directory"),
        ("https://host/m", "it is a URL"),
        ("a/file://m", "it is a URL"),
        ("a\\m", "it has a backslash, which separates directories on some systems"),
        ("\\\\host\\m", "it has a backslash, which separates directories on some systems"),
        ("C:m", "it begins with a drive letter"),
        ("c:/m", "it begins with a drive letter"),
        ("m\0", "it has a NUL byte"),
        (".", "a part of it is empty or a dot"),
        ("a//m", "a part of it is empty or a dot"),
        ("./m", "a part of it is empty or a dot"),
        ("a/", "a part of it is empty or a dot"),
        ("mm:x", "it has a colon, which names an alternate data stream on some systems"),
        ("a/m.safetensors:x", "it has a colon, which names an alternate data stream on some systems"),
        ("m..", "a part of it ends in a dot or a space, which some systems drop"),
        ("a /m", "a part of it ends in a dot or a space, which some systems drop"),
        ("NUL", "a part of it is a device name on some systems"),
        ("a/con.safetensors", "a part of it is a device name on some systems"),
        ("Prn.a.b", "a part of it is a device name on some systems"),
        ("aux/m", "a part of it is a device name on some systems"),
        ("com1 .safetensors", "a part of it is a device name on some systems"),
        ("LPT9", "a part of it is a device name on some systems"),
        ("LPT\u{b2}", "a part of it is a device name on some systems"),
        ("conout$", "a part of it is a device name on some systems"),
    ] {
        let text = format!("{{\"weight_map\": {{\"fine\": \"m\", \"a\": {}}}}}", serde_json::json!(name));
        assert_eq!(read_error(&text), format!("unsafe shard name {name:?}: {reason}"));
        let error = ShardIndex::new().insert("a", name).expect_err(name);
        assert!(matches!(error.kind(), EditErrorKind::Shards(ShardErrorKind::UnsafeName { .. })), "{error}");
    }
    for name in [
        "m",
        "..m",
        "a/..b/m",
        "sub/m-00001-of-00002.safetensors",
        "\u{e9}",
        "com",
        "COM0",
        "lpt10",
        "nul-1",
        "a.nul",
    ] {
        ShardIndex::new().insert("a", name).expect(name);
    }
}
