//! `safetensors pack`: the contents of the new file, and errors that leave none.

use crate::support::{self, Place, file, sound, tensor};
use embedded_safetensors::{FileModel, View};
use serde_json::{Value, json};

/// Two tensors out of order, with metadata.
fn other() -> Vec<u8> {
    let header = concat!(
        r#"{"w.1":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"#,
        r#""__metadata__":{"by":"other","format":"pt"},"#,
        r#""w.0":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}"#
    );
    file(header, b"0123456789AB")
}

fn place() -> Place {
    let place = Place::new();
    place.put("sound", &sound()).put("other", &other());
    place
}

/// Names in file order, with their bytes.
fn contents(place: &Place, name: &str) -> Vec<(String, Vec<u8>)> {
    let bytes = std::fs::read(place.path(name)).expect("a file");
    let view = View::parse(&bytes).expect("a sound file in order");
    let tensors = view.tensors().map(|tensor| {
        let tensor = tensor.expect("a low rank");
        (tensor.name().as_str().expect("no escapes").to_owned(), tensor.bytes().to_vec())
    });
    tensors.collect()
}

fn names(place: &Place, name: &str) -> Vec<String> {
    contents(place, name).into_iter().map(|(name, _)| name).collect()
}

fn metadata(place: &Place, name: &str) -> Value {
    let model = FileModel::open(place.path(name)).expect("sound");
    json!(model.metadata())
}

