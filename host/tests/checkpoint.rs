//! `safetensors checkpoint` writes directories atomically. `hash` has the tests of `hash --verify`.
#![cfg(unix)]

use crate::support::{Place, interrupted, sound, until};
use std::fs;

fn place() -> Place {
    let place = Place::new();
    place.put("model.safetensors", &sound()).put("config.json", b"{}").put("bad.safetensors", b"abc");
    place
}

#[test]
fn only_checkpoints_are_replaced_and_only_with_force() {
    let place = place();
    place.put("c/mine", b"mine").put("file", b"mine");
    let run =
        |options: &[&str]| place.run(["checkpoint"].iter().chain(options).chain(&["model.safetensors"]));
    run(&["c"]).is(2, "", "c: already exists; use --force to overwrite it\n");
    run(&["--force", "c"]).is(2, "", "c: not a checkpoint: it has no SHA256SUMS; refusing to replace it\n");
    run(&["--force", "-o", "file"]).is(2, "", "file: not a directory; refusing to replace it\n");
    assert_eq!(
        (place.names("c"), fs::read(place.path("file")).expect("it")),
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
    assert_eq!(place.names("c"), ["SHA256SUMS", "model.safetensors"]);
    assert_eq!(place.names("."), ["bad.safetensors", "c", "config.json", "file", "model.safetensors"]);
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
    place.run(["checkpoint", "config.json/c", "model.safetensors"]).fails(2, "config.json");
    place.put("SHA256SUMS", b"");
    let list = place.run(["checkpoint", "c", "model.safetensors", "--also", "SHA256SUMS"]);
    list.fails(2, "it is the list of sums");
    assert_eq!(place.names("."), ["SHA256SUMS", "bad.safetensors", "config.json", "model.safetensors"]);
    for args in [&["checkpoint"][..], &["checkpoint", "c"]] {
        assert_eq!(place.run(args).code, Some(2));
    }
}

#[test]
fn an_index_brings_its_shards() {
    let place = place();
    place.done(["split", "model.safetensors", "-o", "m", "--max-size", "3"]);
    let index = "m/model.safetensors.index.json";
    place.done(["checkpoint", "c", index, "--also", "config.json"]);
    let mut expected = [place.names("m"), vec!["SHA256SUMS".into(), "config.json".into()]].concat();
    expected.sort();
    assert_eq!(place.names("c"), expected);
    place.run(["diff", "m", "c"]).is(0, "the same: 2 tensors bit-identical\n", "");
    fs::remove_file(place.path("m/model-00002-of-00002.safetensors")).expect("it can be removed");
    let run = place.run(["checkpoint", "d", index]);
    assert_eq!((run.code, place.path("d").exists()), (Some(1), false), "{run:?}");
}

#[test]
fn ctrl_c_keeps_the_old_checkpoint() {
    let place = place();
    place.put_sparse("large.safetensors", 1 << 40);
    place.done(["checkpoint", "c", "model.safetensors"]);
    let before = place.names(".");
    let child =
        place.command(["checkpoint", "--force", "c", "large.safetensors"]).spawn().expect("it starts");
    until("a hidden directory", || place.names(".").len() > before.len());
    interrupted(child, "-INT").is(130, "", "safetensors: interrupted\n");
    assert_eq!(place.names("."), before);
    assert_eq!(place.names("c"), ["SHA256SUMS", "model.safetensors"]);
}

#[test]
fn names_are_escaped() {
    let place = place();
    place.put("\u{1b}[31m.json", b"");
    let run = place.run(["checkpoint", "c", "model.safetensors", "--also", "\u{1b}[31m.json"]);
    run.fails(2, "\\u{1b}[31m.json: ");
    run.fails(2, "it has a control character");
    let run = place.run(["checkpoint", "\u{1b}[31m", "model.safetensors"]);
    run.is(0, "\\u{1b}[31m: 1 file, 118 bytes\n", "");
}

#[test]
fn an_output_directory_has_a_name() {
    let place = place();
    let sentence = "safetensors: an output directory is needed; standard output is not supported";
    fs::create_dir(place.path("-")).expect("directory");
    for words in [
        "checkpoint -o - model.safetensors",
        "checkpoint - model.safetensors --force",
        "split model.safetensors -o -",
        "convert --each model.safetensors -o -",
    ] {
        place.refuses(words, 2, sentence);
    }
    let without_model = place.run(["checkpoint", "-o", "new"]);
    assert!(without_model.err.contains("not provided:\n  <MODEL>...\n"), "{without_model:?}");
    let alone = "safetensors: a model is missing: give the directory, then the models\n";
    place.run(["checkpoint", "new"]).is(2, "", alone);
}
