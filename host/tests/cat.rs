//! `safetensors cat`: its output for every dtype, and its errors.
#![cfg(unix)]

use crate::support::{Place, file, finish, sound};
use std::fs;

/// A model of one tensor.
fn model(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header =
        format!("{{\"a\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[0,{}]}}}}", data.len());
    file(header, data)
}

fn place(dtype: &str, shape: &str, data: &[u8]) -> Place {
    let place = Place::new();
    place.put("m", &model(dtype, shape, data));
    place
}

fn bytes<const N: usize>(numbers: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
    numbers.into_iter().flatten().collect()
}

#[test]
fn every_dtype_has_its_text() {
    for (dtype, shape, data, text) in [
        ("BOOL", "[3]", vec![0, 1, 7], "[False, True, True]"),
        ("U8", "[2]", vec![0, 255], "[0, 255]"),
        ("I8", "[2]", vec![127, 128], "[127, -128]"),
        ("U16", "[1]", vec![255, 255], "[65535]"),
        ("I16", "[1]", vec![0, 128], "[-32768]"),
        ("U32", "[1]", vec![255; 4], "[4294967295]"),
        ("I32", "[1]", vec![255; 4], "[-1]"),
        ("U64", "[1]", vec![255; 8], "[18446744073709551615]"),
        (
            "I64",
            "[2]",
            bytes([i64::MIN, i64::MAX].map(i64::to_le_bytes)),
            "[-9223372036854775808, 9223372036854775807]",
        ),
        (
            "F16",
            "[5]",
            bytes([0x2E66u16, 0x8000, 1, 0x7C00, 0x7E00].map(u16::to_le_bytes)),
            "[0.1, -0.0, 6e-8, inf, nan]",
        ),
        ("BF16", "[2]", bytes([0x3DCDu16, 0xFF80].map(u16::to_le_bytes)), "[0.1, -inf]"),
        (
            "F32",
            "[3]",
            bytes([0.1f32, 1e-45, 3.4028235e38].map(f32::to_le_bytes)),
            "[0.1, 1e-45, 3.4028235e38]",
        ),
        ("F64", "[2]", bytes([0.1f64, -5e-324].map(f64::to_le_bytes)), "[0.1, -5e-324]"),
        (
            "C64",
            "[2]",
            bytes([1.5f32, -2.0, f32::NAN, f32::INFINITY].map(f32::to_le_bytes)),
            "[1.5-2.0j, nan+infj]",
        ),
        ("F8_E4M3", "[3]", vec![0x7E, 0x7F, 0x01], "[448.0, nan, 0.001953125]"),
        ("F8_E5M2", "[2]", vec![0x7C, 0xC0], "[inf, -2.0]"),
        ("F8_E4M3FNUZ", "[2]", vec![0x80, 0x40], "[nan, 1.0]"),
        ("F8_E5M2FNUZ", "[2]", vec![0x80, 0x40], "[nan, 1.0]"),
        ("F8_E8M0", "[3]", vec![127, 128, 255], "[1.0, 2.0, nan]"),
        ("F4", "[4]", vec![0x21, 0xF7], "[0.5, 1.0, 6.0, -6.0]"),
        ("F6_E2M3", "[4]", vec![0x08, 0, 0x80], "[1.0, 0.0, 0.0, -0.0]"),
        ("F6_E3M2", "[4]", vec![0x0C, 0, 0], "[1.0, 0.0, 0.0, 0.0]"),
    ] {
        place(dtype, shape, &data).run(["cat", "m", "a"]).is(0, &format!("{text}\n"), "");
    }
}

