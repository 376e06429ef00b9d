//! The cases of indexes in `tests/vectors/index`: this project's verdict, and the tensors that it finds.

use safetensors_files::shards::{ShardError, ShardedModel};
use serde_json::{Map, Value};
use std::fs;

use crate::files::temp_dir::TempDir;

/// Fewer would not cover what an index can do wrong.
const LEAST: usize = 50;

fn cases() -> Vec<Value> {
    let text = fs::read(vectors::folder().join("index/manifest.json")).expect("the manifest can be read");
    let manifest: Value = serde_json::from_slice(&text).expect("the manifest is JSON");
    manifest["cases"].as_array().expect("the cases are an array").clone()
}

fn members(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

fn bytes(digits: &str) -> Vec<u8> {
    vectors::from_hex(digits).expect("hexadecimal")
}

fn open(case: &Value, dir: &TempDir) -> Result<ShardedModel, ShardError> {
    dir.put("model.safetensors.index.json", text(&case["index"]).as_bytes());
    for (name, digits) in members(&case["files"]) {
        dir.put(name, &bytes(text(digits)));
    }
    ShardedModel::open(dir.path())
}

/// Asserts that the model has exactly the listed tensors.
fn assert_tensors(case: &Value, model: &ShardedModel) {
    let listed = members(&case["tensors"]);
    assert_eq!(model.len(), listed.len(), "{}", case["id"]);
    for (name, expected) in listed {
        let tensor = model.find(name).expect("valid file").expect("present");
        let data = tensor.reader().read_to_end(&mut [0; 4]).expect("readable").to_vec();
        assert_eq!(data, bytes(text(&expected["data"])), "{}", case["id"]);
        let shard = model.shard_of(name).and_then(|shard| shard.path().file_name()?.to_str());
        assert_eq!(shard, expected["shard"].as_str(), "{}", case["id"]);
    }
}

#[test]
fn every_index_has_its_verdict() {
    let cases = cases();
    assert!(cases.len() >= LEAST);
    for case in &cases {
        let dir = TempDir::new();
        match (case["ours"].as_str(), open(case, &dir)) {
            (Some("accept"), Ok(model)) => assert_tensors(case, &model),
            (Some("reject"), Err(_)) => {}
            (ours, Ok(_)) => panic!("{} must be {ours:?}, but it opens", case["id"]),
            (ours, Err(error)) => panic!("{} must be {ours:?}, but: {error}", case["id"]),
        }
    }
}
