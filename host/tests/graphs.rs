//! Files of ONNX and TFLite, converted and looked at.
#![cfg(unix)]

use crate::made::graphs::{Value, buffer, message, onnx, outside, scaled, tensor, tensor_of, tflite};
use crate::support::Place;

#[test]
fn data_of_onnx_is_beside_it() {
    let place = Place::new();
    let of = |location| {
        let pairs = outside(&[("location", location), ("offset", "1"), ("length", "2")]);
        onnx(&message(5, &tensor("w", 3, &[2], &pairs)))
    };
    place.put("m.onnx", &of("./w.bin")).put("w.bin", b"\x05\xFE\x01").put("bad.onnx", &of("../w.bin"));
    let run = place.run(["convert", "m.onnx", "m.safetensors"]);
    assert!(run.code == Some(0), "{run:?}");
    let stats = place.run(["stats", "--json", "m.onnx"]).json();
    assert_eq!((&stats["tensors"][0]["min"], &stats["tensors"][0]["max"]), (&(-2).into(), &1.into()));
    assert_eq!(place.run(["inspect", "--json", "m.onnx"]).json()["tensors"]["w"]["shape"][0], 2);
    assert_eq!(place.run(["scan", "m.onnx"]).out, "m.onnx: ok, no pickle\n  data file: \"w.bin\"\n");
    assert_eq!(place.run(["scan", "--json", "m.onnx"]).json()["data_files"][0], "w.bin");
    for words in [&["scan", "bad.onnx"][..], &["convert", "bad.onnx", "b.safetensors"]] {
        let run = place.run(words);
        let said = format!("{}{}", run.out, run.err);
        assert!(run.code == Some(1) && said.contains("\"../w.bin\" is not below the directory"), "{run:?}");
    }
}

#[test]
fn what_is_no_tensor_of_onnx_is_shown() {
    let place = Place::new();
    // A tensor in a function, which only `convert` cannot read.
    let tensor = message(5, &tensor("w", 22, &[2], &outside(&[("location", "w.bin")])));
    let function = message(7, &message(5, &tensor));
    place.put("f.onnx", &[onnx(&[]), message(25, &function)].concat());
    let run = place.run(["scan", "f.onnx"]);
    assert_eq!((run.code, &*run.out), (Some(0), "f.onnx: ok, no pickle\n  data file: \"w.bin\"\n"));
    let attribute = [message(1, b"value_ints"), message(8, &[2, 3])].concat();
    let node =
        [message(2, b""), message(2, b"shape"), message(4, b"Constant"), message(5, &attribute)].concat();
    place.put("m.onnx", &onnx(&message(1, &node))).put("evil.onnx", b"cos\nsystem\n(S\"a\"\ntR.");
    let run = place.run(["convert", "m.onnx", "m.safetensors"]);
    assert!(run.code == Some(0) && run.out.contains("\"shape\" (number)"), "{run:?}");
    for command in ["inspect", "stats"] {
        assert!(place.run([command, "m.onnx"]).out.contains("\"shape\" (number)"), "{command}");
    }
    let run = place.run(["scan", "evil.onnx"]);
    assert!(run.code == Some(1) && run.out.contains("os.system"), "{run:?}");
}

/// The data of a tensor is after the tables; a state has none, and one tensor has zero points.
#[test]
fn tflite_has_scales_and_variables() {
    let place = Place::new();
    let of = |at: usize| {
        let first = [tensor_of("w", 9, &[2], 1), vec![scaled(&[0.5], &[0], 0)]].concat();
        let state = [tensor_of("s", 9, &[2], 0), vec![(5, Value::Number(1))]].concat();
        let shifted = [tensor_of("z", 9, &[1, 2], 2), vec![scaled(&[1.0, 2.0], &[1, 0], 1)]].concat();
        let buffers = [vec![(1, Value::Number(at as u64)), (2, Value::Number(2))], buffer(b"zz")];
        let empty = tensor_of("e", 9, &[0, 3], 0);
        let flags = [tensor_of("f", 6, &[2], 2), vec![scaled(&[0.5], &[], 0)]].concat();
        let tensors = vec![first, state, shifted, tensor_of("w", 9, &[2], 2), empty, flags];
        let tables = tflite(&[("", tensors)], &buffers);
        [tables, vec![5, 254]].concat()
    };
    place.put("m.tflite", &of(of(2).len() - 2));
    let run = place.run(["convert", "m.tflite", "m.safetensors"]);
    assert!(run.out.starts_with("m.safetensors: 8 tensors, "), "{run:?}");
    let left_out = "\"s\" (variable without elements), \"f.scale\" (scales of a tensor without integers)";
    assert!(run.out.contains(left_out), "{run:?}");
    let words = "convert m.safetensors f.safetensors --to F32 --unscale --force --only".split(' ');
    let unscaled = |name| place.run(words.clone().chain([name]));
    let floats = unscaled("w");
    let stats = place.run(["stats", "--json", "f.safetensors"]).json();
    assert_eq!((floats.code, &stats["tensors"][0]["max"]), (Some(0), &2.5.into()), "{floats:?}");
    let shifted = unscaled("z");
    assert!(shifted.err.contains("tensor \"z\": its zero points \"z.zero_point\" cannot"), "{shifted:?}");
    let listed = place.run(["inspect", "--json", "m.tflite"]).json();
    let shape = |name: &str| listed["tensors"][name]["shape"].to_string();
    assert_eq!(["w.scale", "z.scale", "z.zero_point", "w#3"].map(shape), ["[1]", "[1,2]", "[1,2]", "[2]"]);
    assert_eq!(place.run(["scan", "m.tflite"]).out, "m.tflite: ok, no pickle\n");
}
