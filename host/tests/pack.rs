//! `safetensors pack`: the contents of the new file, and errors that leave none.

use crate::support::{self, Contents, Place, file, model, random, sound, tensor};
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
    place.done(["pack", "sound", "-o", "copy"]);
    let copy = String::from_utf8(place.read("copy")).expect("its bytes are those of text");
    place.run_piped(["pack", "-", "-o", "-"], &sound()).is(0, &copy, "");
}

#[test]
fn globs_select_tensors() {
    let place = place();
    for (options, expected) in [
        (&["--only", "w.*"][..], &["w.1", "w.0"][..]),
        (&["--only", "w.*", "--only", "a"], &["w.1", "w.0", "a"]),
        (&["--except", "w.[1-9]"], &["w.0", "a", "b"]),
    ] {
        let run = place.run([&["pack", "sound", "other", "-o", "new", "--force"], options].concat());
        assert_eq!((run.code, names(&place, "new")), (Some(0), expected.iter().map(|&n| n.into()).collect()));
    }
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
    let unknown = "neither one of canonical, name, file nor a file with names";
    for (order, sentence) in [
        ("twice", "twice: lists \"a\" more than once"),
        ("unknown", "unknown: lists \"zz\", but there is no such tensor"),
        ("./missing", "./missing: cannot be read: no such file or directory"),
        ("missing", &format!("missing: {unknown}")),
        ("nmae", &format!("nmae: {unknown}; did you mean \"name\"?")),
        ("http://h/m?key=secret", "http://h/m?…: a URL is not supported here; download it"),
        (
            "name --align 64",
            "safetensors: --align needs its own order; use --align-all to combine it with --order",
        ),
    ] {
        place.refuses(&format!("pack sound -o none --order {order}"), 2, sentence);
    }
    place.run(["pack", "other", "-o", "none", "--align", "3"]).fails(2, "cannot be aligned to 3");
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
    place.done(["pack", "new", "-o", "bare"]);
    assert_eq!(names(&place, "bare"), ["w.1", "w.0"], "padding is left out again");
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
        place.done(["join", "s", "-o", "whole", "--force"]);
        assert_eq!(names(&place, "whole"), expected, "{model}");
        std::fs::copy(place.path(model), place.path("m.safetensors")).expect("existing file");
        is_told(place.run(["convert", "m.safetensors", "c.safetensors", "--force"]));
        assert_eq!(names(&place, "c.safetensors"), expected, "{model}");
        let piped = place.command(["pack", model, "-o", "-"]).output().expect("it runs");
        assert_eq!(!piped.stderr.is_empty(), expected == padding);
        let json = place.run(["pack", model, "-o", "new", "--force", "--json"]).json();
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
    place.done(["pack", "other", "-o", "x", "--rename-prefix", "w.=weight."]);
    assert_eq!(names(&place, "x"), ["weight.1", "weight.0"]);
    for (edit, sentence) in [
        (
            "--rename a=b --prefer last",
            "sound: duplicate tensor name \"b\": \"a\" of sound, and \"b\" of sound; rename one of them",
        ),
        ("--rename z=b", "sound: no tensor \"z\" to rename"),
        ("--rename-prefix z=b", "sound: no tensor name begins with \"z\""),
        ("--rename a=__metadata__", "none: \"__metadata__\" is not allowed as a tensor name"),
        // The next command would leave it out if all bytes were zero.
        (
            "--rename a=__padding__.0",
            "sound: \"__padding__.0\" is not allowed as a new tensor name: it is reserved for padding",
        ),
        ("--only x*", "sound: no tensor matches \"x*\""),
        ("--unset nothing", "sound: no metadata key \"nothing\" to remove"),
        ("--in-place", "safetensors: --in-place needs exactly one input, 2 given"),
    ] {
        let inputs = if edit == "--in-place" { "sound other" } else { "sound -o none" };
        place.refuses(&format!("pack {inputs} {edit}"), 2, sentence);
    }
    assert_eq!(place.run(["pack", "sound", "-o", "none", "--rename", "a"]).code, Some(2));
    assert!(!place.path("none").exists());
}

