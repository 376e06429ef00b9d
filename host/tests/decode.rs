//! `safetensors decode`, the conformance runner protocol. `every_vector` compares what it says about each
//! vector: names, metadata and digests.

use crate::support::{Place, file, sum};
use serde_json::{Value, json};

fn accepted(contents: &[u8]) -> Value {
    let run = Place::new().run_piped(["decode"], contents);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    run.json()
}

#[test]
fn a_file_is_one_object_in_the_order_of_its_header() {
    let header = concat!(
        r#"{"__metadata__":{"format":"pt","":"\n"},"#,
        r#""b":{"shape":[],"data_offsets":[4,8],"extra":[1],"dtype":"F32"},"#,
        r#""a":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]}}"#
    );
    let [a, b] = [sum(b"abcd"), sum(b"efgh")];
    let out = format!(
        "{{\"tensors\":{{\"b\":{{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,8],\"sha256\":\"{b}\"}},\
        \"a\":{{\"dtype\":\"F4\",\"shape\":[2,4],\"data_offsets\":[0,4],\"sha256\":\"{a}\"}}}},\
        \"metadata\":{{\"\":\"\\u000a\",\"format\":\"pt\"}}}}\n"
    );
    Place::new().run_piped(["decode"], &file(header, b"abcdefgh")).is(0, &out, "");
}

#[test]
fn shapes_of_any_rank_and_names_of_any_length() {
    let rank = 1_000_000;
    let (dims, name) = (vec!["1"; rank].join(","), "n".repeat(300_000));
    let header = format!(r#"{{"{name}":{{"dtype":"U8","shape":[{dims}],"data_offsets":[0,1]}}}}"#);
    let decoded = accepted(&file(header, b"x"));
    assert_eq!(decoded["tensors"][&name]["shape"].as_array().map(Vec::len), Some(rank));
    let header = r#"{"a":{"dtype":"U8","shape":[18446744073709551615,0],"data_offsets":[0,0]}}"#;
    assert_eq!(accepted(&file(header, b""))["tensors"]["a"]["shape"], json!([u64::MAX, 0]));
}