#[test]
fn rows_and_brackets() {
    let data: Vec<u8> = (0..8).collect();
    for (shape, options, text) in [
        ("[8]", &[][..], "[0, 1, 2, 3, 4, 5, 6, 7]"),
        ("[2,4]", &[], "[[0, 1, 2, 3],\n [4, 5, 6, 7]]"),
        ("[2,2,2]", &[], "[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]"),
        ("[2,4]", &["--slice", "1, ::3"], "[4, 7]"),
        ("[2,4]", &["--slice", "[1, 2]"], "6"),
        ("[2,4]", &["--slice=-1,-1"], "7"),
        ("[2,4]", &["--slice", "..., 1:100"], "[[1, 2, 3],\n [5, 6, 7]]"),
        ("[2,4]", &["--slice", "5:"], "[]"),
        ("[2,4]", &["--limit", "6"], "[[0, 1, 2, 3],\n [4, 5\n… 2 more of 8"),
        ("[2,4]", &["--limit", "8"], "[[0, 1, 2, 3],\n [4, 5, 6, 7]]"),
        ("[2,4]", &["--limit", "0"], "… 8 more of 8"),
    ] {
        let place = place("U8", shape, &data);
        place.run([&["cat", "m", "a"], options].concat()).is(0, &format!("{text}\n"), "");
    }
    place("U8", "[]", &[9]).run(["cat", "m", "a"]).is(0, "9\n", "");
    place("U8", "[0,4]", &[]).run(["cat", "m", "a"]).is(0, "[]\n", "");
    let deep = place("U8", "[1,1,1,1,1,1,1,1,1,2]", &[5, 6]);
    deep.run(["cat", "m", "a"]).is(0, "[[[[[[[[[[5, 6]]]]]]]]]]\n", "");
    deep.run(["cat", "m", "a", "--slice", "0,0,...,1"]).is(0, "[[[[[[[6]]]]]]]\n", "");
    let run = deep.run(["cat", "m", "a", "--slice", ":"]);
    assert!(run.code == Some(2) && run.err.starts_with("m: tensor \"a\": "), "{run:?}");
}

