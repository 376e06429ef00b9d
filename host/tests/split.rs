//! `safetensors split`: shards and an index, all of them or none.
#![cfg(unix)]

use crate::support::{self, Place, file, many, tensor};
use serde_json::json;

const FIRST: &str = "model-00001-of-00002.safetensors";
const SECOND: &str = "model-00002-of-00002.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Six tensors of 100 bytes.
fn place() -> Place {
    let place = Place::new();
    let rows = [0, 1, 2, 3, 4, 5].map(|at| (format!("t{at}"), "U8", vec![100], vec![at; 100]));
    place.put_model("m", &rows);
    place
}

#[test]
fn a_model_becomes_shards_and_an_index() {
    let place = place();
    place.done(["split", "m", "-o", "s", "--max-size", "250"]);
    let checked = place.done(["check", "s"]);
    let line = format!("s/{INDEX}: ok, 6 tensors in 3 shards, ");
    assert!(checked.out.lines().count() == 4 && checked.out.contains(&line), "{}", checked.out);
    assert_eq!(
        place.done(["inspect", "--json", "s/model-00002-of-00003.safetensors"]).json()["metadata"],
        json!({"by": "hand"})
    );
    let whole = place.done(["inspect", "--json", "s"]).json();
    assert_eq!((&whole["tensors"]["t3"]["shard"], &whole["parameters"]), (&json!(2), &json!(600)));
    assert_eq!(whole["shards"][1]["file"], "model-00002-of-00003.safetensors");
}

/// Tensors at the same offset are sorted by name, whatever the order of the header, as other programs list
/// them.
#[test]
fn empty_tensors_are_sorted_by_name() {
    let place = Place::new();
    let members = [tensor("b", 0, 0), tensor("a", 0, 0), tensor("c", 0, 100), tensor("d", 100, 200)];
    place.put("m", &file(format!("{{{}}}", members.join(",")), &[0; 200]));
    place.done(["split", "m", "-o", "s", "--max-size", "100"]);
    let index = String::from_utf8(place.read(format!("s/{INDEX}"))).expect("text");
    let names = ["\"a\"", "\"b\"", "\"c\"", "\"d\""].map(|name| index.find(name).expect("it is listed"));
    assert!(names.is_sorted(), "{index}");
}

#[test]
fn sizes_have_units() {
    let place = place();
    for (size, shards) in [("0.3KB", 2), ("1.5KiB", 1), ("1kib", 1), ("1 KB", 1), ("1", 6)] {
        let object = place.done(["split", "m", "-o", "s", "--max-size", size, "--json", "--force"]).json();
        assert_eq!(object["shards"].as_array().map(Vec::len), Some(shards), "{size}");
    }
    let forms = "a number above 0 needed, alone or with K or KiB = 1024, KB = 1000, and so on up to T";
    for bad in ["", "0", "0KB", "KB", "-1", "0.4", "5P", "5XB", "1.KiB", "99999999999TiB"] {
        let run = place.run(["split", "m", "-o", "t", &format!("--max-size={bad}")]);
        assert!(run.code == Some(2) && (run.err.contains(forms) || bad.len() > 4), "{bad}: {run:?}");
    }
    assert!(!place.path("t").exists());
}

#[test]
fn one_shard_needs_no_index() {
    let place = place();
    let line = place.done(["split", "m", "-o", "s", "--name", "big", "--json"]).json();
    let shards = json!([{"file": "big.safetensors", "tensors": 6, "bytes": 600}]);
    let expected = json!({"file": "m", "ok": true, "output": "s", "index": null, "tensors": 6, "padding_left_out": 0,
        "total_size": 600, "shards": shards});
    assert_eq!((line, place.names("s")), (expected, vec!["big.safetensors".to_owned()]));
    for name in ["", "a/b", "../a", "a\\b"] {
        place.run(["split", "m", "-o", "t", "--name", name]).fails(2, "");
    }
    place.put("file", b"");
    place.refuses("split m -o file", 2, "file: is not a directory");
    assert!(!place.path("t").exists());
}

#[test]
fn existing_models_need_force() {
    let place = place();
    place.done(["split", "m", "-o", "s", "--max-size", "300"]);
    let before = place.names("s");
    let again = place.run(["split", "m", "-o", "s", "--max-size", "600"]);
    again.is(2, "", "s/model.safetensors.index.json: already exists; use --force to overwrite it\n");
    std::fs::remove_file(place.path("s/model-00001-of-00002.safetensors")).expect("existing file");
    std::fs::remove_file(place.path("s/model-00002-of-00002.safetensors")).expect("existing file");
    let index = place.run(["split", "m", "-o", "s", "--max-size", "300"]);
    index.is(2, "", "s/model.safetensors.index.json: already exists; use --force to overwrite it\n");
    assert_eq!(place.names("s"), ["model.safetensors.index.json"]);
    place.done(["split", "m", "-o", "s", "--max-size", "300", "--force"]);
    assert_eq!(place.names("s"), before);
    // A single file replaces all: the index that names old shards is removed.
    place.done(["split", "m", "-o", "s", "--force"]);
    assert!(!place.path("s/model.safetensors.index.json").exists());
}

