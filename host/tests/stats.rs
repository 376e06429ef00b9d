//! `safetensors stats`, and `check --finite`.
#![cfg(unix)]

use crate::support::{Place, file, floats, model, tensor};
use serde_json::{Value, json};

const MADE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/stats/values.safetensors");
const NUMPY: &str = include_str!("../../tests/stats/values.json");
/// The largest relative distance of a quantile that is not exact.
const BOUND: f64 = 1.0 / 1024.0;
/// Elements of up to 16 bits have exact quantiles, and so have tensors of up to so many values.
const FEW: usize = 4096;

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
    let ours = Place::new().done(["stats", "--json", MADE]).json();
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
    let numbers = (0..count).map(|index| f32::from(u16::try_from(index % 1001).expect("short")) - 500.0);
    let numbers = floats(&numbers.collect::<Vec<_>>());
    place.put(name, &model("", &[("a", "F32", &[count.into()], numbers)]));
}

#[test]
fn a_large_tensor_is_summarised_in_parts() {
    let place = Place::new();
    let count = 1001 * 2000;
    sawtooth(&place, "m", count);
    let run = place.done(["stats", "--json", "m"]).json();
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
    let bytes = place.read("m");
    // Other sums: the same bytes as doubles, whose exponents are all over.
    let doubles = bytes[bytes.len() - 6_800_064..].to_vec();
    place.put("d", &model("", &[("a", "F64", &[850_008], doubles)]));
    for model in ["m", "d", MADE] {
        let all = place.run(["stats", "--json", model]);
        let one = place.shell(&format!("taskset 1 \"$0\" stats --json {model}"));
        assert_eq!((all.code, &all), (Some(0), &one), "{model}");
    }
}

#[test]
fn tensors_are_chosen_sorted_and_cut() {
    let place = Place::new();
    let rows = [
        ("a", "F32", &[2][..], floats(&[-1.0, -2.0])),
        ("nan", "F32", &[1], floats(&[f32::NAN])),
        ("zero", "F32", &[1], floats(&[0.0])),
    ];
    place.put("m", &model("", &rows));
    let table = place.run(["stats", "m"]).out;
    for (options, names, values) in [
        ("", "a nan zero", 4),
        ("--only a", "a", 2),
        ("--except a*", "nan zero", 2),
        ("--sort name", "a nan zero", 4),
        ("--sort values --top 1", "a", 4),
        ("--sort not-finite --top 1", "nan", 4),
        ("--sort zeros --top 1", "zero", 4),
        ("--sort max", "zero a nan", 4),
        ("--sort min", "zero a nan", 4),
        ("--sort mean", "zero a nan", 4),
        ("--sort abs", "a zero nan", 4),
        ("--sort std --top 1", "a", 4),
    ] {
        let run = place.done(format!("stats --json m {options}").split_whitespace());
        let run = run.json();
        let found = run["tensors"].as_array().expect("a list").iter().map(|tensor| tensor["name"].as_str());
        assert_eq!(found.collect::<Option<Vec<_>>>().expect("names").join(" "), names, "{options}");
        assert_eq!(run["total"]["values"], values, "{options}");
    }
    place.refuses("stats m --only c*", 2, "m: no tensor matches \"c*\"");
    // The same for shards.
    place.done(["split", "m", "-o", "parts", "--max-size", "8"]);
    let parts = place.run(["stats", "parts"]).out;
    assert!(parts.lines().skip(1).eq(table.lines().skip(1)), "{parts}");
    assert!(parts.starts_with("parts: ok, 3 tensors in 2 shards, "), "{parts}");
    let piped = place.run_piped(["stats", "-"], &place.read("m")).out;
    assert_eq!(piped, table.replacen("m:", "-:", 1));
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

/// A model whose second tensor is this one.
fn of(dtype: &str, shape: &[u64], data: &[u8]) -> Vec<u8> {
    model("", &[("a", "U8", &[3], vec![1, 2, 3]), ("b", dtype, shape, data.to_vec())])
}

#[test]
fn check_finite_says_where_the_first_one_is() {
    let place = Place::new();
    let numbers = floats(&[1.0, 1.0, 1.0, 1.0, f32::NEG_INFINITY, f32::NAN]);
    let model = of("F32", &[2, 3], &numbers);
    let at = model.len() - 8;
    place.put("m", &model);
    assert_eq!(place.run(["check", "m"]).code, Some(0));
    let sentence = "tensor \"b\": a negative infinity at index [1, 1]";
    let line = format!("error[values.not-finite] at byte {at}: {sentence}\n");
    place.run(["check", "--finite", "m"]).is(1, &format!("m: {line}"), "");
    place.run_piped(["check", "--finite", "-"], &model).is(1, &format!("-: {line}"), "");
    let expected = json!({"file": "m", "ok": false, "code": "values.not-finite", "at": at, "message": sentence,
        "tensor": "b", "index": [1, 1]});
    let run = place.run(["check", "--finite", "--json", "m"]);
    assert_eq!((run.code, run.json()), (Some(1), expected));
}

#[test]
fn check_finite_accepts_what_is_finite() {
    let place = Place::new();
    place.put("floats", &of("F32", &[2], &[0, 0, 0x80, 0x3F, 0xFF, 0xFF, 0x7F, 0x7F]));
    place.put("integers", &of("I32", &[1], &[0xFF; 4])).put("nan", &of("F8_E4M3", &[2], &[0x7E, 0xFF]));
    place.put("torn", &of("F32", &[2], &[0; 8])[..100]);
    let lines = ["floats: ok, 2 tensors, 126 bytes\n", "integers: ok, 2 tensors, 121 bytes\n"].concat();
    place.run(["check", "--finite", "floats", "integers"]).is(0, &lines, "");
    let byte = place.read("nan").len() - 1;
    let run = place.run(["check", "--finite", "nan", "floats", "missing"]);
    let line = format!("nan: error[values.not-finite] at byte {byte}: tensor \"b\": NaN at index [1]\n");
    assert!(run.code == Some(2) && run.out.contains(&line), "{run:?}");
    assert_eq!(place.run(["check", "--finite", "torn"]).out, place.run(["check", "torn"]).out);
    // Also in shards.
    place.put("m", &of("F16", &[2], &[0, 0x3C, 0, 0x7C]));
    place.done(["split", "m", "-o", "parts", "--max-size", "4"]);
    let run = place.run(["check", "--finite", "parts/model.safetensors.index.json"]);
    let expected = "tensor \"b\": an infinity at index [1] of model-00002-of-00002.safetensors\n";
    assert!(run.code == Some(1) && run.out.ends_with(expected), "{run:?}");
}
