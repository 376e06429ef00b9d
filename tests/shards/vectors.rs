//! The cases of indexes in `tests/vectors/index`: this project's verdict, and the tensors that it finds.

use embedded_safetensors::View;
use safetensors_files::shards::ShardedModel;
use serde_json::{Map, Value};
use std::fs;
use std::path::PathBuf;

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

/// Puts the index and the shards into a directory of their own, as PROTOCOL.md says, and returns its path and
/// the index.
fn lay_out(case: &Value, dir: &TempDir) -> (PathBuf, String) {
    let directory = dir.join("model");
    fs::create_dir(&directory).expect("a new directory");
    let path = Value::from(directory.to_str().expect("a plain path")).to_string();
    let index = text(&case["index"]).replace("${directory}", path.trim_matches('"'));
    fs::write(directory.join("model.safetensors.index.json"), &index).expect("succeeds");
    for (path, digits) in members(&case["files"]) {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().expect("a file in a directory")).expect("a directory");
        fs::write(path, bytes(text(digits))).expect("succeeds");
    }
    (directory, index)
}

/// Asserts that the model has exactly the listed tensors.
fn assert_tensors(case: &Value, model: &ShardedModel) {
    let listed = members(&case["tensors"]);
    assert_eq!(model.len(), listed.len(), "{}", case["id"]);
    for (name, expected) in listed {
        let tensor = model.find(name).expect("valid file").expect("present");
        let form = (Value::from(tensor.dims()), tensor.dtype().name());
        assert_eq!(form, (expected["shape"].clone(), text(&expected["dtype"])), "{}", case["id"]);
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
        let (directory, _) = lay_out(case, &dir);
        match (case["ours"].as_str(), ShardedModel::open(directory)) {
            (Some("accept"), Ok(model)) => assert_tensors(case, &model),
            (Some("reject"), Err(_)) => {}
            (ours, Ok(_)) => panic!("{} must be {ours:?}, but it opens", case["id"]),
            (ours, Err(error)) => panic!("{} must be {ours:?}, but: {error}", case["id"]),
        }
    }
}

/// A reader that joins the path to its directory, or takes it up to a NUL, opens the model. Otherwise a case
/// would show nothing about its path.
#[test]
fn rejected_paths_lead_to_shards() {
    let is_path = |case: &&Value| {
        let is_found = text(&case["id"]).starts_with("index-path-") && case["flags"][0] != "missing";
        is_found && case["verdict"] == "invalid"
    };
    let cases = cases();
    let paths: Vec<&Value> = cases.iter().filter(is_path).collect();
    assert!(paths.len() >= 8);
    for case in paths {
        let dir = TempDir::new();
        let (directory, index) = lay_out(case, &dir);
        let index: Value = serde_json::from_str(&index).expect("JSON");
        for (tensor, shard) in members(&index["weight_map"]) {
            let path = text(shard).split('\0').next().expect("a path");
            let shard = fs::read(directory.join(path));
            let shard = shard.unwrap_or_else(|error| panic!("{}: {path}: {error}", case["id"]));
            let view = View::parse(&shard).expect("a valid shard");
            assert!(view.find(tensor).expect("valid file").is_some(), "{}", case["id"]);
        }
    }
}
