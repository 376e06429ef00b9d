//! `safetensors convert`: dtypes, metadata and errors. See `numpy.rs` for numpy files.
#![cfg(unix)]

use crate::support::{self, Place, convert, file, floats, model, one, sound, text};
use serde_json::json;
use std::fs;

/// A conversion that must succeed without a note.
#[track_caller]
fn converted(place: &Place, arguments: &str) -> String {
    place.done(["convert"].into_iter().chain(arguments.split(' '))).out
}

/// The dtypes of the tensors in a model, in the order of the header.
fn dtypes(place: &Place, model: &str) -> Vec<(String, String)> {
    let read = place.decoded(model);
    let tensors = read["tensors"].as_object().expect("an object").iter();
    tensors
        .map(|(name, tensor)| (name.clone(), tensor["dtype"].as_str().expect("a dtype").to_owned()))
        .collect()
}

#[test]
fn round_trip_through_numpy() {
    let place = Place::new();
    let numbers = floats(&[1.5, f32::NAN]);
    place.put("m.safetensors", &one("F32", &[2], &numbers));
    convert(&place, &["m.safetensors", "m.npy"]).is(0, "m.npy: 1 tensor, 136 bytes\n", "");
    let back = convert(&place, &["m.npy", "n.safetensors", "--name", "a"]);
    back.is(0, "n.safetensors: 1 tensor, 72 bytes\n", "");
    assert_eq!(text(&place, "n.safetensors", "a"), "[1.5, nan]\n");
    for options in ["", " --compress"] {
        converted(&place, &format!("m.safetensors m.npz --force{options}"));
        converted(&place, "m.npz n.safetensors --force");
        assert_eq!(place.read("n.safetensors")[72 - 8..], numbers);
    }
    // A second run gives the same bytes.
    let first = place.read("m.npz");
    converted(&place, "m.safetensors m.npz --force --compress");
    assert_eq!(place.read("m.npz"), first);
}

