//! `safetensors cat`: its output for every dtype, and its errors.
#![cfg(unix)]

use crate::support::{Place, floats, one, sound};
#[cfg(target_os = "linux")]
use crate::terminal::on_columns;
use serde_json::{Value, json};
use std::fs;

/// A directory with a model `m` of one tensor.
fn place(dtype: &str, shape: &[u64], data: &[u8]) -> Place {
    let place = Place::new();
    place.put("m", &one(dtype, shape, data));
    place
}

#[test]
fn every_dtype_has_its_text() {
    let halves = [0x2E66_u16, 0x8000, 1, 0x7C00, 0x7E00].map(u16::to_le_bytes).concat();
    let complex = floats(&[1.5, -2.0, f32::NAN, f32::INFINITY]);
    for (dtype, len, data, text) in [
        ("BOOL", 3, vec![0, 1, 7], "[False, True, True]"),
        ("U8", 2, vec![0, 255], "[0, 255]"),
        ("I8", 2, vec![127, 128], "[127, -128]"),
        ("U16", 1, vec![255, 255], "[65535]"),
        ("I16", 1, vec![0, 128], "[-32768]"),
        ("U32", 1, vec![255; 4], "[4294967295]"),
        ("I32", 1, vec![255; 4], "[-1]"),
        ("U64", 1, vec![255; 8], "[18446744073709551615]"),
        ("I64", 1, i64::MIN.to_le_bytes().to_vec(), "[-9223372036854775808]"),
        ("F16", 5, halves, "[0.1, -0.0, 6e-8, inf, nan]"),
        ("BF16", 2, [0x3DCD_u16, 0xFF80].map(u16::to_le_bytes).concat(), "[0.1, -inf]"),
        ("F32", 3, floats(&[0.1, 1e-45, 3.402_823_5e38]), "[0.1, 1e-45, 3.4028235e38]"),
        ("F64", 2, [0.1_f64, -5e-324].map(f64::to_le_bytes).concat(), "[0.1, -5e-324]"),
        ("C64", 2, complex, "[1.5-2.0j, nan+infj]"),
        ("F8_E4M3", 3, vec![0x7E, 0x7F, 0x01], "[448.0, nan, 0.001953125]"),
        ("F8_E5M2", 2, vec![0x7C, 0xC0], "[inf, -2.0]"),
        ("F8_E4M3FNUZ", 2, vec![0x80, 0x40], "[nan, 1.0]"),
        ("F8_E5M2FNUZ", 2, vec![0x80, 0x40], "[nan, 1.0]"),
        ("F8_E8M0", 3, vec![127, 128, 255], "[1.0, 2.0, nan]"),
        ("F4", 4, vec![0x21, 0xF7], "[0.5, 1.0, 6.0, -6.0]"),
        ("F6_E2M3", 4, vec![0x08, 0, 0x80], "[1.0, 0.0, 0.0, -0.0]"),
        ("F6_E3M2", 4, vec![0x0C, 0, 0], "[1.0, 0.0, 0.0, 0.0]"),
    ] {
        place(dtype, &[len], &data).run(["cat", "m", "a"]).is(0, &format!("{text}\n"), "");
    }
}

