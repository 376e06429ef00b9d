//! The cases of writers in `tests/vectors/writers`: this project's writer writes what it must, and
//! rejects the rest.

use embedded_safetensors::{
    Dtype, View,
    write::{PlannedContent, Writer},
};
use serde_json::Value;
use support::dictionary::{Dictionary, Named};
use support::sink::{Sink, SinkPlan};
use support::writing::{Description, read};

/// Fewer would not cover what a writer can do wrong.
const LEAST: usize = 70;

fn cases() -> Vec<Value> {
    let text =
        std::fs::read(vectors::folder().join("writers/manifest.json")).expect("the manifest can be read");
    let manifest: Value = serde_json::from_slice(&text).expect("the manifest is JSON");
    manifest["cases"].as_array().expect("the cases are an array").clone()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn bytes(digits: &str) -> Vec<u8> {
    vectors::from_hex(digits).expect("hexadecimal")
}

fn dictionary(case: &Value) -> Dictionary {
    let dims = |shape: &Value| {
        let dims = shape.as_array().expect("a shape").iter();
        dims.map(|dim| dim.as_u64().expect("a dimension")).collect()
    };
    let named = |tensor: &Value| Named {
        name: text(&tensor["name"]),
        dtype: text(&tensor["dtype"]),
        dims: dims(&tensor["shape"]),
        bytes: bytes(&text(&tensor["data"])),
    };
    let pair = |pair: &Value| (text(&pair[0]), text(&pair[1]));
    Dictionary {
        tensors: case["tensors"].as_array().expect("tensors").iter().map(named).collect(),
        metadata: case["metadata"].as_array().map(|pairs| pairs.iter().map(pair).collect()),
    }
}

/// Returns the file, or why it is not written.
fn written(dictionary: &Dictionary) -> Result<Vec<u8>, String> {
    let unknown =
        dictionary.tensors.iter().find(|tensor| Dtype::from_name(tensor.dtype.as_bytes()).is_none());
    if let Some(tensor) = unknown {
        return Err(format!("unknown dtype {:?}", tensor.dtype));
    }
    let description = Description::new(dictionary);
    let mut memory = description.memory();
    let plan = description.spec().plan_sorted(&mut memory).map_err(|error| error.to_string())?;
    let mut window = [0; 100];
    let mut writer =
        Writer::new(Sink::new(SinkPlan::default()), plan, &mut window).map_err(|error| error.to_string())?;
    for planned in plan.tensors() {
        if let PlannedContent::Tensor { index, spec } = planned.content {
            let bytes = &dictionary.tensors[index].bytes;
            writer.write_tensor(spec.name(), bytes).map_err(|error| error.to_string())?;
        }
    }
    Ok(writer.finish().map_err(|error| error.to_string())?.file)
}

#[test]
fn every_case_is_written_or_rejected() {
    let cases = cases();
    assert!(cases.len() >= LEAST);
    for case in &cases {
        let dictionary = dictionary(case);
        match (case["must"].as_str(), written(&dictionary)) {
            (Some("write"), Ok(file)) => {
                assert!(View::parse(&file).is_ok(), "{}", case["id"]);
                assert_eq!(read(&file).sorted(), dictionary.sorted(), "{}", case["id"]);
                let theirs = case["reference"].as_str().map(bytes);
                assert!(
                    theirs.is_none_or(|theirs| theirs == file),
                    "{} differs from the reference",
                    case["id"]
                );
            }
            (Some("refuse"), Err(_)) => {}
            (must, outcome) => panic!("{} must be {must:?}, but: {outcome:?}", case["id"]),
        }
    }
}
