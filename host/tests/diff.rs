//! `safetensors diff`: the differences of two models.

use crate::support::{self, Place, Run, file, finish, sound, tensor};
use serde_json::{Value, json};
use std::fs;

/// A tensor: its name, dtype and shape, and its bytes.
type Row<'r> = (&'r str, &'r str, &'r [u64], Vec<u8>);

fn model(rows: &[Row<'_>], metadata: &str) -> Vec<u8> {
    let (mut members, mut data) = (Vec::new(), Vec::new());
    if !metadata.is_empty() {
        members.push(format!("\"__metadata__\":{metadata}"));
    }
    for (name, dtype, shape, bytes) in rows {
        let (begin, end) = (data.len(), data.len() + bytes.len());
        members.push(format!(
            "\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{begin},{end}]}}"
        ));
        data.extend_from_slice(bytes);
    }
    file(format!("{{{}}}", members.join(",")), &data)
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Compares two models of one tensor `t` each.
fn diff_rows(options: &[&str], a: Row<'_>, b: Row<'_>) -> Run {
    let place = Place::new();
    place.put("a", &model(&[a], "")).put("b", &model(&[b], ""));
    place.run(["diff", "a", "b"].iter().chain(options))
}

fn object(run: &Run) -> Value {
    assert_eq!(run.err, "");
    serde_json::from_str(&run.out).expect("JSON")
}

/// The result for the one tensor of both models, in JSON.
fn likeness(a: Row<'_>, b: Row<'_>) -> Value {
    object(&diff_rows(&["--json"], a, b))["tensors"][0].take()
}

#[test]
fn layout_is_ignored() {
    let place = Place::new();
    let (a, b) = (("a", "U8", &[2][..], vec![1, 2]), ("b", "F32", &[1][..], floats(&[0.5])));
    place.put("one", &model(&[a.clone(), b.clone()], "")).put("two", &model(&[b, a], "{}"));
    place.run(["diff", "one", "two"]).is(0, "the same: 2 tensors bit-identical\n", "");
    place.run(["diff", "one", "one"]).is(0, "the same: 2 tensors bit-identical\n", "");
    let json = object(&place.run(["diff", "--json", "one", "two"]));
    assert_eq!((&json["ok"], &json["a"], &json["b"]), (&true.into(), &"one".into(), &"two".into()));
    let form = json!({"dtype": "F32", "shape": [1]});
    assert_eq!(json["tensors"][1], json!({"name": "b", "result": "identical", "a": form, "b": form}));
    place.put("none", &file("{}", b""));
    place.run(["diff", "none", "none"]).is(0, "the same: no tensors\n", "");
}

#[test]
fn everything_that_differs_is_listed() {
    let place = Place::new();
    let a = [
        ("gone", "U8", &[1][..], vec![1]),
        ("old", "F32", &[2], floats(&[1.0, 2.0])),
        ("shape", "U8", &[2, 3], vec![0; 6]),
        ("value", "F32", &[2, 2], floats(&[1.0, 2.0, 3.0, 4.0])),
    ];
    let b = [
        ("new", "F32", &[2][..], floats(&[1.0, 2.0])),
        ("shape", "U8", &[3, 2], vec![0; 6]),
        ("value", "F32", &[2, 2], floats(&[1.0, 2.0, 3.5, 4.0])),
    ];
    place.put("a", &model(&a, r#"{"k":"1","x":"2"}"#)).put("b", &model(&b, r#"{"k":"3"}"#));
    let said = concat!(
        "  only in a: \"gone\" U8 [1]\n",
        "  only in a: \"old\" F32 [2], same bytes as \"new\" in b\n",
        "  only in b: \"new\" F32 [2], same bytes as \"old\" in a\n",
        "  \"shape\": [2, 3] and [3, 2]\n",
        "  \"value\": 1 of 4 values differ, by 0.5 at most, at [1, 0]: 3 and 3.5; by 0.125 on average, and \
         by 0.1429 of the larger value at most\n",
        "  metadata \"k\": \"1\" and \"3\"\n",
        "  metadata \"x\": \"2\", only in a\n",
        "different: 1 tensor with different values, 1 with different shapes, 2 only in a, 1 only in b; 2 \
         metadata differences\n",
    );
    place.run(["diff", "a", "b"]).is(1, said, "");
    let json = object(&place.run(["diff", "--json", "a", "b"]));
    assert_eq!(
        json["only_in_a"],
        json!([{"name": "gone", "dtype": "U8", "shape": [1]}, {"name": "old", "dtype": "F32", "shape":
            [2], "same_as": "new"}])
    );
    assert_eq!(json["only_in_b"], json!([{"name": "new", "dtype": "F32", "shape": [2], "same_as": "old"}]));
    assert_eq!(
        json["metadata"],
        json!([{"key": "k", "a": "1", "b": "3"}, {"key": "x", "a": "2", "b": null}])
    );
    let form = json!({"dtype": "F32", "shape": [2, 2]});
    let value = json!({"name": "value", "result": "different", "a": form, "b": form, "values": 4,
        "differing": 1, "beyond": 1, "not_finite": 0,
        "max_abs": 0.5, "mean_abs": 0.125, "max_relative": 0.5 / 3.5, "max_abs_at": {"index": [1, 0],
         "values": ["3", "3.5"]}});
    assert_eq!((&json["tensors"][1], &json["tensors"][0]["result"]), (&value, &"shape".into()));
}

#[test]
fn tolerances_decide() {
    let (a, b) =
        (("t", "F32", &[2][..], floats(&[100.0, 0.0])), ("t", "F32", &[2][..], floats(&[101.0, 0.125])));
    for (options, code) in [
        (&[][..], 1),
        (&["--tolerance", "0.5"], 1),
        (&["--tolerance", "1"], 0),
        (&["--tolerance", "1e0", "--relative", "0"], 0),
        (&["--relative", "0.5"], 1),
        (&["--relative", "1"], 0),
        (&["--relative", "0.01", "--tolerance", "0.125"], 0),
        (&["--values"], 1),
    ] {
        let run = diff_rows(options, a.clone(), b.clone());
        assert_eq!(run.code, Some(code), "{options:?}: {run:?}");
        assert!(
            run.out.ends_with(if code == 0 {
                "the same: 1 tensor within the tolerance\n"
            } else {
                "different: 1 tensor with different values\n"
            }),
            "{run:?}"
        );
    }
    for wrong in ["-1", "nan", "inf", "x", ""] {
        let run = diff_rows(&[&format!("--tolerance={wrong}")], a.clone(), b.clone());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{wrong}");
    }
}

#[test]
fn different_dtypes_are_compared_by_value() {
    let half = (
        "t",
        "F16",
        &[3][..],
        [0x3c00_u16, 0xc000, 0x3555].iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<u8>>(),
    );
    let single = ("t", "F32", &[3][..], floats(&[1.0, -2.0, 0.333_251_95]));
    let run = diff_rows(&[], half.clone(), single.clone());
    run.is(
        1,
        "  \"t\": F16 and F32, same values, different bits\ndifferent: 1 tensor with equal values; 1 \
        different dtype\n",
        "",
    );
    for option in [&["--values"][..], &["--tolerance", "0"], &["--relative", "0"]] {
        let run = diff_rows(option, half.clone(), single.clone());
        assert_eq!(run.code, Some(0), "{option:?}: {run:?}");
    }
    let off = ("t", "F32", &[3][..], floats(&[1.0, -2.0, 0.25]));
    assert_eq!(diff_rows(&["--values"], half, off).code, Some(1));
}

#[test]
fn metadata_counts_without_values_option() {
    let place = Place::new();
    let row = [("t", "U8", &[1][..], vec![1])];
    place.put("a", &model(&row, r#"{"k":"1"}"#)).put("b", &model(&row, ""));
    let said = "  metadata \"k\": \"1\", only in a\n";
    let numbers = "1 tensor bit-identical; 1 metadata difference\n";
    place.run(["diff", "a", "b"]).is(1, &format!("{said}different: {numbers}"), "");
    place.run(["diff", "--tolerance", "1", "a", "b"]).is(1, &format!("{said}different: {numbers}"), "");
    place.run(["diff", "--values", "a", "b"]).is(0, &format!("{said}the same: {numbers}"), "");
}

#[test]
fn integers_of_64_bits_are_exact() {
    let of = |dtype: &'static str, value: u64| ("t", dtype, &[1][..], value.to_le_bytes().to_vec());
    let said = likeness(of("U64", u64::MAX), of("U64", u64::MAX - 1));
    assert_eq!(
        (&said["max_abs"], &said["max_abs_at"]["values"]),
        (&1.0.into(), &json!(["18446744073709551615", "18446744073709551614"]))
    );
    let said = likeness(of("I64", u64::MAX), of("U64", u64::MAX));
    assert_eq!((&said["differing"], &said["max_abs"]), (&1.into(), &18_446_744_073_709_551_616.0.into()));
    let said = likeness(of("I64", 1 << 60), of("F64", (2_f64.powi(60)).to_bits()));
    assert_eq!(said["result"], "equal");
    let said = likeness(of("I64", (1 << 53) + 1), of("F64", (2_f64.powi(53)).to_bits()));
    assert_eq!((&said["result"], &said["max_abs"]), (&"different".into(), &1.0.into()));
}

#[test]
fn nan_equals_nan() {
    let quiet = (
        "t",
        "F32",
        &[2][..],
        [0x7fc0_0000_u32, 0x7f80_0000].iter().flat_map(|bits| bits.to_le_bytes()).collect::<Vec<u8>>(),
    );
    let other = (
        "t",
        "F32",
        &[2][..],
        [0xffc0_0001_u32, 0x7f80_0000].iter().flat_map(|bits| bits.to_le_bytes()).collect::<Vec<u8>>(),
    );
    assert_eq!(likeness(quiet.clone(), other)["result"], "equal");
    let finite = ("t", "F32", &[2][..], floats(&[1.0, f32::INFINITY]));
    let run = diff_rows(&["--tolerance", "1e300"], quiet, finite);
    run.is(
        1,
        "  \"t\": 1 of 2 values differ; 1 not finite on one side or different non-finite values, the \
        first at [0]: NaN and 1\ndifferent: 1 tensor with different values\n",
        "",
    );
}

#[test]
fn complex_numbers_have_two_values_per_index() {
    let a = ("t", "C64", &[2][..], floats(&[1.0, 2.0, 3.0, 4.0]));
    let b = ("t", "C64", &[2][..], floats(&[1.0, 2.0, 3.0, 5.0]));
    let said = likeness(a.clone(), b);
    assert_eq!(
        (&said["values"], &said["differing"], &said["max_abs_at"]["index"]),
        (&4.into(), &1.into(), &json!([1]))
    );
    let run = diff_rows(&[], a, ("t", "F64", &[2], vec![0; 16]));
    run.is(
        1,
        "  \"t\": C64 and F64, complex and real values are not compared\ndifferent: 1 tensor not \
        comparable; 1 different dtype\n",
        "",
    );
}

/// Differing values of narrow dtypes are found at any position in a byte.
#[test]
fn elements_that_share_bytes() {
    let said = likeness(("t", "F4", &[4][..], vec![0x10, 0x32]), ("t", "F4", &[4][..], vec![0x10, 0x42]));
    assert_eq!(
        (&said["differing"], &said["max_abs_at"]),
        (&1.into(), &json!({"index": [3], "values": ["1.5", "2"]}))
    );
    let said = likeness(
        ("t", "F6_E2M3", &[2, 4][..], vec![0; 6]),
        ("t", "F6_E2M3", &[2, 4][..], vec![0, 0, 0, 0, 0, 0b0010_0000]),
    );
    assert_eq!((&said["differing"], &said["max_abs_at"]["index"]), (&1.into(), &json!([1, 3])));
    let said = likeness(("t", "BOOL", &[2][..], vec![1, 0]), ("t", "BOOL", &[2][..], vec![2, 0]));
    assert_eq!(said["result"], "equal");
}

/// After an identical megabyte, and in the last value.
#[test]
fn differences_are_found_in_every_piece() {
    let count = 700_001_u64;
    let shape = [count];
    for (dtype, width) in [("U8", 1), ("F32", 4)] {
        let a = vec![0; usize::try_from(count * width).expect("it fits")];
        for at in [0, 65_535, 196_607, 196_608, 262_144, 699_999, 700_000] {
            let mut b = a.clone();
            // The lowest byte of a tiny float, or an integer of 1.
            b[usize::try_from(at * width).expect("it fits")] = 1;
            let said = likeness(("t", dtype, &shape, a.clone()), ("t", dtype, &shape, b));
            assert_eq!((&said["values"], &said["differing"]), (&count.into(), &1.into()), "{dtype} {at}");
            assert_eq!(said["max_abs_at"]["index"], json!([at]));
        }
    }
}

#[test]
fn empty_tensors_and_scalars() {
    let run = diff_rows(&[], ("t", "F32", &[0, 3], vec![]), ("t", "I64", &[0, 3], vec![]));
    run.is(
        1,
        "  \"t\": F32 and I64, same values, different bits\ndifferent: 1 tensor with equal values; 1 \
        different dtype\n",
        "",
    );
    let run = diff_rows(&[], ("t", "U8", &[], vec![1]), ("t", "U8", &[], vec![3]));
    let said = "  \"t\": 1 of 1 value differ, by 2 at most, at []: 1 and 3; by 2 on average, and by 0.6667 \
        of the larger value at most\n";
    run.is(1, &format!("{said}different: 1 tensor with different values\n"), "");
    let place = Place::new();
    place
        .put("a", &model(&[("x", "U8", &[0], vec![])], ""))
        .put("b", &model(&[("y", "U8", &[0], vec![])], ""));
    assert!(!place.run(["diff", "a", "b"]).out.contains("the bytes of"));
}

#[test]
fn renamed_tensors_with_the_same_bytes_are_matched_once() {
    let place = Place::new();
    let row = |name: &'static str| (name, "U8", &[2][..], vec![7, 7]);
    place
        .put("a", &model(&[row("x1"), row("x2")], ""))
        .put("b", &model(&[row("y1"), row("y2"), row("y3")], ""));
    let json = object(&place.run(["diff", "--json", "a", "b"]));
    let names = |side: &str| -> Vec<(String, Option<String>)> {
        let list = json[side].as_array().expect("a list").iter();
        list.map(|only| {
            (only["name"].as_str().expect("a name").to_owned(), only["same_as"].as_str().map(str::to_owned))
        })
        .collect()
    };
    assert_eq!(names("only_in_a"), [("x1".into(), Some("y1".into())), ("x2".into(), Some("y2".into()))]);
    assert_eq!(
        names("only_in_b"),
        [("y1".into(), Some("x1".into())), ("y2".into(), Some("x2".into())), ("y3".into(), None)]
    );
}

#[test]
fn a_sharded_model_equals_a_single_file() {
    let place = Place::new();
    fs::create_dir(place.path("m")).expect("directory");
    let index = r#"{"metadata":{},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}}"#;
    place.put("m/1.safetensors", &file(format!("{{{}}}", tensor("a", 0, 2)), b"ab"));
    place.put("m/2.safetensors", &file(format!("{{{}}}", tensor("b", 0, 3)), b"cde"));
    place.put("m/model.safetensors.index.json", index.as_bytes());
    place.put("one", &sound());
    place.run(["diff", "m", "one"]).is(0, "the same: 2 tensors bit-identical\n", "");
    place.put("m/2.safetensors", &file(format!("{{{}}}", tensor("b", 0, 3)), b"cdf"));
    let run = place.run(["diff", "one", "m/model.safetensors.index.json"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.out.starts_with("  \"b\": 1 of 3 values differ, by 1 at most, at [2]: 101 and 102;"),
        "{run:?}"
    );
}

#[test]
fn names_are_escaped() {
    let place = Place::new();
    place.put("\u{1b}[31m", &file(format!("{{{}}}", tensor("\\u001b[31m", 0, 1)), b"a"));
    place.put("b", &model(&[], r#"{"\u001b[1m":"\u001b[2m"}"#));
    let run = place.run(["diff", "\u{1b}[31m", "b"]);
    assert_eq!(run.code, Some(1));
    assert!(!run.out.contains('\u{1b}'), "{run:?}");
}

#[test]
fn errors_are_one_sentence() {
    let place = Place::new();
    place.put("m", &sound()).put("bad", b"abc");
    let gone = "gone: cannot be read: no such file or directory\n";
    place.run(["diff", "gone", "m"]).is(2, "", gone);
    place.run(["diff", "m", "gone"]).is(2, "", gone);
    place.run(["diff", "m", "bad"]).is(1, "", &place.run(["check", "bad"]).out);
    let run = place.run(["diff", "--json", "m", "bad"]);
    assert_eq!((run.code, object(&run)["code"].clone()), (Some(1), "container.short".into()));
    place.run_piped(["diff", "m", "-"], &sound()).is(0, "the same: 2 tensors bit-identical\n", "");
    for args in [
        &["diff", "m"][..],
        &["diff", "-", "-"],
        &["diff", "m", "m", "m"],
        &["diff", "--tolerance", "m", "m"],
    ] {
        let run = place.run(args);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn closed_or_full_output_is_an_error() {
    let place = Place::new();
    place.put("m", &sound());
    for args in [&["diff", "m", "m"][..], &["diff", "--json", "m", "m"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        finish(place.command(args).stdout(writer)).is(2, "", "");
        if cfg!(target_os = "linux") {
            let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
            let said = "safetensors: cannot write to standard output: no space left on device\n";
            finish(place.command(args).stdout(full)).is(2, "", said);
        }
    }
}

/// Sparse files.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_long_run() {
    let place = Place::new();
    let len: u64 = 1 << 40;
    for name in ["a", "b"] {
        place.put(name, &file(format!("{{{}}}", tensor("t", 0, len)), b""));
        let model = fs::OpenOptions::new().write(true).open(place.path(name)).expect("the model");
        model.set_len(model.metadata().expect("its length").len() + len).expect("a file with holes");
    }
    let child = place.command(["diff", "a", "b"]).spawn().expect("it starts");
    support::until_it_listens(&child);
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0), "{output:?}");
}

/// As with `check`, a file that cannot be read takes precedence over an invalid one.
#[test]
fn the_most_severe_error_counts() {
    let place = Place::new();
    place.put("bad", b"short").put("sound", &sound());
    let missing = "missing: cannot be read: no such file or directory\n";
    for models in [["bad", "missing"], ["missing", "bad"], ["sound", "missing"], ["missing", "sound"]] {
        place.run(["diff", models[0], models[1]]).is(2, "", missing);
    }
    assert_eq!(place.run(["diff", "bad", "bad"]).code, Some(1));
}
