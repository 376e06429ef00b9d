//! `safetensors join`: everything is validated before anything is written.

use crate::support::{Place, file, sound, tensor};
use serde_json::{Value, json};
use std::fs;

const INDEX: &str = "s/model.safetensors.index.json";

/// A model, and its shards in a directory.
fn place() -> Place {
    let place = Place::new();
    place.put("m", &sound());
    assert_eq!(place.run(["split", "m", "-o", "s", "--max-size", "3"]).code, Some(0));
    place
}

#[test]
fn join_reverses_split() {
    let place = place();
    place.run(["join", "s", "-o", "new"]).is(0, "new: 2 tensors of 2 files, 125 bytes\n", "");
    let run = place.run(["join", INDEX, "-o", "other", "--json"]);
    let line: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(
        line,
        json!({"file": INDEX, "ok": true, "output": "other", "tensors": 2, "shards": 2, "padding_left_out": 0, "bytes": 125})
    );
    let read = |name| fs::read(place.path(name)).expect("a file");
    assert_eq!((read("new"), read("other")), (read("new"), read("new")));
    assert_eq!(place.run(["pack", "m", "-o", "packed"]).code, Some(0));
    assert_eq!(read("new"), read("packed"));
    let output = place.command(["join", "s", "-o", "-"]).output().expect("it runs");
    assert_eq!((output.status.code(), output.stdout), (Some(0), read("new")));
}

/// One shard alone would become a model without most of its tensors.
#[test]
fn a_single_shard_is_rejected() {
    let place = place();
    let shard = "s/model-00001-of-00002.safetensors";
    let named = format!("{shard}: is shard 1 of 2 of {INDEX}; give the index, or all shards\n");
    for command in [
        &["join", shard, "-o", "new"][..],
        &["split", shard, "-o", "new"],
        &["pack", shard, "-o", "new"],
        &["convert", shard, "new.safetensors"],
        &["checkpoint", "new", shard],
    ] {
        place.run(command).is(2, "", &named);
    }
    // All shards together are the model, and the output may have the name of the same shard, or be arrays.
    let other = "s/model-00002-of-00002.safetensors";
    fs::create_dir(place.path("t")).expect("directory");
    for command in [
        &["pack", shard, other, "-o", "packed"][..],
        &["checkpoint", "c", shard, other, "--also", INDEX],
        &["pack", shard, "-o", "t/model-00001-of-00002.safetensors"],
        &["convert", other, "t/model-00002-of-00002.safetensors"],
        &["convert", shard, "new.npz"],
    ] {
        let run = place.run(command);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{command:?}");
    }
    let no_index = format!(
        "{INDEX}: names these shards and belongs to the model; give the index instead of the shards\n"
    );
    place.run(["checkpoint", "new", shard, other]).is(2, "", &no_index);
    let stale = format!(
        "{shard}: is a shard of {INDEX}, which would not know the new names; pack the index into a new file\n"
    );
    place.run(["pack", shard, "--in-place", "--rename", "a=z"]).is(2, "", &stale);
    // Under another name, the index still names it.
    let index = fs::read_to_string(place.path(INDEX)).expect("the index");
    fs::write(place.path(INDEX), index.replace("model-00001-of-00002", "first")).expect("own file");
    fs::rename(place.path(shard), place.path("s/first.safetensors")).expect("existing file");
    let renamed =
        format!("s/first.safetensors: is one of several shards of {INDEX}; give the index, or all shards\n");
    place.run(["join", "s/first.safetensors", "-o", "new"]).is(2, "", &renamed);
    fs::rename(place.path("s/first.safetensors"), place.path(shard)).expect("existing file");
    fs::remove_file(place.path(INDEX)).expect("existing file");
    let alone = format!(
        "{shard}: is shard 1 of 2; give all shards, or the index \"model.safetensors.index.json\", which \
         is missing here\n"
    );
    place.run(["join", shard, "-o", "new"]).is(2, "", &alone);
    assert!(!place.path("new").exists());
}

