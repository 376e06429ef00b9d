//! `safetensors stats`, and `check --finite`.
#![cfg(unix)]

#[cfg(target_os = "linux")]
use crate::support::finish;
use crate::support::{Place, Run, file, sound, tensor};
use serde_json::Value;
#[cfg(target_os = "linux")]
use std::process::Command;

const MADE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/stats/values.safetensors");
const NUMPY: &str = include_str!("../../tests/stats/values.json");
/// The largest relative distance of a quantile that is not exact.
const BOUND: f64 = 1.0 / 1024.0;
/// Elements of up to 16 bits have exact quantiles, and so have tensors of up to so many values.
const FEW: usize = 4096;

fn json(run: &Run) -> Value {
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    serde_json::from_str(&run.out).expect("one JSON object")
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn near(ours: &Value, theirs: &Value, share: f64, what: &str) {
    let (ours, theirs) = (float(ours), float(theirs));
    assert!((ours - theirs).abs() <= share * theirs.abs(), "{what}: {ours} and {theirs}");
}

/// `tests/stats/make.py` has made the file and the numbers.
#[test]
fn every_dtype_has_the_statistics_of_numpy() {
    let theirs: Value = serde_json::from_str(NUMPY).expect("JSON");
    let ours = json(&Place::new().run(["stats", "--json", MADE]));
    let ours = ours["tensors"].as_array().expect("a list");
    assert_eq!(ours.len(), theirs.as_object().expect("an object").len());
    let mut inexact = 0;
    for tensor in ours {
        let name = tensor["name"].as_str().expect("a name");
        let expected = &theirs[name];
        for key in ["values", "zeros", "nan", "inf", "negative_inf"] {
            assert_eq!(tensor[key], expected[key], "{name} {key}");
        }
        if expected.get("mean").is_none() {
            assert!(
                ["min", "max", "mean", "std", "quantiles", "histogram"]
                    .iter()
                    .all(|key| tensor[key].is_null())
            );
            continue;
        }
        for key in ["min", "max"] {
            assert_eq!(tensor[key], expected[key], "{name} {key}");
        }
        for key in ["mean", "std"] {
            near(&tensor[key], &expected[key], 1e-12, &format!("{name} {key}"));
        }
        inexact += u64::from(!quantiles_agree(tensor, expected, name));
    }
    assert_eq!(inexact, 4, "F64 and F32 of many values");
}

/// Returns whether they are exact.
fn quantiles_agree(ours: &Value, theirs: &Value, name: &str) -> bool {
    let is_exact = ours["quantiles_exact"] == Value::Bool(true);
    let is_wide =
        ["F64", "F32", "C64", "I32", "U32", "I64", "U64"].contains(&ours["dtype"].as_str().expect("a dtype"));
    let count = ours["values"].as_u64().expect("a count");
    assert_eq!(is_exact, !is_wide || count <= FEW as u64, "{name}");
    let quantiles = ours["quantiles"].as_object().expect("an object");
    assert_eq!(quantiles.len(), 9);
    for (index, (share, value)) in quantiles.iter().enumerate() {
        let what = format!("{name} at {share}");
        if is_exact {
            assert_eq!(float(value), float(&theirs["quantiles"][index]), "{what}");
            continue;
        }
        let [low, high] = ["lower", "higher"].map(|side| float(&theirs[side][index]));
        let (low, high) = (low - low.abs() * BOUND, high + high.abs() * BOUND);
        assert!((low..=high).contains(&float(value)), "{what}: {value} is not in {low}..={high}");
    }
    is_exact
}

/// Several spans of several blocks each: a sawtooth, whose moments are known.
fn sawtooth(place: &Place, name: &str, count: u32) {
    let header = format!(r#"{{"a":{{"dtype":"F32","shape":[{count}],"data_offsets":[0,{}]}}}}"#, 4 * count);
    let data: Vec<u8> = (0..count).flat_map(|index| (index % 1001).to_le_bytes().map(|byte| byte)).collect();
    let floats: Vec<u8> = data
        .chunks(4)
        .flat_map(|word| {
            let number = u32::from_le_bytes(word.try_into().expect("four bytes"));
            (f32::from(u16::try_from(number).expect("short")) - 500.0).to_le_bytes()
        })
        .collect();
    place.put(name, &file(header, &floats));
}

#[test]
fn a_large_tensor_is_summarised_in_parts() {
    let place = Place::new();
    let count = 1001 * 2000;
    sawtooth(&place, "m", count);
    let run = json(&place.run(["stats", "--json", "m"]));
    let tensor = &run["tensors"][0];
    assert_eq!([&tensor["min"], &tensor["max"]].map(float), [-500.0, 500.0]);
    assert_eq!((&tensor["zeros"], &tensor["values"]), (&Value::from(2000), &Value::from(count)));
    assert!(float(&tensor["mean"]).abs() < 1e-12, "{tensor}");
    near(&tensor["std"], &Value::from((1_002_000.0_f64 / 12.0).sqrt()), 1e-12, "std");
    for (share, expected) in [("0.25", -250.0), ("0.75", 250.0), ("0.99", 490.0)] {
        near(&tensor["quantiles"][share], &Value::from(expected), BOUND, share);
    }
    let counts = tensor["histogram"]["counts"].as_array().expect("a list");
    let all: u64 = counts.iter().map(|count| count.as_u64().expect("a count")).sum();
    assert!((1_990_000..=u64::from(count)).contains(&all), "{all}");
}

/// `taskset` leaves the program one core.
#[cfg(target_os = "linux")]
#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let place = Place::new();
    // Threads take 3 MiB at a time.
    sawtooth(&place, "m", 1_700_017);
    let bytes = std::fs::read(place.path("m")).expect("a file");
    // Other sums: the same bytes as doubles, whose exponents are all over.
    let header = r#"{"a":{"dtype":"F64","shape":[850008],"data_offsets":[0,6800064]}}"#;
    place.put("d", &file(header, &bytes[bytes.len() - 6_800_064..]));
    for model in ["m", "d", MADE] {
        let all = place.run(["stats", "--json", model]);
        let mut one = Command::new("taskset");
        one.args(["1", env!("CARGO_BIN_EXE_safetensors"), "stats", "--json", model]);
        let one = finish(one.current_dir(place.path(".")));
        assert_eq!((all.code, &all), (Some(0), &one), "{model}");
    }
}

#[test]
fn tensors_are_chosen_sorted_and_cut() {
    let place = Place::new();
    place.put("m", &sound());
    let names = |args: &[&str]| {
        let run = json(&place.run([&["stats", "--json"], args].concat()));
        let tensors = run["tensors"].as_array().expect("a list").clone();
        let names = tensors.iter().map(|tensor| tensor["name"].as_str().expect("a name").to_owned());
        (names.collect::<Vec<String>>().join(" "), run["total"]["values"].as_u64().expect("a count"))
    };
    let is = |args: &[&str], tensors: &str, values: u64| {
        assert_eq!(names(args), (tensors.to_owned(), values), "{args:?}");
    };
    is(&["m"], "a b", 5);
    is(&["m", "--only", "b"], "b", 3);
    is(&["m", "--except", "b*"], "a", 2);
    for key in ["max", "min", "abs", "mean", "std", "values"] {
        is(&["m", "--sort", key], "b a", 5);
    }
    is(&["m", "--sort", "name"], "a b", 5);
    is(&["m", "--sort", "values", "--top", "1"], "b", 5);
    let run = place.run(["stats", "m", "--only", "c*"]);
    run.is(2, "", "m: no tensor matches \"c*\"\n");
}

#[test]
fn zeros_and_values_that_are_not_finite_are_sort_keys() {
    let place = Place::new();
    let header = concat!(
        r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"#,
        r#""nan":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},"#,
        r#""zero":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}"#
    );
    place.put("m", &file(header, [-1.0, -2.0, f32::NAN, 0.0].map(f32::to_le_bytes).as_flattened()));
    let sorted = |key: &str| json(&place.run(["stats", "--json", "m", "--sort", key]));
    assert_eq!(sorted("not-finite")["tensors"][0]["name"], "nan");
    assert_eq!(sorted("zeros")["tensors"][0]["name"], "zero");
    let by_max = sorted("max");
    assert_eq!(by_max["tensors"][0]["name"], "zero");
    assert!(by_max["tensors"][2]["max"].is_null(), "{by_max}");
}

#[test]
fn models_in_several_files_and_standard_input() {
    let place = Place::new();
    place.put("m", &sound());
    let table = place.run(["stats", "m"]);
    assert_eq!(table.out.lines().next(), Some("m: ok, 2 tensors, 118 bytes"));
    let piped = place.run_piped(["stats", "-"], &sound());
    assert_eq!(piped.out, table.out.replacen("m:", "-:", 1));
    assert_eq!(place.run(["split", "m", "-o", "parts", "--max-size", "3"]).code, Some(0));
    let parts = place.run(["stats", "parts"]);
    assert_eq!(parts.out.lines().skip(1).collect::<Vec<_>>(), table.out.lines().skip(1).collect::<Vec<_>>());
    assert!(parts.out.starts_with("parts: ok, 2 tensors in 2 shards, "), "{}", parts.out);
    place.put("none", &file("{}", b""));
    place.run(["stats", "none"]).is(0, "none: ok, 0 tensors, 10 bytes\n", "");
}

#[test]
fn names_are_whole_and_harmless() {
    let place = Place::new();
    let name = format!("{}\\u001b[31m\\u202e{}", "long".repeat(50), "name".repeat(50));
    place.put("m", &file(format!("{{{}}}", tensor(&name, 0, 1)), b"x"));
    let run = place.run(["stats", "m"]);
    assert!(run.out.contains(&"long".repeat(50)) && run.out.contains(&"name".repeat(50)), "{}", run.out);
    assert!(!run.out.contains(['\u{1b}', '\u{202e}']), "{}", run.out);
}

fn of(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let len = data.len();
    let first = tensor("a", 0, 3);
    let entry = format!(r#""b":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[3,{}]}}"#, 3 + len);
    file(format!("{{{first},{entry}}}"), &[&[1, 2, 3], data].concat())
}

#[test]
fn check_finite_says_where_the_first_one_is() {
    let place = Place::new();
    let mut floats = [1.0_f32; 6];
    (floats[4], floats[5]) = (f32::NEG_INFINITY, f32::NAN);
    let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
    let model = of("F32", "[2,3]", &bytes);
    let at = model.len() - 8;
    place.put("m", &model);
    assert_eq!(place.run(["check", "m"]).code, Some(0));
    let sentence = "tensor \"b\": a negative infinity at index [1, 1]";
    place.run(["check", "--finite", "m"]).is(
        1,
        &format!("m: error[values.not-finite] at byte {at}: {sentence}\n"),
        "",
    );
    let run = place.run(["check", "--finite", "--json", "m"]);
    let object: Value = serde_json::from_str(&run.out).expect("JSON");
    let expected = serde_json::json!({
        "file": "m", "ok": false, "code": "values.not-finite", "at": at, "message": sentence, "tensor": "b",
        "index": [1, 1]
    });
    assert_eq!((run.code, object), (Some(1), expected));
    let piped = place.run_piped(["check", "--finite", "-"], &model);
    assert!(piped.code == Some(1) && piped.out.contains("at index [1, 1]"), "{piped:?}");
}

#[test]
fn check_finite_accepts_what_is_finite() {
    let place = Place::new();
    place.put("floats", &of("F32", "[2]", &[0, 0, 0x80, 0x3F, 0xFF, 0xFF, 0x7F, 0x7F]));
    place.put("integers", &of("I32", "[1]", &[0xFF; 4]));
    place.put("nan", &of("F8_E4M3", "[2]", &[0x7E, 0xFF]));
    place.put("torn", &of("F32", "[2]", &[0; 8])[..100]);
    let run = place.run(["check", "--finite", "floats", "integers"]);
    let lines = ["floats: ok, 2 tensors, 126 bytes\n", "integers: ok, 2 tensors, 121 bytes\n"];
    run.is(0, &lines.concat(), "");
    let byte = of("F8_E4M3", "[2]", &[0, 0]).len() - 1;
    let run = place.run(["check", "--finite", "nan", "floats", "missing"]);
    let line = format!("nan: error[values.not-finite] at byte {byte}: tensor \"b\": NaN at index [1]\n");
    assert_eq!(run.code, Some(2));
    assert!(run.out.contains(&line), "{run:?}");
    assert_eq!(place.run(["check", "--finite", "torn"]).out, place.run(["check", "torn"]).out);
}

#[test]
fn check_finite_reads_the_shards_of_a_model() {
    let place = Place::new();
    place.put("m", &of("F16", "[2]", &[0, 0x3C, 0, 0x7C]));
    assert_eq!(place.run(["split", "m", "-o", "parts", "--max-size", "4"]).code, Some(0));
    let run = place.run(["check", "--finite", "parts/model.safetensors.index.json"]);
    let expected = "tensor \"b\": an infinity at index [1] of model-00002-of-00002.safetensors\n";
    assert!(run.code == Some(1) && run.out.ends_with(expected), "{run:?}");
}
