//! `safetensors diff`: the differences of two models.

use crate::support::{Place, Row, Run, file, floats, model, sound, tensor};
use serde_json::{Value, json};

/// Compares two models of one tensor `t` each.
fn diff_rows(options: &[&str], a: Row<'_>, b: Row<'_>) -> Run {
    let place = Place::new();
    place.put("a", &model("", &[a])).put("b", &model("", &[b]));
    place.run(["diff", "a", "b"].iter().chain(options))
}

fn object(run: &Run) -> Value {
    assert_eq!(run.err, "");
    run.json()
}

/// The result for the one tensor of both models, in JSON.
fn likeness(a: Row<'_>, b: Row<'_>) -> Value {
    object(&diff_rows(&["--json"], a, b))["tensors"][0].take()
}

#[test]
fn layout_is_ignored() {
    let place = Place::new();
    let (a, b) = (("a", "U8", &[2][..], vec![1, 2]), ("b", "F32", &[1][..], floats(&[0.5])));
    place.put("one", &model("", &[a.clone(), b.clone()])).put("two", &model("{}", &[b, a]));
    place.run(["diff", "one", "two"]).is(0, "the same: 2 tensors bit-identical\n", "");
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
    place.put("a", &model(r#"{"k":"1","x":"2"}"#, &a)).put("b", &model(r#"{"k":"3"}"#, &b));
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
    let row = |values: [f32; 2]| ("t", "F32", &[2][..], floats(&values));
    let (a, b) = (row([100.0, 0.0]), row([101.0, 0.125]));
    for (options, code) in [
        ("", 1),
        ("--tolerance 0.5", 1),
        ("--tolerance 1", 0),
        ("--tolerance 1e0 --relative 0", 0),
        ("--relative 0.5", 1),
        ("--relative 1", 0),
        ("--relative 0.01 --tolerance 0.125", 0),
        ("--values", 1),
    ] {
        let options: Vec<&str> = options.split_whitespace().collect();
        let run = diff_rows(&options, a.clone(), b.clone());
        let last =
            ["the same: 1 tensor within the tolerance\n", "different: 1 tensor with different values\n"];
        assert!(run.out.ends_with(last[usize::from(code == 1)]), "{run:?}");
        assert_eq!(run.code, Some(code), "{options:?}: {run:?}");
    }
    for wrong in ["-1", "nan", "inf", "x", ""] {
        diff_rows(&[&format!("--tolerance={wrong}")], a.clone(), b.clone()).fails(2, "--tolerance");
    }
    // Metadata differs, whatever the tolerance.
    let (place, row) = (Place::new(), [("t", "U8", &[1][..], vec![1])]);
    place.put("a", &model(r#"{"k":"1"}"#, &row)).put("b", &model("", &row));
    let said = "  metadata \"k\": \"1\", only in a\n";
    let numbers = "1 tensor bit-identical; 1 metadata difference\n";
    for (options, code, verdict) in
        [(&[][..], 1, "different"), (&["--tolerance", "1"], 1, "different"), (&["--values"], 0, "the same")]
    {
        let run = place.run(["diff", "a", "b"].iter().chain(options));
        run.is(code, &format!("{said}{verdict}: {numbers}"), "");
    }
}

#[test]
fn different_dtypes_are_compared_by_value() {
    let half = ("t", "F16", &[3][..], [0x3c00_u16, 0xc000, 0x3555].map(u16::to_le_bytes).concat());
    let single = ("t", "F32", &[3][..], floats(&[1.0, -2.0, 0.333_251_95]));
    let said = "  \"t\": F16 and F32, same values, different bits\n";
    let said = format!("{said}different: 1 tensor with equal values; 1 different dtype\n");
    diff_rows(&[], half.clone(), single.clone()).is(1, &said, "");
    for option in [&["--values"][..], &["--tolerance", "0"], &["--relative", "0"]] {
        let run = diff_rows(option, half.clone(), single.clone());
        assert_eq!(run.code, Some(0), "{option:?}: {run:?}");
    }
    let off = ("t", "F32", &[3][..], floats(&[1.0, -2.0, 0.25]));
    assert_eq!(diff_rows(&["--values"], half, off).code, Some(1));
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
    let bits = |bits: [u32; 2]| ("t", "F32", &[2][..], bits.map(u32::to_le_bytes).concat());
    let (quiet, other) = (bits([0x7fc0_0000, 0x7f80_0000]), bits([0xffc0_0001, 0x7f80_0000]));
    assert_eq!(likeness(quiet.clone(), other)["result"], "equal");
    let finite = ("t", "F32", &[2][..], floats(&[1.0, f32::INFINITY]));
    let said = "  \"t\": 1 of 2 values differ; 1 not finite on one side or different non-finite values, the \
        first at [0]: NaN and 1\ndifferent: 1 tensor with different values\n";
    diff_rows(&["--tolerance", "1e300"], quiet, finite).is(1, said, "");
}

#[test]
fn complex_numbers_have_two_values_per_index() {
    let a = ("t", "C64", &[2][..], floats(&[1.0, 2.0, 3.0, 4.0]));
    let said = likeness(a.clone(), ("t", "C64", &[2][..], floats(&[1.0, 2.0, 3.0, 5.0])));
    let found = (&said["values"], &said["differing"], &said["max_abs_at"]["index"]);
    assert_eq!(found, (&4.into(), &1.into(), &json!([1])));
    let said = "  \"t\": C64 and F64, complex and real values are not compared\n";
    let said = format!("{said}different: 1 tensor not comparable; 1 different dtype\n");
    diff_rows(&[], a, ("t", "F64", &[2], vec![0; 16])).is(1, &said, "");
}

/// Differing values of narrow dtypes are found at any position in a byte.
#[test]
fn elements_that_share_bytes() {
    for (dtype, shape, a, b, at) in [
        ("F4", &[4][..], vec![0x10, 0x32], vec![0x10, 0x42], json!({"index": [3], "values": ["1.5", "2"]})),
        (
            "F6_E2M3",
            &[2, 4],
            vec![0; 6],
            vec![0, 0, 0, 0, 0, 0b0010_0000],
            json!({"index": [1, 3], "values": ["0", "1"]}),
        ),
    ] {
        let said = likeness(("t", dtype, shape, a), ("t", dtype, shape, b));
        assert_eq!((&said["differing"], &said["max_abs_at"]), (&1.into(), &at));
    }
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
    let said = "  \"t\": F32 and I64, same values, different bits\n";
    let said = format!("{said}different: 1 tensor with equal values; 1 different dtype\n");
    diff_rows(&[], ("t", "F32", &[0, 3], vec![]), ("t", "I64", &[0, 3], vec![])).is(1, &said, "");
    let said = "  \"t\": 1 of 1 value differ, by 2 at most, at []: 1 and 3; by 2 on average, and by 0.6667 \
        of the larger value at most\ndifferent: 1 tensor with different values\n";
    diff_rows(&[], ("t", "U8", &[], vec![1]), ("t", "U8", &[], vec![3])).is(1, said, "");
    let run = diff_rows(&[], ("x", "U8", &[0], vec![]), ("y", "U8", &[0], vec![]));
    assert!(!run.out.contains("the bytes of"));
}

#[test]
fn renamed_tensors_with_the_same_bytes_are_matched_once() {
    let place = Place::new();
    let rows = |names: &[&'static str]| {
        let rows = names.iter().map(|name| (*name, "U8", &[2][..], vec![7, 7]));
        model("", &rows.collect::<Vec<_>>())
    };
    place.put("a", &rows(&["x1", "x2"])).put("b", &rows(&["y1", "y2", "y3"]));
    let json = object(&place.run(["diff", "--json", "a", "b"]));
    let paired = |name, other| json!({"name": name, "dtype": "U8", "shape": [2], "same_as": other});
    assert_eq!(json["only_in_a"], json!([paired("x1", "y1"), paired("x2", "y2")]));
    let alone = json!({"name": "y3", "dtype": "U8", "shape": [2]});
    assert_eq!(json["only_in_b"], json!([paired("y1", "x1"), paired("y2", "x2"), alone]));
}

#[test]
fn a_sharded_model_equals_a_single_file() {
    let place = Place::new();
    place.put("one", &sound());
    place.done(["split", "one", "-o", "m", "--max-size", "3"]);
    place.run(["diff", "m", "one"]).is(0, "the same: 2 tensors bit-identical\n", "");
    place.put("one", &model("", &[("a", "U8", &[2], b"ab".to_vec()), ("b", "U8", &[3], b"cdf".to_vec())]));
    let run = place.run(["diff", "one", "m/model.safetensors.index.json"]);
    let said = "  \"b\": 1 of 3 values differ, by 1 at most, at [2]: 102 and 101;";
    assert!(run.code == Some(1) && run.out.starts_with(said), "{run:?}");
}

#[test]
fn names_are_escaped() {
    let place = Place::new();
    place.put("\u{1b}[31m", &file(format!("{{{}}}", tensor("\\u001b[31m", 0, 1)), b"a"));
    place.put("b", &model(r#"{"\u001b[1m":"\u001b[2m"}"#, &[]));
    let run = place.run(["diff", "\u{1b}[31m", "b"]);
    assert_eq!(run.code, Some(1));
    assert!(!run.out.contains('\u{1b}'), "{run:?}");
}

/// As with `check`, a file that cannot be read takes precedence over an invalid one.
#[test]
fn errors_are_one_sentence() {
    let place = Place::new();
    place.put("m", &sound()).put("bad", b"abc");
    let gone = "gone: cannot be read: no such file or directory\n";
    for models in [["gone", "m"], ["m", "gone"], ["bad", "gone"], ["gone", "bad"]] {
        place.run(["diff", models[0], models[1]]).is(2, "", gone);
    }
    place.run_piped(["diff", "m", "-"], &sound()).is(0, "the same: 2 tensors bit-identical\n", "");
    for args in [&["m"][..], &["-", "-"], &["m", "m", "m"], &["--tolerance", "m", "m"]] {
        place.run(["diff"].iter().chain(args)).fails(2, "");
    }
}
