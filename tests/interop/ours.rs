//! The files that this project writes for frameworks to read.

use serde_json::{Map, json};
use support::dictionary::{Dictionary, Named};
use support::writing::write;

use super::results::{names, values};
use super::{compare, folder};

/// What safestructures requires in the metadata: the structure of the arrays, which is one dictionary.
fn structure(names: &[String]) -> Vec<(String, String)> {
    let all = |data_type: &str| {
        let part = |name: &String| (name.clone(), json!({ "data_type": data_type, "value": name }));
        names.iter().map(part).collect::<Map<_, _>>()
    };
    let schema = json!({ "data_type": "dict", "value": all("numpy.ndarray"), "keys": all("str") });
    vec![
        ("_safestructures_schema_".to_owned(), schema.to_string()),
        ("_safestructures_schema_version_".to_owned(), "1.0.0".to_owned()),
    ]
}

/// Returns a file with these arrays.
fn file(names: &[String], metadata: Option<Vec<(String, String)>>) -> Vec<u8> {
    let values = values();
    let named = |name: &String| {
        let array = &values[name];
        Named {
            name: name.clone(),
            dtype: array.dtype.clone(),
            dims: array.shape.clone(),
            bytes: array.data(),
        }
    };
    write(&Dictionary { tensors: names.iter().map(named).collect(), metadata })
}

#[test]
fn committed_files_are_what_the_writer_writes() {
    let all = names();
    assert_eq!(values().len(), all.len());
    let files = all.iter().map(|name| (name.as_str(), std::slice::from_ref(name)));
    for (name, arrays) in files.chain([("all", &all[..])]) {
        let path = format!("ours/{name}.safetensors");
        compare(&folder().join(path), &file(arrays, None));
        let path = format!("ours/safestructures/{name}.safetensors");
        compare(&folder().join(path), &file(arrays, Some(structure(arrays))));
    }
}