/// The shards in the old index are removed, and no other file.
#[test]
fn force_replaces_a_model_with_another_shard_count() {
    let place = place();
    let split = |size: &str| place.run(["split", "m", "-o", "s", "--max-size", size, "--force"]);
    assert_eq!(split("100").code, Some(0));
    place.put("s/model-00001-of-00009.safetensors", b"of nobody");
    assert_eq!(split("300").code, Some(0));
    let of_nobody = "model-00001-of-00009.safetensors";
    assert_eq!(place.names("s"), [FIRST, of_nobody, SECOND, INDEX]);
    assert_eq!(split("1KB").code, Some(0));
    assert_eq!(place.names("s"), [of_nobody, "model.safetensors"]);
}

/// An old index may be invalid, or name files that do not belong to the model.
#[test]
fn only_shards_of_that_name_are_removed() {
    let ninth = "model-00001-of-00009.safetensors";
    for (map, removes) in [
        (json!({"a": INDEX, "b": "thesis.txt", "c": FIRST, "d": "gone.safetensors"}), false),
        (json!({"a": "other.safetensors", "b": ninth}), true),
    ] {
        let place = place();
        for name in ["thesis.txt", "other.safetensors", ninth] {
            place.put(format!("s/{name}"), &support::sound());
        }
        place.put(format!("s/{INDEX}"), json!({"weight_map": map}).to_string().as_bytes());
        place.done(["split", "m", "-o", "s", "--max-size", "300", "--force"]);
        let mut left = vec![FIRST, ninth, SECOND, INDEX, "other.safetensors", "thesis.txt"];
        left.retain(|name| !removes || *name != ninth);
        assert_eq!(place.names("s"), left);
    }
}

/// Readers that know the name of a single-file model prefer it to an index.
#[test]
fn a_single_file_model_is_replaced_by_an_index() {
    let place = place();
    place.put("s/model.safetensors", &support::sound()).put("s/other.safetensors", &support::sound());
    let run = place.run(["split", "m", "-o", "s", "--max-size", "300"]);
    run.is(2, "", "s/model.safetensors: already exists; use --force to overwrite it\n");
    assert_eq!(place.names("s"), ["model.safetensors", "other.safetensors"]);
    place.done(["split", "m", "-o", "s", "--max-size", "300", "--force"]);
    assert_eq!(place.names("s"), [FIRST, SECOND, INDEX, "other.safetensors"]);
}

/// In between, the index would name shards of both models.
#[test]
fn shards_of_the_same_names_are_not_replaced() {
    let place = place();
    place.done(["split", "m", "-o", "s", "--max-size", "300"]);
    let before = place.read("s/model-00001-of-00002.safetensors");
    let header = format!("{{{},{}}}", tensor("t0", 0, 300), tensor("t1", 300, 600));
    place.put("n", &file(header, &[1; 600]));
    let run =
        |options: &[&str]| place.run([&["split", "n", "-o", "s", "--max-size", "300"], options].concat());
    let sentence = "s/model-00001-of-00002.safetensors: is a shard of the model \
        s/model.safetensors.index.json: several files cannot be replaced atomically; split into another \
        directory, or remove that model first\n";
    run(&["--force"]).is(2, "", sentence);
    // The error does not suggest `--force`.
    run(&[]).is(2, "", sentence);
    let after = place.read("s/model-00001-of-00002.safetensors");
    assert!(before == after);
    place.done(["check", "s"]);
}

/// They belong to another model, whatever its name.
#[test]
fn shards_of_another_index_are_kept() {
    let place = place();
    place.done(["split", "m", "-o", "s", "--max-size", "300"]);
    let [index, other] = ["s/model.safetensors.index.json", "s/zzz.safetensors.index.json"];
    std::fs::copy(place.path(index), place.path(other)).expect("a copy");
    // With other file names, the new model replaces the old one, and leaves the shards of the copy.
    place.done(["split", "m", "-o", "s", "--max-size", "200", "--force"]);
    place.done(["join", other, "-o", "joined"]);
    std::fs::remove_file(place.path(index)).expect("existing file");
    let run = place.run(["split", "m", "-o", "s", "--max-size", "300", "--force"]);
    let sentence = format!(
        "s/model-00001-of-00002.safetensors: is a shard of the model {other}: several files cannot be \
         replaced atomically; split into another directory, or remove that model first\n"
    );
    run.is(2, "", &sentence);
}