#[test]
fn rows_and_brackets() {
    let data: Vec<u8> = (0..8).collect();
    for (shape, options, text) in [
        (&[8][..], &[][..], "[0, 1, 2, 3, 4, 5, 6, 7]"),
        (&[2, 4], &[], "[[0, 1, 2, 3],\n [4, 5, 6, 7]]"),
        (&[2, 2, 2], &[], "[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]"),
        (&[2, 1, 4], &[], "[[[0, 1, 2, 3]],\n\n [[4, 5, 6, 7]]]"),
        (&[2, 4], &["--slice", "1, ::3"], "[4, 7]"),
        (&[2, 4], &["--slice", "[1, 2]"], "6"),
        (&[2, 4], &["--slice=-1,-1"], "7"),
        (&[2, 4], &["--slice", "..., 1:100"], "[[1, 2, 3],\n [5, 6, 7]]"),
        (&[2, 4], &["--slice", "5:"], "[]"),
        (&[2, 4], &["--limit", "6"], "[[0, 1, 2, 3],\n [4, 5\n… 2 more of 8"),
        (&[2, 4], &["--limit", "8"], "[[0, 1, 2, 3],\n [4, 5, 6, 7]]"),
        (&[2, 4], &["--limit", "0"], "… 8 more of 8"),
        (&[1, 1, 1, 1, 1, 1, 1, 1, 8], &["--slice", "0,0,...,1"], "[[[[[[1]]]]]]"),
    ] {
        let run = place("U8", shape, &data).run([&["cat", "m", "a"], options].concat());
        run.is(0, &format!("{text}\n"), "");
    }
    place("U8", &[], &[9]).run(["cat", "m", "a"]).is(0, "9\n", "");
    place("U8", &[0, 4], &[]).run(["cat", "m", "a"]).is(0, "[]\n", "");
    let deep = place("U8", &[1, 1, 1, 1, 1, 1, 1, 1, 1, 2], &[5, 6]);
    deep.run(["cat", "m", "a"]).is(0, "[[[[[[[[[[5, 6]]]]]]]]]]\n", "");
    deep.run(["cat", "m", "a", "--slice", ":"]).fails(2, "m: tensor \"a\": ");
}

/// Elements of F4 that do not fill bytes are printed, but not written.
#[test]
fn slices_in_the_middle_of_bytes() {
    let place = place("F4", &[4], &[0x21, 0xF7]);
    place.run(["cat", "m", "a", "--slice", "1:3"]).is(0, "[1.0, 6.0]\n", "");
    place.run(["cat", "m", "a", "--slice", "1:3", "--format", "raw"]).fails(2, "m: tensor \"a\": ");
}

#[test]
fn json_reads_back() {
    Place::new().run_piped(["cat", "-", "b"], &sound()).is(0, "[99, 100, 101]\n", "");
    let numbers = floats(&[0.1, f32::NAN, f32::INFINITY, f32::NEG_INFINITY]);
    let object = place("F32", &[2, 2], &numbers).done(["cat", "m", "a", "--json"]).json();
    let values = json!([[0.1, "NaN"], ["Infinity", "-Infinity"]]);
    let expected =
        json!({"file": "m", "ok": true, "tensor": "a", "dtype": "F32", "shape": [2, 2], "values": values});
    assert_eq!(object, expected);
    for (dtype, shape, data, values) in [
        ("C64", &[1][..], &numbers[..8], json!([[0.1, "NaN"]])),
        ("BOOL", &[2], &[0, 2], json!([false, true])),
        ("U64", &[], &[255; 8], json!(u64::MAX)),
        ("U8", &[0], &[], json!([])),
    ] {
        assert_eq!(place(dtype, shape, data).done(["cat", "m", "a", "--json"]).json()["values"], values);
    }
}

#[test]
fn bytes_go_to_files_and_pipes() {
    let place = place("U16", &[3], &[1, 0, 2, 0, 3, 0]);
    let slice = ["cat", "m", "a", "--slice", "1:"];
    let run = place.done([&slice[..], &["--format", "raw"]].concat());
    assert_eq!(run.out.as_bytes(), [2, 0, 3, 0]);
    for (output, format) in [("b.raw", None), ("b.bin", None), ("b", Some("--format=raw"))] {
        place.run(slice.into_iter().chain(["-o", output]).chain(format)).is(0, "", "");
        assert_eq!(place.read(output), [2, 0, 3, 0]);
    }
    place.run(slice.into_iter().chain(["-o", "b.npy"])).is(0, "", "");
    let array = place.read("b.npy");
    assert_eq!((array.len(), &array[128..]), (132, &[2, 0, 3, 0][..]));
    let header = b"\x93NUMPY\x01\0v\0{'descr': '<u2', 'fortran_order': False, 'shape': (2,), } ";
    assert!(array.starts_with(header));
    place.run(slice.into_iter().chain(["-o", "b.txt"])).is(0, "", "");
    assert_eq!(place.read("b.txt"), b"[2, 3]\n");
}

