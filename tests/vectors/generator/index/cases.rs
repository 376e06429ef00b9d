//! The cases of indexes. Each has a few lines.

use super::Case;
use vectors::Ours::{self, Accept, Reject};
use vectors::Verdict::{self, Either, Invalid, Valid};

/// What readers should do, and what this project does.
type Verdicts = (Verdict, Ours);

const VALID: Verdicts = (Valid, Accept);
const INVALID: Verdicts = (Invalid, Reject);

const ONE: &str = "model-00001-of-00002.safetensors";
const TWO: &str = "model-00002-of-00002.safetensors";

/// Two shards with a tensor each.
const PAIR: &[(&str, &[&str])] = &[(ONE, &["a"]), (TWO, &["b"])];

const fn case(
    id: &'static str,
    (verdict, ours): Verdicts,
    index: &'static str,
    shards: &'static [(&'static str, &'static [&'static str])],
    reason: &'static str,
) -> Case {
    Case { id, verdict, ours, reason, flags: &[], index, shards, twin: None }
}

impl Case {
    const fn flags(mut self, flags: &'static [&'static str]) -> Self {
        self.flags = flags;
        self
    }

    const fn twin(mut self, id: &'static str) -> Self {
        self.twin = Some(id);
        self
    }
}

#[rustfmt::skip] // One case, one line.
pub const CASES: &[Case] = &[
    case("index-two-shards", VALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "Two shards with a tensor each.").flags(&["members"]),
    case("index-one-shard", VALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model.safetensors","b":"model.safetensors"}}"#, &[("model.safetensors", &["a", "b"])], "One shard with two tensors.").flags(&["members"]),
    case("index-no-metadata", (Either, Accept), r#"{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "An index without metadata: some readers ask it for its members.").flags(&["members"]),
    case("index-empty-metadata", VALID, r#"{"metadata":{},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "An index with empty metadata.").flags(&["members"]),
    case("index-more-metadata", VALID, r#"{"metadata":{"total_parameters":2,"total_size":2,"x":[{}]},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "Metadata with other members.").flags(&["members"]),
    case("index-unknown-member", VALID, r#"{"dtype":"U8","metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "An unknown member at the top.").flags(&["members"]),
    case("index-weight-map-first", VALID, r#"{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"},"metadata":{"total_size":2}}"#, PAIR, "The map before the metadata.").flags(&["members"]),
    case("index-pretty-printed", VALID, "{\n  \"metadata\": {\n    \"total_size\": 2\n  },\n  \"weight_map\": {\n    \"a\": \"model-00001-of-00002.safetensors\",\n    \"b\": \"model-00002-of-00002.safetensors\"\n  }\n}\n", PAIR, "An index as huggingface_hub writes it.").flags(&["grammar"]),
    case("index-map-backwards", VALID, r#"{"metadata":{"total_size":2},"weight_map":{"b":"model-00002-of-00002.safetensors","a":"model-00001-of-00002.safetensors"}}"#, PAIR, "The tensors of the second shard come first.").flags(&["members"]),
    case("index-escaped-names", VALID, r#"{"metadata":{"total_size":2},"weight_map":{"\u0061":"model-00001-of-00002.safetensors","b":"model\u002d00002-of-00002.safetensors"}}"#, PAIR, "Names with escapes are the same names.").flags(&["names"]),
    case("index-names-of-javascript", VALID, r#"{"metadata":{"total_size":2},"weight_map":{"__proto__":"model-00001-of-00002.safetensors","constructor":"model-00002-of-00002.safetensors"}}"#, &[(ONE, &["__proto__"]), (TWO, &["constructor"])], "Names of tensors that objects of JavaScript treat specially.").flags(&["names"]),
    case("index-name-is-path", VALID, r#"{"metadata":{"total_size":1},"weight_map":{"../../a":"model.safetensors"}}"#, &[("model.safetensors", &["../../a"])], "The name of a tensor is no path, whatever it looks like.").flags(&["names"]),
    case("index-empty-name", VALID, r#"{"metadata":{"total_size":1},"weight_map":{"":"model.safetensors"}}"#, &[("model.safetensors", &[""])], "The empty string is the name of a tensor.").flags(&["names"]),
    case("index-other-prefix", VALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"x.safetensors","b":"y.safetensors"}}"#, &[("x.safetensors", &["a"]), ("y.safetensors", &["b"])], "Shards need no numbers in their names.").flags(&["names"]),
    case("index-metadata-null", (Either, Accept), r#"{"metadata":null,"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "Metadata of null: some readers ask it for its members.").flags(&["members"]),
    case("index-total-size-wrong", (Either, Reject), r#"{"metadata":{"total_size":3},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "A total size that is not that of the tensors; few readers compare it.").flags(&["differs"]),
    case("index-total-size-float", (Either, Accept), r#"{"metadata":{"total_size":2.0},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "A total size with a fraction, as older writers wrote it.").flags(&["members"]),
    case("index-total-size-string", (Either, Reject), r#"{"metadata":{"total_size":"2"},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "A total size in quotes.").flags(&["members"]),
    case("index-extra-tensor", (Either, Reject), r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, &[(ONE, &["a"]), (TWO, &["b", "c"])], "A tensor in a shard that the index does not list.").flags(&["differs"]),
    case("index-tensor-in-both-shards", (Either, Reject), r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, &[(ONE, &["a", "b"]), (TWO, &["b"])], "A tensor in two shards: which one counts depends on the reader.").flags(&["differs"]),
    case("index-same-tensor-twice", (Either, Reject), r#"{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "A duplicate tensor in the map: JSON libraries keep one without a word.").flags(&["differs"]),
    case("index-map-twice", (Either, Reject), r#"{"weight_map":{},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "A duplicate map.").flags(&["members"]),
    case("index-no-tensors", (Either, Accept), r#"{"metadata":{"total_size":0},"weight_map":{}}"#, &[], "An index without tensors.").flags(&["members"]),
    case("index-empty-text", INVALID, r#""#, &[], "An empty file is no index.").flags(&["grammar"]).twin("index-two-shards"),
    case("index-null", INVALID, r#"null"#, PAIR, "null is no index.").flags(&["grammar"]).twin("index-two-shards"),
    case("index-array", INVALID, r#"[{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}]"#, PAIR, "An index wrapped in an array.").flags(&["grammar"]).twin("index-two-shards"),
    case("index-cut", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}"#, PAIR, "The last brace is missing.").flags(&["grammar"]).twin("index-two-shards"),
    case("index-trailing-comma", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors",}}"#, PAIR, "A trailing comma in the map.").flags(&["grammar"]).twin("index-two-shards"),
    case("index-trailing-text", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}x"#, PAIR, "Text after the index.").flags(&["grammar"]).twin("index-two-shards"),
    case("index-comment", INVALID, r#"{/* */"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "JSON has no comments.").flags(&["grammar"]).twin("index-two-shards"),
    case("index-bom", (Either, Reject), "\u{feff}{\"metadata\":{\"total_size\":2},\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\",\"b\":\"model-00002-of-00002.safetensors\"}}", PAIR, "A byte order mark before the index, which JSON lets a parser ignore.").flags(&["grammar"]),
    case("index-nan", (Either, Reject), r#"{"metadata":{"total_size":NaN},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "NaN is not JSON, but some libraries read it.").flags(&["grammar"]),
    case("index-map-missing", INVALID, r#"{"metadata":{"total_size":2}}"#, PAIR, "An index without a map.").flags(&["members"]).twin("index-two-shards"),
    case("index-map-null", INVALID, r#"{"metadata":{"total_size":2},"weight_map":null}"#, PAIR, "A map of null.").flags(&["members"]).twin("index-two-shards"),
    case("index-map-array", INVALID, r#"{"metadata":{"total_size":2},"weight_map":[["a","model-00001-of-00002.safetensors"]]}"#, PAIR, "A map as pairs in an array.").flags(&["members"]).twin("index-two-shards"),
    case("index-shard-null", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":null}}"#, PAIR, "null is not the name of a shard.").flags(&["members"]).twin("index-two-shards"),
    case("index-shard-number", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":2}}"#, PAIR, "A number is not the name of a shard.").flags(&["members"]).twin("index-two-shards"),
    case("index-shard-list", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":["model-00002-of-00002.safetensors"]}}"#, PAIR, "A tensor is in one shard, not in a list of them.").flags(&["members"]).twin("index-two-shards"),
    case("index-metadata-array", INVALID, r#"{"metadata":[],"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, PAIR, "Metadata as an array.").flags(&["members"]).twin("index-empty-metadata"),
    case("index-shard-missing", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, &[(ONE, &["a"])], "The second shard is not there.").flags(&["missing"]).twin("index-two-shards"),
    case("index-shard-invalid", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, &[(ONE, &["a"]), (TWO, &[])], "The second shard is cut off.").flags(&["missing"]).twin("index-two-shards"),
    case("index-tensor-missing", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, &[(ONE, &["a"]), (TWO, &["c"])], "A tensor is not in the shard that the index names.").flags(&["differs"]).twin("index-two-shards"),
    case("index-tensors-exchanged", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#, &[(ONE, &["b"]), (TWO, &["a"])], "Each tensor is in the other shard.").flags(&["differs"]).twin("index-two-shards"),
    case("index-path-up", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"../model-00002-of-00002.safetensors"}}"#, &[(ONE, &["a"]), ("../model-00002-of-00002.safetensors", &["b"])], "A shard above the directory of the index.").flags(&["path"]).twin("index-two-shards"),
    case("index-path-up-inside", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"x/../../model-00002-of-00002.safetensors"}}"#, &[(ONE, &["a"]), ("x/y.safetensors", &["c"]), ("../model-00002-of-00002.safetensors", &["b"])], "A shard above the directory by a detour.").flags(&["path"]).twin("index-two-shards"),
    case("index-path-absolute", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"${directory}/model-00002-of-00002.safetensors"}}"#, PAIR, "A shard at an absolute path.").flags(&["path"]).twin("index-two-shards"),
    case("index-path-backslash", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"..\\model-00002-of-00002.safetensors"}}"#, &[(ONE, &["a"]), ("..\\model-00002-of-00002.safetensors", &["b"])], "A backslash separates directories on some systems.").flags(&["path"]).twin("index-two-shards"),
    case("index-path-drive", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"C:/model-00002-of-00002.safetensors"}}"#, &[(ONE, &["a"]), ("C:/model-00002-of-00002.safetensors", &["b"])], "A shard on a drive.").flags(&["path"]).twin("index-two-shards"),
    case("index-path-url", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"https://example.com/model-00002-of-00002.safetensors"}}"#, &[(ONE, &["a"]), ("https://example.com/model-00002-of-00002.safetensors", &["b"])], "A shard at an address.").flags(&["path"]).twin("index-two-shards"),
    case("index-path-nul", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors\u0000.png"}}"#, PAIR, "A NUL in the name of a shard, where C strings end.").flags(&["names"]).twin("index-two-shards"),
    case("index-path-empty", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":""}}"#, PAIR, "An empty name of a shard: there is only the directory.").flags(&["missing"]).twin("index-two-shards"),
    case("index-path-dot", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"."}}"#, PAIR, "The directory itself in place of a shard.").flags(&["missing"]).twin("index-two-shards"),
    case("index-path-device", INVALID, r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"NUL"}}"#, &[(ONE, &["a"]), ("NUL", &["b"])], "A name that is a device on some systems.").flags(&["path"]).twin("index-two-shards"),
    case("index-path-case", (Either, Reject), r#"{"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"MODEL-00002-of-00002.safetensors"}}"#, PAIR, "A name in another case, which some file systems take for the same.").flags(&["path"]),
];