/// They may belong to another model in another directory.
#[test]
fn links_are_not_followed() {
    let place = place();
    place.done(["split", "m", "-o", "s", "--max-size", "300"]);
    std::fs::create_dir(place.path("t")).expect("directory");
    for name in place.names("s") {
        std::os::unix::fs::symlink(place.path("s").join(&name), place.path("t").join(&name)).expect("a link");
    }
    let before = place.read("s/model.safetensors.index.json");
    let run = place.run(["split", "m", "-o", "t", "--max-size", "200", "--force"]);
    let sentence = "t/model.safetensors.index.json: is a symbolic link; refusing to overwrite a file that \
        may belong to another model\n";
    run.is(2, "", sentence);
    assert_eq!(place.read("s/model.safetensors.index.json"), before);
    place.done(["check", "s"]);
}

/// A single-file model may be a shard of another model.
#[test]
fn a_single_file_of_another_index_is_kept() {
    let place = place();
    std::fs::create_dir(place.path("t")).expect("directory");
    let map = json!({"a": "model.safetensors", "b": "model.safetensors"});
    let index = json!({"weight_map": map}).to_string();
    place.put("t/model.safetensors", &support::sound()).put("t/o.safetensors.index.json", index.as_bytes());
    let run = place.run(["split", "m", "-o", "t", "--max-size", "300", "--force"]);
    assert!(run.code == Some(2) && run.err.starts_with("t/model.safetensors: is a shard of "), "{run:?}");
    assert_eq!(place.names("t"), ["model.safetensors", "o.safetensors.index.json"]);
}

/// If killed at the very end, the old single-file model is left, and many readers prefer it.
#[test]
fn a_single_file_beside_the_index_is_reported() {
    let place = place();
    place.done(["split", "m", "-o", "s", "--max-size", "300"]);
    place.put("s/model.safetensors", &support::sound());
    let run = place.run(["split", "m", "-o", "s", "--max-size", "300", "--force"]);
    let sentence = "; s/model.safetensors beside it is a complete model, which many readers prefer\n";
    assert!(run.code == Some(2) && run.err.ends_with(sentence), "{run:?}");
}

/// If killed at any time, it leaves the old model or the new one, complete.
#[test]
fn a_kill_leaves_the_old_model_or_the_new_one() {
    let place = Place::new();
    place.put("old", &many("t", 40)).put("new", &many("t", 41));
    let kills = usize::try_from(support::kills()).expect("a number").max(6);
    let more = (1..=41).cycle();
    for shown in [1, 2, 10, 20, 40, 41].into_iter().chain(more).take(kills) {
        let _ = std::fs::remove_dir_all(place.path("s"));
        place.done(["split", "old", "-o", "s", "--max-size", "1"]);
        let split = ["split", "new", "-o", "s", "--max-size", "1", "--force"];
        let mut child = place.command(split).spawn().expect("it runs");
        let shard = place.path(format!("s/model-{shown:05}-of-00041.safetensors"));
        support::until("a new shard", || shard.exists());
        child.kill().expect("it can be killed");
        child.wait().expect("it has ended");
        let run = place.run(["check", "s/model.safetensors.index.json"]);
        assert_eq!(run.code, Some(0), "{shown}: {run:?}");
        let run = place.run(["join", "s", "-o", "joined", "--force"]);
        assert!(run.code == Some(0) && run.out.contains(": 4"), "{shown}: {run:?}");
    }
}

#[test]
fn inputs_are_never_removed() {
    let place = place();
    place.done(["split", "m", "-o", "s", "--max-size", "300"]);
    let before = place.names("s");
    let run = place.run(["split", "s", "-o", "s", "--max-size", "300", "--force"]);
    assert_eq!((run.code, place.names("s")), (Some(2), before.clone()), "{run:?}");
    let run = place.run(["split", "s", "-o", "s", "--max-size", "100", "--force"]);
    run.is(2, "", "s/model.safetensors.index.json: is an input; choose another output file\n");
    assert_eq!(place.names("s"), before);
    std::fs::copy(place.path("m"), place.path("model.safetensors")).expect("a copy");
    let run = place.run(["split", "model.safetensors", "-o", ".", "--max-size", "300", "--force"]);
    run.is(2, "", "./model.safetensors: is an input; choose another output file\n");
}

/// Finished files are not held open.
#[test]
fn more_shards_than_open_files() {
    let place = Place::new();
    place.put("m", &many("t", 1500));
    let run = place.shell("ulimit -n 256; exec \"$0\" split m -o s --max-size 1 --json");
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert_eq!(place.names("s").len(), 1501);
}