#[test]
fn dtypes_without_numpy_type() {
    let place = place("BF16", &[2], &[0x80, 0x3F, 0, 0]);
    let error = "m: tensor \"a\": numpy has no BF16; use --bits to write its bits, or cast it with \
        `safetensors convert --to F32`";
    place.refuses("cat m a -o a.npy", 2, error);
    assert!(!place.path("a.npy").exists());
    place.done(["cat", "m", "a", "-o", "a.npy", "--bits"]);
    let array = place.read("a.npy");
    assert!(array.windows(5).any(|part| part == b"'<u2'") && array.ends_with(&[0x80, 0x3F, 0, 0]));
    place.put("m", &one("F4", &[2], &[0x21]));
    let error = "m: tensor \"a\": numpy has no F4; cast it with `safetensors convert --to F32`";
    place.refuses("cat m a -o b.npy --bits", 2, error);
}

#[test]
fn errors_are_one_sentence() {
    let place = place("U8", &[2, 3], &[0; 6]);
    fs::create_dir(place.path("folder.npy")).expect("directory");
    let step = "the slice \"::-1\" has a negative step, which is not supported";
    let text = "--bits works with .npy only: text has the numbers, raw bytes are the bits";
    for (words, sentence) in [
        ("m b", "m: no tensor \"b\""),
        ("m A", "m: no tensor \"A\"; did you mean \"a\"?"),
        (
            "m a[1:,0]",
            "m: no tensor \"a[1:,0]\"; for a part of it, `safetensors cat` takes --slice \"1:,0\", and `safetensors \
             slice` a=\"1:,0\"",
        ),
        ("m a --slice 0,-4", "m: tensor \"a\": index -4 is out of range for axis 1 of size 3"),
        ("m a --slice ::-1", &format!("m: tensor \"a\": {step}")),
        ("m a -o folder.npy", "folder.npy: is a directory, not a file"),
        (
            "m a --limit 1 -o a.npy",
            "safetensors: --limit works with text only; use --slice for a part of the bytes",
        ),
        ("m a --bits", &format!("safetensors: {text}")),
    ] {
        place.refuses(&format!("cat {words}"), 2, sentence);
    }
    let usage: Value = json!({"file": "m", "ok": false, "error": "usage", "message": "no tensor \"b\""});
    assert_eq!(place.run(["cat", "m", "b", "--json"]).json(), usage);
    for usage in ["cat m a --limit 1 --json", "cat m", "cat m a --format png"] {
        assert_eq!(place.run(usage.split(' ')).code, Some(2));
    }
}

/// A terminal gets at most 1000 elements, unless requested, and bytes only with `--force`.
#[cfg(target_os = "linux")]
#[test]
fn terminal_output_is_limited() {
    let place = place("U8", &[1001], &[7; 1001]);
    let on_terminal = |options: &str| on_columns(&place, 80, &format!("cat m a {options}"));
    assert!(on_terminal("").ends_with("7\n… 1 more of 1,001\n"));
    assert!(on_terminal("-o -").ends_with("7\n… 1 more of 1,001\n"));
    assert_eq!(on_terminal("--limit 1001").matches('7').count(), 1001);
    assert_eq!(on_terminal("--format raw --force").len(), 1001);
    let run = place.run(["cat", "m", "a", "--format", "raw", "--json"]);
    assert_eq!(place.run(["cat", "m", "a", "--format", "raw", "--json", "-o", "-"]), run);
    assert_eq!(place.run(["cat", "m", "a", "--json", "-o", "-"]), place.run(["cat", "m", "a", "--json"]));
    let message = "bytes and JSON cannot share standard output; use --output FILE";
    assert_eq!(run.json(), json!({"ok": false, "error": "usage", "message": message}));
}