/// A link to a shard has another name.
#[cfg(unix)]
#[test]
fn a_link_to_a_shard_is_rejected() {
    let place = place();
    std::os::unix::fs::symlink("s/model-00001-of-00002.safetensors", place.path("x")).expect("a link");
    let run = place.run(["join", "x", "-o", "new"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.err.contains("model-00001-of-00002.safetensors: is shard 1 of 2 of "), "{run:?}");
    let run = place.run(["pack", "x", "--in-place", "--rename", "a=z"]);
    assert!(run.code == Some(2) && run.err.contains("which would not know the new names"), "{run:?}");
    // A file that does not exist is not a shard.
    let missing = "s/model-00003-of-00004.safetensors";
    place.run(["join", missing, "-o", "new"]).is(
        2,
        "",
        &format!("{missing}: cannot be read: no such file or directory\n"),
    );
}

/// One index of several that names it is enough.
#[test]
fn a_copy_of_the_index_changes_nothing() {
    let place = place();
    let index = fs::read_to_string(place.path(INDEX)).expect("the index");
    let larger = index.replace("\"weight_map\": {", "\"weight_map\": {\"c\": \"third.safetensors\",");
    fs::write(place.path("s/a.safetensors.index.json"), larger).expect("a file");
    let [one, two] = ["s/model-00001-of-00002.safetensors", "s/model-00002-of-00002.safetensors"];
    for command in [&["pack", one, two, "-o", "new"][..], &["checkpoint", "c", one, two, "--also", INDEX]] {
        let run = place.run(command);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{command:?}");
    }
}

/// It is unknown whether it names a file.
#[cfg(unix)]
#[test]
fn an_index_that_cannot_be_read_is_an_error() {
    let place = Place::new();
    place.put("m", &sound());
    std::os::unix::fs::symlink("a.safetensors.index.json", place.path("a.safetensors.index.json"))
        .expect("a link");
    for command in [&["join", "m", "-o", "new"][..], &["split", "m", "-o", ".", "--force"]] {
        let run = place.run(command);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.err.contains("a.safetensors.index.json: cannot be read: "), "{run:?}");
        assert!(
            command[0] == "split"
                || run.err.starts_with("m: may be a shard, but an index beside it cannot be read: ")
        );
    }
}

/// Neither a shard nor the index, whatever path the model was opened by.
#[test]
fn no_file_of_the_model_is_overwritten() {
    let place = place();
    fs::create_dir(place.path("w")).expect("directory");
    fs::copy(place.path("m"), place.path("w/model.safetensors")).expect("a copy");
    let shard = "s/model-00001-of-00002.safetensors";
    for (model, output) in
        [("w", "w/model.safetensors"), ("s", shard), (INDEX, shard), ("s", INDEX), (INDEX, INDEX)]
    {
        let before = fs::read(place.path(output)).expect("a file");
        for command in [
            &["pack", model, "-o", output][..],
            &["join", model, "-o", output],
            &["slice", model, "a=", "-o", output],
            &["cat", model, "a", "--format", "text", "-o", output],
        ] {
            let run = place.run([command, &["--force"]].concat());
            assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{command:?}: {run:?}");
            let why = [
                "is an input; choose another output file",
                "wrong suffix for a safetensors file: .json is for indexes",
            ];
            assert!(why.iter().any(|why| run.err.contains(why)), "{command:?}: {run:?}");
        }
        assert_eq!(fs::read(place.path(output)).expect("a file"), before, "{output}");
    }
    // The other shards and the index belong to a shard.
    let other = "s/model-00002-of-00002.safetensors";
    for output in [INDEX, other] {
        let run = place.run(["cat", shard, "a", "--format", "raw", "-o", output, "--force"]);
        run.is(2, "", &format!("{output}: is an input; choose another output file\n"));
    }
    let named_otherwise =
        "o.safetensors.index.json: wrong suffix for a safetensors file: .json is for indexes\n";
    place.run(["pack", "m", "-o", "o.safetensors.index.json"]).is(2, "", named_otherwise);
}

