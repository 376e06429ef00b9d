//! `safetensors checkpoint` writes directories atomically, and `hash --verify` verifies them.

use crate::support::{Place, file, finish, sound, tensor};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn place() -> Place {
    let place = Place::new();
    place.put("model.safetensors", &sound()).put("config.json", b"{}").put("bad.safetensors", b"abc");
    place
}

/// The names in a directory, hidden ones too.
fn names(folder: impl AsRef<Path>) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("directory entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn files_are_copied_with_their_sums() {
    let place = place();
    place.run(["checkpoint", "c", "model.safetensors", "--also", "config.json"]).is(
        0,
        "c: 2 files, 120 bytes\n",
        "",
    );
    assert_eq!(names(place.path("c")), ["SHA256SUMS", "config.json", "model.safetensors"]);
    assert_eq!(fs::read(place.path("c/model.safetensors")).expect("the model"), sound());
    let list = fs::read_to_string(place.path("c/SHA256SUMS")).expect("the list");
    assert_eq!(list, format!("{}  config.json\n{}  model.safetensors\n", sum(b"{}"), sum(&sound())));
    assert_eq!(names(place.path(".")), ["bad.safetensors", "c", "config.json", "model.safetensors"]);
    let run = place.run(["checkpoint", "d", "model.safetensors", "--json"]);
    let said: Value = serde_json::from_str(&run.out).expect("JSON");
    let files = json!([{"file": "model.safetensors", "bytes": 118}]);
    assert_eq!(said, json!({"ok": true, "output": "d", "files": files}));
}