/// The only input is named; of several none is meant.
#[test]
fn typos_get_a_suggestion() {
    let place = place();
    let three = ["m.0.q", "m.1.q", "m.1.k"].map(|name| (name, "U8", &[1][..], vec![0]));
    place.put("list", b"w.00\n").put("three", &model("", &three));
    for (words, sentence) in [
        ("other --rename w.00=x", "other: no tensor \"w.00\" to rename; did you mean \"w.0\"?"),
        ("other sound --rename w.00=x", "safetensors: no tensor \"w.00\" to rename; did you mean \"w.0\"?"),
        ("three --rename m.=n.", "three: no tensor \"m.\" to rename; did you mean `--rename-prefix m.=n.`?"),
        ("three --rename q=k", "three: no tensor \"q\" to rename; did you mean `--rename '*q*=*k*'`?"),
        ("three --rename k=v", "three: no tensor \"k\" to rename; did you mean `--rename '*k*=*v*'`?"),
        ("three --only [^0]", "three: \"[^0]\": [!…] stands for a character that is not listed"),
        ("three --only {a,b}", "three: no tensor matches \"{a,b}\"; give several patterns instead of braces"),
        ("other --unset fromat", "other: no metadata key \"fromat\" to remove; did you mean \"format\"?"),
        ("other --only w.00*", "other: no tensor matches \"w.00*\"; did you mean \"w.0\"?"),
        ("other --order list", "list: lists \"w.00\", but there is no such tensor; did you mean \"w.0\"?"),
    ] {
        place.refuses(&format!("pack -o none {words}"), 2, sentence);
    }
}

