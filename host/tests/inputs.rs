//! `safetensors convert` with many inputs: one model, one file each, names, dry runs and manifests.
#![cfg(unix)]

use crate::formats::json_of;
use crate::numpy::{Entry, plain, zip};
use crate::support::{Place, convert, model, sound, sum, text};
use serde_json::{Value, json};
use std::fs;

fn archive(arrays: &[(&str, &[u8])]) -> Vec<u8> {
    let entries = arrays.iter().map(|(name, data)| {
        Entry::stored(&format!("{name}.npy"), &plain(&format!("({},)", data.len()), data))
    });
    zip(&entries.collect::<Vec<_>>())
}

/// Two archives with one tensor of the same name, and a model.
fn place() -> Place {
    let place = Place::new();
    place.put("encoder.npz", &archive(&[("w", &[1, 2]), ("x", &[3])]));
    place.put("decoder.npz", &archive(&[("w", &[4])]));
    place.put("m.safetensors", &sound());
    place
}

#[test]
fn several_inputs_become_one_model() {
    let place = place();
    place.put("b.npy", &plain("(2,)", &[8, 9]));
    let run = convert(&place, &["encoder.npz", "b.npy", "--file-prefix", "o.safetensors"]);
    run.is(0, "o.safetensors: 3 tensors, 189 bytes\n", "");
    assert_eq!(place.tensors("o.safetensors"), ["b.b", "encoder.w", "encoder.x"]);
    let run = convert(&place, &["m.safetensors", "encoder.npz", "b.npy", "-o", "p.safetensors"]);
    let error = "b.npy: duplicate tensor name \"b\": \"b\" of m.safetensors, and \"b\" of b.npy; use \
        --file-prefix, or rename one of them\n";
    run.is(2, "", error);
    let error = "decoder.npz: duplicate tensor name \"w\": \"w\" of encoder.npz, and \"w\" of decoder.npz; use \
        --file-prefix, or rename one of them\n";
    let both = ["encoder.npz", "decoder.npz", "p.safetensors"];
    convert(&place, &both).is(2, "", error);
    assert!(!place.path("p.safetensors").exists());
    let run = convert(&place, &[&both[..], &["--file-prefix", "--rename", "encoder.*=e.*"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(place.tensors("p.safetensors"), ["decoder.w", "e.w", "e.x"]);
    assert_eq!(text(&place, "p.safetensors", "e.w"), "[1, 2]\n");
    assert_eq!(text(&place, "p.safetensors", "decoder.w"), "[4]\n");
    let run = convert(&place, &["encoder.npz", "decoder.npz", "p.npz", "--file-prefix", "--json"]);
    let said = run.json();
    assert_eq!(said["files"], json!(["encoder.npz", "decoder.npz"]));
    assert_eq!(said["tensors"][2]["file"], "decoder.npz");
    assert_eq!((&said["tensors"][2]["name"], &said["tensors"][2]["was"]), (&json!("decoder.w"), &json!("w")));
}

/// The names of tensors that a shape, a glob or a rule needs are those with the prefix.
#[test]
fn tensors_are_renamed_by_the_rules_of_pack() {
    let place = place();
    for (options, expected) in [
        ("--rename *=layers.*", ["layers.w", "layers.x"]),
        ("--rename-prefix =m.", ["m.w", "m.x"]),
        ("--rename w=x --rename x=w", ["w", "x"]),
        ("--file-prefix --rename-prefix encoder.=e.", ["e.w", "e.x"]),
    ] {
        place.done(format!("convert encoder.npz o.safetensors --force {options}").split(' '));
        assert_eq!(place.tensors("o.safetensors"), expected);
    }
    for (rule, error) in [
        ("y=z", "encoder.npz: no tensor \"y\" to rename"),
        ("w=x", "encoder.npz: duplicate tensor name \"x\" in the output"),
        (
            "w=__padding__.1",
            "encoder.npz: \"__padding__.1\" is not allowed as a new tensor name: it is reserved for padding",
        ),
    ] {
        place.refuses(&format!("convert encoder.npz p.safetensors --rename {rule}"), 2, error);
    }
    // Scales have the new name of their tensor, and are found by the old one.
    place.put("q.safetensors", &model("", &[("w", "F32", &[2, 2], vec![0; 16])]));
    let to_i8 = ["q.safetensors", "r.safetensors", "--to", "I8", "--scale", "per-row", "--rename", "w=v"];
    assert_eq!(convert(&place, &to_i8).code, Some(0));
    assert_eq!(place.tensors("r.safetensors"), ["v", "v.scale"]);
    let back = ["r.safetensors", "s.safetensors", "--dtype", "F32", "--unscale", "--rename", "v=u"];
    assert_eq!(convert(&place, &back).code, Some(0));
    assert_eq!(place.tensors("s.safetensors"), ["u"]);
}

#[test]
fn metadata_of_inputs_must_agree() {
    let place = Place::new();
    for (name, tensor_name, value) in [("a", "x", "1"), ("b", "y", "1"), ("c", "z", "2")] {
        let metadata = format!(r#"{{"k":"{value}"}}"#);
        place.put(format!("{name}.safetensors"), &model(&metadata, &[(tensor_name, "U8", &[1], vec![7])]));
    }
    place.done("convert a.safetensors b.safetensors ab.safetensors".split(' '));
    assert!(place.decoded("ab.safetensors")["metadata"] == json!({"k": "1"}));
    let error = "c.safetensors: has the value \"2\" for metadata key \"k\", and an earlier input \"1\"; convert \
        them one by one, and merge them with `safetensors pack --prefer`\n";
    convert(&place, &["a.safetensors", "c.safetensors", "ac.safetensors"]).is(2, "", error);
}

/// The suffix counts only if the contents say nothing.
#[test]
fn contents_show_the_format() {
    let place = Place::new();
    place
        .put("a.bin", &archive(&[("w", &[1])]))
        .put("b.npz", &plain("(1,)", &[2]))
        .put("c", &plain("()", &[3]));
    for (input, name, expected) in [("a.bin", "w", "[1]\n"), ("b.npz", "b", "[2]\n"), ("c", "c", "3\n")] {
        let run = convert(&place, &[input, "o.safetensors", "--force"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(text(&place, "o.safetensors", name), expected);
    }
    // An archive is recognised by any of its entries.
    place.put("d", &zip(&[Entry::stored("README", b""), Entry::stored("w.npy", &plain("()", &[3]))]));
    let error = "d: numpy: entry \"README\" is not an array: its name does not end with .npy\n";
    convert(&place, &["d", "o.safetensors", "--force"]).is(1, "", error);
}

#[test]
fn directories_and_indexes_are_inputs() {
    let place = place();
    fs::create_dir_all(place.path("arrays/more.npy")).expect("a directory");
    place.put("arrays/a.npy", &plain("(1,)", &[1])).put("arrays/b.npz", &archive(&[("w", &[2])]));
    place.put("arrays/.hidden.npy", b"").put("arrays/README.md", b"");
    place.done("convert arrays o.safetensors".split(' '));
    assert_eq!(place.tensors("o.safetensors"), ["a", "w"]);
    // The prefix is the name of the input, not of a file in it.
    let run = convert(&place, &["arrays", "o.safetensors", "--force", "--file-prefix"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(place.tensors("o.safetensors"), ["arrays.a", "arrays.w"]);
    let index = br#"{"metadata":{},"weight_map":{"x":"encoder.npz","w":"decoder.npz"}}"#;
    place.put("m.bin.index.json", index);
    let error = "m.bin.index.json: \"encoder.npz\" has tensor \"w\", which the index does not list there\n";
    convert(&place, &["m.bin.index.json", "p.safetensors"]).is(1, "", error);
    let index = br#"{"metadata":{},"weight_map":{"x":"encoder.npz","w":"encoder.npz","a":"../a.npy"}}"#;
    place.put("m.bin.index.json", index);
    let run = convert(&place, &["m.bin.index.json", "p.safetensors"]);
    assert!(run.code == Some(1) && run.err.contains("m.bin.index.json: "), "{run:?}");
    place.put("arrays/m.index.json", br#"{"metadata":{},"weight_map":{"a":"a.npy","w":"b.npz"}}"#);
    place.done("convert arrays/m.index.json p.safetensors".split(' '));
    place.done("convert arrays p.safetensors --force".split(' '));
    place.put("arrays/m.index.json", br#"{"metadata":{},"weight_map":{"a":"a.npy","v":"b.npz"}}"#);
    let error = "arrays/m.index.json: tensor \"v\" is not in \"b.npz\"\n";
    convert(&place, &["arrays/m.index.json", "p.safetensors", "--force"]).is(1, "", error);
    place.put("arrays/n.index.json", b"{}");
    let error = "arrays: has two indexes, \"m.index.json\" and \"n.index.json\"; give one of them\n";
    convert(&place, &["arrays", "q.safetensors"]).is(2, "", error);
}

#[test]
fn each_input_becomes_a_file() {
    let place = place();
    let run = convert(&place, &["encoder.npz", "decoder.npz", "m.safetensors", "--each", "-o", "out"]);
    assert_eq!((run.code, run.err.as_str(), run.out.lines().count()), (Some(0), "", 3), "{run:?}");
    assert_eq!(place.tensors("out/encoder.safetensors"), ["w", "x"]);
    // An error about one input does not stop the others.
    place.put("bad.npz", b"PK").put("late.npy", &plain("()", &[1]));
    let run = convert(&place, &["bad.npz", "encoder.npz", "late.npy", "--each", "-o", "out", "--json"]);
    assert_eq!((run.code, run.err.as_str()), (Some(2), ""), "{run:?}");
    let lines: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ok: Vec<&Value> = lines.iter().map(|line| &line["ok"]).collect();
    assert_eq!(ok, [false, false, true]);
    assert_eq!(lines[1]["message"], "already exists; use --force to overwrite it");
    let run = convert(&place, &["bad.npz", "--each", "-o", "none"]);
    assert!(run.code == Some(1) && !place.path("none").exists(), "{run:?}");
    place.put("other/encoder.npy", &plain("()", &[1]));
    let error = "other/encoder.npy: would become out/encoder.safetensors, as encoder.npz would; convert them \
        one by one\n";
    convert(&place, &["encoder.npz", "other/encoder.npy", "--each", "-o", "out"]).is(2, "", error);
    let error = "out: is a directory; convert each input to a file in it with --each -o\n";
    convert(&place, &["encoder.npz", "decoder.npz", "-o", "out"]).is(2, "", error);
    assert_eq!(convert(&place, &["encoder.npz", "--each", "out"]).code, Some(2));
    let error = "safetensors: --each needs inputs with names; standard input has none\n";
    convert(&place, &["-", "--each", "-o", "out"]).is(2, "", error);
}

/// Otherwise two files could become one, with a name that is neither.
#[test]
fn names_that_are_not_utf8_are_errors() {
    use std::os::unix::ffi::OsStrExt;
    let place = place();
    let name = std::ffi::OsStr::from_bytes(b"n\xFF.npy");
    place.put(name, &plain("()", &[1]));
    for options in [&["--each", "-o", "out"][..], &["-o", "o.safetensors"]] {
        let options = options.iter().map(|option| option.as_ref());
        let run = place.run(["convert".as_ref(), name].into_iter().chain(options));
        run.fails(2, ": the name of the file is not UTF-8; rename it\n");
    }
    let named: [&std::ffi::OsStr; 5] =
        ["convert".as_ref(), name, "o.safetensors".as_ref(), "--name".as_ref(), "w".as_ref()];
    assert_eq!(place.run(named).code, Some(0));
}

/// The manifest is written last.
#[cfg(target_os = "linux")]
#[test]
fn a_manifest_that_cannot_be_written_says_that_the_output_stays() {
    let place = Place::new();
    let names: Vec<String> = (0..200).map(|number| format!("t{number}")).collect();
    let arrays: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"a"[..])).collect();
    place.put("m.npz", &archive(&arrays));
    let run = place.on_a_full_disk(32, "convert m.npz o.safetensors --manifest m.json");
    let error = "m.json: cannot be written: file too large; the output itself was written, and stays\n";
    run.is(2, "o.safetensors: 200 tensors, 11,688 bytes\n", error);
    assert_eq!((place.path("o.safetensors").exists(), place.path("m.json").exists()), (true, false));
}

/// All inputs are open at once.
#[test]
fn many_inputs_are_read() {
    let place = Place::new();
    for number in 0..100 {
        place.put(format!("d/{number}.npy"), &plain("()", &[1]));
    }
    let run = place.shell("ulimit -S -n 64; exec \"$0\" convert d o.safetensors");
    assert!(run.code == Some(0) && run.out.starts_with("o.safetensors: 100 tensors"), "{run:?}");
}

#[test]
fn a_dry_run_shows_what_would_be_written() {
    let place = place();
    let before = place.names(".");
    let arguments = "encoder.npz decoder.npz o.safetensors --file-prefix --to F16 --all --except *.x";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let run = convert(&place, &[&arguments[..], &["--dry-run"]].concat());
    let first = run.out.lines().next().unwrap_or("").to_owned();
    assert!(run.code == Some(0) && first.ends_with(" bytes, nothing written"), "{run:?}");
    let json = convert(&place, &[&arguments[..], &["--dry-run", "--json"]].concat());
    assert_eq!(place.names("."), before);
    assert_eq!(convert(&place, &arguments).code, Some(0));
    let bytes = place.read("o.safetensors").len();
    assert!(first.contains(&format!(" {bytes} bytes,")), "{first} {bytes}");
    let said = json.json();
    assert_eq!((&said["written"], &said["bytes"]), (&json!(false), &json!(bytes)));
    let tensor = json!({"name": "encoder.w", "from": "U8", "to": "F16", "shape": [2], "file": "encoder.npz", "was": "w"});
    assert_eq!(said["tensors"][0], tensor);
    assert!(run.out.contains("\"encoder.x\"  U8    U8   [1]    \"x\" of encoder.npz\n"), "{run:?}");
    // The same errors and exit codes, and an archive, whose length is not known before.
    for (arguments, code) in [
        ("encoder.npz decoder.npz p.safetensors", 2),
        ("encoder.npz o.safetensors", 2),
        ("encoder.npz o.npz", 0),
        ("decoder.npz o.npy", 0),
        ("encoder.npz o.npy", 2),
        ("encoder.npz --each -o out", 0),
    ] {
        let run = place.run(format!("convert {arguments} --dry-run").split(' '));
        assert_eq!(run.code, Some(code), "{run:?}");
    }
    assert_eq!(place.names(".").len(), before.len() + 1);
}

#[test]
fn a_manifest_says_what_came_from_where() {
    let place = place();
    let arguments = ["encoder.npz", "m.safetensors", "-o", "o.safetensors", "--manifest", "o.json"];
    let options = ["--to", "F16", "--only", "w", "--rename", "w=v"];
    let run = convert(&place, &[&arguments[..], &options].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let manifest = json_of(&place, "o.json");
    let len = |name: &str| place.read(name).len();
    let [output] = &manifest["outputs"].as_array().expect("outputs")[..] else { panic!("{manifest}") };
    assert_eq!((&output["file"], &output["bytes"]), (&json!("o.safetensors"), &json!(len("o.safetensors"))));
    assert_eq!(output["sha256"], sum(&place.read("o.safetensors")));
    let inputs = ["encoder.npz", "m.safetensors"]
        .map(|name| json!({"file": name, "bytes": len(name), "sha256": sum(&place.read(name))}));
    assert_eq!(output["inputs"], json!(inputs));
    let tensors = output["tensors"].as_array().expect("tensors");
    let first = json!({
        "name": "v", "dtype": "F16", "shape": [2], "sha256": sum(&[0, 0x3C, 0, 0x40]), "input": 0, "was": "w",
        "from": "U8"
    });
    assert_eq!((tensors.len(), &tensors[0]), (4, &first));
    let sums = place.run(["hash", "--tensors", "o.safetensors"]).out;
    for tensor in tensors {
        assert!(sums.contains(tensor["sha256"].as_str().expect("a sum")), "{tensor} {sums}");
    }
    assert_eq!((&tensors[3]["name"], &tensors[3]["input"]), (&json!("b"), &json!(1)));
    // It is written like any output, and never over another file of the run.
    let again = "convert encoder.npz p.safetensors --manifest";
    for (words, error) in [
        ("o.json", "o.json: already exists; use --force to overwrite it"),
        ("encoder.npz --force", "encoder.npz: is an input; choose another output file"),
        ("./p.safetensors", "./p.safetensors: is the output, too; give the manifest another name"),
    ] {
        place.refuses(&format!("{again} {words}"), 2, error);
    }
    assert!(!place.path("p.safetensors").exists());
    // With several outputs there is still one manifest.
    let each = ["encoder.npz", "decoder.npz", "bad.npz", "--each", "-o", "out", "--manifest", "all.json"];
    place.put("bad.npz", b"PK");
    assert_eq!(convert(&place, &each).code, Some(1));
    let manifest = json_of(&place, "all.json");
    let file = |at: usize| &manifest["outputs"][at]["file"];
    assert_eq!([file(0), file(1)], ["out/encoder.safetensors", "out/decoder.safetensors"]);
    assert!(file(2).is_null());
}

/// The files of a sharded model are inputs one by one.
#[test]
fn a_manifest_names_shards() {
    let place = place();
    place.done(["split", "m.safetensors", "-o", "s", "--max-size", "3"]);
    let run = convert(&place, &["encoder.npz", "s", "o.safetensors", "--manifest", "o.json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let manifest = json_of(&place, "o.json");
    let output = &manifest["outputs"][0];
    let file_of = |index: usize| {
        let number = output["tensors"][index]["input"].as_u64().expect("a number");
        output["inputs"][usize::try_from(number).expect("an index")]["file"].as_str().expect("a file")
    };
    assert_eq!(output["inputs"].as_array().expect("inputs").len(), 4);
    assert_eq!([0, 1].map(file_of), ["encoder.npz"; 2]);
    assert_eq!([2, 3].map(file_of), [1, 2].map(|part| format!("s/model-0000{part}-of-00002.safetensors")));
}
