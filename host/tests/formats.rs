//! `safetensors convert` with files of PyTorch, GGUF and TensorFlow, made here by small writers.
#![cfg(unix)]

use crate::made::{self, tensorflow};
use crate::numpy::{Entry, plain, zip};
use crate::support::{Place, convert, file, finish, floats, model, sound, text};
use serde_json::{Value, json};
use std::fs;

/// The JSON in a file.
pub fn json_of(place: &Place, name: &str) -> Value {
    serde_json::from_slice(&place.read(name)).expect("JSON")
}

/// What `torch.save` writes for a dictionary: tensors of one axis, by their storages, and other values.
pub fn pytorch(storages: &[&[f32]], tensors: &[(&str, usize)], others: &[(&str, &[u8])]) -> Vec<u8> {
    let mut items: Vec<(&str, Vec<u8>)> = Vec::new();
    for (name, storage) in tensors {
        let len = u8::try_from(storages[*storage].len()).expect("short");
        items.push((name, made::tensor(&storage.to_string(), "FloatStorage", len, false)));
    }
    items.extend(others.iter().map(|(name, value)| (*name, value.to_vec())));
    let mut entries = vec![Entry::stored("m/data.pkl", &made::dictionary(&items))];
    for (number, storage) in storages.iter().enumerate() {
        entries.push(Entry::stored(&format!("m/data/{number}"), &floats(storage)));
    }
    entries.push(Entry::stored("m/version", b"3\n"));
    zip(&entries)
}

/// The same with one tensor, as before PyTorch 1.6.
fn old_pytorch(name: &str, numbers: &[f32]) -> Vec<u8> {
    let len = u8::try_from(numbers.len()).expect("short");
    let object = made::dictionary(&[(name, made::tensor("0", "FloatStorage", len, true))]);
    made::old_pytorch(&object, len, &floats(numbers))
}

/// A GGUF with one tensor of two blocks of Q8_0, and one key.
pub fn gguf() -> Vec<u8> {
    let block = |scale: u16| scale.to_le_bytes().into_iter().chain(0..32);
    made::gguf(8, &[32, 2], &block(0x3C00).chain(block(0x4000)).collect::<Vec<_>>())
}

#[test]
fn files_of_pytorch_are_read() {
    let place = Place::new();
    let others: [(&str, &[u8]); 2] = [("epoch", b"K\x07"), ("lr", b"G?\xF0\0\0\0\0\0\0")];
    place.put("new.pt", &pytorch(&[&[1.0, 2.0], &[3.0]], &[("w", 0), ("b", 1)], &others));
    place.put("old.bin", &old_pytorch("x", &[4.0, 5.0]));
    let run = convert(&place, &["new.pt", "old.bin", "o.safetensors"]);
    let lines = "o.safetensors: 3 tensors, 196 bytes\n  left out: 2 values of new.pt that safetensors cannot \
        store: \"epoch\" (int), \"lr\" (float)\n";
    run.is(0, lines, "");
    for (name, expected) in [("w", "[1.0, 2.0]\n"), ("b", "[3.0]\n"), ("x", "[4.0, 5.0]\n")] {
        assert_eq!(text(&place, "o.safetensors", name), expected);
    }
    let run = convert(&place, &["new.pt", "p.safetensors", "--json", "--dry-run"]);
    let values = json!([
        {"file": "new.pt", "path": "epoch", "kind": "int"}, {"file": "new.pt", "path": "lr", "kind": "float"}
    ]);
    assert_eq!((&run.json()["left_out"], &run.json()["values_left_out"]), (&json!(2), &values));
    // Whatever it is called, and whatever it contains.
    let evil = zip(&[Entry::stored("m/data.pkl", b"\x80\x02cos\nsystem\n(X\x02\0\0\0idtR.")]);
    place.put("evil.safetensors", &evil);
    convert(&place, &["evil.safetensors", "p.safetensors"]).fails(1, "os.system");
    let run = convert(&place, &["evil.safetensors", "p.safetensors", "--json"]);
    assert_eq!((run.code, &run.json()["error"]), (Some(1), &json!("pytorch")));
    assert!(!place.path("p.safetensors").exists());
    place.put("torn.pt", b"torn").put("lfs.bin", b"version https://git-lfs.github.com/spec/v1\n");
    convert(&place, &["torn.pt", "p.safetensors"]).fails(1, "PyTorch: it is neither an archive nor");
    convert(&place, &["lfs.bin", "p.safetensors"]).fails(1, "`git lfs pull`");
    // A model in safetensors stays one.
    place.put("model.bin", &file("{}", b""));
    assert_eq!(convert(&place, &["model.bin", "p.safetensors"]).code, Some(0));
}

