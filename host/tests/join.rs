//! `safetensors join`: everything is validated before anything is written.
#![cfg(unix)]

use crate::support::{Place, file, sound, tensor};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

const INDEX: &str = "s/model.safetensors.index.json";
const ONE: &str = "s/model-00001-of-00002.safetensors";
const TWO: &str = "s/model-00002-of-00002.safetensors";

/// A model, and its shards in a directory.
fn place() -> Place {
    let place = Place::new();
    place.put("m", &sound());
    place.done(["split", "m", "-o", "s", "--max-size", "3"]);
    place
}

#[test]
fn join_reverses_split() {
    let place = place();
    place.run(["join", "s", "-o", "new"]).is(0, "new: 2 tensors of 2 files, 125 bytes\n", "");
    place.done(["pack", "m", "-o", "packed"]);
    assert_eq!(place.read("new"), place.read("packed"));
    let output = place.command(["join", INDEX, "-o", "-"]).output().expect("it runs");
    assert_eq!((output.status.code(), output.stdout), (Some(0), place.read("new")));
}

/// One shard alone would become a model without most of its tensors.
#[test]
fn a_single_shard_is_rejected() {
    let place = place();
    let named = format!("{ONE}: is shard 1 of 2 of {INDEX}; give the index");
    for words in [
        "join ONE -o new",
        "split ONE -o new",
        "pack ONE -o new",
        "convert ONE new.safetensors",
        "checkpoint new ONE",
    ] {
        place.refuses(&words.replace("ONE", ONE), 2, &named);
    }
    place.refuses(&format!("checkpoint new {ONE}"), 2, &named);
    // All shards together are the model, and the output may have the name of the same shard, or be arrays.
    fs::create_dir(place.path("t")).expect("directory");
    for command in [
        &["pack", ONE, TWO, "-o", "packed"][..],
        &["checkpoint", "c", ONE, TWO, "--also", INDEX],
        &["pack", ONE, "-o", "t/model-00001-of-00002.safetensors"],
        &["convert", TWO, "t/model-00002-of-00002.safetensors"],
        &["convert", ONE, "new.npz"],
    ] {
        place.done(command);
    }
    let no_index =
        format!("{INDEX}: names these shards and belongs to the model; give the index instead of the shards");
    place.refuses(&format!("checkpoint new {ONE} {TWO}"), 2, &no_index);
    let stale = format!(
        "{ONE}: is a shard of {INDEX}, which would not know the new names; pack the index into a new file"
    );
    place.refuses(&format!("pack {ONE} --in-place --rename a=z"), 2, &stale);
    // Under another name, the index still names it.
    let index = String::from_utf8(place.read(INDEX)).expect("text");
    place.put(INDEX, index.replace("model-00001-of-00002", "first").as_bytes());
    fs::rename(place.path(ONE), place.path("s/first.safetensors")).expect("existing file");
    let renamed = format!("s/first.safetensors: is one of several shards of {INDEX}; give the index");
    place.refuses("join s/first.safetensors -o new", 2, &renamed);
    fs::rename(place.path("s/first.safetensors"), place.path(ONE)).expect("existing file");
    fs::remove_file(place.path(INDEX)).expect("existing file");
    let advised = "join s/model-*-of-00002.safetensors -o model.safetensors";
    let alone = format!("{ONE}: is shard 1 of 2; `safetensors {advised}` reads all of them");
    place.refuses(&format!("join {ONE} -o new"), 2, &alone);
    assert_eq!(place.shell(&format!("exec \"$0\" {advised}")).code, Some(0));
    assert!(!place.path("new").exists());
}

/// A link to a shard has another name.
#[test]
fn a_link_to_a_shard_is_rejected() {
    let place = place();
    symlink(ONE, place.path("x")).expect("a link");
    place.run(["join", "x", "-o", "new"]).fails(2, "model-00001-of-00002.safetensors: is shard 1 of 2 of ");
    let stale = "which would not know the new names";
    place.run(["pack", "x", "--in-place", "--rename", "a=z"]).fails(2, stale);
    // A file that does not exist is not a shard.
    let missing = "s/model-00003-of-00004.safetensors";
    let sentence = format!("{missing}: cannot be read: no such file or directory");
    place.refuses(&format!("join {missing} -o new"), 2, &sentence);
}

/// One index of several that names it is enough.
#[test]
fn a_copy_of_the_index_changes_nothing() {
    let place = place();
    let index = String::from_utf8(place.read(INDEX)).expect("text");
    let larger = index.replace("\"weight_map\": {", "\"weight_map\": {\"c\": \"third.safetensors\",");
    place.put("s/a.safetensors.index.json", larger.as_bytes());
    place.done(["pack", ONE, TWO, "-o", "new"]);
    place.done(["checkpoint", "c", ONE, TWO, "--also", INDEX]);
}