/// Elements of F4 that do not fill bytes are printed, but not written.
#[test]
fn slices_in_the_middle_of_bytes() {
    let place = place("F4", "[4]", &[0x21, 0xF7]);
    place.run(["cat", "m", "a", "--slice", "1:3"]).is(0, "[1.0, 6.0]\n", "");
    let run = place.run(["cat", "m", "a", "--slice", "1:3", "--format", "raw"]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{run:?}");
    assert!(run.err.starts_with("m: tensor \"a\": "), "{run:?}");
}

#[test]
fn json_reads_back() {
    let floats = bytes([0.1f32, f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(f32::to_le_bytes));
    let run = place("F32", "[2,2]", &floats).run(["cat", "m", "a", "--json"]);
    let values = r#"[[0.1,"NaN"],["Infinity","-Infinity"]]"#;
    let line = format!(
        "{{\"file\":\"m\",\"ok\":true,\"tensor\":\"a\",\"dtype\":\"F32\",\"shape\":[2,2],\"values\":{values}}}\n"
    );
    run.is(0, &line, "");
    serde_json::from_str::<serde_json::Value>(&run.out).expect("JSON");
    let run = place("C64", "[1]", &floats[..8]).run(["cat", "m", "a", "--json"]);
    assert!(run.out.ends_with("\"values\":[[0.1,\"NaN\"]]}\n"), "{run:?}");
    let run = place("BOOL", "[2]", &[0, 2]).run(["cat", "m", "a", "--json"]);
    assert!(run.out.ends_with("\"values\":[false,true]}\n"), "{run:?}");
    let run = place("U64", "[]", &[255; 8]).run(["cat", "m", "a", "--json"]);
    assert!(run.out.ends_with("\"shape\":[],\"values\":18446744073709551615}\n"), "{run:?}");
    let run = place("U8", "[0]", &[]).run(["cat", "m", "a", "--json"]);
    assert!(run.out.ends_with("\"values\":[]}\n"), "{run:?}");
}

#[test]
fn bytes_go_to_files_and_pipes() {
    let place = place("U16", "[3]", &[1, 0, 2, 0, 3, 0]);
    let slice = ["cat", "m", "a", "--slice", "1:"];
    let run = place.command([&slice[..], &["--format", "raw"]].concat()).output().expect("it runs");
    assert_eq!((run.status.code(), run.stdout.as_slice()), (Some(0), &[2, 0, 3, 0][..]));
    for (output, format) in [("b.raw", None), ("b.bin", None), ("b", Some("--format=raw"))] {
        place.run(slice.into_iter().chain(["-o", output]).chain(format)).is(0, "", "");
        assert_eq!(fs::read(place.path(output)).expect("a file"), [2, 0, 3, 0]);
    }
    place.run(slice.into_iter().chain(["-o", "b.npy"])).is(0, "", "");
    let array = fs::read(place.path("b.npy")).expect("a file");
    assert_eq!((array.len(), &array[128..]), (132, &[2, 0, 3, 0][..]));
    assert!(
        array.starts_with(b"\x93NUMPY\x01\0v\0{'descr': '<u2', 'fortran_order': False, 'shape': (2,), } ")
    );
    place.run(slice.into_iter().chain(["-o", "b.txt"])).is(0, "", "");
    assert_eq!(fs::read(place.path("b.txt")).expect("a file"), b"[2, 3]\n");
    let line = "{\"file\":\"m\",\"ok\":true,\"tensor\":\"a\",\"dtype\":\"U16\",\"shape\":[2],\"output\":\"c.npy\"}\n";
    place.run(slice.into_iter().chain(["-o", "c.npy", "--json"])).is(0, line, "");
}

#[test]
fn existing_files_are_not_overwritten() {
    let place = place("U8", "[1]", &[9]);
    place.put("b.npy", b"old");
    place.run(["cat", "m", "a", "-o", "b.npy"]).is(
        2,
        "",
        "b.npy: already exists; use --force to overwrite it\n",
    );
    assert_eq!(fs::read(place.path("b.npy")).expect("a file"), b"old");
    place.run(["cat", "m", "a", "-o", "b.npy", "--force"]).is(0, "", "");
    assert_eq!(fs::read(place.path("b.npy")).expect("a file").len(), 129);
    place.run(["cat", "m", "a", "-o", "m", "--force"]).is(
        2,
        "",
        "m: is an input; choose another output file\n",
    );
    let run = place.run(["cat", "m", "a", "-o", "no/where.npy"]);
    run.is(2, "", "no/where.npy: cannot be written: no such file or directory\n");
    fs::create_dir(place.path("folder.npy")).expect("directory");
    place.run(["cat", "m", "a", "-o", "folder.npy"]).is(2, "", "folder.npy: is a directory, not a file\n");
    assert_eq!(fs::read_dir(place.path(".")).expect("directory").count(), 3, "files are left");
}

#[test]
fn dtypes_without_numpy_type() {
    let place = place("BF16", "[2]", &[0x80, 0x3F, 0, 0]);
    let error = "m: tensor \"a\": numpy has no BF16; use --bits to write its bits, or cast it with \
        `safetensors convert --to F32`\n";
    place.run(["cat", "m", "a", "-o", "a.npy"]).is(2, "", error);
    assert!(!place.path("a.npy").exists());
    place.run(["cat", "m", "a", "-o", "a.npy", "--bits"]).is(0, "", "");
    let array = fs::read(place.path("a.npy")).expect("a file");
    assert!(array.windows(5).any(|part| part == b"'<u2'") && array.ends_with(&[0x80, 0x3F, 0, 0]));
    place.put("f4", &model("F4", "[2]", &[0x21]));
    let error = "f4: tensor \"a\": numpy has no F4; cast it with `safetensors convert --to F32`\n";
    place.run(["cat", "f4", "a", "-o", "b.npy", "--bits"]).is(2, "", error);
}

#[test]
fn missing_tensors_and_indexes_are_errors() {
    let place = place("U8", "[2,3]", &[0; 6]);
    place.run(["cat", "m", "b"]).is(2, "", "m: no tensor \"b\"\n");
    place.run(["cat", "m", "a", "--slice", "2"]).is(
        2,
        "",
        "m: tensor \"a\": index 2 is out of range for axis 0 of size 2\n",
    );
    place.run(["cat", "m", "a", "--slice", "0,-4"]).is(
        2,
        "",
        "m: tensor \"a\": index -4 is out of range for axis 1 of size 3\n",
    );
    place.run(["cat", "m", "a", "--slice", "::-1"]).is(
        2,
        "",
        "m: tensor \"a\": the slice \"::-1\" has a negative step, which is not supported\n",
    );
    place.run(["cat", "n", "a"]).is(2, "", "n: cannot be read: no such file or directory\n");
    place.run(["cat", "n", "a", "--json"]).is(
        2,
        "{\"file\":\"n\",\"ok\":false,\"error\":\"io\",\"message\":\"no such file or directory\"}\n",
        "",
    );
    place.run(["cat", "m", "b", "--json"]).is(
        2,
        "{\"file\":\"m\",\"ok\":false,\"error\":\"usage\",\"message\":\"no tensor \\\"b\\\"\"}\n",
        "",
    );
    place.put("torn", &sound()[..100]);
    let run = place.run(["cat", "torn", "a"]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert!(run.err.starts_with("torn: error["), "{run:?}");
    let error = "safetensors: --limit works with text only; use --slice for a part of the bytes\n";
    place.run(["cat", "m", "a", "--limit", "1", "-o", "a.npy"]).is(2, "", error);
    let error = "safetensors: --bits works with .npy only: text has the numbers, raw bytes are the bits\n";
    place.run(["cat", "m", "a", "--bits"]).is(2, "", error);
    for usage in [
        &["cat", "m", "a", "--limit", "1", "--json"][..],
        &["cat", "m"],
        &["cat", "m", "a", "--format", "png"],
    ] {
        assert_eq!(place.run(usage).code, Some(2));
    }
}

#[test]
fn standard_input_can_be_the_model() {
    let run = Place::new().run_piped(["cat", "-", "b"], &sound());
    run.is(0, "[99, 100, 101]\n", "");
}

/// A terminal gets no bytes, and at most 1000 elements, unless requested.
#[cfg(target_os = "linux")]
#[test]
fn terminal_output_is_limited() {
    let place = place("U8", "[1001]", &[7; 1001]);
    let on_terminal = |options: &str| {
        let command = format!("{} cat m a {options}", env!("CARGO_BIN_EXE_safetensors"));
        let mut script = std::process::Command::new("script");
        finish(script.args(["-qec", &command, "/dev/null"]).current_dir(place.path(".")))
    };
    let run = on_terminal("");
    assert!(run.out.ends_with("7\r\n… 1 more of 1,001\r\n"), "{run:?}");
    assert_eq!(on_terminal("--limit 1001").out.matches('7').count(), 1001);
    for format in ["raw", "npy"] {
        let run = on_terminal(&format!("--format {format}"));
        assert_eq!(
            run.out,
            "safetensors: refusing to print bytes to a terminal; use --output FILE or --force\r\n"
        );
        assert_eq!(run.code, Some(2));
        assert_eq!(on_terminal(&format!("-o - --format {format}")), run);
    }
    assert_eq!(on_terminal("--format raw --force").out.len(), 1001);
    assert!(on_terminal("-o -").out.ends_with("7\r\n… 1 more of 1,001\r\n"));
    let run = place.run(["cat", "m", "a", "--format", "raw", "--json"]);
    assert_eq!(place.run(["cat", "m", "a", "--format", "raw", "--json", "-o", "-"]), run);
    assert_eq!(place.run(["cat", "m", "a", "--json", "-o", "-"]), place.run(["cat", "m", "a", "--json"]));
    run.is(
        2,
        "{\"ok\":false,\"error\":\"usage\",\"message\":\"bytes and JSON cannot share standard \
        output; use --output FILE\"}\n",
        "",
    );
}

#[test]
fn closed_output_ends_the_run() {
    let place = place("U8", "[1000000]", &[7; 1_000_000]);
    let mut command = place.command(["cat", "m", "a"]);
    let mut child = command.spawn().expect("it runs");
    drop(child.stdout.take());
    let run = child.wait_with_output().expect("it ends");
    assert_eq!((run.status.code(), run.stderr.as_slice()), (Some(2), &b""[..]));
}