#[test]
fn models_are_merged_in_canonical_order() {
    let place = place();
    let run = place.run(["pack", "sound", "other", "-o", "new"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let expected = [("w.1", "456789AB"), ("w.0", "0123"), ("a", "ab"), ("b", "cde")];
    let expected = expected.map(|(name, bytes)| (name.to_owned(), bytes.as_bytes().to_vec()));
    assert_eq!(contents(&place, "new"), expected);
    assert_eq!(metadata(&place, "new"), json!({"by": "other", "format": "pt"}));
    let len = std::fs::metadata(place.path("new")).expect("a file").len();
    assert_eq!(run.out, format!("new: 4 tensors, {len} bytes\n"));
}

#[test]
fn standard_input_and_output_can_be_models() {
    let place = place();
    let mut command = place.command(["pack", "-", "-o", "-"]);
    command.stdin(std::fs::File::open(place.path("sound")).expect("a file"));
    let output = command.output().expect("it runs");
    let expected = place.run(["pack", "sound", "-o", "copy"]);
    assert_eq!((output.status.code(), expected.code), (Some(0), Some(0)));
    assert_eq!(output.stdout, std::fs::read(place.path("copy")).expect("a file"));
    assert_eq!(output.stderr, b"");
}

#[test]
fn globs_select_tensors() {
    let place = place();
    for (options, expected) in [
        (&["--only", "w.*"][..], &["w.1", "w.0"][..]),
        (&["--only", "w.*", "--only", "a"], &["w.1", "w.0", "a"]),
        (&["--except", "w.[1-9]"], &["w.0", "a", "b"]),
        (&["--only", "w.*", "--except", "w.?"], &[]),
    ] {
        let run = place.run([&["pack", "sound", "other", "-o", "new", "--force"], options].concat());
        assert_eq!((run.code, names(&place, "new")), (Some(0), expected.iter().map(|&n| n.into()).collect()));
    }
    let none = "sound: no tensor matches \"x*\"\n";
    place.run(["pack", "sound", "-o", "none", "--only", "x*"]).is(2, "", none);
    assert!(!place.path("none").exists());
}

#[test]
fn all_orders() {
    let place = place();
    place.put("list", b"b\nw.0\n").put("twice", b"a\na\n").put("unknown", b"a\nzz\n");
    for (order, expected) in [
        ("canonical", ["w.1", "w.0", "a", "b"]),
        ("name", ["a", "b", "w.0", "w.1"]),
        ("file", ["a", "b", "w.0", "w.1"]),
        ("list", ["b", "w.0", "a", "w.1"]),
    ] {
        let run = place.run(["pack", "sound", "other", "-o", "new", "--force", "--order", order]);
        assert_eq!(
            (run.code, names(&place, "new")),
            (Some(0), expected.map(str::to_owned).to_vec()),
            "{order}"
        );
    }
    let order = |list| place.run(["pack", "sound", "-o", "none", "--order", list]);
    order("twice").is(2, "", "twice: lists \"a\" more than once\n");
    order("unknown").is(2, "", "unknown: lists \"zz\", but there is no such tensor\n");
    order("./missing").is(2, "", "./missing: cannot be read: no such file or directory\n");
    let unknown = "neither one of canonical, name, file nor a file with names";
    order("missing").is(2, "", &format!("missing: {unknown}\n"));
    order("nmae").is(2, "", &format!("nmae: {unknown}; did you mean \"name\"?\n"));
    order("http://h/m?key=secret").is(2, "", "http://h/m?…: a URL is not supported here; download it\n");
    let align = place.run(["pack", "sound", "-o", "none", "--order", "name", "--align", "64"]);
    align.is(2, "", "safetensors: --align needs its own order; use --align-all to combine it with --order\n");
    assert!(!place.path("none").exists());
}

#[test]
fn tensors_are_aligned() {
    let place = place();
    let begins = |options: &[&str]| {
        let run = place.run([&["pack", "other", "-o", "new", "--force"], options].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        let model = FileModel::open(place.path("new")).expect("sound");
        let start = model.index().summary().data_start;
        let tensors = model.tensors().filter(|tensor| !tensor.name().starts_with("__padding__"));
        tensors.map(|tensor| (start + tensor.begin()) % 64).collect::<Vec<_>>()
    };
    assert_eq!(begins(&["--align", "64"]), [0, 8]);
    assert_eq!(begins(&["--align", "64", "--align-all"]), [0, 0]);
    assert_eq!(place.run(["pack", "new", "-o", "bare"]).code, Some(0));
    assert_eq!(names(&place, "bare"), ["w.1", "w.0"], "padding is left out again");
    let bad = place.run(["pack", "other", "-o", "none", "--align", "3"]);
    assert_eq!(
        (bad.code, bad.err.lines().count(), place.path("none").exists()),
        (Some(2), 1, false),
        "{bad:?}"
    );
}

/// A tensor that only has the name of padding contains data that must not be lost.
#[test]
fn tensors_named_like_padding_are_kept() {
    let place = Place::new();
    place.put("m", &file(format!("{{{}}}", tensor("__padding__.0", 0, 5)), b"abcde"));
    let run = place.run(["pack", "m", "-o", "new"]);
    assert_eq!((run.code, names(&place, "new")), (Some(0), vec!["__padding__.0".to_owned()]), "{run:?}");
    // At the position of the new file's padding.
    let run = place.run(["pack", "m", "-o", "padded", "--align", "64", "--align-all"]);
    run.is(2, "", "padded: \"__padding__.0\" is not allowed as a tensor name in a padded file\n");
}

/// Right length and position, but with an unused number, or with bytes that are not all zero. The output
/// reports tensors that are left out.
#[test]
fn only_padding_is_left_out_and_reported() {
    let place = Place::new();
    let padded = |number: u32, byte: u8| {
        let name = format!("__padding__.{number}");
        let members = [tensor("a", 0, 1), tensor(&name, 1, 64), tensor("b", 64, 66)].join(",");
        // The data begins at 128 or 192, so the tensor ends at a multiple of 64.
        let header = format!("{{{members}}}");
        let header = format!("{header:<width$}", width = (header.len() + 8).next_multiple_of(64) - 8);
        let mut data = [0; 66];
        data[63] = byte;
        file(header, &data)
    };
    place.put("padding", &padded(0, 0)).put("number", &padded(5, 0)).put("bytes", &padded(0, 1));
    let padding = ["a", "b"].as_slice();
    for (model, expected) in [
        ("padding", padding),
        ("number", &["__padding__.5", "a", "b"]),
        ("bytes", &["__padding__.0", "a", "b"]),
    ] {
        let is_told = |run: support::Run| {
            assert_eq!(run.code, Some(0), "{run:?}");
            let told = run.out.contains("  left out: 1 tensor of padding, 63 zero bytes\n");
            assert_eq!(told, expected == padding, "{model}: {run:?}");
        };
        is_told(place.run(["pack", model, "-o", "new", "--force"]));
        assert_eq!(names(&place, "new"), expected, "{model}");
        is_told(place.run(["pack", model, "--dry-run"]));
        is_told(place.run(["split", model, "-o", "s", "--force"]));
        assert_eq!(names(&place, "s/model.safetensors"), expected, "{model}");
        assert_eq!(place.run(["join", "s", "-o", "whole", "--force"]).code, Some(0));
        assert_eq!(names(&place, "whole"), expected, "{model}");
        std::fs::copy(place.path(model), place.path("m.safetensors")).expect("existing file");
        is_told(place.run(["convert", "m.safetensors", "c.safetensors", "--force"]));
        assert_eq!(names(&place, "c.safetensors"), expected, "{model}");
        let piped = place.command(["pack", model, "-o", "-"]).output().expect("it runs");
        assert_eq!(!piped.stderr.is_empty(), expected == padding);
        let json = place.run(["pack", model, "-o", "new", "--force", "--json"]).out;
        let json: Value = serde_json::from_str(&json).expect("an object");
        assert_eq!(json["padding_left_out"], u64::from(expected == padding));
    }
    assert_eq!(contents(&place, "new")[0].1[62], 1);
}

#[test]
fn renames_happen_at_once() {
    let place = place();
    let swap = ["pack", "sound", "-o", "new", "--rename", "a=b", "--rename", "b=a"];
    assert_eq!(place.run(swap).code, Some(0));
    let swapped =
        [("a", "cde"), ("b", "ab")].map(|(name, bytes)| (name.to_owned(), bytes.as_bytes().to_vec()));
    assert_eq!(contents(&place, "new"), swapped);
    assert_eq!(place.run(["pack", "other", "-o", "x", "--rename-prefix", "w.=weight."]).code, Some(0));
    assert_eq!(names(&place, "x"), ["weight.1", "weight.0"]);
    let clash = place.run(["pack", "sound", "-o", "none", "--rename", "a=b"]);
    let both =
        "sound: duplicate tensor name \"b\": \"a\" of sound, and \"b\" of sound; use --prefer to choose\n";
    clash.is(2, "", both);
    let unknown = place.run(["pack", "sound", "-o", "none", "--rename", "z=b"]);
    unknown.is(2, "", "sound: no tensor \"z\" to rename\n");
    let prefix = place.run(["pack", "sound", "-o", "none", "--rename-prefix", "z=b"]);
    prefix.is(2, "", "sound: no tensor name begins with \"z\"\n");
    let reserved = place.run(["pack", "sound", "-o", "none", "--rename", "a=__metadata__"]);
    reserved.is(2, "", "none: \"__metadata__\" is not allowed as a tensor name\n");
    // The next command would leave it out if all bytes were zero.
    let padding = place.run(["pack", "sound", "-o", "none", "--rename", "a=__padding__.0"]);
    let sentence =
        "sound: \"__padding__.0\" is not allowed as a new tensor name: it is reserved for padding\n";
    padding.is(2, "", sentence);
    assert_eq!(place.run(["pack", "sound", "-o", "none", "--rename", "a"]).code, Some(2));
    assert!(!place.path("none").exists());
}

/// The only input is named; of several none is meant.
#[test]
fn typos_get_a_suggestion() {
    let place = place();
    let refused = |inputs: &[&str], option: &[&str], sentence: &str| {
        place.run([&["pack"], inputs, &["-o", "none"], option].concat()).is(2, "", &format!("{sentence}\n"));
    };
    let rename = ["--rename", "w.00=x"];
    refused(&["other"], &rename, "other: no tensor \"w.00\" to rename; did you mean \"w.0\"?");
    refused(&["other", "sound"], &rename, "safetensors: no tensor \"w.00\" to rename; did you mean \"w.0\"?");
    let key = "other: no metadata key \"fromat\" to remove; did you mean \"format\"?";
    refused(&["other"], &["--unset", "fromat"], key);
    let glob = "other: no tensor matches \"w.00*\"; did you mean \"w.0\"?";
    refused(&["other"], &["--only", "w.00*"], glob);
    refused(&["other"], &["--only", "zz*"], "other: no tensor matches \"zz*\"");
    place.put("list", b"w.00\n");
    let listed = "list: lists \"w.00\", but there is no such tensor; did you mean \"w.0\"?";
    refused(&["other"], &["--order", "list"], listed);
}

#[test]
fn duplicates_need_prefer() {
    let place = place();
    place.put("more", &file(format!(r#"{{"__metadata__":{{"by":"more"}},{}}}"#, tensor("w.0", 0, 1)), b"!"));
    let run = place.run(["pack", "other", "more", "-o", "new"]);
    let clash = "more: has the value \"more\" for metadata key \"by\", and an earlier file \"other\"; use \
        --prefer to choose\n";
    run.is(2, "", clash);
    let run = place.run(["pack", "sound", "sound", "-o", "new"]);
    let clash =
        "sound: duplicate tensor name \"a\": \"a\" of sound, and \"a\" of sound; use --prefer to choose\n";
    run.is(2, "", clash);
    assert!(!place.path("new").exists());
    for (prefer, by, bytes) in [("first", "other", &b"0123"[..]), ("last", "more", b"!")] {
        let run = place.run(["pack", "other", "more", "-o", "new", "--force", "--prefer", prefer]);
        assert_eq!((run.code, metadata(&place, "new")["by"].clone()), (Some(0), json!(by)));
        assert_eq!(contents(&place, "new")[1], ("w.0".into(), bytes.to_vec()));
    }
}

#[test]
fn metadata_is_edited() {
    let place = place();
    let edited = |options: &[&str]| {
        let run = place.run([&["pack", "other", "-o", "new", "--force"], options].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        metadata(&place, "new")
    };
    assert_eq!(edited(&["--set", "a=b=c", "--set", "by="]), json!({"a": "b=c", "by": "", "format": "pt"}));
    assert_eq!(edited(&["--unset", "by"]), json!({"format": "pt"}));
    assert_eq!(edited(&["--clear-metadata"]), json!(null));
    assert_eq!(edited(&["--unset", "by", "--unset", "format"]), json!(null));
    assert_eq!(edited(&["--clear-metadata", "--set", "x=y"]), json!({"x": "y"}));
    let unknown = place.run(["pack", "other", "-o", "none", "--unset", "nothing"]);
    unknown.is(2, "", "other: no metadata key \"nothing\" to remove\n");
}

#[test]
fn a_header_with_space_is_edited_in_place() {
    let place = place();
    assert_eq!(place.run(["pack", "other", "-o", "m", "--header-room", "64"]).code, Some(0));
    let before = std::fs::read(place.path("m")).expect("a file");
    let run = place.run(["pack", "m", "--in-place", "--rename", "w.0=zero", "--set", "n=1", "--unset", "by"]);
    run.is(0, &format!("m: 2 tensors, {} bytes, edited in place\n", before.len()), "");
    assert_eq!(names(&place, "m"), ["w.1", "zero"]);
    assert_eq!(metadata(&place, "m"), json!({"format": "pt", "n": "1"}));
    let after = std::fs::read(place.path("m")).expect("a file");
    assert_eq!(before[before.len() - 12..], after[after.len() - 12..]);
    let long = format!("text={}", "x".repeat(1000));
    let run = place.run(["pack", "m", "--in-place", "--json", "--set", &long]);
    let line: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(
        (&line["in_place"], &line["written"], &line["output"]),
        (&json!(false), &json!(true), &json!("m"))
    );
    assert_eq!(names(&place, "m"), ["w.1", "zero"]);
    place.run(["pack", "m", "sound", "--in-place"]).is(
        2,
        "",
        "safetensors: --in-place needs exactly one input, 2 given\n",
    );
    for refused in [&["pack", "m", "other", "--in-place"][..], &["pack", "-", "--in-place"]] {
        assert_eq!(place.run_piped(refused, &sound()).code, Some(2), "{refused:?}");
    }
    let before = std::fs::read(place.path("m")).expect("a file");
    for refused in [&["--only", "w*"][..], &["--order", "name"]] {
        let run = place.run([&["pack", "m", "--in-place"], refused].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{refused:?}");
        assert!(run.err.contains("--in-place") && run.err.contains(refused[0]), "{run:?}");
    }
    assert_eq!(std::fs::read(place.path("m")).expect("a file"), before);
}

#[test]
fn the_model_of_a_directory_is_edited_in_place() {
    let place = place();
    std::fs::create_dir(place.path("d")).expect("a directory");
    place.run(["pack", "other", "-o", "d/x.safetensors", "--header-room", "64"]);
    let run = place.run(["pack", "--in-place", "d", "--set", "n=1"]);
    assert!(run.out.starts_with("d/x.safetensors: 2 tensors, ") && run.code == Some(0), "{run:?}");
    assert_eq!(metadata(&place, "d/x.safetensors")["n"], "1");
    place.put("d/y.safetensors", &sound());
    let run = place.run(["pack", "--in-place", "d", "--set", "n=2"]);
    run.is(2, "", "d: contains 2 models: \"x.safetensors\", \"y.safetensors\"; give the path of one\n");
}

#[test]
fn a_dry_run_says_whether_the_header_has_space() {
    let place = place();
    assert_eq!(place.run(["pack", "other", "-o", "m", "--header-room", "64"]).code, Some(0));
    let text = "text=".to_owned() + &"x".repeat(1000);
    for (edit, said, is_in_place) in [
        ("n=1", "nothing written: the header has space for an edit in place", true),
        (text.as_str(), "nothing written: no space in the header, so the file would be rewritten", false),
    ] {
        let edit = ["pack", "m", "--in-place", "--rename", "w.0=zero", "--set", edit];
        let before = std::fs::read(place.path("m")).expect("a file");
        let run = place.run(edit.iter().chain(&["--dry-run"]));
        assert!(run.code == Some(0) && run.out.lines().next().expect("a line").ends_with(said), "{run:?}");
        let run = place.run(edit.iter().chain(&["--dry-run", "--json"]));
        let plan: Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!((&plan["written"], &plan["in_place"]), (&json!(false), &json!(is_in_place)));
        assert_eq!(std::fs::read(place.path("m")).expect("a file"), before);
        assert_eq!(std::fs::read_dir(place.path(".")).expect("a directory").count(), 3);
        // The same as what it does then.
        let made = place.run(edit.iter().chain(&["--json"]));
        let made: Value = serde_json::from_str(&made.out).expect("JSON");
        assert_eq!((&made["bytes"], &made["in_place"]), (&plan["bytes"], &plan["in_place"]));
        let shown: Value = serde_json::from_str(&place.run(["inspect", "m", "--json"]).out).expect("JSON");
        for row in plan["plan"].as_array().expect("a list") {
            let name = row["name"].as_str().expect("a name");
            assert_eq!(shown["tensors"][name]["data_offsets"], row["data_offsets"], "{name}");
        }
        place.put("m", &before);
    }
}

#[test]
fn many_tensors_are_renamed_by_a_pattern() {
    let place = place();
    let renamed = |edits: &[&str]| place.run([&["pack", "other", "-o", "new", "--force"], edits].concat());
    assert_eq!(renamed(&["--rename", "w.*=layer.*.weight"]).code, Some(0));
    assert_eq!(names(&place, "new"), ["layer.1.weight", "layer.0.weight"]);
    // The exact name and the first pattern win.
    let edits = ["--rename", "w.*=a.*", "--rename", "w.0=zero", "--rename", "*=b.*"];
    assert_eq!(renamed(&edits).code, Some(0));
    assert_eq!(names(&place, "new"), ["a.1", "zero"]);
    renamed(&["--rename", "x.*=y.*"]).is(2, "", "other: no tensor \"x.*\" to rename\n");
    let sentence = "other: \"y\" needs 1 *, one for each wildcard of \"w.*\", 0 given\n";
    renamed(&["--rename", "w.*=y"]).is(2, "", sentence);
    assert!(renamed(&["--rename", "*.*=x*x*", "--rename", "w.1=xwx0"]).err.contains("duplicate tensor name"));
    place.put("m", &other());
    assert_eq!(place.run(["pack", "m", "--in-place", "--rename", "w.*=v.*"]).code, Some(0));
    assert_eq!(names(&place, "m"), ["v.0", "v.1"]);
}

/// An edit in place invalidates the length of the header until the new header is complete, and keeps both
/// in an undo file.
#[test]
fn a_half_written_header_is_reported_and_repaired() {
    let place = place();
    let (old, data) = (sound(), b"abcde");
    let header = &old[..old.len() - data.len()];
    let new =
        [&header[..8], String::from_utf8_lossy(&header[8..]).replace("\"a\"", "\"x\"").as_bytes()].concat();
    let lengths = [old.len() as u64, header.len() as u64].map(u64::to_le_bytes).concat();
    place.put(".m.undo", &[b"safetensors undo", &lengths[..], header, &new, data, data].concat());
    place.put("m", &[&header[..4], &[0xFF; 4], &new[8..], data].concat());
    let torn = "m: cannot be read: its header is half written: an edit is in progress or was interrupted; \
        `safetensors pack --in-place FILE` repairs it\n";
    for command in ["check", "inspect", "hash"] {
        place.run([command, "m"]).is(2, "", torn);
    }
    let torn_file = std::fs::read(place.path("m")).expect("a file");
    place.run(["pack", "--in-place", "--dry-run", "m"]).is(2, "", torn);
    assert!(std::fs::read(place.path("m")).is_ok_and(|now| now == torn_file));
    let run = place.run(["pack", "--in-place", "m"]);
    let done = format!("m: 2 tensors, {} bytes, edited in place\n", old.len());
    run.is(0, &done, "m: restored the header after an interrupted edit\n");
    assert_eq!(names(&place, "m"), ["a", "b"], "the old names");
    assert!(!place.path(".m.undo").exists());
    place.run(["check", "m"]).is(0, &format!("m: ok, 2 tensors, {} bytes\n", old.len()), "");
}

#[test]
fn a_dry_run_writes_nothing() {
    let place = place();
    let run = place.run(["pack", "other", "-o", "new", "--dry-run", "--rename", "w.0=x", "--json"]);
    let line: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!((run.code, &line["written"], place.path("new").exists()), (Some(0), &json!(false), false));
    let row = json!({"name": "x", "dtype": "F16", "shape": [2], "data_offsets": [8, 12], "file": "other",
        "was": "w.0"});
    assert_eq!(line["plan"][1], row);
    assert_eq!(place.run(["pack", "other", "-o", "new", "--rename", "w.0=x"]).code, Some(0));
    assert_eq!(line["bytes"], std::fs::metadata(place.path("new")).expect("a file").len());
}

#[test]
fn existing_files_need_force() {
    let place = place();
    place.put("new", b"mine");
    place.run(["pack", "sound", "-o", "new"]).is(2, "", "new: already exists; use --force to overwrite it\n");
    assert_eq!(std::fs::read(place.path("new")).expect("a file"), b"mine");
    assert_eq!(place.run(["pack", "sound", "-o", "new", "--force"]).code, Some(0));
    let itself = "sound: is an input; choose another output file\n";
    place.run(["pack", "sound", "-o", "sound", "--force"]).is(2, "", itself);
    assert_eq!(std::fs::read(place.path("sound")).expect("a file"), sound());
}

#[test]
fn bad_inputs_leave_nothing_behind() {
    let place = place();
    place.put("short", b"abc").put("empty", b"");
    std::fs::create_dir(place.path("dir")).expect("directory");
    for (bad, code) in [("short", 1), ("empty", 1), ("gone", 2), ("dir", 2)] {
        let run = place.run(["pack", "sound", bad, "-o", "new"]);
        assert_eq!((run.code, run.out.as_str()), (Some(code), ""), "{run:?}");
        assert!(run.err.starts_with(&format!("{bad}: ")), "{run:?}");
        let run = place.run(["pack", "--json", bad, "-o", "new"]);
        let line: Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!((run.code, &line["ok"], run.err.as_str()), (Some(code), &json!(false), ""));
    }
    let lost = place.run(["pack", "sound", "-o", "nowhere/new"]);
    lost.is(2, "", "nowhere/new: cannot be written: no such file or directory\n");
    let left: Vec<_> = std::fs::read_dir(place.path(".")).expect("directory").flatten().collect();
    assert_eq!(left.len(), 5, "{left:?}");
    for usage in
        [&["pack"][..], &["pack", "sound"], &["pack", "-o", "x"], &["pack", "sound", "-o", "x", "--bogus"]]
    {
        assert_eq!(place.run(usage).code, Some(2), "{usage:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_once() {
    let place = place();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let run = support::finish(place.command(["pack", "sound", "-o", "-"]).stdout(full));
    run.is(2, "", "safetensors: cannot write to standard output: no space left on device\n");
}

#[test]
fn an_order_pipe_is_read_but_does_not_block() {
    let place = Place::new();
    place.put("sound", &sound());
    let made = std::process::Command::new("mkfifo").arg(place.path("fifo")).status().expect("mkfifo");
    assert!(made.success());
    place.run(["pack", "sound", "--order", "fifo", "-o", "out"]).is(
        2,
        "",
        "fifo: cannot be read: nothing writes to this pipe\n",
    );
    let script = format!(
        "(printf 'b\\na\\n' > fifo) & {} pack sound --order fifo -o out",
        env!("CARGO_BIN_EXE_safetensors")
    );
    let run = std::process::Command::new("sh").args(["-c", &script]).current_dir(place.path(".")).output();
    assert_eq!(run.expect("a shell").status.code(), Some(0));
    assert_eq!(place.run(["cat", "out", "b"]).code, Some(0));
}