#[test]
fn metadata_is_kept_where_possible() {
    let place = Place::new();
    place.put("m.safetensors", &model(r#"{"k":"v"}"#, &[("a", "U8", &[1], vec![7])]));
    converted(&place, "m.safetensors n.safetensors --to F32 --all");
    assert_eq!(place.decoded("n.safetensors")["metadata"], json!({"k": "v"}));
    let said = converted(&place, "m.safetensors n.npz");
    assert!(said.ends_with("  left out: 1 key of metadata, which numpy cannot store\n"), "{said}");
    let run = convert(&place, &["m.safetensors", "n.npz", "--force", "--json"]);
    let tensor =
        json!({"name": "a", "from": "U8", "to": "U8", "shape": [1], "file": "m.safetensors", "was": "a"});
    let expected = json!({"file": "m.safetensors", "ok": true, "output": "n.npz", "written": true,
        "bytes": place.read("n.npz").len(), "metadata_left_out": 1, "padding_left_out": 0, "read_from_bits": 0,
        "not_cast": 0, "left_out": 0, "values_left_out": [], "skipped": [], "tied": [], "tensors": [tensor]});
    assert_eq!((run.code, run.json()), (Some(0), expected));
}

#[test]
fn casts_report_their_errors() {
    let place = Place::new();
    place.put("m", &one("F32", &[5], &floats(&[0.1, 1e-9, 70000.0, f32::NAN, 2.0])));
    let run = convert(&place, &["m", "n.safetensors", "--to", "f16", "--json"]);
    let object = run.json();
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
    place.put("long", &one("F32", &[LEN as u64], &data));
    // Eight tensors, which together have the same numbers.
    let parts: Vec<_> = data.chunks(300_004).enumerate().map(|(at, part)| (format!("t{at}"), part)).collect();
    let rows: Vec<_> =
        parts.iter().map(|(name, part)| (&**name, "F32", [part.len() as u64 / 4], part.to_vec())).collect();
    let rows: Vec<support::Row<'_>> =
        rows.iter().map(|(name, dtype, shape, part)| (*name, *dtype, &shape[..], part.clone())).collect();
    place.put("short", &model("", &rows));
    for (to, width) in [("F16", 2), ("BF16 --saturate", 2), ("F8_E5M2 --saturate", 1), ("F64", 8), ("I32", 4)]
    {
        let [long, short] = ["long", "short"].map(|input| {
            converted(&place, &format!("{input} o.safetensors --force --to {to}"));
            let bytes = place.read("o.safetensors");
            bytes[bytes.len() - LEN * width..].to_vec()
        });
        assert!(long == short, "{to}");
    }
    converted(&place, "long q.safetensors --to I8 --scale per-tensor");
    converted(&place, "q.safetensors o.safetensors --force --to F32 --unscale");
    let bytes = place.read("o.safetensors");
    let back = bytes[bytes.len() - 4 * LEN..].as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    let scale = numbers.iter().fold(0.0, |most: f32, number| most.max(number.abs())) / 127.0;
    assert!(numbers.iter().zip(back).all(|(number, back)| (number - back).abs() <= scale * 0.501));
}

#[test]
fn errors_are_json_numbers() {
    let place = Place::new();
    let numbers = [1e308, 1.7e308, 1e308, -1e308_f64].map(f64::to_le_bytes).concat();
    place.put("m", &one("F64", &[4], &numbers));
    for options in ["F16", "I8 --scale per-tensor"] {
        let words = format!("m o.safetensors --saturate --force --to {options}");
        let said = place.run(format!("convert {words} --json").split(' ')).json();
        let [most, mean] =
            ["max_error", "mean_error"].map(|key| said["tensors"][0][key].as_f64().expect(key));
        assert!(most == 1.7e308 && (mean / 1.175e308 - 1.0).abs() < 1e-15, "{most} {mean}");
        let said = converted(&place, &words);
        assert!(said.contains(" 1.7e308   1.1") && !said.contains("inf "), "{said}");
    }
}

#[test]
fn out_of_range_numbers_are_errors() {
    let place = Place::new();
    place.put("m", &one("F32", &[2], &floats(&[-3.0, 300.5])));
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
    place.put("nan", &one("F32", &[1], &floats(&[f32::NAN])));
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
        (&["--to", "I8", "--allow-zeros"], ["I64", "BOOL", "C64", "I8"]),
        (&["--to", "I8", "--scale", "per-row"], ["I64", "BOOL", "C64", "I8"]),
        (&["--to", "torch.bfloat16", "--all"], ["BF16", "BF16", "C64", "BF16"]),
        (&["--to", "BF16", "--all", "--except", "c"], ["BF16", "BF16", "C64", "BF16"]),
        (&["--to", "F32", "--only", "ids"], ["F32", "BOOL", "C64", "F32"]),
        (&["--to", "F16", "--only", "ids", "--only", "mask"], ["F16", "F16", "C64", "F32"]),
        (&["--to", "F16", "--only", "[im]*", "--except", "mask"], ["F16", "BOOL", "C64", "F32"]),
    ] {
        let run = convert(&place, &[&["m", "n.safetensors", "--force"], options].concat());
        assert_eq!(run.code, Some(0), "{options:?}: {run:?}");
        let is_default = !options.iter().any(|option| ["--all", "--only"].contains(option));
        let told = "  not cast: 2 tensors, not floating-point (--all casts integers and BOOL)\n";
        assert_eq!(run.out.contains(told), is_default, "{run:?}");
        let leaves_complex = !options.iter().any(|option| ["--except", "--only"].contains(option));
        assert_eq!(run.out.contains("  not cast: 1 tensor, complex\n"), leaves_complex, "{run:?}");
        let read = place.decoded("n.safetensors");
        let dtypes = ["ids", "mask", "c", "w"].map(|name| read["tensors"][name]["dtype"].clone());
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
    place.put("c", &one("C64", &[1], &[0; 8]));
    let error = "c: tensor \"a\": complex numbers cannot be cast\n";
    convert(&place, &["c", "o.safetensors", "--to", "F32", "--only", "a"]).is(2, "", error);
    // Tensors that are not cast become bits too, and so do those that are cast.
    place.put("b", &model("", &[("a", "BF16", &[1], vec![0; 2]), ("w", "F32", &[1, 2], vec![0; 8])]));
    converted(&place, "b o.npz --to I8 --scale per-row --bits");
    let said = converted(&place, "b o.npz --to BF16 --bits --only w --force");
    assert!(said.contains("\"w\"     F32   BF16"), "{said}");
    converted(&place, "o.npz w.safetensors --from-bits BF16");
    assert_eq!(text(&place, "w.safetensors", "w"), "[[0.0, 0.0]]\n");
}

/// A scale stays if its tensor is unchanged, and is dropped if its tensor is multiplied by it.
#[test]
fn scales_follow_their_tensors() {
    let place = Place::new();
    let two = 2_f32.to_le_bytes().to_vec();
    let rows: [support::Row<'_>; 5] = [
        ("b", "F32", &[1], two.clone()),
        ("v", "I8", &[2], vec![1, 2]),
        ("v.scale", "F32", &[], two.clone()),
        ("w", "I8", &[2], vec![3, 4]),
        ("w.scale", "F32", &[], two),
    ];
    place.put("m", &model("", &rows));
    let said = converted(&place, "m n.safetensors --to F16 --unscale --only w --only b");
    assert!(said.ends_with("\n  not cast: 1 tensor, not I8\n"), "{said}");
    let mut names = place.tensors("n.safetensors");
    names.sort();
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
    let number = |index: u16| match index {
        7 => f32::INFINITY,
        150 => 1e9,
        _ => 1.0 + f32::from(index) / 1e6,
    };
    let names: Vec<String> = (0..200).map(|index| format!("t{index:03}")).collect();
    let rows =
        names.iter().zip(0..).map(|(name, index)| (&**name, "F32", &[1][..], floats(&[number(index)])));
    place.put("m", &model("", &rows.collect::<Vec<_>>()));
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
    let tenth = 0.1_f32.to_le_bytes().to_vec();
    let scaled: [support::Row<'_>; 2] =
        [("a", "I8", &[2], vec![1, 2]), ("a.scale", "F32", &[], tenth.clone())];
    let others: [support::Row<'_>; 2] = [("b", "F32", &[1], tenth.clone()), ("b.scale", "F32", &[1], tenth)];
    place.put("only", &model("", &scaled)).put("m", &model("", &[scaled, others].concat()));
    let said = converted(&place, "m n.safetensors --to F16");
    let notes = "  not cast: 1 tensor, scales of I8 tensors (--only NAME casts one)\n  \
                 not cast: 1 tensor, I8 with scales (--unscale multiplies by them; --only NAME does not)\n";
    assert!(said.ends_with(notes), "{said}");
    assert!(converted(&place, "m a.safetensors --to F16 --all").ends_with(notes));
    let read = place.decoded("n.safetensors");
    let dtypes = ["a", "a.scale", "b", "b.scale"].map(|name| read["tensors"][name]["dtype"].clone());
    assert_eq!(dtypes, ["I8", "F32", "F16", "F16"]);
    converted(&place, "n.safetensors o.safetensors --to F32 --unscale");
    assert_eq!(text(&place, "o.safetensors", "a"), "[0.1, 0.2]\n");
    let said = converted(&place, "m p.safetensors --to BF16 --only a.scale");
    assert!(said.contains("\"a.scale\"  F32   BF16"), "{said}");
    let error = "only: nothing to cast: the floating-point tensors are scales of I8 tensors, by which --unscale \
        multiplies\n";
    convert(&place, &["only", "q.safetensors", "--to", "F16"]).is(2, "", error);
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
        let scaled = [("a", "I8", &[2, 2][..], vec![1, 2, 3, 4]), ("a.scale", dtype, &[2], scales.to_vec())];
        place.put("m", &model("", &scaled));
        let run = convert(&place, &["m", "o.safetensors", "--to", "F32", "--unscale", "--force"]);
        match expected {
            Ok(values) => assert_eq!(text(&place, "o.safetensors", "a"), values, "{run:?}"),
            Err(scale) => {
                let advice = "is not an F32; first use --to F32 --only \"a.scale\"";
                run.is(2, "", &format!("m: tensor \"a.scale\": the scale {scale} {advice}\n"));
            }
        }
    }
}

#[test]
fn numbers_too_large_for_a_scale_are_errors() {
    let place = Place::new();
    let data: Vec<u8> =
        [1e300, -2e300, 5e299, 1.0, 2.0, 3.0_f64].iter().flat_map(|number| number.to_le_bytes()).collect();
    place.put("m", &one("F64", &[2, 3], &data));
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

/// A scale per element would make a tensor larger.
#[test]
fn only_rows_of_several_numbers_have_scales() {
    let place = Place::new();
    let ones = |count| floats(&vec![1.0; count]);
    let rows: [support::Row<'_>; 4] = [
        ("bias", "F32", &[4], ones(4)),
        ("column", "F32", &[4, 1], ones(4)),
        ("scalar", "F32", &[], ones(1)),
        ("w", "F32", &[2, 2], ones(4)),
    ];
    place.put("m", &model("", &rows));
    let said = converted(&place, "m n.safetensors --to I8 --scale per-row");
    assert!(said.ends_with("\n  not cast: 3 tensors, without rows of several numbers\n"), "{said}");
    let mut found = dtypes(&place, "n.safetensors");
    found.sort();
    let expected = [("bias", "F32"), ("column", "F32"), ("scalar", "F32"), ("w", "I8"), ("w.scale", "F32")];
    assert_eq!(found, expected.map(|(name, dtype)| (name.to_owned(), dtype.to_owned())));
}

/// A NaN becomes quiet and keeps the upper bits of its payload; numpy and ml_dtypes differ.
#[test]
fn nans_keep_the_upper_bits_of_their_payload() {
    let place = Place::new();
    let bits = [0x7F81_2345_u32, 0xFF81_2345, 0x7FFF_FFFF, 0x7F80_0001];
    let data: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    place.put("m", &one("F32", &[4], &data));
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

#[test]
fn round_trip_through_scales() {
    let place = Place::new();
    place.put("m", &one("F32", &[2, 2], &floats(&[1.27, -0.5, 254.0, 0.9])));
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
    for (shape, scale, scales) in [(&[0, 3][..], "per-row", "[]\n"), (&[0], "per-tensor", "1.0\n")] {
        place.put("m", &one("F32", shape, &[]));
        converted(&place, &format!("m q.safetensors --to I8 --scale {scale} --force"));
        assert_eq!(text(&place, "q.safetensors", "a.scale"), scales);
        converted(&place, "q.safetensors b.safetensors --to F32 --unscale --force");
    }
    place.put("s", &model("", &[("a", "I8", &[2, 0], vec![]), ("a.scale", "F32", &[2], vec![0; 8])]));
    converted(&place, "s b.safetensors --to F32 --unscale --force");
}

/// Their scales would fill any disk.
#[test]
fn empty_rows_have_no_scales() {
    let place = Place::new();
    let error = "m: nothing to cast: no selected tensor has rows of several numbers\n";
    for shape in [&[1, 0][..], &[1 << 60, 0], &[3, 2, 0]] {
        place.put("m", &one("F32", shape, &[]));
        for output in ["q.safetensors", "q.npz"] {
            // If it began to write them, it would end soon.
            let args = format!("convert m {output} --to I8 --scale per-row");
            place.on_a_full_disk(1000, &args).is(2, "", error);
        }
        converted(&place, "m t.safetensors --to I8 --scale per-tensor --force");
    }
}

/// Commands, and the error of each; of those of the command line, the beginning.
const REFUSED: &str = r#"
$ safetensors convert m
safetensors: the output is missing: give it last, or with -o
$ safetensors convert m b.npy -o c.npy
b.npy: cannot be read: no such file or directory
$ safetensors convert m o.safetensors --to=fp8
error: invalid value 'fp8' for '--to <DTYPE>': ambiguous dtype; use F8_E4M3 or F8_E5M2
$ safetensors convert m o.safetensors --from-bits=BF17=x
error: invalid value 'BF17=x' for '--from-bits <DTYPE[=GLOB]>': unknown dtype; use one of F8_E5M2
$ safetensors convert m out
out: unknown suffix: .safetensors, .npy, .npz or .gguf needed
$ safetensors convert m -
safetensors: an output file is needed, whose suffix sets the format; standard output is not supported
$ safetensors convert m out.txt
out.txt: unknown suffix: .safetensors, .npy, .npz or .gguf needed
$ safetensors convert m out.npy
m: a .npy holds one array, 2 given; write a .npz, or one of them with `cat TENSOR -o`
$ safetensors convert m o.safetensors --to C64
error: invalid value 'C64' for '--to <DTYPE>': C64 cannot be chosen here; use one of U8, I8, F8_E5M2, 
$ safetensors convert m o.safetensors --to F4
error: invalid value 'F4' for '--to <DTYPE>': F4 cannot be chosen here; use one of U8, 
$ safetensors convert c o.safetensors --to F32 --all
c: nothing to cast: complex numbers cannot be cast
$ safetensors convert m o.safetensors --to F32 --only x*
m: no tensor matches "x*"
$ safetensors convert m o.safetensors --only a
safetensors: --only and --except need --to; `pack` selects tensors, `cat MODEL TENSOR -o` writes one
$ safetensors convert m o.safetensors --to F32
m: nothing to cast: no selected tensor is floating-point; use --all to cast integers and BOOL
$ safetensors convert m o.safetensors --all
safetensors: --all needs --to
$ safetensors convert m o.safetensors --from-bits BF16=x*
m: no tensor matches "x*"
$ safetensors convert b o.safetensors --to I8 --scale per-row
b: nothing to cast: no selected tensor has rows of several numbers
$ safetensors convert m o.safetensors --from-bits BF16
m: no selected tensor is U16, the integer with the bits of BF16
$ safetensors convert m o.safetensors --to U8 --scale per-row
safetensors: --scale needs --to I8
$ safetensors convert m o.safetensors --to I8 --unscale
safetensors: --unscale needs --to F32, F64, F16 or BF16
$ safetensors convert i8 o.safetensors --to F32 --unscale
i8: tensor "a": its scales "a.scale" are missing
$ safetensors convert m o.safetensors --bits
safetensors: --bits works with .npy and .npz only
$ safetensors convert m o.gguf --bits
safetensors: --bits works with .npy and .npz only
$ safetensors convert m o.safetensors --compress
safetensors: --compress works with .npz only
$ safetensors convert m o.safetensors --name x
m: --name works with .npy only: all other inputs have tensor names
$ safetensors convert b o.npy
b: tensor "a": numpy has no BF16; cast it with --to F32, or write its bits with --bits
$ safetensors convert a.npy o.safetensors --name=
safetensors: --name is empty
$ safetensors convert m o.safetensors --to F32 --all --rename a=
m: the new name of tensor "a" is empty
$ safetensors convert u p.npz
u: tensor "../a": this name is unsafe in an archive
$ safetensors convert f6 o.npz --bits
f6: tensor "a": numpy has no F6_E2M3; cast it with --to F32
$ safetensors convert a.npy a.npy --force
a.npy: is an input; choose another output file
$ safetensors convert a.npy o.safetensors --name __metadata__
o.safetensors: "__metadata__" is not allowed as a tensor name
"#;

#[test]
fn bad_usage_is_one_sentence() {
    let place = Place::new();
    place.put("m", &sound()).put("c", &one("C64", &[1], &[0; 8])).put("b", &one("BF16", &[1], &[0; 2]));
    place.put("u", &model("", &[("../a", "U8", &[1], vec![7])]));
    place
        .put("f6", &one("F6_E2M3", &[4], &[0; 3]))
        .put("i8", &one("I8", &[1], &[0]))
        .put("a.npy", b"\x93NUMPY\x01\0\x33\0{'descr':'|u1','fortran_order':False,'shape':(1,)}\nx");
    let lines: Vec<&str> = REFUSED.trim().lines().collect();
    for case in lines.chunks(2) {
        let run = place.run(case[0].split(' ').skip(2));
        assert!(
            run.code == Some(2) && run.out.is_empty() && run.err.starts_with(case[1]),
            "{case:?}: {run:?}"
        );
    }
    assert_eq!(convert(&place, &["m", "o.safetensors", "--to", "F31"]).code, Some(2));
    assert_eq!(convert(&place, &["b", "o.npy", "--bits"]).code, Some(0));
    assert_eq!(fs::read_dir(place.path(".")).expect("directory").count(), 8, "files are left");
}

#[test]
fn mismatched_scales_are_errors() {
    let place = Place::new();
    place.put("m", &model("", &[("a", "I8", &[2], vec![0; 2]), ("a.scale", "F32", &[3], vec![0; 12])]));
    let error =
        "m: tensor \"a\": its scales \"a.scale\" must be one F32, or one per row (or F16, BF16 or F64)\n";
    convert(&place, &["m", "o.safetensors", "--to", "F32", "--unscale"]).is(2, "", error);
    let error = "m: duplicate tensor name \"a.scale\" in the output\n";
    convert(&place, &["m", "o.safetensors", "--to", "I8", "--scale", "per-tensor", "--only", "a"])
        .is(2, "", error);
}

/// No file of a sharded model is overwritten, with or without `--force`.
#[test]
fn an_input_shard_is_never_overwritten() {
    let place = Place::new();
    place.put("m/1.safetensors", &one("U8", &[2], b"ab"));
    let index = r#"{"metadata":{"total_size":2},"weight_map":{"a":"1.safetensors"}}"#;
    place.put("m/model.safetensors.index.json", index.as_bytes());
    let error = "m/1.safetensors: is an input; choose another output file\n";
    convert(&place, &["m", "m/1.safetensors", "--to", "F32", "--all", "--force"]).is(2, "", error);
    place.run(["slice", "m", "a=0", "-o", "m/1.safetensors", "--force"]).is(2, "", error);
    place.run(["cat", "m", "a", "-o", "m/1.safetensors", "--force", "--format", "raw"]).is(2, "", error);
    converted(&place, "m whole.safetensors --to F32 --all");
    assert_eq!(text(&place, "whole.safetensors", "a"), "[97.0, 98.0]\n");
}