#[test]
fn a_damaged_checkpoint_is_rejected() {
    let place = place();
    let verify = || place.run(["hash", "--verify", "c"]);
    let make = || {
        // A damaged checkpoint may not be replaced.
        let _ = fs::remove_dir_all(place.path("c"));
        let run = place.run(["checkpoint", "--force", "c", "model.safetensors", "--also", "config.json"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        verify().is(0, "c/config.json: ok\nc/model.safetensors: ok\n", "");
    };
    let put = |name: &str, bytes: &[u8]| {
        place.put(name, bytes);
    };
    let list = || fs::read_to_string(place.path("c/SHA256SUMS")).expect("the list");
    let tampered: [(&dyn Fn(), i32, &str); 6] = [
        (&|| put("c/config.json", b"[]"), 1, "c/config.json: changed"),
        (&|| fs::remove_file(place.path("c/config.json")).expect("removed"), 1, "c/config.json: missing"),
        (&|| put("c/more", b""), 1, "c/more: added"),
        (&|| put("c/SHA256SUMS", &list().as_bytes()[1..]), 2, "c/SHA256SUMS: not a list of sums"),
        (
            &|| put("c/SHA256SUMS", list().replace("config", "../config").as_bytes()),
            2,
            "the name \"../config.json\"",
        ),
        (
            &|| put("c/SHA256SUMS", list().lines().next().expect("a line").as_bytes()),
            1,
            "c/model.safetensors: added",
        ),
    ];
    for (tamper, code, said) in tampered {
        make();
        tamper();
        let run = verify();
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(format!("{}{}", run.out, run.err).contains(said), "{said}: {run:?}");
    }
}

#[test]
fn only_checkpoints_are_replaced_and_only_with_force() {
    let place = place();
    fs::create_dir(place.path("c")).expect("directory");
    place.put("c/mine", b"mine").put("file", b"mine");
    let run =
        |options: &[&str]| place.run(["checkpoint"].iter().chain(options).chain(&["model.safetensors"]));
    run(&["c"]).is(2, "", "c: already exists; use --force to replace it\n");
    run(&["--force", "c"]).is(2, "", "c: not a checkpoint: it has no SHA256SUMS; refusing to replace it\n");
    run(&["--force", "file"]).is(2, "", "file: not a directory; refusing to replace it\n");
    assert_eq!(
        (names(place.path("c")), fs::read(place.path("file")).expect("it")),
        (vec!["mine".into()], b"mine".to_vec())
    );
    place.put("c/SHA256SUMS", b"");
    run(&["--force", "c"]).is(2, "", "c/SHA256SUMS: not a list of sums: it lists no files\n");
    fs::remove_dir_all(place.path("c")).expect("removed");
    fs::create_dir(place.path("c")).expect("directory");
    assert_eq!(run(&["--force", "c"]).code, Some(0), "an empty folder");
    fs::create_dir(place.path("c/sub")).expect("directory");
    let unlisted = |name: &str| {
        place.put(format!("c/{name}"), b"mine");
        let why =
            format!("c: contains {name:?}, which its SHA256SUMS does not list; refusing to replace it\n");
        run(&["--force", "c"]).is(2, "", &why);
        assert_eq!(fs::read(place.path(format!("c/{name}"))).expect("existing file"), b"mine");
        fs::remove_file(place.path(format!("c/{name}"))).expect("removed");
    };
    ["mine", ".mine", "sub/SHA256SUMS"].into_iter().for_each(unlisted);
    fs::remove_file(place.path("c/model.safetensors")).expect("removed");
    assert_eq!(run(&["--force", "c"]).code, Some(0), "a file is missing");
    assert_eq!(names(place.path("c")), ["SHA256SUMS", "model.safetensors"]);
    assert_eq!(names(place.path(".")), ["bad.safetensors", "c", "config.json", "file", "model.safetensors"]);
}

#[test]
fn invalid_or_missing_inputs_leave_no_directory() {
    let place = place();
    let bad = place.run(["check", "bad.safetensors"]).out;
    place.run(["checkpoint", "c", "model.safetensors", "bad.safetensors"]).is(1, "", &bad);
    for (files, why) in [
        (&["gone.safetensors"][..], "gone.safetensors: cannot be read: no such file or directory\n"),
        (&["--also", "gone.json"], "gone.json: cannot be read: no such file or directory\n"),
        (&["-"], "safetensors: standard input cannot go into a checkpoint: it has no file name\n"),
        (&["--also", "-"], "safetensors: standard input cannot go into a checkpoint: it has no file name\n"),
        (&["--also", "."], ".: cannot be read: not a regular file\n"),
        (
            &["--also", "config.json", "--also", "./config.json"],
            "./config.json: has the same name as \"config.json\"\n",
        ),
    ] {
        let args = ["checkpoint", "c", "model.safetensors"].iter().chain(files);
        place.run(args).is(2, "", why);
    }
    let nowhere = place.run(["checkpoint", "config.json/c", "model.safetensors"]);
    assert_eq!((nowhere.code, nowhere.err.lines().count()), (Some(2), 1), "{nowhere:?}");
    place.put("SHA256SUMS", b"");
    let list = place.run(["checkpoint", "c", "model.safetensors", "--also", "SHA256SUMS"]);
    assert_eq!((list.code, list.err.lines().count()), (Some(2), 1), "{list:?}");
    assert!(list.err.contains("it is the list of sums"), "{list:?}");
    assert_eq!(names(place.path(".")), ["SHA256SUMS", "bad.safetensors", "config.json", "model.safetensors"]);
    for args in [&["checkpoint"][..], &["checkpoint", "c"]] {
        assert_eq!(place.run(args).code, Some(2));
    }
}

#[test]
fn an_index_brings_its_shards() {
    let place = place();
    fs::create_dir(place.path("m")).expect("directory");
    let index = r#"{"metadata":{"total_size":5},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}}"#;
    place.put("m/1.safetensors", &file(format!("{{{}}}", tensor("a", 0, 2)), b"ab"));
    place.put("m/2.safetensors", &file(format!("{{{}}}", tensor("b", 0, 3)), b"cde"));
    place.put("m/model.safetensors.index.json", index.as_bytes());
    let run = place.run(["checkpoint", "c", "m/model.safetensors.index.json", "--also", "config.json"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let expected =
        ["1.safetensors", "2.safetensors", "SHA256SUMS", "config.json", "model.safetensors.index.json"];
    assert_eq!(names(place.path("c")), expected);
    place.run(["diff", "m", "c"]).is(0, "the same: 2 tensors bit-identical\n", "");
    fs::remove_file(place.path("m/2.safetensors")).expect("it can be removed");
    let run = place.run(["checkpoint", "d", "m/model.safetensors.index.json"]);
    assert_eq!((run.code, place.path("d").exists()), (Some(1), false), "{run:?}");
}

/// A file system that is full as soon as anything is written to it.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_directory() {
    let place = place();
    let len = 40_u64 << 20;
    place.put("large.safetensors", &file(format!("{{{}}}", tensor("a", 0, len)), b""));
    let large = fs::OpenOptions::new().write(true).open(place.path("large.safetensors")).expect("the model");
    large.set_len(large.metadata().expect("its length").len() + len).expect("a file with holes");
    // No file of this process may be larger: the same as a full disk, but for the words.
    let program = env!("CARGO_BIN_EXE_safetensors");
    let limited = format!(
        "trap '' XFSZ; ulimit -f 1000; exec {program} checkpoint c model.safetensors large.safetensors"
    );
    let mut command = std::process::Command::new("sh");
    let run = finish(command.args(["-c", &limited]).current_dir(place.path(".")));
    run.is(2, "", "c/large.safetensors: cannot be written: file too large\n");
    assert_eq!(
        names(place.path(".")),
        ["bad.safetensors", "config.json", "large.safetensors", "model.safetensors"]
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_old_checkpoint() {
    let place = place();
    let len = 1_u64 << 40;
    place.put("large.safetensors", &file(format!("{{{}}}", tensor("a", 0, len)), b""));
    let large = fs::OpenOptions::new().write(true).open(place.path("large.safetensors")).expect("the model");
    large.set_len(large.metadata().expect("its length").len() + len).expect("a file with holes");
    assert_eq!(place.run(["checkpoint", "c", "model.safetensors"]).code, Some(0));
    let child =
        place.command(["checkpoint", "--force", "c", "large.safetensors"]).spawn().expect("it starts");
    let started = std::time::Instant::now();
    while !names(place.path(".")).iter().any(|name| name.starts_with(".safetensors")) {
        assert!(started.elapsed().as_secs() < 30, "it does not begin");
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0), "{output:?}");
    assert_eq!(
        names(place.path(".")),
        ["bad.safetensors", "c", "config.json", "large.safetensors", "model.safetensors"]
    );
    assert_eq!(names(place.path("c")), ["SHA256SUMS", "model.safetensors"]);
}

#[cfg(unix)]
#[test]
fn names_are_escaped() {
    let place = place();
    place.put("\u{1b}[31m.json", b"");
    let run = place.run(["checkpoint", "c", "model.safetensors", "--also", "\u{1b}[31m.json"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(!run.err.contains('\u{1b}') && run.err.contains("it has a control character"), "{run:?}");
    let run = place.run(["checkpoint", "\u{1b}[31m", "model.safetensors"]);
    run.is(0, "\\u{1b}[31m: 1 file, 118 bytes\n", "");
}

#[test]
fn an_output_directory_has_a_name() {
    let place = place();
    let sentence = "safetensors: an output directory is needed; standard output is not supported\n";
    for args in [
        &["checkpoint", "-o", "-", "model.safetensors"][..],
        &["checkpoint", "-", "model.safetensors", "--force"],
        &["split", "model.safetensors", "-o", "-"],
        &["convert", "--each", "model.safetensors", "-o", "-"],
    ] {
        place.run(args).is(2, "", sentence);
    }
    fs::create_dir(place.path("-")).expect("directory");
    let file = place.run(["convert", "model.safetensors", "-o", "-"]);
    assert!(file.code == Some(2) && file.err.contains("an output file is needed"), "{file:?}");
    let without_model = place.run(["checkpoint", "-o", "new"]);
    assert!(without_model.err.contains("not provided:\n  <MODEL>...\n"), "{without_model:?}");
    let alone = "safetensors: a model is missing: give the directory, then the models\n";
    place.run(["checkpoint", "new"]).is(2, "", alone);
}
