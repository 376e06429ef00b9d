//! Files of other formats, given as models: one sentence says what they look like and what to do.
#![cfg(unix)]

use crate::support::{Place, file, sound};

/// The first bytes of a zip archive with this entry.
fn zip(name: &str) -> Vec<u8> {
    let len = u16::try_from(name.len()).expect("a short name").to_le_bytes();
    let mut bytes = b"PK\x03\x04\x14\0\0\0\x08\0".to_vec();
    bytes.resize(26, 0);
    [bytes, len.to_vec(), vec![0, 0], name.as_bytes().to_vec(), vec![7; 50]].concat()
}

/// A file, and a part of what is said about it: what it is, and what to do.
fn formats() -> Vec<(Vec<u8>, &'static str, &'static str)> {
    let config = b"{\n  \"architectures\": [\"BertModel\"], \"hidden_size\": 384\n}\n";
    let index = b"{\"metadata\": {\"total_size\": 5}, \"weight_map\": {\"a\": \"m.safetensors\"}}";
    let pickle = b"\x80\x02\x8A\nl\xFC\x9CF\xF9 j\xA8P\x19.";
    let short_gzip = [&b"\x1F\x8B\x08\0\0\0\0\0\0\x03"[..], &[7; 100]].concat();
    let joblib = b"\x80\x04\x95\x10\0\0\0\0\0\0\0\x8C\x13joblib.numpy_pickle";
    let keras = [zip("metadata.json"), b"PK\x01\x02model.weights.h5".to_vec()].concat();
    let tar = [&b"model/"[..], &[0; 251], b"ustar\0"].concat();
    let list: [(&[u8], _, _); 54] = [
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS", "`git lfs pull`"),
        (b"<!DOCTYPE html>\n", "an HTML page", "download"),
        (b"<HTML>\n<head>", "an HTML page", "download"),
        (b"\n\n<!doctype html><title>Sign in</title>", "an HTML page", "download"),
        (b"<!-- a page --><html>", "an HTML page", "download"),
        (b"<head><title>Sign in", "an HTML page", "download"),
        (b"[{\"a\": 1}]", "a JSON text", ".safetensors"),
        (b"[1.0, 2.0, 3.0]", "a JSON text", ".safetensors"),
        (b"lmgg\0\x7D\0\0", "a GGML file", "from which it was converted"),
        (b"tjgg\x01\0\0\0", "a GGML file", "from which it was converted"),
        (b"(dp0\nS'a'\np1\n", "a pickle that torch.save did not", "`safetensors scan`"),
        (b"ccollections\nOrderedDict\n", "a pickle that torch.save did not", "`safetensors scan`"),
        (b"\xFD7zXZ\0\0\x04", "a file compressed with xz", "`unxz`"),
        (b"BZh91AY&SY", "a file compressed with bzip2", "`bunzip2`"),
        (b"7z\xBC\xAF\x27\x1C\0\x04", "a 7z archive", "`7z x`"),
        (&tar, "a tar archive", "`tar xf`"),
        (b"<?xml version='1.0'?><Error><Code>AccessDenied", "an XML text", "download"),
        (config, "the config of a model in JSON", "beside it"),
        (b"\xEF\xBB\xBF{ \"model_type\": \"bert\" }", "the config of a model in JSON", "beside it"),
        (b"{\"peft_type\": \"LORA\", \"r\": 8}", "the config of a model in JSON", "beside it"),
        (index, "the index of a sharded model", ".safetensors.index.json"),
        (b"{\"version\": \"1.0\", \"truncation\": null}", "a JSON text", ".safetensors.index.json"),
        (b"{}", "a JSON text", ".safetensors"),
        (b"\x06\0\0\0\0\0\0\0\xFF\xFE{\0}\0", "a text in UTF-16", "UTF-8"),
        (&zip("archive/data.pkl"), "a model of PyTorch", "`safetensors convert`"),
        (&zip("a.npy"), "a zip archive of numpy", "`safetensors convert`"),
        (&zip("config.json"), "a zip archive", "the data.pkl of PyTorch, or the .npy of numpy"),
        (b"PK\x03\x04\x14\0\0\0\x08\0", "a zip archive", "the data.pkl of PyTorch, or the .npy of numpy"),
        (pickle, "a pickle", "`safetensors convert`"),
        (b"\x80\x03}q\0(X\x01\0\0\0aq", "a pickle that torch.save did not", "`safetensors scan`"),
        (b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94.", "a pickle that torch.save did not", "`safetensors scan`"),
        (b"\x80\x05\x95\x10\0\0\0\0\0\0\0}\x94.", "a pickle that torch.save did not", "`safetensors scan`"),
        (b"\x93NUMPY\x01\0v\0{'descr'", "an array of numpy", "`safetensors convert`"),
        (b"GGUF\x03\0\0\0\0\0", "a GGUF file", "`safetensors convert`"),
        (b"\x08\x07\x12\x07pytorch\x1A\x052.1.0", "an ONNX file", "`safetensors convert`"),
        (b"\x08\x09:\x87\x01\n\x10\n\x01x", "an ONNX file", "`safetensors convert`"),
        (b"\x08\x01\x12\xAF\x01\n\x20\n", "a SavedModel of TensorFlow", "its directory"),
        (b"\n\x0E\x12\x07\n\x05Const\x12\x05dtype", "a graph of TensorFlow", "NAME.index"),
        (b"\x81\xA6params\x82\xA7", "a file in MessagePack, as Flax", "msgpack_restore"),
        (b"\x78\x9C\xED\xC1\x01\x0D\0\0\0", "a file compressed with zlib, as joblib", "if you trust it"),
        (joblib, "a file of joblib", "if you trust it"),
        (&keras, "a model of Keras", "model.weights.h5"),
        (b"\x1C\0\0\0TFL3\x14\0 \0", "a TFLite file", "`safetensors convert`"),
        (b"\x1F\x8B\x08\x08\x12\x34\x56\x78\0\x03", "a file compressed with gzip", "`gunzip`"),
        (&short_gzip, "a file compressed with gzip", "`gunzip`"),
        (b"\x28\xB5\x2F\xFD\x04\x88\x41\0\0", "a file compressed with Zstandard", "`zstd -d`"),
        (b"\x89HDF\r\n\x1A\n\0", "an HDF5 file", "h5py"),
        (b"Entry not found", "a text", "download the file again"),
        (b"Invalid username or password.", "a text", "download the file again"),
        ("#!/bin/sh\necho é".as_bytes(), "a text", "look at it"),
        (b"%PDF-1.4\n%", "a PDF document", "give a safetensors file"),
        (b"\xFF\xD8\xFF\xE0\0\x10JFIF", "a JPEG image", "give a safetensors file"),
        (b"\x7FELF\x02\x01\x01\0\0\0", "a program or library", "give a safetensors file"),
        (b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR", "a PNG image", "give a safetensors file"),
    ];
    list.into_iter().map(|(contents, what, advice)| (contents.to_vec(), what, advice)).collect()
}

#[test]
fn files_of_other_formats_are_named() {
    let place = Place::new();
    for (contents, what, advice) in formats() {
        let run = place.put("m", &contents).run(["check", "m"]);
        // One line, which does not say what is wrong with a header that is none.
        let hint = run.out.trim_end().split_once(": it looks like").map_or("", |(_, hint)| hint);
        let hint = &format!("it looks like{hint}");
        assert!(run.code == Some(1) && run.out.lines().count() == 1, "{run:?}");
        let begins = hint.starts_with(&format!("it looks like {what}"));
        assert!(begins && hint.contains(": ") && hint.contains(advice), "{hint}");
        assert_eq!(place.run(["check", "--json", "m"]).json()["hint"], hint.as_str());
        // Those that `inspect` opens are damaged here.
        let is_opened = ["an ONNX file", "a TFLite file"].contains(&what);
        let inspected = place.run(["inspect", "m"]).out;
        assert!(inspected == run.out || is_opened && inspected.starts_with("m: "), "{inspected}");
    }
}

/// Only its first 8 bytes have been read then.
#[test]
fn pipes_of_other_formats_are_named() {
    let place = Place::new();
    for (contents, ..) in formats() {
        // Text that begins with spaces and archives without a magic number are not recognised by so little.
        if contents.len() < 8 || contents.starts_with(b"\n") || contents.ends_with(b"ustar\0") {
            continue;
        }
        let piped = place.run_piped(["check", "-"], &contents);
        assert!(piped.code == Some(1) && piped.out.contains(": it looks like"), "{piped:?}");
    }
    let array = b"\x93NUMPY\x01\0\x33\0{'descr':'|u1','fortran_order':False,'shape':(1,)}\nx";
    let run = place.run_piped(["check", "-"], array);
    let advice = "an array of numpy: save it as a file, and use `safetensors convert`";
    assert!(run.code == Some(1) && run.out.contains(advice), "{run:?}");
}

/// `invalid_models_are_reported_as_by_check` compares all other commands.
#[test]
fn commands_that_read_models_in_their_own_way_name_them() {
    let place = Place::new();
    place.put("m", &zip("archive/data.pkl")).put("sound", &sound()).put("m.bin", &zip("archive/data.pkl"));
    place.put("m.index.json", br#"{"metadata":{},"weight_map":{"a":"m.bin"}}"#);
    for words in [
        "decode m",
        "pack m --in-place --set a=b",
        "check --finite m",
        "inspect --tree m",
        "pack sound m -o out",
        // A shard may be of another format, too.
        "inspect m.index.json",
    ] {
        let run = place.run(words.split(' '));
        let named = format!("{}{}", run.out, run.err).contains("it looks like a model of PyTorch");
        assert!(run.code == Some(1) && named, "{words}: {run:?}");
    }
    assert!(!place.path("out").exists());
}

/// The length of a header may consist of the first bytes of another format, also where the rest is missing.
#[test]
fn nothing_is_said_about_models() {
    let place = Place::new();
    for first in [&b"\x80\x02\0\0\0\0\0\0"[..], b"\x1F\x8B\x08\0\0\0\0\0", b"\x08\x07\x12\0\0\0\0\0"] {
        let len = u64::from_le_bytes(first.try_into().expect("8 bytes"));
        let header = format!("{{}}{}", " ".repeat(usize::try_from(len).expect("a length") - 2));
        let run = place.put("m", &file(header, b"")).run(["check", "m"]);
        assert!(run.code == Some(0) && run.out.lines().count() == 1, "{run:?}");
        for header in [&b""[..], b"{\"a\":", b" {}"] {
            let run = place.put("m", &[first, header].concat()).run(["check", "m"]);
            assert!(run.code == Some(1) && !run.out.contains("it looks like"), "{run:?}");
        }
    }
}

#[test]
fn a_directory_of_another_format_is_for_convert() {
    let place = Place::new();
    place.put("d/pytorch_model.bin", b"x").put("d/notes.txt", b"x");
    let sentence = "d: contains no *.safetensors and no *.safetensors.index.json file, but \
        \"pytorch_model.bin\", which `safetensors convert` reads\n";
    for command in ["check", "inspect", "stats", "hash"] {
        place.run([command, "d"]).is(2, "", sentence);
    }
    std::fs::rename(place.path("d/pytorch_model.bin"), place.path("d/A.SAFETENSORS")).expect("a file");
    place.put("d/A.SAFETENSORS", &sound());
    for model in ["d", "d/A.SAFETENSORS"] {
        place.run(["check", model]).is(0, "d/A.SAFETENSORS: ok, 2 tensors, 118 bytes\n", "");
    }
}