#[test]
fn duplicates_need_prefer() {
    let place = place();
    place.put("more", &model(r#"{"by":"more"}"#, &[("w.0", "U8", &[1], vec![b'!'])]));
    let key = "more: has the value \"more\" for metadata key \"by\", and an earlier file \"other\"";
    place.refuses("pack other more -o new", 2, &format!("{key}; use --prefer to choose"));
    let name = "sound: duplicate tensor name \"a\": \"a\" of sound, and \"a\" of sound";
    place.refuses("pack sound sound -o new", 2, &format!("{name}; use --prefer to choose"));
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
}

#[test]
fn a_header_with_space_is_edited_in_place() {
    let place = place();
    place.done(["pack", "other", "-o", "m", "--header-room", "64"]);
    let before = place.read("m");
    let run = place.run(["pack", "m", "--in-place", "--rename", "w.0=zero", "--set", "n=1", "--unset", "by"]);
    run.is(0, &format!("m: 2 tensors, {} bytes, edited in place\n", before.len()), "");
    assert_eq!(names(&place, "m"), ["w.1", "zero"]);
    assert_eq!(metadata(&place, "m"), json!({"format": "pt", "n": "1"}));
    let after = place.read("m");
    assert_eq!(before[before.len() - 12..], after[after.len() - 12..]);
    let long = format!("text={}", "x".repeat(1000));
    let line = place.done(["pack", "m", "--in-place", "--json", "--set", &long]).json();
    let said = [&line["in_place"], &line["written"], &line["output"]];
    assert_eq!(said, [&json!(false), &json!(true), &json!("m")]);
    let said = place.done(["pack", "other", "--in-place", "--set", &long]).out;
    assert!(said.ends_with(" bytes, rewritten: no space in the header\n"), "{said}");
    assert_eq!(names(&place, "m"), ["w.1", "zero"]);
    for refused in [&["pack", "m", "other", "--in-place"][..], &["pack", "-", "--in-place"]] {
        assert_eq!(place.run_piped(refused, &sound()).code, Some(2), "{refused:?}");
    }
    let before = place.read("m");
    for refused in [&["--only", "w*"][..], &["--order", "name"]] {
        let run = place.run([&["pack", "m", "--in-place"], refused].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{refused:?}");
        assert!(run.err.contains("--in-place") && run.err.contains(refused[0]), "{run:?}");
    }
    assert_eq!(place.read("m"), before);
}

#[test]
fn the_model_of_a_directory_is_edited_in_place() {
    let place = place();
    place.done(["pack", "other", "-o", "m", "--header-room", "64"]);
    place.put("d/x.safetensors", &place.read("m"));
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
    place.done(["pack", "other", "-o", "m", "--header-room", "64"]);
    let text = "text=".to_owned() + &"x".repeat(1000);
    for (edit, said, is_in_place) in [
        ("n=1", "nothing written: the header has space for an edit in place", true),
        (text.as_str(), "nothing written: no space in the header, so the file would be rewritten", false),
    ] {
        let edit = ["pack", "m", "--in-place", "--rename", "w.0=zero", "--set", edit];
        let before = place.read("m");
        let run = place.run(edit.iter().chain(&["--dry-run"]));
        assert!(run.code == Some(0) && run.out.lines().next().expect("a line").ends_with(said), "{run:?}");
        let plan = place.run(edit.iter().chain(&["--dry-run", "--json"])).json();
        assert_eq!((&plan["written"], &plan["in_place"]), (&json!(false), &json!(is_in_place)));
        assert_eq!(place.read("m"), before);
        assert_eq!(place.names("."), ["m", "other", "sound"]);
        // The same as what it does then.
        let made = place.run(edit.iter().chain(&["--json"])).json();
        assert_eq!((&made["bytes"], &made["in_place"]), (&plan["bytes"], &plan["in_place"]));
        let shown = place.done(["inspect", "m", "--json"]).json();
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
    place.done(["pack", "m", "--in-place", "--rename", "w.*=v.*"]);
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
    let torn_file = place.read("m");
    place.run(["pack", "--in-place", "--dry-run", "m"]).is(2, "", torn);
    assert!(std::fs::read(place.path("m")).is_ok_and(|now| now == torn_file));
    let run = place.run(["pack", "--in-place", "m"]);
    let done = format!("m: 2 tensors, {} bytes, edited in place\n", old.len());
    run.is(0, &done, "m: restored the old bytes after an interrupted edit\n");
    assert_eq!(names(&place, "m"), ["a", "b"], "the old names");
    assert!(!place.path(".m.undo").exists());
    place.run(["check", "m"]).is(0, &format!("m: ok, 2 tensors, {} bytes\n", old.len()), "");
}

#[test]
fn a_dry_run_writes_nothing() {
    let place = place();
    let line = place.done(["pack", "other", "-o", "new", "--dry-run", "--rename", "w.0=x", "--json"]).json();
    assert_eq!((&line["written"], place.path("new").exists()), (&json!(false), false));
    let row = json!({"name": "x", "dtype": "F16", "shape": [2], "data_offsets": [8, 12], "file": "other",
        "was": "w.0"});
    assert_eq!(line["plan"][1], row);
    place.done(["pack", "other", "-o", "new", "--rename", "w.0=x"]);
    assert_eq!(line["bytes"], std::fs::metadata(place.path("new")).expect("a file").len());
}

#[test]
fn bad_usage_is_exit_code_2() {
    for usage in ["pack", "pack sound", "pack -o x", "pack sound -o x --bogus"] {
        place().run(usage.split(' ')).fails(2, "");
    }
}

#[test]
fn an_order_pipe_is_read_but_does_not_block() {
    let place = Place::new();
    place.put("sound", &sound());
    assert_eq!(place.shell("mkfifo fifo").code, Some(0));
    place.refuses("pack sound --order fifo -o out", 2, "fifo: cannot be read: nothing writes to this pipe");
    let run = place.shell("(printf 'b\\na\\n' > fifo) & \"$0\" pack sound --order fifo -o out");
    assert_eq!(run.code, Some(0));
    place.done(["cat", "out", "b"]);
}

/// The naive model compares bytes; the first name stays, as in the reference.
#[test]
fn equal_tensors_of_random_models_are_stored_once() {
    let (mut random, place) = (random(), Place::new());
    for case in 0..300 {
        let random = &mut random;
        let rows: Vec<Contents> = (0..2 + random.below(6))
            .map(|at| {
                let (dtype, len) = (random.pick(&["U8", "I8"]), 2 * random.below(3));
                let shape = random.pick(&[[len as u64, 1], [1, len as u64]]);
                let byte = random.pick(&[0, 1]);
                (format!("t{}", (at * 7 + case) % 11), dtype, shape.to_vec(), vec![byte; len])
            })
            .collect();
        place.put_model("m", &rows);
        let (mut sorted, mut kept, mut notes) = (rows.clone(), Vec::<Contents>::new(), Vec::new());
        sorted.sort();
        for row in sorted {
            let (name, form) = (row.0.clone(), (row.1, &row.2, &row.3));
            match kept.iter().find(|other| (other.1, &other.2, &other.3) == form && !row.3.is_empty()) {
                Some(first) => notes.push((name, first.0.clone())),
                None => kept.push(row),
            }
        }
        assert_eq!(place.makes("pack m --dedupe", kept, notes).code, Some(0), "{rows:?}");
    }
}

#[test]
fn a_key_of_the_user_is_not_overwritten() {
    let place = Place::new();
    let rows = ["a", "b"].map(|name| (name, "U8", &[1][..], vec![7]));
    place.put("m", &model(r#"{"b":"mine","c":"b"}"#, &rows));
    let sentence = "safetensors: tensor \"b\" is equal to \"a\", but the metadata has the key \"b\" with the value \
        \"mine\"; remove it with --unset";
    place.refuses("pack m --dedupe -o out", 2, sentence);
    let run = place.done(["pack", "m", "--dedupe", "--unset", "b", "-o", "out", "--json"]);
    assert_eq!(run.json()["tied"], json!([{"name": "b", "same_as": "a"}]));
    let pairs = ["b", "c"].map(|name| (name.to_owned(), "a".to_owned()));
    assert_eq!(place.contents().1, Some(pairs.into()), "an older note names what is left out now");
}
