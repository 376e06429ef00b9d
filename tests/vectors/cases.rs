//! Checks the promises of the manifests of indexes and of writers: their schemas reject what is no manifest,
//! and flags and twins exist.

use super::schema::Schema;
use super::{raw, set};
use embedded_safetensors::View;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A manifest, its schema, and what is wrong with other manifests.
struct Cases {
    directory: &'static str,
    schema: &'static str,
    breaks: fn(&Value) -> Vec<(&'static str, &'static str, Value)>,
}

const ALL: [Cases; 2] = [
    Cases { directory: "index", schema: include_str!("index/manifest.schema.json"), breaks: of_indexes },
    Cases { directory: "writers", schema: include_str!("writers/manifest.schema.json"), breaks: of_writers },
];

fn of_indexes(valid: &Value) -> Vec<(&'static str, &'static str, Value)> {
    let first = &valid["cases"][0];
    vec![
        ("another form", "/version", json!(2)),
        ("no cases", "/cases", json!([])),
        ("a duplicate case", "/cases", json!([first, first])),
        ("a flag without a sentence", "/flags/names", json!("")),
        ("an unknown member", "/cases/0/surplus", json!(1)),
        ("an id of another area", "/cases/0/id", json!("writer-one-tensor")),
        ("half a byte", "/cases/0/files/x", json!("0")),
        ("a file anywhere", "/cases/0/files/~1etc~1x", json!("00")),
        ("a model without tensors", "verdict=valid/tensors", Value::Null),
        ("a tensor without a shard", "verdict=valid/tensors/a/shard", Value::Null),
        ("a valid model that is rejected", "ours=reject/verdict", json!("valid")),
        ("a source that is none", "/cases/0/source", json!("text")),
        ("a rule of this project for a valid model", "verdict=valid/source", json!("safety")),
        ("an unknown flag of a case", "/cases/0/flags", json!(["unknown"])),
        ("a dtype that no shard has", "/cases/0/tensors/a/dtype", json!("U9")),
        ("an invalid model without a twin", "verdict=invalid/twin", Value::Null),
    ]
}

fn of_writers(_: &Value) -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("another form", "/version", json!(2)),
        ("no cases", "/cases", json!([])),
        ("another verdict", "/cases/0/must", json!("maybe")),
        ("an unknown flag of a case", "/cases/0/flags", json!(["unknown"])),
        ("no flag", "/cases/0/flags", json!([])),
        ("a refusal without its word in the id", "must=refuse/id", json!("writer-name-metadata")),
        ("no metadata", "/cases/0/metadata", Value::Null),
        ("metadata as an object", "/cases/0/metadata", json!({ "a": "b" })),
        ("a key without a value", "/cases/0/metadata", json!([["a"]])),
        ("a negative dimension", "/cases/0/tensors/0/shape", json!([-1])),
        ("bytes as numbers", "/cases/0/tensors/0/data", json!([1])),
    ]
}

impl Cases {
    fn manifest(&self) -> Value {
        raw(&format!("{}/manifest.json", self.directory))
    }
}

fn texts<'v>(manifest: &'v Value, member: &str) -> Vec<&'v str> {
    let cases = manifest["cases"].as_array().expect("the cases are an array").iter();
    cases.filter_map(|case| case[member].as_str()).collect()
}

#[test]
fn manifests_match_their_schemas() {
    for cases in ALL {
        let schema = Schema::new(cases.schema).expect("the schema is JSON");
        assert_eq!(schema.check(&cases.manifest()), Ok(()), "{}", cases.directory);
    }
}

#[test]
fn broken_manifests_violate_them() {
    for cases in ALL {
        let schema = Schema::new(cases.schema).expect("the schema is JSON");
        let valid = cases.manifest();
        for (what, path, value) in (cases.breaks)(&valid) {
            let mut manifest = valid.clone();
            set(&mut manifest, path, value);
            assert!(schema.check(&manifest).is_err(), "{}: {what} is allowed", cases.directory);
        }
    }
}

#[test]
fn ids_twins_and_flags_exist_once() {
    for of in ALL {
        let manifest = of.manifest();
        let ids = texts(&manifest, "id");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        let cases = manifest["cases"].as_array().expect("the cases are an array");
        let is_valid = |id: &str| cases.iter().any(|case| case["id"] == id && case["verdict"] == "valid");
        assert!(texts(&manifest, "twin").into_iter().all(is_valid), "a twin is no valid case");
        let flags = cases.iter().filter_map(|case| case["flags"].as_array()).flatten();
        let used: BTreeSet<&str> = flags.filter_map(Value::as_str).collect();
        let known = manifest["flags"].as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(used, known);
        let schema: Value = serde_json::from_str(of.schema).expect("the schema is JSON");
        let allowed = schema["$defs"]["flag"]["enum"].as_array().expect("a list").iter();
        assert_eq!(allowed.filter_map(Value::as_str).collect::<BTreeSet<_>>(), known);
    }
}

/// Whether `transformers` finds all files: it joins each path to the directory of the index.
fn is_found_by_convention(case: &Value) -> bool {
    let text = case["index"].as_str().expect("a text").replace("${directory}/", "").replace("x/../", "");
    let index: Value = serde_json::from_str(&text).unwrap_or_default();
    let is_shard = |path: &Value| {
        let digits = path.as_str().and_then(|path| case["files"][path].as_str()).unwrap_or_default();
        View::parse(&vectors::from_hex(digits).expect("hexadecimal")).is_ok()
    };
    let shards = index["weight_map"].as_object();
    index["metadata"].is_object() && shards.is_some_and(|shards| shards.values().all(is_shard))
}

#[test]
fn what_transformers_reads_is_invalid_for_safety_alone() {
    let manifest = ALL[0].manifest();
    let cases = manifest["cases"].as_array().expect("the cases are an array");
    for case in cases.iter().filter(|case| case["verdict"] == "invalid") {
        assert_eq!(is_found_by_convention(case), case["source"] == "safety", "{}", case["id"]);
    }
    let valid = |case: &&Value| case["verdict"] == "valid";
    assert!(
        cases.iter().filter(valid).all(is_found_by_convention),
        "transformers does not read a valid case"
    );
}
