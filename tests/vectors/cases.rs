//! Checks the promises of the manifests of indexes and of writers: their schemas reject what is no manifest,
//! and flags and twins exist.

use super::schema::Schema;
use embedded_safetensors::View;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Changes a manifest so that it is no manifest any more.
type Break = fn(&mut Value);

/// A manifest, its schema, and what is wrong with other manifests.
struct Cases {
    directory: &'static str,
    schema: &'static str,
    breaks: &'static [(&'static str, Break)],
}

const ALL: [Cases; 2] = [
    Cases { directory: "index", schema: include_str!("index/manifest.schema.json"), breaks: &OF_INDEXES },
    Cases { directory: "writers", schema: include_str!("writers/manifest.schema.json"), breaks: &OF_WRITERS },
];

const OF_INDEXES: [(&str, Break); 16] = [
    ("another form", |manifest| manifest["version"] = 2.into()),
    ("no cases", |manifest| manifest["cases"] = json!([])),
    ("a duplicate case", |manifest| manifest["cases"][1] = manifest["cases"][0].clone()),
    ("a flag without a sentence", |manifest| manifest["flags"]["names"] = "".into()),
    ("an unknown member", |manifest| manifest["cases"][0]["surplus"] = 1.into()),
    ("an id of another area", |manifest| manifest["cases"][0]["id"] = "writer-one-tensor".into()),
    ("half a byte", |manifest| manifest["cases"][0]["files"]["x"] = "0".into()),
    ("a file anywhere", |manifest| manifest["cases"][0]["files"]["/etc/x"] = "00".into()),
    ("a model without tensors", |manifest| remove(first(manifest, "verdict", "valid"), "tensors")),
    ("a tensor without a shard", |manifest| {
        manifest["cases"][0]["tensors"]["x"] = json!({"dtype": "U8", "shape": [1], "data": "00"});
    }),
    ("a valid model that is rejected", |manifest| {
        let case = first(manifest, "verdict", "valid");
        case["ours"] = "reject".into();
        remove(case, "tensors");
    }),
    ("a source that is none", |manifest| manifest["cases"][0]["source"] = "text".into()),
    ("a rule of this project for a valid model", |manifest| {
        first(manifest, "verdict", "valid")["source"] = "safety".into();
    }),
    ("an unknown flag of a case", |manifest| manifest["cases"][0]["flags"] = json!(["unknown"])),
    ("a dtype that no shard has", |manifest| {
        manifest["cases"][0]["tensors"]["a"]["dtype"] = "U9".into();
    }),
    ("an invalid model without a twin", |manifest| remove(first(manifest, "verdict", "invalid"), "twin")),
];

const OF_WRITERS: [(&str, Break); 11] = [
    ("another form", |manifest| manifest["version"] = 2.into()),
    ("no cases", |manifest| manifest["cases"] = json!([])),
    ("another verdict", |manifest| manifest["cases"][0]["must"] = "maybe".into()),
    ("an unknown flag of a case", |manifest| manifest["cases"][0]["flags"] = json!(["unknown"])),
    ("no flag", |manifest| manifest["cases"][0]["flags"] = json!([])),
    ("a refusal without its word in the id", |manifest| {
        let case = first(manifest, "must", "write");
        case["must"] = "refuse".into();
        remove(case, "reference");
    }),
    ("no metadata", |manifest| remove(&mut manifest["cases"][0], "metadata")),
    ("metadata as an object", |manifest| manifest["cases"][0]["metadata"] = json!({"a": "b"})),
    ("a key without a value", |manifest| manifest["cases"][0]["metadata"] = json!([["a"]])),
    ("a negative dimension", |manifest| manifest["cases"][0]["tensors"][0]["shape"] = json!([-1])),
    ("bytes as numbers", |manifest| manifest["cases"][0]["tensors"][0]["data"] = json!([1])),
];

/// Returns the first case with this text.
fn first<'m>(manifest: &'m mut Value, member: &str, text: &str) -> &'m mut Value {
    let cases = manifest["cases"].as_array_mut().expect("the cases are an array");
    cases.iter_mut().find(|case| case[member] == text).expect("there is such a case")
}

fn remove(case: &mut Value, member: &str) {
    assert!(case.as_object_mut().expect("an object").remove(member).is_some(), "there is no {member}");
}

impl Cases {
    fn manifest(&self) -> Value {
        let path = vectors::folder().join(self.directory).join("manifest.json");
        let text = std::fs::read(path).expect("the manifest can be read");
        serde_json::from_slice(&text).expect("the manifest is JSON")
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
        for (what, change) in cases.breaks {
            let mut manifest = cases.manifest();
            change(&mut manifest);
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
