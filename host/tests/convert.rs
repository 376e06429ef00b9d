//! `safetensors convert`: dtypes, metadata and errors. See `numpy.rs` for numpy files.
#![cfg(unix)]

use crate::support::{self, Place, convert, file, finish, sound, text};
use std::fs;

/// A model of one tensor.
fn model(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let end = data.len();
    file(format!("{{\"a\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[0,{end}]}}}}"), data)
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn round_trip_through_numpy() {
    let place = Place::new();
    place.put("m.safetensors", &model("F32", "[2]", &floats(&[1.5, f32::NAN])));
    convert(&place, &["m.safetensors", "m.npy"]).is(0, "m.npy: 1 tensor, 136 bytes\n", "");
    convert(&place, &["m.npy", "n.safetensors", "--name", "a"]).is(
        0,
        "n.safetensors: 1 tensor, 72 bytes\n",
        "",
    );
    assert_eq!(text(&place, "n.safetensors", "a"), "[1.5, nan]\n");
    for options in [&[][..], &["--compress"]] {
        let run = convert(&place, &[&["m.safetensors", "m.npz", "--force"], options].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(convert(&place, &["m.npz", "n.safetensors", "--force"]).code, Some(0));
        assert_eq!(fs::read(place.path("n.safetensors")).unwrap()[72 - 8..], floats(&[1.5, f32::NAN]));
    }
    // A second run gives the same bytes.
    let first = fs::read(place.path("m.npz")).expect("a file");
    convert(&place, &["m.safetensors", "m.npz", "--force", "--compress"]);
    assert_eq!(fs::read(place.path("m.npz")).expect("a file"), first);
}

#[test]
fn metadata_is_kept_where_possible() {
    let place = Place::new();
    place.put(
        "m.safetensors",
        &file(r#"{"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#, b"x"),
    );
    assert_eq!(convert(&place, &["m.safetensors", "n.safetensors", "--to", "F32", "--all"]).code, Some(0));
    assert!(place.run(["decode", "n.safetensors"]).out.contains(r#""metadata":{"k":"v"}"#));
    let run = convert(&place, &["m.safetensors", "n.npz"]);
    assert!(run.out.ends_with("  left out: 1 key of metadata, which numpy cannot store\n"), "{run:?}");
    let run = convert(&place, &["m.safetensors", "n.npz", "--force", "--json"]);
    let tensors = r#"[{"name":"a","from":"U8","to":"U8","shape":[1],"file":"m.safetensors","was":"a"}]"#;
    let bytes = fs::metadata(place.path("n.npz")).expect("a file").len();
    let line = format!(
        "{{\"file\":\"m.safetensors\",\"ok\":true,\"output\":\"n.npz\",\"written\":true,\"bytes\":{bytes},\"metadata_left_out\":1,\"padding_left_out\":0,\"read_from_bits\":0,\"not_cast\":0,\"left_out\":0,\"values_left_out\":[],\"tied\":[],\"tensors\":{tensors}}}\n"
    );
    run.is(0, &line, "");
}

#[test]
fn casts_report_their_errors() {
    let place = Place::new();
    place.put("m", &model("F32", "[5]", &floats(&[0.1, 1e-9, 70000.0, f32::NAN, 2.0])));
    let run = convert(&place, &["m", "n.safetensors", "--to", "f16", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    let tensor = &object["tensors"][0];
    for (key, number) in
        [("values", 5), ("inexact", 3), ("overflowed", 1), ("clamped", 0), ("zeroed", 1), ("nan", 1)]
    {
        assert_eq!(tensor[key], number, "{key}: {run:?}");
    }
    let error = f64::from(0.1f32) - 0.0999755859375;
    assert_eq!(tensor["max_error"], error);
    assert_eq!(tensor["mean_error"], (error + f64::from(1e-9f32)) / 3.0);
    assert_eq!(text(&place, "n.safetensors", "a"), "[0.1, 0.0, inf, nan, 2.0]\n");
    let run = convert(&place, &["m", "n.safetensors", "--to", "F16", "--saturate", "--force"]);
    let notes = "1 clamped, 1 became zero, 1 NaN\n";
    assert!(run.out.ends_with(notes), "{run:?}");
    assert_eq!(text(&place, "n.safetensors", "a"), "[0.1, 0.0, 65500.0, nan, 2.0]\n");
}

/// Long tensors are cast by several threads, short ones by one.
#[test]
fn long_tensors_are_cast_like_short_ones() {
    const LEN: usize = 600_001;
    const COUNT: u16 = 60_000;
    let place = Place::new();
    let waves = (0..COUNT).cycle().take(LEN);
    let numbers: Vec<f32> = waves.map(|index| f32::from(index).sin() * 1e5).collect();
    let data = floats(&numbers);
    place.put("long", &model("F32", &format!("[{LEN}]"), &data));
    let entry = |(index, (begin, end)): (usize, (usize, usize))| {
        let len = (end - begin) / 4;
        format!("\"t{index}\":{{\"dtype\":\"F32\",\"shape\":[{len}],\"data_offsets\":[{begin},{end}]}}")
    };
    let ends = (0..8).map(|part| (part * 300_004, (part * 300_004 + 300_004).min(data.len())));
    let entries: Vec<String> = ends.enumerate().map(entry).collect();
    place.put("short", &file(format!("{{{}}}", entries.join(",")), &data));
    for (to, options, width) in [
        ("F16", &[][..], 2),
        ("BF16", &["--saturate"], 2),
        ("F8_E5M2", &["--saturate"], 1),
        ("F64", &[], 8),
        ("I32", &[], 4),
    ] {
        let [long, short] = ["long", "short"].map(|input| {
            let run = convert(&place, &[&[input, "o.safetensors", "--force", "--to", to], options].concat());
            assert_eq!(run.code, Some(0), "{run:?}");
            let bytes = fs::read(place.path("o.safetensors")).expect("a file");
            bytes[bytes.len() - LEN * width..].to_vec()
        });
        assert!(long == short, "{to}");
    }
    let run = convert(&place, &["long", "q.safetensors", "--to", "I8", "--scale", "per-tensor"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = convert(&place, &["q.safetensors", "o.safetensors", "--force", "--to", "F32", "--unscale"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let bytes = fs::read(place.path("o.safetensors")).expect("a file");
    let back = bytes[bytes.len() - 4 * LEN..].as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    let scale = numbers.iter().fold(0.0, |most: f32, number| most.max(number.abs())) / 127.0;
    assert!(numbers.iter().zip(back).all(|(number, back)| (number - back).abs() <= scale * 0.501));
}

#[test]
fn errors_are_json_numbers() {
    let place = Place::new();
    let numbers = [1e308, 1.7e308, 1e308, -1e308_f64];
    let data: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    place.put("m", &model("F64", "[4]", &data));
    for options in [&["--to", "F16"][..], &["--to", "I8", "--scale", "per-tensor"]] {
        let common = ["m", "o.safetensors", "--saturate", "--force"];
        let run = convert(&place, &[&common, options, &["--json"]].concat());
        let said: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
        let [most, mean] =
            ["max_error", "mean_error"].map(|key| said["tensors"][0][key].as_f64().expect(key));
        assert!(most == 1.7e308 && (mean / 1.175e308 - 1.0).abs() < 1e-15, "{most} {mean}");
        let run = convert(&place, &[&common, options].concat());
        assert!(run.out.contains(" 1.7e308   1.1") && !run.out.contains("inf "), "{run:?}");
    }
}

#[test]
fn out_of_range_numbers_are_errors() {
    let place = Place::new();
    place.put("m", &model("F32", "[2]", &floats(&[-3.0, 300.5])));
    let advice = "exclude it with --except, or clamp with --saturate\n";
    for (to, error) in [
        ("U8", "-3.0 does not fit U8, which goes from 0 to 255"),
        ("I8", "300.5 does not fit I8, which goes from -128 to 127"),
        ("F8_E4M3FNUZ", "300.5 does not fit F8_E4M3FNUZ, which goes from -240.0 to 240.0"),
    ] {
        let line = format!("m: tensor \"a\": {error}; {advice}");
        convert(&place, &["m", "n.safetensors", "--to", to]).is(2, "", &line);
        let line = format!("m: tensor \"a\": -3.0 does not fit U8, which goes from 0 to 255; {advice}");
        convert(&place, &["m", "n.npz", "--to", "U8"]).is(2, "", &line);
    }
    place.put("nan", &model("F32", "[1]", &floats(&[f32::NAN])));
    let error = "nan: tensor \"a\": it has a NaN, and I32 has none; --saturate makes it 0\n";
    convert(&place, &["nan", "n.safetensors", "--to", "I32"]).is(2, "", error);
    let error = "nan: tensor \"a\": has a NaN or an infinity, which cannot be scaled to I8\n";
    convert(&place, &["nan", "n.safetensors", "--to", "I8", "--scale", "per-tensor"]).is(2, "", error);
    assert_eq!(fs::read_dir(place.path(".")).expect("directory").count(), 2, "files are left");
    for (options, expected) in [(["--to", "U8"], "[0, 255]\n"), (["--to", "I8"], "[-3, 127]\n")] {
        let run = convert(&place, &[&["m", "n.safetensors", "--saturate", "--force"], &options[..]].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(text(&place, "n.safetensors", "a"), expected);
    }
}

#[test]
fn globs_select_tensors() {
    let place = Place::new();
    place.put("m", &sound());
    let dtypes = |options: &[&str]| {
        let run =
            convert(&place, &[&["m", "n.safetensors", "--force", "--to", "I16", "--json"], options].concat());
        let object: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
        let of = |index: usize| object["tensors"][index]["to"].as_str().unwrap_or("-").to_owned();
        [of(0), of(1)].join(" ")
    };
    assert_eq!(dtypes(&["--all"]), "I16 I16");
    assert_eq!(dtypes(&["--only", "a"]), "I16 U8");
    assert_eq!(dtypes(&["--all", "--except", "[a]"]), "U8 I16");
    assert_eq!(dtypes(&["--only", "*", "--except", "b"]), "I16 U8");
    assert_eq!(text(&place, "n.safetensors", "a"), "[97, 98]\n");
    assert_eq!(text(&place, "n.safetensors", "b"), "[99, 100, 101]\n");
}

/// Position ids from 0 to 511 are not exact in BF16, so only floating-point tensors are cast by default.
#[test]
fn integers_are_cast_only_on_request() {
    let place = Place::new();
    let ids: Vec<u8> = (0..512_i64).flat_map(i64::to_le_bytes).collect();
    let header = concat!(
        r#"{"ids":{"dtype":"I64","shape":[512],"data_offsets":[0,4096]},"#,
        r#""mask":{"dtype":"BOOL","shape":[2],"data_offsets":[4096,4098]},"#,
        r#""c":{"dtype":"C64","shape":[1],"data_offsets":[4098,4106]},"#,
        r#""w":{"dtype":"F32","shape":[2,2],"data_offsets":[4106,4122]}}"#
    );
    let data = [&ids[..], &[0, 1], &[0; 8], &floats(&[1.0, 0.5, -3.0, 2.0])].concat();
    place.put("m", &file(header, &data));
    for (options, expected) in [
        (&["--to", "BF16"][..], ["I64", "BOOL", "C64", "BF16"]),
        // 511 does not fit these dtypes and would be an error.
        (&["--to", "F8_E4M3"], ["I64", "BOOL", "C64", "F8_E4M3"]),
        (&["--to", "I8"], ["I64", "BOOL", "C64", "I8"]),
        (&["--to", "I8", "--scale", "per-row"], ["I64", "BOOL", "C64", "I8"]),
        (&["--to", "BF16", "--all"], ["BF16", "BF16", "C64", "BF16"]),
        (&["--to", "BF16", "--all", "--except", "c"], ["BF16", "BF16", "C64", "BF16"]),
        (&["--to", "F32", "--only", "ids"], ["F32", "BOOL", "C64", "F32"]),
        (&["--to", "F16", "--only", "ids", "--only", "mask"], ["F16", "F16", "C64", "F32"]),
    ] {
        let run = convert(&place, &[&["m", "n.safetensors", "--force"], options].concat());
        assert_eq!(run.code, Some(0), "{options:?}: {run:?}");
        let is_default = !options.iter().any(|option| ["--all", "--only"].contains(option));
        let told = "  not cast: 2 tensors, not floating-point (--all casts integers and BOOL)\n";
        assert_eq!(run.out.contains(told), is_default, "{run:?}");
        let leaves_complex = !options.iter().any(|option| ["--except", "--only"].contains(option));
        assert_eq!(run.out.contains("  not cast: 1 tensor, complex\n"), leaves_complex, "{run:?}");
        let read: serde_json::Value =
            serde_json::from_str(&place.run(["decode", "n.safetensors"]).out).expect("JSON");
        let dtypes = ["ids", "mask", "c", "w"]
            .map(|name| read["tensors"][name]["dtype"].as_str().expect("a dtype").to_owned());
        assert_eq!(dtypes, expected, "{options:?}");
        if dtypes[0] == "I64" {
            assert_eq!(text(&place, "n.safetensors", "ids"), text(&place, "m", "ids"));
        }
    }
    let error = "m: tensor \"ids\": 465 does not fit F8_E4M3, which goes from -448.0 to 448.0; exclude it \
        with --except, or clamp with --saturate\n";
    convert(&place, &["m", "x.safetensors", "--to", "F8_E4M3", "--all"]).is(2, "", error);
}

/// A complex tensor named by `--only` is expected to be cast.
#[test]
fn complex_numbers_are_never_cast() {
    let place = Place::new();
    place.put("c", &model("C64", "[1]", &[0; 8]));
    let error = "c: tensor \"a\": complex numbers cannot be cast\n";
    convert(&place, &["c", "o.safetensors", "--to", "F32", "--only", "a"]).is(2, "", error);
    // Tensors that are not cast become bits too, and so do those that are cast.
    let header = concat!(
        r#"{"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]},"#,
        r#""w":{"dtype":"F32","shape":[1,2],"data_offsets":[2,10]}}"#
    );
    place.put("b", &file(header, &[0; 10]));
    let run = convert(&place, &["b", "o.npz", "--to", "I8", "--scale", "per-row", "--bits"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let run = convert(&place, &["b", "o.npz", "--to", "BF16", "--bits", "--only", "w", "--force"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert!(run.out.contains("\"w\"     F32   BF16"), "{run:?}");
    assert_eq!(convert(&place, &["o.npz", "w.safetensors", "--from-bits", "BF16"]).code, Some(0));
    assert_eq!(text(&place, "w.safetensors", "w"), "[[0.0, 0.0]]\n");
}

/// A scale stays if its tensor is unchanged, and is dropped if its tensor is multiplied by it.
#[test]
fn scales_follow_their_tensors() {
    let place = Place::new();
    let header = concat!(
        r#"{"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"#,
        r#""v":{"dtype":"I8","shape":[2],"data_offsets":[4,6]},"#,
        r#""v.scale":{"dtype":"F32","shape":[],"data_offsets":[6,10]},"#,
        r#""w":{"dtype":"I8","shape":[2],"data_offsets":[10,12]},"#,
        r#""w.scale":{"dtype":"F32","shape":[],"data_offsets":[12,16]}}"#
    );
    let two = 2_f32.to_le_bytes();
    place.put("m", &file(header, &[&two[..], &[1, 2], &two, &[3, 4], &two].concat()));
    let run =
        convert(&place, &["m", "n.safetensors", "--to", "F16", "--unscale", "--only", "w", "--only", "b"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.ends_with("\n  not cast: 1 tensor, not I8\n"), "{run:?}");
    let read: serde_json::Value =
        serde_json::from_str(&place.run(["inspect", "--json", "n.safetensors"]).out).expect("JSON");
    let names: Vec<&String> = read["tensors"].as_object().expect("an object").keys().collect();
    assert_eq!(names, ["b", "v", "v.scale", "w"]);
    assert_eq!(text(&place, "n.safetensors", "w"), "[6.0, 8.0]\n");
    let error = "m: nothing to unscale: no selected tensor is I8\n";
    convert(&place, &["m", "o.safetensors", "--to", "F16", "--unscale", "--only", "w.scale"])
        .is(2, "", error);
}

/// A table of thousands of lines hides those that matter.
#[test]
fn the_worst_of_many_casts_are_shown() {
    let place = Place::new();
    let mut entries = Vec::new();
    let mut data = Vec::new();
    for index in 0..200_u16 {
        let name = format!("t{index:03}");
        let range = [4 * index, 4 * index + 4];
        entries.push(format!(r#""{name}":{{"dtype":"F32","shape":[1],"data_offsets":{range:?}}}"#));
        let number = if index == 7 { f32::INFINITY } else { 1.0 + f32::from(index) / 1e6 };
        data.extend(if index == 150 { 1e9 } else { number }.to_le_bytes());
    }
    place.put("m", &file(format!("{{{}}}", entries.join(",")), &data));
    let run = convert(&place, &["m", "n.safetensors", "--to", "F16"]);
    let lines: Vec<&str> = run.out.lines().collect();
    assert!(run.code == Some(0) && lines.len() == 2 + 50 + 1, "{run:?}");
    for shown in ["\"t150\"", "\"t199\"", "1 became infinite"] {
        assert!(run.out.contains(shown), "{shown}: {run:?}");
    }
    assert!(!run.out.contains("\"t100\"") && !run.out.contains("\"t007\""), "{run:?}");
    assert!(lines[52].starts_with("  150 others ") && lines[52].ends_with(" 148 of 150"), "{run:?}");
    let run = convert(&place, &["m", "n.safetensors", "--to", "F16", "--force", "--json"]);
    assert_eq!(run.out.matches("\"max_error\"").count(), 200);
}

/// Every conversion of a quantised model would otherwise round the scales, and lose the model.
#[test]
fn casts_leave_scales_of_i8_tensors_unchanged() {
    let place = Place::new();
    let header = concat!(
        r#"{"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},"#,
        r#""a.scale":{"dtype":"F32","shape":[],"data_offsets":[2,6]},"#,
        r#""b":{"dtype":"F32","shape":[1],"data_offsets":[6,10]},"#,
        r#""b.scale":{"dtype":"F32","shape":[1],"data_offsets":[10,14]}}"#
    );
    let tenth = 0.1_f32.to_le_bytes();
    place.put("m", &file(header, &[&[1, 2], &tenth[..], &tenth, &tenth].concat()));
    let run = convert(&place, &["m", "n.safetensors", "--to", "F16"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let notes = "  not cast: 1 tensor, scales of I8 tensors (--only NAME casts one)\n  \
                 not cast: 1 tensor, not floating-point (--all casts integers and BOOL)\n";
    assert!(run.out.ends_with(notes), "{run:?}");
    let header = place.run(["inspect", "--json", "n.safetensors"]).out;
    let header: serde_json::Value = serde_json::from_str(&header).expect("JSON");
    let dtypes = ["a", "a.scale", "b", "b.scale"].map(|name| header["tensors"][name]["dtype"].clone());
    assert_eq!(dtypes, ["I8", "F32", "F16", "F16"]);
    let run = convert(&place, &["n.safetensors", "o.safetensors", "--to", "F32", "--unscale"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(text(&place, "o.safetensors", "a"), "[0.1, 0.2]\n");
    let run = convert(&place, &["m", "p.safetensors", "--to", "BF16", "--only", "a.scale"]);
    assert!(run.code == Some(0) && run.out.contains("\"a.scale\"  F32   BF16"), "{run:?}");
    let only = r#"{"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},"a.scale":{"dtype":"F32","shape":[],"data_offsets":[2,6]}}"#;
    place.put("only", &file(only, &[&[1, 2], &tenth[..]].concat()));
    convert(&place, &["only", "q.safetensors", "--to", "F16"]).is(
        2,
        "",
        "only: nothing to cast: the floating-point tensors are scales of I8 tensors, by which --unscale multiplies\n",
    );
}

/// Scales that an older release or another program has cast are read if nothing is rounded.
#[test]
fn scales_of_other_floats_are_used_if_exact() {
    let place = Place::new();
    for (dtype, scales, expected) in [
        ("F16", &[0x00, 0x38, 0x00, 0x40][..], Ok("[[0.5, 1.0],\n [6.0, 8.0]]\n")),
        ("BF16", &[0x00, 0x3F, 0x00, 0x40], Ok("[[0.5, 1.0],\n [6.0, 8.0]]\n")),
        ("F64", &[0.5_f64.to_le_bytes(), 2_f64.to_le_bytes()].concat(), Ok("[[0.5, 1.0],\n [6.0, 8.0]]\n")),
        ("F64", &[0.5_f64.to_le_bytes(), 0.1_f64.to_le_bytes()].concat(), Err("0.1")),
        ("F64", &[1e300_f64.to_le_bytes(), 0.1_f64.to_le_bytes()].concat(), Err("1e300")),
        (
            "F64",
            &[f64::NAN.to_le_bytes(), f64::INFINITY.to_le_bytes()].concat(),
            Ok("[[nan, nan],\n [inf, inf]]\n"),
        ),
    ] {
        let end = 4 + scales.len();
        let header = format!(
            r#"{{"a":{{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]}},"a.scale":{{"dtype":"{dtype}","shape":[2],"data_offsets":[4,{end}]}}}}"#
        );
        place.put("m", &file(header, &[&[1, 2, 3, 4], scales].concat()));
        let run = convert(&place, &["m", "o.safetensors", "--to", "F32", "--unscale", "--force"]);
        match expected {
            Ok(values) => assert_eq!(text(&place, "o.safetensors", "a"), values, "{run:?}"),
            Err(scale) => run.is(
                2,
                "",
                &format!("m: tensor \"a.scale\": the scale {scale} is not an F32; first use --to F32 --only \"a.scale\"\n"),
            ),
        }
    }
}

#[test]
fn numbers_too_large_for_a_scale_are_errors() {
    let place = Place::new();
    let data: Vec<u8> =
        [1e300, -2e300, 5e299, 1.0, 2.0, 3.0_f64].iter().flat_map(|number| number.to_le_bytes()).collect();
    place.put("m", &model("F64", "[2,3]", &data));
    for scope in ["per-row", "per-tensor"] {
        let options = ["m", "q.safetensors", "--to", "I8", "--scale", scope];
        let error = "m: tensor \"a\": 2e300 is too large for I8 with an F32 scale, which goes to 4.321586e40; exclude it with --except, or clamp with --saturate\n";
        convert(&place, &options).is(2, "", error);
        assert!(!place.path("q.safetensors").exists());
        let run = convert(&place, &[&options[..], &["--saturate", "--force"]].concat());
        assert!(run.code == Some(0) && run.out.contains("  3 clamped"), "{run:?}");
        std::fs::remove_file(place.path("q.safetensors")).expect("a file");
    }
}

/// A subnormal scale would clamp the largest number, and the scale 1 is not that of these numbers.
#[test]
fn scales_of_tiny_numbers_are_normal() {
    let place = Place::new();
    let least = f32::from_bits(1);
    place.put("m", &model("F32", "[2,2]", &floats(&[least, -190.0 * least, 127.0 * f32::exp2(-100.0), 0.0])));
    let run = convert(&place, &["m", "q.safetensors", "--to", "I8", "--scale", "per-row"]);
    assert!(run.code == Some(0) && run.out.ends_with(" 2 of 4  2 became zero\n"), "{run:?}");
    assert_eq!(text(&place, "q.safetensors", "a"), "[[0, 0],\n [127, 0]]\n");
    assert_eq!(text(&place, "q.safetensors", "a.scale"), "[1.1754944e-38, 7.888609e-31]\n");
}

/// A scale per element would make a tensor larger.
#[test]
fn only_rows_of_several_numbers_have_scales() {
    let place = Place::new();
    let header = concat!(
        r#"{"bias":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"#,
        r#""column":{"dtype":"F32","shape":[4,1],"data_offsets":[16,32]},"#,
        r#""scalar":{"dtype":"F32","shape":[],"data_offsets":[32,36]},"#,
        r#""w":{"dtype":"F32","shape":[2,2],"data_offsets":[36,52]}}"#
    );
    place.put("m", &file(header, &floats(&[1.0; 13])));
    let run = convert(&place, &["m", "n.safetensors", "--to", "I8", "--scale", "per-row"]);
    assert_eq!(run.code, Some(0));
    assert!(run.out.ends_with("\n  not cast: 3 tensors, without rows of several numbers\n"), "{run:?}");
    let names = place.run(["inspect", "--json", "n.safetensors"]).out;
    let read: serde_json::Value = serde_json::from_str(&names).expect("JSON");
    let names: Vec<&String> = read["tensors"].as_object().expect("an object").keys().collect();
    assert_eq!(names, ["bias", "column", "scalar", "w", "w.scale"]);
    for (name, dtype) in [("bias", "F32"), ("column", "F32"), ("scalar", "F32"), ("w", "I8")] {
        assert_eq!(read["tensors"][name]["dtype"], dtype);
    }
}

/// A NaN becomes quiet and keeps the upper bits of its payload; numpy and ml_dtypes differ.
#[test]
fn nans_keep_the_upper_bits_of_their_payload() {
    let place = Place::new();
    let bits = [0x7F81_2345_u32, 0xFF81_2345, 0x7FFF_FFFF, 0x7F80_0001];
    let data: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    place.put("m", &model("F32", "[4]", &data));
    for (to, expected) in
        [("F16", &[0x7E09_u16, 0xFE09, 0x7FFF, 0x7E00][..]), ("BF16", &[0x7FC1, 0xFFC1, 0x7FFF, 0x7FC0])]
    {
        assert_eq!(convert(&place, &["m", "n.safetensors", "--to", to, "--force"]).code, Some(0));
        let expected: Vec<u8> = expected.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        assert!(fs::read(place.path("n.safetensors")).expect("a file").ends_with(&expected), "{to}");
    }
    assert_eq!(convert(&place, &["m", "n.safetensors", "--to", "F8_E5M2", "--force"]).code, Some(0));
    assert!(fs::read(place.path("n.safetensors")).expect("a file").ends_with(&[0x7E, 0xFE, 0x7F, 0x7E]));
}

/// As with other commands.
#[test]
fn the_output_may_be_an_option() {
    let place = Place::new();
    place.put("m", &model("F32", "[1]", &floats(&[1.0])));
    convert(&place, &["m", "-o", "n.npy"]).is(0, "n.npy: 1 tensor, 132 bytes\n", "");
    convert(&place, &["m", "--output", "o.npy", "--to", "F16"]);
    assert!(place.path("o.npy").exists());
    let error = "safetensors: the output is missing: give it last, or with -o\n";
    convert(&place, &["m"]).is(2, "", error);
    // All other arguments are inputs then.
    convert(&place, &["m", "a.npy", "-o", "b.npy"]).is(
        2,
        "",
        "a.npy: cannot be read: no such file or directory\n",
    );
}

#[test]
fn round_trip_through_scales() {
    let place = Place::new();
    place.put("m", &model("F32", "[2,2]", &floats(&[1.27, -0.5, 254.0, 0.9])));
    for (scale, shape, values, scales, back) in [
        ("per-row", "[2]", "[[127, -50],\n [127, 0]]\n", "[0.01, 2.0]\n", "[[1.27, -0.5],\n [254.0, 0.0]]\n"),
        ("per-tensor", "[]", "[[1, 0],\n [127, 0]]\n", "2.0\n", "[[2.0, 0.0],\n [254.0, 0.0]]\n"),
    ] {
        for quantized in ["q.safetensors", "q.npz"] {
            let run = convert(&place, &["m", quantized, "--to", "I8", "--scale", scale, "--force"]);
            assert_eq!(run.code, Some(0), "{run:?}");
            assert!(run.out.starts_with(&format!("{quantized}: 2 tensors, ")), "{shape} {run:?}");
            assert_eq!(convert(&place, &[quantized, "p.safetensors", "--force"]).code, Some(0));
            assert_eq!(text(&place, "p.safetensors", "a"), values);
            assert_eq!(text(&place, "p.safetensors", "a.scale"), scales);
            let run = convert(&place, &[quantized, "b.safetensors", "--to", "F32", "--unscale", "--force"]);
            assert!(run.out.starts_with("b.safetensors: 1 tensor, "), "{run:?}");
            assert_eq!(text(&place, "b.safetensors", "a"), back);
        }
    }
}

#[test]
fn scales_of_empty_tensors() {
    let place = Place::new();
    for (shape, scale, scales) in [("[0,3]", "per-row", "[]\n"), ("[0]", "per-tensor", "1.0\n")] {
        place.put("m", &model("F32", shape, &[]));
        let run = convert(&place, &["m", "q.safetensors", "--to", "I8", "--scale", scale, "--force"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(text(&place, "q.safetensors", "a.scale"), scales);
        let run = convert(&place, &["q.safetensors", "b.safetensors", "--to", "F32", "--unscale", "--force"]);
        assert_eq!(run.code, Some(0), "{run:?}");
    }
    let header = r#"{"a":{"dtype":"F32","shape":[2,0],"data_offsets":[0,0]},"a.scale":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    place.put("s", &file(header.replacen("F32", "I8", 1), &[0; 8]));
    assert_eq!(convert(&place, &["s", "b.safetensors", "--to", "F32", "--unscale", "--force"]).code, Some(0));
}

/// Their scales would fill any disk.
#[test]
fn empty_rows_have_no_scales() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_safetensors");
    let error = "m: nothing to cast: no selected tensor has rows of several numbers\n";
    for shape in ["[1,0]", "[1152921504606846976,0]", "[3,2,0]"] {
        place.put("m", &model("F32", shape, &[]));
        for output in ["q.safetensors", "q.npz"] {
            // If it began to write them, it would end soon.
            let limited = format!(
                "trap '' XFSZ; ulimit -f 1000; exec {program} convert m {output} --to I8 --scale per-row"
            );
            let mut command = std::process::Command::new("sh");
            finish(command.args(["-c", &limited]).current_dir(place.path("."))).is(2, "", error);
        }
        let run = convert(&place, &["m", "t.safetensors", "--to", "I8", "--scale", "per-tensor", "--force"]);
        assert_eq!(run.code, Some(0), "{run:?}");
    }
}

#[test]
fn bad_usage_is_one_sentence() {
    let place = Place::new();
    place.put("m", &sound()).put("c", &model("C64", "[1]", &[0; 8])).put("b", &model("BF16", "[1]", &[0; 2]));
    place
        .put("f6", &model("F6_E2M3", "[4]", &[0; 3]))
        .put("i8", &model("I8", "[1]", &[0]))
        .put("a.npy", b"\x93NUMPY\x01\0\x33\0{'descr':'|u1','fortran_order':False,'shape':(1,)}\nx");
    for (arguments, error) in [
        (&["m", "out"][..], "out: unknown suffix: .safetensors, .npy, .npz or .gguf needed\n"),
        (
            &["m", "-"],
            "safetensors: an output file is needed, whose suffix sets the format; standard output is not supported\n",
        ),
        (&["m", "out.txt"], "out.txt: unknown suffix: .safetensors, .npy, .npz or .gguf needed\n"),
        (
            &["m", "out.npy"],
            "m: a .npy holds one array, 2 given; write a .npz, or one of them with `cat TENSOR -o`\n",
        ),
        (
            &["m", "o.safetensors", "--to", "C64"],
            "error: invalid value 'C64' for '--to <DTYPE>': C64 cannot be chosen here; use one of U8, I8, F8_E5M2, ",
        ),
        (
            &["m", "o.safetensors", "--to", "F4"],
            "error: invalid value 'F4' for '--to <DTYPE>': F4 cannot be chosen here; use one of U8, ",
        ),
        (
            &["c", "o.safetensors", "--to", "F32", "--all"],
            "c: nothing to cast: complex numbers cannot be cast\n",
        ),
        (&["m", "o.safetensors", "--to", "F32", "--only", "x*"], "m: no tensor matches \"x*\"\n"),
        (&["m", "o.safetensors", "--only", "a"], "safetensors: --only and --except need --to\n"),
        (
            &["m", "o.safetensors", "--to", "F32"],
            "m: nothing to cast: no selected tensor is floating-point; use --all to cast integers and BOOL\n",
        ),
        (&["m", "o.safetensors", "--all"], "safetensors: --all needs --to\n"),
        (
            &["m", "o.safetensors", "--to", "F32", "--except", "*"],
            "m: nothing to cast: no tensor is selected\n",
        ),
        (&["m", "o.safetensors", "--from-bits", "BF16=x*"], "m: no tensor matches \"x*\"\n"),
        (
            &["b", "o.safetensors", "--to", "I8", "--scale", "per-row"],
            "b: nothing to cast: no selected tensor has rows of several numbers\n",
        ),
        (
            &["m", "o.safetensors", "--from-bits", "BF16"],
            "m: no selected tensor is U16, the integer with the bits of BF16\n",
        ),
        (&["m", "o.safetensors", "--to", "U8", "--scale", "per-row"], "safetensors: --scale needs --to I8\n"),
        (
            &["m", "o.safetensors", "--to", "I8", "--unscale"],
            "safetensors: --unscale needs --to F32, F64, F16 or BF16\n",
        ),
        (
            &["i8", "o.safetensors", "--to", "F32", "--unscale"],
            "i8: tensor \"a\": its scales \"a.scale\" are missing\n",
        ),
        (&["m", "o.safetensors", "--bits"], "safetensors: --bits works with .npy and .npz only\n"),
        (&["m", "o.gguf", "--bits"], "safetensors: --bits works with .npy and .npz only\n"),
        (&["m", "o.safetensors", "--compress"], "safetensors: --compress works with .npz only\n"),
        (
            &["m", "o.safetensors", "--name", "x"],
            "m: --name works with .npy only: all other inputs have tensor names\n",
        ),
        (
            &["b", "o.npy"],
            "b: tensor \"a\": numpy has no BF16; cast it with --to F32, or write its bits with --bits\n",
        ),
        (&["a.npy", "o.safetensors", "--name", ""], "safetensors: --name is empty\n"),
        (
            &["m", "o.safetensors", "--to", "F32", "--all", "--rename", "a="],
            "m: the new name of tensor \"a\" is empty\n",
        ),
        (&["f6", "o.npz", "--bits"], "f6: tensor \"a\": numpy has no F6_E2M3; cast it with --to F32\n"),
        (&["a.npy", "a.npy", "--force"], "a.npy: is an input; choose another output file\n"),
        (
            &["a.npy", "o.safetensors", "--name", "__metadata__"],
            "o.safetensors: \"__metadata__\" is not allowed as a tensor name\n",
        ),
    ] {
        let run = convert(&place, arguments);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{arguments:?}: {run:?}");
        assert!(run.err.starts_with(error), "{arguments:?}: {run:?}");
    }
    assert_eq!(convert(&place, &["m", "o.safetensors", "--to", "F31"]).code, Some(2));
    assert_eq!(convert(&place, &["b", "o.npy", "--bits"]).code, Some(0));
    assert_eq!(fs::read_dir(place.path(".")).expect("directory").count(), 7, "files are left");
}

#[test]
fn mismatched_scales_are_errors() {
    let place = Place::new();
    let header = r#"{"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},"a.scale":{"dtype":"F32","shape":[3],"data_offsets":[2,14]}}"#;
    place.put("m", &file(header, &[0; 14]));
    let error =
        "m: tensor \"a\": its scales \"a.scale\" must be one F32, or one per row (or F16, BF16 or F64)\n";
    convert(&place, &["m", "o.safetensors", "--to", "F32", "--unscale"]).is(2, "", error);
    let error = "m: duplicate tensor name \"a.scale\" in the output\n";
    convert(&place, &["m", "o.safetensors", "--to", "I8", "--scale", "per-tensor", "--only", "a"])
        .is(2, "", error);
}

#[test]
fn unwritable_outputs_are_errors() {
    let place = Place::new();
    place.put("m", &sound()).put("o.npz", b"old").put("o.safetensors", b"old");
    for name in ["o.npz", "o.safetensors"] {
        convert(&place, &["m", name]).is(
            2,
            "",
            &format!("{name}: already exists; use --force to overwrite it\n"),
        );
        assert_eq!(fs::read(place.path(name)).expect("a file"), b"old");
    }
    for name in ["no/o.npz", "no/o.safetensors"] {
        let run = convert(&place, &["m", name]);
        assert_eq!((run.code, run.err.starts_with(&format!("{name}: cannot"))), (Some(2), true), "{run:?}");
    }
    let unsafe_name = file(r#"{"../a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#, b"x");
    place.put("u", &unsafe_name);
    convert(&place, &["u", "p.npz"]).is(2, "", "u: tensor \"../a\": this name is unsafe in an archive\n");
    assert_eq!(fs::read_dir(place.path(".")).expect("directory").count(), 4, "files are left");
}

/// A full disk: no file may be longer than a few blocks.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing() {
    let place = Place::new();
    place.put("m", &model("U8", "[200000]", &[7; 200_000]));
    for name in ["o.npz", "o.npy", "o.safetensors"] {
        let command = format!(
            "trap '' XFSZ; ulimit -f 64; exec {} convert m {name}",
            env!("CARGO_BIN_EXE_safetensors")
        );
        let mut shell = std::process::Command::new("sh");
        let run = support::finish(shell.args(["-c", &command]).current_dir(place.path(".")));
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{run:?}");
        assert!(
            run.err.starts_with(&format!("{name}: cannot")) && run.err.contains("file too large"),
            "{run:?}"
        );
        assert_eq!(fs::read_dir(place.path(".")).expect("directory").count(), 1, "files are left");
    }
}

/// No file of a sharded model is overwritten, with or without `--force`.
#[test]
fn an_input_shard_is_never_overwritten() {
    let place = Place::new();
    fs::create_dir(place.path("m")).expect("directory");
    place.put("m/1.safetensors", &model("U8", "[2]", b"ab"));
    let index = r#"{"metadata":{"total_size":2},"weight_map":{"a":"1.safetensors"}}"#;
    place.put("m/model.safetensors.index.json", index.as_bytes());
    let error = "m/1.safetensors: is an input; choose another output file\n";
    convert(&place, &["m", "m/1.safetensors", "--to", "F32", "--all", "--force"]).is(2, "", error);
    place.run(["slice", "m", "a=0", "-o", "m/1.safetensors", "--force"]).is(2, "", error);
    place.run(["cat", "m", "a", "-o", "m/1.safetensors", "--force", "--format", "raw"]).is(2, "", error);
    assert_eq!(convert(&place, &["m", "whole.safetensors", "--to", "F32", "--all"]).code, Some(0));
    assert_eq!(text(&place, "whole.safetensors", "a"), "[97.0, 98.0]\n");
}

#[test]
fn a_single_shard_can_become_a_numpy_file() {
    let place = Place::new();
    let shard = "m-00001-of-00002.safetensors";
    place.put(shard, &model("U8", "[2]", b"ab"));
    place.put("other-00002-of-00002.safetensors", &model("U8", "[2]", b"ab"));
    for output in ["out.npy", "out.npz"] {
        assert_eq!(convert(&place, &[shard, output]).code, Some(0), "{output}");
    }
    let run = convert(&place, &[shard, "out.safetensors"]);
    assert!(run.code == Some(2) && run.err.contains("is shard 1 of 2"), "{run:?}");
}

#[test]
fn dtypes_have_the_names_of_frameworks() {
    let place = Place::new();
    place.put("m", &model("F32", "[1]", &1.5_f32.to_le_bytes()));
    for (name, dtype) in
        [("half", "F16"), ("torch.bfloat16", "BF16"), ("float8_e4m3fn", "F8_E4M3"), ("double", "F64")]
    {
        let run = convert(&place, &["m", "o.safetensors", "--force", "--json", "--to", name]);
        assert!(run.code == Some(0) && run.out.contains(&format!("\"to\":\"{dtype}\"")), "{run:?}");
    }
}

#[test]
fn unknown_dtypes_list_the_known_ones() {
    for (option, listed) in [
        ("--to=F31", "unknown dtype; use one of U8, I8, F8_E5M2, F8_E4M3"),
        ("--to=flota32", "F64, I64, U64; did you mean \"float32\"?"),
        ("--to=fp8", "ambiguous dtype; use F8_E4M3 or F8_E5M2"),
        ("--from-bits=BF17=x", "unknown dtype; use one of F8_E5M2, F8_E4M3"),
    ] {
        let run = convert(&Place::new(), &["m", "o.safetensors", option]);
        assert!(run.code == Some(2) && run.err.contains(listed), "{run:?}");
    }
}