/// It is unknown whether it names a file.
#[test]
fn an_index_that_cannot_be_read_is_an_error() {
    let place = Place::new();
    place.put("m", &sound());
    let index = "a.safetensors.index.json";
    symlink(index, place.path(index)).expect("a link");
    let begin = "m: may be a shard, but an index beside it cannot be read: ";
    place.run(["join", "m", "-o", "new"]).fails(2, begin);
    place.run(["split", "m", "-o", ".", "--force"]).fails(2, &format!("{index}: cannot be read: "));
}

/// Neither a shard nor the index, whatever path the model was opened by.
#[test]
fn no_file_of_the_model_is_overwritten() {
    let place = place();
    place.put("w/model.safetensors", &sound());
    let input = "is an input; choose another output file\n";
    let index = "wrong suffix for a safetensors file: .json is for indexes\n";
    for (model, output) in
        [("w", "w/model.safetensors"), ("s", ONE), (INDEX, ONE), ("s", INDEX), (INDEX, INDEX)]
    {
        let before = place.read(output);
        for words in ["pack MODEL", "join MODEL", "slice MODEL a="] {
            let words = format!("{} -o {output} --force", words.replace("MODEL", model));
            let run = place.run(words.split(' '));
            assert!(run.code == Some(2) && (run.err.contains(input) || run.err.ends_with(index)), "{run:?}");
        }
        place.run(["cat", model, "a", "--format", "text", "-o", output, "--force"]).fails(2, input);
        assert!(place.read(output) == before, "{output}");
    }
    // The other shards and the index belong to a shard.
    for output in [INDEX, TWO] {
        place.run(["cat", ONE, "a", "--format", "raw", "-o", output, "--force"]).fails(2, input);
    }
    place.run(["pack", "m", "-o", "o.safetensors.index.json"]).fails(2, index);
}

/// By any path. Names that only resemble shards are not shards.
#[test]
fn all_shards_are_accepted_by_any_path() {
    let place = place();
    let absolute = place.path(TWO);
    for two in ["./s/../s/model-00002-of-00002.safetensors", absolute.to_str().expect("UTF-8")] {
        place.done(["pack", ONE, two, "-o", "new", "--force"]);
    }
    // As by `s/*`, in any order; and not those of a second model with the same file names.
    for shards in [&[ONE, TWO][..], &[ONE, TWO, INDEX], &[INDEX, TWO, ONE]] {
        place.done([&["join", "-o", "all", "--force"], shards].concat());
        assert_eq!(place.read("all"), place.read("new"));
    }
    place.done(["pack", ONE, TWO, INDEX, "-o", "all", "--force"]);
    place.done(["checkpoint", "ck", ONE, TWO, INDEX]);
    place.done(["split", "m", "-o", "t", "--max-size", "3"]);
    let others = [ONE, TWO].map(|shard| shard.replacen('s', "t", 1)).join(" ");
    let two = "safetensors: these are not the shards of one model; `safetensors pack` merges models";
    place.refuses(&format!("join -o none {ONE} {TWO} {others}"), 2, two);
    // Files that are not valid indexes are ignored.
    fs::create_dir(place.path("other.safetensors.index.json")).expect("directory");
    place.put("bad.safetensors.index.json", b"nonsense").put("fold-1-of-5.safetensors", &sound());
    place.done(["split", "fold-1-of-5.safetensors", "-o", "fold"]);
}

/// Twice as many inputs take about twice as long.
#[test]
fn many_shards_take_linear_time() {
    let place = Place::new();
    let names: Vec<String> = (1..=1000).map(|number| format!("m-{number:05}-of-01000.safetensors")).collect();
    for name in &names {
        place.put(name, &file(format!("{{{}}}", tensor(name, 0, 1)), b"x"));
    }
    let pack = |count: usize| {
        place.run(["pack", "-o", "new"].into_iter().chain(names[..count].iter().map(|name| &**name)))
    };
    let started = std::time::Instant::now();
    pack(999).fails(2, "01000.safetensors -o m.safetensors` reads all of them");
    assert_eq!(pack(1000).code, Some(0));
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn a_wrong_shard_leaves_no_file() {
    let place = place();
    let both = file(format!("{{{},{}}}", tensor("b", 0, 3), tensor("c", 3, 4)), b"abcd");
    for (contents, reason) in [(&b"abc"[..], "error[container.short]"), (&both, "\"c\""), (&sound(), "\"a\"")]
    {
        place.put(TWO, contents);
        place.run(["join", "s", "-o", "new"]).fails(1, reason);
    }
    fs::remove_file(place.path(TWO)).expect("existing file");
    let run = place.run(["join", "s", "-o", "new", "--json"]);
    assert_eq!((run.code, &run.json()["error"]), (Some(1), &json!("shards")));
    place.put(INDEX, b"").run(["join", "s", "-o", "new"]).fails(1, "not an index");
    assert!(!place.path("new").exists());
}

#[test]
fn bad_usage_is_exit_code_2() {
    for usage in ["join", "join s", "join s s -o x", "join gone.safetensors.index.json -o new"] {
        place().run(usage.split(' ')).fails(2, "");
    }
}