/// Otherwise a name of the output would mean two tensors, that of the note and another one.
#[test]
fn names_of_tied_tensors_are_not_used_again() {
    let place = Place::new();
    place.put("a.pt", &pytorch(&[&[1.0]], &[("a", 0), ("b", 0), ("c", 0)], &[]));
    place.put("b.pt", &pytorch(&[&[2.0]], &[("b", 0)], &[]));
    let error = "a.pt: duplicate tensor name \"b\": \"b\" of this file, which is tied to another tensor, and \
        \"b\" of b.pt; use --file-prefix, or --ties copy and rename one of them\n";
    convert(&place, &["a.pt", "b.pt", "o.safetensors"]).is(2, "", error);
    convert(&place, &["b.pt", "a.pt", "o.safetensors"]).is(2, "", error);
    // Where there are no notes, they are copied.
    for output in [&["m.safetensors", "--no-metadata"][..], &["m.npz"], &["m.gguf"]] {
        let run = convert(&place, &[&["a.pt", "b.pt"], output].concat());
        assert!(run.code == Some(2) && run.err.contains("\"b\" of a.pt, and \"b\" of b.pt; use"), "{run:?}");
    }
    assert_eq!(convert(&place, &["a.pt", "b.pt", "o.safetensors", "--file-prefix"]).code, Some(0));
    convert(&place, &["a.pt", "p.safetensors", "--rename", "a=b"]).fails(2, "tensor, and \"a\" of a.pt; use");
    let tensors = [("a.w", 0), ("p.w", 0), ("q.w", 0), ("p.v", 1), ("q.u", 2)];
    place.put("c.pt", &pytorch(&[&[1.0], &[2.0], &[3.0]], &tensors, &[]));
    let rules = ["--rename-prefix", "p.=z.", "--rename-prefix", "q.=z."];
    let run = convert(&place, &[&["c.pt", "p.safetensors"], &rules[..]].concat());
    assert!(run.code == Some(2) && run.err.contains("tensor, and another tied one; use"), "{run:?}");
}

/// Errors about the contents name the format, and limits have an exit code of their own.
#[test]
fn errors_name_the_format() {
    let place = Place::new();
    let one = made::tensor("0", "FloatStorage", 2, false);
    let with = |object: &[u8]| made::pytorch(object, &[floats(&[1.0, 2.0])]);
    place.put("twice.pt", &with(&made::dictionary(&[("w", one.clone()), ("w", b"K\x01".to_vec())])));
    let error =
        "twice.pt: PyTorch: entry \"m/data.pkl\": the dictionary at \"\" has the duplicate key \"w\"\n";
    convert(&place, &["twice.pt", "o.safetensors"]).is(1, "", error);
    let key = [b"X\x01\x10\0\0", &[b'k'; 4097][..]].concat();
    place.put("long.pt", &with(&[b"\x80\x02}", &key[..], &one, b"s."].concat()));
    let error = "long.pt: PyTorch: entry \"m/data.pkl\": a tensor at \"<str>\" has no name: its key has more \
        than 4096 bytes\n";
    convert(&place, &["long.pt", "o.safetensors"]).is(2, "", error);
    place.put("short.gguf", b"GGUF");
    let error = "short.gguf: GGUF: header: 4 bytes needed at byte 4, but the file has 0 more\n";
    convert(&place, &["short.gguf", "o.safetensors"]).is(1, "", error);
    // Whatever the names in the file are.
    place.put("named.npz", &zip(&[Entry::stored("numpy.npy", b"text")]));
    let run = convert(&place, &["named.npz", "o.safetensors"]);
    assert!(run.code == Some(1) && run.err.starts_with("named.npz: numpy: entry \"numpy.npy\": "), "{run:?}");
}