/// By any path. Names that only resemble shards are not shards.
#[test]
fn all_shards_are_accepted_by_any_path() {
    let place = place();
    let [one, two] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    let absolute = place.path("s").join(two);
    let absolute = absolute.to_str().expect("UTF-8");
    for shards in [[&*format!("s/{one}"), &format!("./s/../s/{two}")], [&format!("s/{one}"), absolute]] {
        let run = place.run(["pack", shards[0], shards[1], "-o", "new", "--force"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{shards:?}");
    }
    fs::copy(place.path("m"), place.path("fold-1-of-5.safetensors")).expect("a copy");
    // Files that are not valid indexes are ignored.
    fs::create_dir(place.path("other.safetensors.index.json")).expect("directory");
    place.put("bad.safetensors.index.json", b"nonsense");
    let run = place.run(["split", "fold-1-of-5.safetensors", "-o", "t"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

/// Twice as many inputs take about twice as long.
#[test]
fn many_shards_take_linear_time() {
    let place = Place::new();
    let shard = |number: usize| format!("m-{number:05}-of-01000.safetensors");
    for number in 1..=1000 {
        let name = format!("t{number}");
        place.put(shard(number), &file(format!("{{{}}}", tensor(&name, 0, 1)), b"x"));
    }
    let names: Vec<String> = (1..=1000).map(shard).collect();
    let args =
        |count: usize| ["pack", "-o", "new"].into_iter().chain(names[..count].iter().map(String::as_str));
    let started = std::time::Instant::now();
    let run = place.run(args(999));
    assert!(run.code == Some(2) && run.err.contains("give all shards"), "{run:?}");
    assert_eq!(place.run(args(1000)).code, Some(0));
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn a_wrong_index_leaves_no_file() {
    type Change = fn(&str) -> String;
    let place = place();
    let right = fs::read_to_string(place.path(INDEX)).expect("the index");
    let changes: [(Change, i32, &str); 6] = [
        (
            |index| index.replace("\"total_size\": 5", "\"total_size\": 6"),
            1,
            "total_size is 6, but the tensors have 5 bytes",
        ),
        (|index| index.replace("\"a\": ", "\"z\": "), 1, "is not in the index"),
        (|index| index.replace("model-00001", "../model-00001"), 1, "it leads out of its directory"),
        (|index| index.replace("model-00001-of", "model-00009-of"), 1, "is missing"),
        (|index| index[..index.len() / 2].to_owned(), 1, "not an index"),
        (|_| String::new(), 1, "not an index"),
    ];
    for (change, code, reason) in changes {
        fs::write(place.path(INDEX), change(&right)).expect("own file");
        let run = place.run(["join", "s", "-o", "new"]);
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(code), "", 1), "{run:?}");
        assert!(run.err.contains(reason), "{}", run.err);
        let checked = place.run(["check", INDEX]);
        assert_eq!((checked.code, checked.out), (Some(code), run.err));
        assert!(!place.path("new").exists());
    }
}

#[test]
fn a_wrong_shard_leaves_no_file() {
    let place = place();
    let shard = "s/model-00002-of-00002.safetensors";
    let both = file(format!("{{{},{}}}", tensor("b", 0, 3), tensor("c", 3, 4)), b"abcd");
    for (contents, reason) in [(&b"abc"[..], "error[container.short]"), (&both, "\"c\""), (&sound(), "\"a\"")]
    {
        fs::write(place.path(shard), contents).expect("own file");
        let run = place.run(["join", "s", "-o", "new"]);
        assert_eq!((run.code, run.out.as_str(), place.path("new").exists()), (Some(1), "", false), "{run:?}");
        assert!(run.err.contains(reason), "{}", run.err);
    }
    fs::remove_file(place.path(shard)).expect("existing file");
    let run = place.run(["join", "s", "-o", "new", "--json"]);
    let line: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!((run.code, &line["ok"], &line["error"]), (Some(1), &json!(false), &json!("shards")));
}

#[test]
fn existing_files_need_force() {
    let place = place();
    place.put("new", b"mine");
    place.run(["join", "s", "-o", "new"]).is(2, "", "new: already exists; use --force to overwrite it\n");
    assert_eq!(fs::read(place.path("new")).expect("a file"), b"mine");
    let shard = "s/model-00001-of-00002.safetensors";
    let before = fs::read(place.path(shard)).expect("a shard");
    let itself = format!("{shard}: is an input; choose another output file\n");
    place.run(["join", "s", "-o", shard, "--force"]).is(2, "", &itself);
    assert_eq!(fs::read(place.path(shard)).expect("a shard"), before);
    assert_eq!(place.run(["join", "s", "-o", "new", "--force"]).code, Some(0));
}

#[test]
fn unreadable_models_are_errors() {
    let place = place();
    fs::create_dir(place.path("empty")).expect("directory");
    for model in ["empty", "gone", "gone.safetensors.index.json"] {
        let run = place.run(["join", model, "-o", "new"]);
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(2), "", 1), "{run:?}");
        assert!(run.err.starts_with(model) && !place.path("new").exists(), "{run:?}");
    }
    for usage in [&["join"][..], &["join", "s"], &["join", "s", "s", "-o", "x"]] {
        assert_eq!(place.run(usage).code, Some(2), "{usage:?}");
    }
}