/// One of them is kept, with a note that follows the names.
#[test]
fn tied_tensors_are_noted_copied_or_rejected() {
    let place = Place::new();
    place.put("m.pt", &pytorch(&[&[1.0]], &[("lm_head.w", 0), ("embed.w", 0)], &[]));
    let metadata = |options: &[&str]| {
        let run = convert(&place, &[&["m.pt", "o.safetensors", "--force"], options].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        let read = place.decoded("o.safetensors");
        (place.tensors("o.safetensors").join(" "), read["metadata"].clone())
    };
    let note = json!({"lm_head.w": "embed.w"});
    assert_eq!(metadata(&[]), ("embed.w".to_owned(), note));
    let options = ["--file-prefix", "--rename", "m.lm_head.*=head.*"];
    let run = convert(&place, &[&["m.pt", "p.safetensors"], &options[..]].concat());
    // The tied tensor is not one of the output.
    assert!(run.code == Some(2) && run.err.contains("no tensor \"m.lm_head.*\" to rename"), "{run:?}");
    let note = json!({"m.lm_head.w": "m.embed.w"});
    assert_eq!(metadata(&["--file-prefix"]), ("m.embed.w".to_owned(), note));
    assert_eq!(metadata(&["--no-metadata"]), ("embed.w lm_head.w".to_owned(), Value::Null));
    assert_eq!(metadata(&["--ties", "copy"]), ("embed.w lm_head.w".to_owned(), Value::Null));
    convert(&place, &["m.pt", "p.safetensors", "--ties", "reject"]).fails(1, "embed.w");
}

/// Other formats need random access, which is no error of the file.
#[test]
fn other_formats_are_not_read_from_a_pipe() {
    let place = Place::new();
    let model = pytorch(&[&[1.0]], &[("w", 0)], &[]);
    for (bytes, name) in [(model, "PyTorch"), (gguf(), "GGUF"), (plain("()", &[1]), "numpy")] {
        place.put("f", &bytes);
        let file = fs::File::open(place.path("f")).expect("a file");
        let arguments = ["convert", "-", "o.safetensors", "--force"];
        let run = place.run_piped(arguments, &bytes);
        run.fails(2, &format!("-: files of {name}"));
        run.fails(2, " are not read from a pipe, because they need random access; give a file\n");
        let run = place.run_redirected(arguments, file);
        assert!(run.code == Some(0) && run.out.contains("1 tensor"), "{run:?}");
    }
}

#[test]
fn other_archives_and_indexes_of_themselves_are_explained() {
    let place = Place::new();
    place.put("a.zip", &zip(&[Entry::stored("config.json", b"{}")]));
    let run = convert(&place, &["a.zip", "o.safetensors"]);
    let reason = "`safetensors convert` reads one that has the data.pkl of PyTorch, or the .npy of numpy";
    assert!(run.code == Some(1) && run.err.contains(reason), "{run:?}");
    place.put("self.bin.index.json", br#"{"metadata":{},"weight_map":{"a":"self.bin.index.json"}}"#);
    let error = "self.bin.index.json: names an index, such as itself, among its shards\n";
    convert(&place, &["self.bin.index.json", "o.safetensors"]).is(1, "", error);
}

/// What is wrong is the temporary directory, not the file.
#[test]
fn a_missing_temporary_directory_is_named() {
    let place = Place::new();
    let whole = made::tensor("0", "FloatStorage", 4, false);
    let at = whole.windows(5).position(|part| part == [b'K', 0, b'K', 4, 0x85]).expect("a view");
    let mut part = whole.clone();
    part[at..at + 5].copy_from_slice(&[b'K', 1, b'K', 2, 0x85]);
    let pickle = made::dictionary(&[("w", part)]);
    let numbers = floats(&[1.0, 2.0, 3.0, 4.0]);
    let entries = [("m/data.pkl".to_owned(), &pickle[..]), ("m/data/0".to_owned(), &numbers)];
    place.put("m.pt", &made::archive(&entries, true));
    let missing = place.path("missing");
    let run = finish(place.command(["convert", "m.pt", "o.safetensors"]).env("TMPDIR", &missing));
    let error = format!(
        "m.pt: cannot be read: it cannot be unpacked in the temporary directory {}: no such file or \
         directory",
        missing.display()
    );
    assert!(run.code == Some(2) && run.err.to_lowercase().starts_with(&error.to_lowercase()), "{run:?}");
    assert_eq!(convert(&place, &["m.pt", "o.safetensors"]).code, Some(0));
    assert_eq!(text(&place, "o.safetensors", "w"), "[2.0, 3.0]\n");
}

/// The rest of the model would be missing.
#[test]
fn single_shards_are_rejected() {
    let place = Place::new();
    let (one, two) = ("d/m-00001-of-00002.bin", "d/m-00002-of-00002.bin");
    place.put(one, &pytorch(&[&[1.0]], &[("a", 0)], &[]));
    let error = format!(
        "{one}: is shard 1 of 2, and \"m-00002-of-00002.bin\" is not among the inputs; give all shards, \
         their index or their directory\n"
    );
    convert(&place, &[one, "o.safetensors"]).is(2, "", &error);
    convert(&place, &["d", "o.gguf"]).is(2, "", &error);
    place.put(two, &pytorch(&[&[2.0]], &[("b", 0)], &[]));
    convert(&place, &[one, "o.safetensors"]).is(2, "", &error);
    // Complete models, shards that stay shards, and arrays.
    for arguments in [
        &["d", "o1.safetensors"][..],
        &[two, one, "o2.safetensors"],
        &[one, "m-00001-of-00002.safetensors"],
        &[one, two, "--each", "-o", "each"],
        &[one, "o.npz"],
    ] {
        assert_eq!(convert(&place, arguments).code, Some(0));
    }
    assert_eq!(convert(&place, &[one, "m-00002-of-00002.safetensors"]).code, Some(2));
}

/// Parts of a GGUF say so, whatever they are called, and become one model without these keys.
#[test]
fn parts_of_gguf_become_one_model() {
    let place = Place::new();
    place.put("d/m-00001-of-00002.gguf", &made::gguf_part([0, 2], 2, "b"));
    place.put("x.gguf", &made::gguf_part([0, 2], 2, "b")).put("y.gguf", &made::gguf_part([1, 2], 2, "a"));
    convert(&place, &["d", "o.safetensors"]).fails(2, "is shard 1 of 2, and \"m-00002-of");
    place.put("d/m-00002-of-00002.gguf", &made::gguf_part([1, 2], 2, "a"));
    for words in ["d a.safetensors", "y.gguf x.gguf b.safetensors", "x.gguf y.gguf c.gguf"] {
        assert!(place.done(format!("convert {words}").split(' ')).out.contains(": 2 tensors"), "{words}");
    }
    assert_eq!(convert(&place, &["c.gguf", "c.safetensors"]).code, Some(0));
    for model in ["a.safetensors", "b.safetensors", "c.safetensors"] {
        let lists = json!({"gguf.k": "uint16:7", "gguf_keys": "[\"k\"]", "gguf_tensors": "[\"b\",\"a\"]"});
        assert_eq!(place.decoded(model)["metadata"], lists);
        assert_eq!(convert(&place, &[model, "back.gguf", "--force"]).code, Some(0));
        assert_eq!(place.read("back.gguf"), place.read("c.gguf"), "the order of the tensors is kept");
    }
    place.put("z.gguf", &made::gguf_part([0, 2], 2, "z")).put("w.gguf", &made::gguf_part([1, 3], 2, "w"));
    place.put("v.gguf", &made::gguf_part([0, 2], 3, "v"));
    let alone =
        "x.gguf: is part 1 of 2, and part 2 is not among the inputs; give all parts, or their directory";
    for (parts, code, error) in [
        ("x.gguf", 2, alone),
        ("x.gguf z.gguf", 2, "z.gguf: is part 1 of 2, as x.gguf is"),
        ("x.gguf w.gguf", 2, "w.gguf: is one of 3 parts, and x.gguf one of 2"),
        ("v.gguf y.gguf", 1, "v.gguf: GGUF: all parts together have 3 tensors, but 2 were found"),
    ] {
        place.refuses(&format!("convert {parts} o.safetensors"), code, error);
        place.refuses(&format!("convert {parts} o.safetensors --no-metadata"), code, error);
    }
    assert_eq!(convert(&place, &["x.gguf", "o.npz"]).code, Some(0));
}

/// No tensor disappears where the note would, and the output and the manifest say what was tied.
#[test]
fn tied_tensors_are_listed_and_copied_where_no_note_is_written() {
    let place = Place::new();
    place.put("m.pt", &pytorch(&[&[1.0]], &[("head.w", 0), ("emb.w", 0)], &[]));
    let noted = "o.safetensors: 1 tensor, 116 bytes\n  tied: 1 tensor, noted in the metadata: \"y.head.w\" \
        (as \"y.emb.w\")\n";
    convert(&place, &["m.pt", "o.safetensors", "--rename", "*=y.*"]).is(0, noted, "");
    let tied = |stored: bool| json!([{"name": "head.w", "same_as": "emb.w", "stored": stored}]);
    for output in [&["p.safetensors", "--no-metadata"][..], &["p.npz"], &["p.gguf"]] {
        let run = convert(&place, &[&["m.pt"], output].concat());
        let copied = "  tied: 1 tensor, stored as copies: \"head.w\" (as \"emb.w\")\n";
        assert!(run.out.contains(": 2 tensors") && run.out.ends_with(copied), "{run:?}");
        let run =
            convert(&place, &[&["m.pt"], output, &["--force", "--json", "--manifest", "m.json"]].concat());
        assert_eq!((run.code, &run.json()["tied"]), (Some(0), &tied(true)), "{run:?}");
        let manifest = json_of(&place, "m.json");
        assert_eq!(manifest["outputs"][0]["tied"], tied(true));
        fs::remove_file(place.path("m.json")).expect("removed");
        let run = convert(&place, &[&["m.pt"], output, &["--force", "--ties", "note"]].concat());
        let error = "safetensors: --ties note needs a .safetensors output with metadata; use --ties copy\n";
        run.is(2, "", error);
    }
    let run = convert(&place, &["m.pt", "q.safetensors", "--dry-run", "--json", "--ties", "note"]);
    assert_eq!((run.code, &run.json()["tied"]), (Some(0), &tied(false)), "{run:?}");
}

/// A note would otherwise name tensors that are no longer there.
#[test]
fn notes_of_tied_tensors_in_models_are_renamed() {
    let place = Place::new();
    let tensor = r#"{"dtype":"U8","shape":[1],"data_offsets":[0,1]}"#;
    let header = format!(r#"{{"__metadata__":{{"head":"emb","format":"emb","k":"v"}},"emb":{tensor}}}"#);
    place.put("m.safetensors", &file(&header, b"x"));
    let metadata = |options: &[&str]| {
        let run = convert(&place, &[&["m.safetensors", "o.safetensors", "--force"], options].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        let read = place.decoded("o.safetensors");
        read["metadata"].clone()
    };
    assert_eq!(metadata(&[]), json!({"head": "emb", "format": "emb", "k": "v"}));
    assert_eq!(metadata(&["--rename", "emb=y"]), json!({"head": "y", "format": "emb", "k": "v"}));
    assert_eq!(metadata(&["--file-prefix"]), json!({"m.head": "m.emb", "format": "emb", "k": "v"}));
    place.put("n.safetensors", &file(format!(r#"{{"head":{tensor}}}"#), b"x"));
    convert(&place, &["m.safetensors", "n.safetensors", "p.safetensors"])
        .fails(2, "use --file-prefix, or --no-metadata\n");
    assert_eq!(convert(&place, &["m.safetensors", "n.safetensors", "p.npz"]).code, Some(0));
}

/// An option without effect is a mistake.
#[test]
fn options_of_formats_that_no_input_has_are_errors() {
    let place = Place::new();
    place.put("m.pt", &pytorch(&[&[1.0]], &[("v", 0)], &[])).put("q.gguf", &gguf());
    for (input, options, format) in
        [("q.gguf", &["--ties", "copy"][..], "PyTorch"), ("m.pt", &["--keep-blocks"], "GGUF")]
    {
        let run = convert(&place, &[&[input, "o.safetensors", "--force"], options].concat());
        let error =
            format!("{input}: {} works with {format} only, and no input has this format\n", options[0]);
        run.is(2, "", &error);
        let run = convert(&place, &[&["m.pt", "q.gguf", "o.safetensors", "--force"], options].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
    }
    assert_eq!(
        convert(&place, &["m.pt", "q.gguf", "--each", "-o", "d", "--keep-blocks", "--ties", "copy"]).code,
        Some(0)
    );
}

#[test]
fn shards_of_pytorch_are_one_model() {
    let place = Place::new();
    place.put("m/pytorch_model-00001-of-00002.bin", &pytorch(&[&[1.0]], &[("a", 0)], &[]));
    place.put("m/pytorch_model-00002-of-00002.bin", &pytorch(&[&[2.0]], &[("b", 0)], &[]));
    place.put("m/training_args.bin", b"\x80\x02cos\nsystem\n.").put("m/config.json", b"{}");
    let index = br#"{"metadata":{"total_size":8},"weight_map":{"a":"pytorch_model-00001-of-00002.bin","b":"pytorch_model-00002-of-00002.bin"}}"#;
    place.put("m/pytorch_model.bin.index.json", index);
    for (input, manifest) in [("m", "a.json"), ("m/pytorch_model.bin.index.json", "b.json")] {
        let run = convert(&place, &[input, "o.safetensors", "--force", "--manifest", manifest]);
        assert_eq!(run.code, Some(0), "{run:?}");
        let manifest = json_of(&place, manifest);
        let output = &manifest["outputs"][0];
        assert_eq!(output["inputs"][2]["file"], "m/pytorch_model.bin.index.json");
        assert_eq!((&output["tensors"][1]["was"], &output["tensors"][1]["input"]), (&json!("b"), &json!(1)));
        assert_eq!(text(&place, "o.safetensors", "b"), "[2.0]\n");
    }
    // Every tensor is where the index says, also one that is tied to another, and no other is there.
    place.put("m/pytorch_model-00002-of-00002.bin", &pytorch(&[&[2.0]], &[("b", 0), ("c", 0)], &[]));
    let run = convert(&place, &["m", "p.safetensors"]);
    let error = "m/pytorch_model.bin.index.json: \"pytorch_model-00002-of-00002.bin\" has tensor \"c\", which \
        the index does not list there\n";
    run.is(1, "", error);
    let tied = std::str::from_utf8(index)
        .expect("text")
        .replace("\"b\":", "\"c\":\"pytorch_model-00002-of-00002.bin\",\"b\":");
    place.put("m/pytorch_model.bin.index.json", tied.as_bytes());
    assert_eq!(convert(&place, &["m", "p.safetensors"]).code, Some(0));
    fs::remove_file(place.path("p.safetensors")).expect("removed");
    // One that is left out on request is missing nowhere.
    let complex = made::tensor("0", "ComplexDoubleStorage", 1, false);
    let both = [("b", made::tensor("1", "FloatStorage", 1, false)), ("c", complex)];
    let both = made::pytorch(&made::dictionary(&both), &[vec![0; 16], floats(&[2.0])]);
    place.put("m/pytorch_model-00002-of-00002.bin", &both);
    let run = convert(&place, &["m", "s.safetensors", "--skip-unsupported"]);
    assert!(run.code == Some(0) && run.out.contains("skipped: \"c\" of m/pytorch_model-00002-of"), "{run:?}");
    assert_eq!(place.tensors("s.safetensors"), ["a", "b"]);
    fs::remove_file(place.path("m/pytorch_model-00002-of-00002.bin")).expect("removed");
    convert(&place, &["m", "p.safetensors"]).fails(2, "00002-of-00002.bin: cannot be read");
    // A file of that name is the model of its directory.
    fs::remove_file(place.path("m/pytorch_model.bin.index.json")).expect("removed");
    place.put("m/pytorch_model.bin", &pytorch(&[&[7.0]], &[("a", 0)], &[]));
    assert_eq!(convert(&place, &["m", "p.safetensors"]).code, Some(0));
    assert_eq!(text(&place, "p.safetensors", "a"), "[7.0]\n");
    // Files of several formats need a choice.
    place.put("n/a.pt", &pytorch(&[&[1.0]], &[("a", 0)], &[])).put("n/b.npy", &plain("()", &[1]));
    let error = "n: has files of several formats, such as \"a.pt\" and \"b.npy\"; give the files that belong \
        together\n";
    convert(&place, &["n", "q.safetensors"]).is(2, "", error);
    // A model in safetensors has no preference, unless it has a usual name.
    fs::remove_file(place.path("n/b.npy")).expect("removed");
    place.put("n/c.safetensors", &sound());
    let error = error.replace("\"a.pt\" and \"b.npy\"", "\"c.safetensors\" and \"a.pt\"");
    convert(&place, &["n", "q.safetensors"]).is(2, "", &error);
    place.put("n/model.safetensors", &sound());
    assert_eq!(convert(&place, &["n", "q.safetensors"]).code, Some(0));
    assert_eq!(text(&place, "q.safetensors", "a"), "[97, 98]\n");
}

#[test]
fn gguf_becomes_numbers_or_blocks_and_comes_back() {
    let place = Place::new();
    place.put("m.gguf", &gguf());
    let run = convert(&place, &["m.gguf", "f.safetensors", "--json", "--manifest", "f.json"]);
    let manifest = json_of(&place, "f.json");
    let types = [&run.json()["tensors"][0]["from"], &manifest["outputs"][0]["tensors"][0]["from"]];
    assert_eq!(types, ["Q8_0"; 2]);
    let numbers = text(&place, "f.safetensors", "w");
    assert!(numbers.starts_with("[[0.0, 1.0, 2.0,") && numbers.contains("60.0, 62.0]"), "{numbers}");
    let metadata = place.run(["decode", "f.safetensors"]).out;
    assert!(metadata.contains(r#""gguf.general.architecture":"string:llama""#), "{metadata}");
    // Blocks come back as they were.
    assert_eq!(convert(&place, &["m.gguf", "b.safetensors", "--keep-blocks"]).code, Some(0));
    assert_eq!(convert(&place, &["b.safetensors", "back.gguf"]).code, Some(0));
    assert_eq!(place.read("back.gguf"), gguf());
    assert_eq!(convert(&place, &["f.safetensors", "f16.gguf", "--to", "F16"]).code, Some(0));
    let run = convert(&place, &["f16.gguf", "g.safetensors", "--json"]);
    assert_eq!(run.json()["tensors"][0]["from"], "F16");
    // The length of a file that would be written is right.
    let run = convert(&place, &["f.safetensors", "f32.gguf", "--dry-run", "--json"]);
    assert_eq!(convert(&place, &["f.safetensors", "f32.gguf"]).code, Some(0));
    assert_eq!(run.json()["bytes"], fs::metadata(place.path("f32.gguf")).expect("a file").len());
    place.put("u8.safetensors", &model(r#"{"k":"v"}"#, &[("a", "I8", &[1], vec![7])]));
    let run = convert(&place, &["u8.safetensors", "u8.gguf"]);
    assert!(run.out.ends_with("  left out: 1 key of metadata, which GGUF cannot store\n"), "{run:?}");
    convert(&place, &["u8.safetensors", "bool.gguf", "--to", "U8", "--all"])
        .fails(2, "GGUF has no type for elements of dtype U8");
    assert!(!place.path("bool.gguf").exists());
    // The error is about the input, and has the key as it is there.
    place.put("bad.safetensors", &file(r#"{"__metadata__":{"gguf.k":"junk"}}"#, b""));
    let run = convert(&place, &["bad.safetensors", "bad.gguf"]);
    let begin = "bad.safetensors: metadata value \"gguf.k\": ";
    assert!(run.code == Some(2) && run.err.starts_with(begin), "{run:?}");
    // What llama.cpp cannot load is written, but said.
    let tensor = |name: &str, shape: &[u64]| {
        place.put("l.safetensors", &model("", &[(name, "I8", shape, vec![7])]));
        convert(&place, &["l.safetensors", "l.gguf", "--force"]).out
    };
    for (name, shape) in [("a", &[1; 5][..]), (&*"a".repeat(64), &[1]), (r"a\u0000", &[1])] {
        let said = "  llama.cpp cannot load: 1 tensor with more than 4 axes, or names of more than 63 bytes or \
            with a NUL\n";
        assert!(tensor(name, shape).ends_with(said), "{name} {shape:?}");
    }
    assert!(!tensor(&"a".repeat(63), &[1; 4]).contains("llama.cpp"));
    place.put("torn.gguf", &gguf()[..60]);
    let run = convert(&place, &["torn.gguf", "t.safetensors", "--json"]);
    assert_eq!((run.code, &run.json()["error"]), (Some(1), &json!("gguf")));
}

/// The list of their types follows the names of tensors.
#[test]
fn renamed_blocks_of_gguf_stay_blocks() {
    let place = Place::new();
    place.put("m.gguf", &gguf()).put("n.gguf", &gguf());
    assert_eq!(convert(&place, &["m.gguf", "b.safetensors", "--keep-blocks"]).code, Some(0));
    let renamed = |input: &[&str], output: &str, types: Value| {
        let run = convert(&place, &[input, &["-o", output]].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        let read = place.decoded(output);
        let text = read["metadata"]["gguf_types"].as_str().expect("a list");
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), types);
        let error = format!("{output}: nothing to cast: blocks of GGUF are not numbers\n");
        convert(&place, &[output, "cast.safetensors", "--to", "F32", "--all"]).is(2, "", &error);
    };
    renamed(&["b.safetensors", "--rename", "w=v"], "r.safetensors", json!({"v": "Q8_0"}));
    renamed(&["m.gguf", "--keep-blocks", "--rename", "w=v"], "s.safetensors", json!({"v": "Q8_0"}));
    let two = json!({"m.w": "Q8_0", "n.w": "Q8_0"});
    renamed(&["m.gguf", "n.gguf", "--keep-blocks", "--file-prefix"], "t.safetensors", two);
    let both = json!({"b.w": "Q8_0", "r.v": "Q8_0"});
    renamed(&["b.safetensors", "r.safetensors", "--file-prefix"], "u.safetensors", both);
    assert_eq!(convert(&place, &["r.safetensors", "w.gguf", "--rename", "v=w"]).code, Some(0));
    assert_eq!(place.read("w.gguf"), gguf());
}

/// They are U8, but their bytes are not numbers.
#[test]
fn kept_blocks_are_never_cast() {
    let place = Place::new();
    place.put("m.gguf", &gguf());
    assert_eq!(convert(&place, &["m.gguf", "b.safetensors", "--keep-blocks"]).code, Some(0));
    for input in [&["m.gguf", "--keep-blocks"][..], &["b.safetensors"]] {
        let with = |options: &[&str]| convert(&place, &[input, &["-o", "o.safetensors"], options].concat());
        let error = format!("{}: nothing to cast: blocks of GGUF are not numbers\n", input[0]);
        with(&["--to", "F16", "--all"]).is(2, "", &error);
        let error =
            format!("{}: tensor \"w\": blocks of GGUF are not numbers, and cannot be cast\n", input[0]);
        with(&["--to", "F16", "--only", "*"]).is(2, "", &error);
        let error = format!("{}: tensor \"w\": blocks of GGUF are not bits of F8_E4M3\n", input[0]);
        with(&["--from-bits", "F8_E4M3"]).is(2, "", &error);
    }
    place.put("n.npy", &plain("(1,)", b"x"));
    let run = convert(&place, &["b.safetensors", "n.npy", "o.safetensors", "--to", "F16", "--all"]);
    assert!(run.code == Some(0) && run.out.contains("  not cast: 1 tensor, blocks of GGUF\n"), "{run:?}");
    assert_eq!(convert(&place, &["o.safetensors", "p.safetensors", "--to", "F32"]).code, Some(0));
    let list = r#"{"__metadata__":{"gguf_types":"{\"w\": \"Q8_0\"}"}}"#;
    place.put("list.safetensors", &file(list, b""));
    let error = "list.safetensors: metadata value \"gguf_types\": it is not an object with names and types\n";
    convert(&place, &["list.safetensors", "q.safetensors"]).is(2, "", error);
}

#[test]
fn checkpoints_of_tensorflow_are_read() {
    let place = Place::new();
    let (index, data) = tensorflow(&[("a", 1, 2, &floats(&[1.0, 2.0])), ("b", 6, 3, &[1, 2, 255])]);
    let name = "m.data-00000-of-00001";
    place.put("m.index", &index).put(name, &data);
    for input in ["m.index", "m"] {
        let run = convert(&place, &[input, "o.safetensors", "--force"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(text(&place, "o.safetensors", "a"), "[1.0, 2.0]\n");
        assert_eq!(text(&place, "o.safetensors", "b"), "[1, 2, -1]\n");
    }
    // Both files are inputs.
    assert_eq!(convert(&place, &["m", "p.safetensors", "--manifest", "p.json"]).code, Some(0));
    let manifest = json_of(&place, "p.json");
    let inputs = &manifest["outputs"][0]["inputs"];
    assert_eq!(
        [&inputs[0]["file"], &inputs[1]["file"], &inputs[2]],
        [&json!("m.index"), &json!(name), &Value::Null]
    );
    place.put("saved/saved_model.pb", b"").put("saved/variables/variables.index", &index);
    place.put("saved/variables/variables.data-00000-of-00001", &data);
    assert_eq!(convert(&place, &["saved", "q.safetensors"]).code, Some(0));
    // What is no index says what it is, or at least the format.
    place
        .put("checkpoint", b"model_checkpoint_path: \"m\"\n")
        .put("frozen.pb", b"\x0A\x10\x0A\x01xgraph of it");
    place.put("torn.index", &index[..index.len() / 2]).put("empty.index", b"");
    for (input, part) in [
        (name, "give its index"),
        ("saved/saved_model.pb", "give the directory"),
        ("checkpoint", "give one's NAME.index"),
        ("frozen.pb", "this is not a checkpoint"),
        ("torn.index", ""),
        ("empty.index", ""),
    ] {
        let run = convert(&place, &[input, "r.safetensors"]);
        let begin = format!("{input}: TensorFlow: ");
        assert!(run.code == Some(1) && run.err.starts_with(&begin) && run.err.contains(part), "{run:?}");
    }
    fs::remove_file(place.path(name)).expect("removed");
    convert(&place, &["m", "r.safetensors"]).fails(2, "cannot be opened");
    let file = fs::File::open(place.path("m.index")).expect("a file");
    let run = place.run_redirected(["convert", "-", "r.safetensors"], file);
    run.is(2, "", "-: cannot be read: its data is in other files; give its path\n");
    // Several steps of one training are not one model.
    place.put("n.index", &index);
    place.put("steps/a.index", &index).put("steps/b.index", &index);
    let error = "steps: has several checkpoints, such as \"a.index\" and \"b.index\"; give one of them\n";
    convert(&place, &["steps", "r.safetensors"]).is(2, "", error);
    fs::remove_file(place.path("steps/b.index")).expect("removed");
    place.put("steps/b.npy", &plain("(1,)", b"x"));
    let error = "steps: has files of several formats, such as \"a.index\" and \"b.npy\"; give the files that \
        belong together\n";
    convert(&place, &["steps", "r.safetensors"]).is(2, "", error);
}
