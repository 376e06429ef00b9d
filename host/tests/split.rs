//! `safetensors split`: shards and an index, all of them or none.

use crate::support::{self, Place, file, tensor};
use serde_json::{Value, json};

/// Six tensors of 100 bytes.
fn place() -> Place {
    let place = Place::new();
    let members = (0..6).map(|index| tensor(&format!("t{index}"), 100 * index, 100 * (index + 1)));
    let members: Vec<String> = members.collect();
    let header = format!(r#"{{"__metadata__":{{"format":"pt"}},{}}}"#, members.join(","));
    let data: Vec<u8> = (0..600_u16).map(|byte| byte.to_le_bytes()[0]).collect();
    place.put("m", &file(header, &data));
    place
}

fn files(place: &Place, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(place.path(folder)).expect("directory");
    let names =
        entries.map(|entry| entry.expect("directory entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Tensors at the same offset are sorted by name, whatever the order of the header, as other programs list
/// them.
#[test]
fn empty_tensors_are_sorted_by_name() {
    let place = Place::new();
    let members = [tensor("b", 0, 0), tensor("a", 0, 0), tensor("c", 0, 100), tensor("d", 100, 200)];
    place.put("m", &file(format!("{{{}}}", members.join(",")), &[0; 200]));
    assert_eq!(place.run(["split", "m", "-o", "s", "--max-size", "100"]).code, Some(0));
    let index =
        std::fs::read_to_string(place.path("s").join("model.safetensors.index.json")).expect("the index");
    let names = ["\"a\"", "\"b\"", "\"c\"", "\"d\""].map(|name| index.find(name).expect("it is listed"));
    assert!(names.is_sorted(), "{index}");
}

#[test]
fn a_model_becomes_shards_and_an_index() {
    let place = place();
    let run = place.run(["split", "m", "-o", "s", "--max-size", "250"]);
    let told = "\
s/model-00001-of-00003.safetensors: 2 tensors, 200 bytes of data
s/model-00002-of-00003.safetensors: 2 tensors, 200 bytes of data
s/model-00003-of-00003.safetensors: 2 tensors, 200 bytes of data
s/model.safetensors.index.json: the index
";
    run.is(0, told, "");
    let expected = [
        "model-00001-of-00003.safetensors",
        "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
        "model.safetensors.index.json",
    ];
    assert_eq!(files(&place, "s"), expected);
    let checked = place.run(["check", "s"]);
    assert_eq!((checked.code, checked.out.lines().count()), (Some(0), 4), "{checked:?}");
    let line = format!("s/{}: ok, 6 tensors in 3 shards, ", expected[3]);
    assert!(checked.out.lines().any(|printed| printed.starts_with(&line)), "{}", checked.out);
    let index: Value =
        serde_json::from_slice(&std::fs::read(place.path("s").join(expected[3])).expect("the index"))
            .expect("JSON");
    assert_eq!(
        (&index["metadata"], &index["weight_map"]["t3"]),
        (&json!({"total_size": 600}), &json!(expected[1]))
    );
    let shard: Value =
        serde_json::from_str(&place.run(["inspect", "--json", &format!("s/{}", expected[1])]).out)
            .expect("JSON");
    assert_eq!(shard["metadata"], json!({"format": "pt"}));
    let whole: Value = serde_json::from_str(&place.run(["inspect", "--json", "s"]).out).expect("JSON");
    assert_eq!((&whole["tensors"]["t3"]["shard"], &whole["parameters"]), (&json!(2), &json!(600)));
    assert_eq!(whole["shards"][1]["file"], expected[1]);
}

#[test]
fn sizes_have_units() {
    let place = place();
    let shards = |size: &str| {
        let run = place.run(["split", "m", "-o", "s", "--max-size", size, "--json", "--force"]);
        let line: Value = serde_json::from_str(&run.out).unwrap_or(json!({"shards": []}));
        (run.code, line["shards"].as_array().map_or(0, Vec::len))
    };
    assert_eq!(shards("0.3KB"), (Some(0), 2));
    assert_eq!(shards("1kib"), (Some(0), 1));
    assert_eq!(shards("1 KB"), (Some(0), 1));
    assert_eq!(shards("1"), (Some(0), 6));
    for bad in ["", "0", "KB", "-1", "5XB", "1.5KiB", "99999999999TiB", "0KB"] {
        assert_eq!(shards(bad), (Some(2), 0), "{bad}");
    }
}

#[test]
fn one_shard_needs_no_index() {
    let place = place();
    let run = place.run(["split", "m", "-o", "s", "--name", "big", "--json"]);
    let line: Value = serde_json::from_str(&run.out).expect("JSON");
    let shards = json!([{"file": "big.safetensors", "tensors": 6, "bytes": 600}]);
    let expected = json!({"file": "m", "ok": true, "output": "s", "index": null, "tensors": 6, "padding_left_out": 0,
        "total_size": 600, "shards": shards});
    assert_eq!((run.code, line), (Some(0), expected));
    assert_eq!(files(&place, "s"), ["big.safetensors"]);
}

#[test]
fn existing_models_need_force() {
    let place = place();
    assert_eq!(place.run(["split", "m", "-o", "s", "--max-size", "300"]).code, Some(0));
    let before = files(&place, "s");
    let again = place.run(["split", "m", "-o", "s", "--max-size", "600"]);
    again.is(2, "", "s/model.safetensors.index.json: already exists; use --force to overwrite it\n");
    std::fs::remove_file(place.path("s/model-00001-of-00002.safetensors")).expect("existing file");
    std::fs::remove_file(place.path("s/model-00002-of-00002.safetensors")).expect("existing file");
    let index = place.run(["split", "m", "-o", "s", "--max-size", "300"]);
    index.is(2, "", "s/model.safetensors.index.json: already exists; use --force to overwrite it\n");
    assert_eq!(files(&place, "s"), ["model.safetensors.index.json"]);
    assert_eq!(place.run(["split", "m", "-o", "s", "--max-size", "300", "--force"]).code, Some(0));
    assert_eq!(files(&place, "s"), before);
    // A single file replaces all: the index that names old shards is removed.
    assert_eq!(place.run(["split", "m", "-o", "s", "--force"]).code, Some(0));
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
    let (of_nobody, index) = ("model-00001-of-00009.safetensors", "model.safetensors.index.json");
    let [first, second] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    assert_eq!(files(&place, "s"), [first, of_nobody, second, index]);
    assert_eq!(split("1KB").code, Some(0));
    assert_eq!(files(&place, "s"), [of_nobody, "model.safetensors"]);
}

/// An invalid index is removed, and no other file.
#[test]
fn an_invalid_old_index_removes_no_other_files() {
    let place = place();
    std::fs::create_dir(place.path("s")).expect("directory");
    let (index, text) = ("model.safetensors.index.json", "thesis.txt");
    let map =
        json!({"a": index, "b": text, "c": "model-00001-of-00002.safetensors", "d": "gone.safetensors"});
    place
        .put("s/thesis.txt", b"")
        .put(format!("s/{index}"), json!({"weight_map": map}).to_string().as_bytes());
    let run = place.run(["split", "m", "-o", "s", "--max-size", "300", "--force"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let [first, second] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    assert_eq!(files(&place, "s"), [first, second, index, text]);
}

/// Readers that know the name of a single-file model prefer it to an index.
#[test]
fn a_single_file_model_is_replaced_by_an_index() {
    let place = place();
    std::fs::create_dir(place.path("s")).expect("directory");
    place.put("s/model.safetensors", &support::sound()).put("s/other.safetensors", &support::sound());
    let run = place.run(["split", "m", "-o", "s", "--max-size", "300"]);
    run.is(2, "", "s/model.safetensors: already exists; use --force to overwrite it\n");
    assert_eq!(files(&place, "s"), ["model.safetensors", "other.safetensors"]);
    assert_eq!(place.run(["split", "m", "-o", "s", "--max-size", "300", "--force"]).code, Some(0));
    let [first, second] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    let index = "model.safetensors.index.json";
    assert_eq!(files(&place, "s"), [first, second, index, "other.safetensors"]);
}

/// In between, the index would name shards of both models.
#[test]
fn shards_of_the_same_names_are_not_replaced() {
    let place = place();
    assert_eq!(place.run(["split", "m", "-o", "s", "--max-size", "300"]).code, Some(0));
    let before = std::fs::read(place.path("s/model-00001-of-00002.safetensors")).expect("existing file");
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
    let after = std::fs::read(place.path("s/model-00001-of-00002.safetensors")).expect("existing file");
    assert!(before == after);
    assert_eq!(place.run(["check", "s"]).code, Some(0));
}

/// They belong to another model, whatever its name.
#[test]
fn shards_of_another_index_are_kept() {
    let place = place();
    assert_eq!(place.run(["split", "m", "-o", "s", "--max-size", "300"]).code, Some(0));
    let [index, other] = ["s/model.safetensors.index.json", "s/zzz.safetensors.index.json"];
    std::fs::copy(place.path(index), place.path(other)).expect("a copy");
    // With other file names, the new model replaces the old one, and leaves the shards of the copy.
    assert_eq!(place.run(["split", "m", "-o", "s", "--max-size", "200", "--force"]).code, Some(0));
    assert_eq!(place.run(["join", other, "-o", "joined"]).code, Some(0));
    std::fs::remove_file(place.path(index)).expect("existing file");
    let run = place.run(["split", "m", "-o", "s", "--max-size", "300", "--force"]);
    let sentence = format!(
        "s/model-00001-of-00002.safetensors: is a shard of the model {other}: several files cannot be \
         replaced atomically; split into another directory, or remove that model first\n"
    );
    run.is(2, "", &sentence);
}

/// They may belong to another model in another directory.
#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let place = place();
    assert_eq!(place.run(["split", "m", "-o", "s", "--max-size", "300"]).code, Some(0));
    std::fs::create_dir(place.path("t")).expect("directory");
    for name in files(&place, "s") {
        std::os::unix::fs::symlink(place.path("s").join(&name), place.path("t").join(&name)).expect("a link");
    }
    let before = std::fs::read(place.path("s/model.safetensors.index.json")).expect("existing file");
    let run = place.run(["split", "m", "-o", "t", "--max-size", "200", "--force"]);
    let sentence = "t/model.safetensors.index.json: is a symbolic link; refusing to overwrite a file that \
        may belong to another model\n";
    run.is(2, "", sentence);
    assert_eq!(std::fs::read(place.path("s/model.safetensors.index.json")).expect("existing file"), before);
    assert_eq!(place.run(["check", "s"]).code, Some(0));
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
    assert_eq!(files(&place, "t"), ["model.safetensors", "o.safetensors.index.json"]);
}

/// If killed at the very end, the old single-file model is left, and many readers prefer it.
#[test]
fn a_single_file_beside_the_index_is_reported() {
    let place = place();
    assert_eq!(place.run(["split", "m", "-o", "s", "--max-size", "300"]).code, Some(0));
    place.put("s/model.safetensors", &support::sound());
    let run = place.run(["split", "m", "-o", "s", "--max-size", "300", "--force"]);
    let sentence = "; s/model.safetensors beside it is a complete model, which many readers prefer\n";
    assert!(run.code == Some(2) && run.err.ends_with(sentence), "{run:?}");
}

/// If killed at any time, it leaves the old model or the new one, complete.
#[cfg(unix)]
#[test]
fn a_kill_leaves_the_old_model_or_the_new_one() {
    let place = Place::new();
    let model = |count: u64, byte: u8| {
        let members: Vec<String> = (0..count).map(|at| tensor(&format!("t{at}"), at, at + 1)).collect();
        file(format!("{{{}}}", members.join(",")), &vec![byte; usize::try_from(count).expect("few")])
    };
    place.put("old", &model(40, 1)).put("new", &model(41, 2));
    for shown in [1, 2, 10, 20, 40, 41] {
        let _ = std::fs::remove_dir_all(place.path("s"));
        assert_eq!(place.run(["split", "old", "-o", "s", "--max-size", "1"]).code, Some(0));
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

/// An old index may name files that do not belong to the model.
#[test]
fn only_shards_of_that_name_are_removed() {
    let place = place();
    std::fs::create_dir(place.path("s")).expect("directory");
    let map = json!({"a": "other.safetensors", "b": "model-00001-of-00009.safetensors"});
    place
        .put("s/other.safetensors", &support::sound())
        .put("s/model-00001-of-00009.safetensors", &support::sound())
        .put("s/model.safetensors.index.json", json!({"weight_map": map}).to_string().as_bytes());
    assert_eq!(place.run(["split", "m", "-o", "s", "--max-size", "300", "--force"]).code, Some(0));
    let [first, second] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    assert_eq!(files(&place, "s"), [first, second, "model.safetensors.index.json", "other.safetensors"]);
}

#[test]
fn inputs_are_never_removed() {
    let place = place();
    assert_eq!(place.run(["split", "m", "-o", "s", "--max-size", "300"]).code, Some(0));
    let before = files(&place, "s");
    let run = place.run(["split", "s", "-o", "s", "--max-size", "300", "--force"]);
    assert_eq!((run.code, files(&place, "s")), (Some(2), before.clone()), "{run:?}");
    let run = place.run(["split", "s", "-o", "s", "--max-size", "100", "--force"]);
    run.is(2, "", "s/model.safetensors.index.json: is an input; choose another output file\n");
    assert_eq!(files(&place, "s"), before);
    std::fs::copy(place.path("m"), place.path("model.safetensors")).expect("a copy");
    let run = place.run(["split", "model.safetensors", "-o", ".", "--max-size", "300", "--force"]);
    run.is(2, "", "./model.safetensors: is an input; choose another output file\n");
}

/// Finished files are not held open.
#[cfg(unix)]
#[test]
fn more_shards_than_open_files() {
    let place = Place::new();
    let members: Vec<String> = (0..1500).map(|at| tensor(&format!("t{at}"), at, at + 1)).collect();
    place.put("m", &file(format!("{{{}}}", members.join(",")), &[7; 1500]));
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg("ulimit -n 256; exec \"$0\" split m -o s --max-size 1 --json");
    let run = support::finish(command.arg(env!("CARGO_BIN_EXE_safetensors")).current_dir(place.path(".")));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert_eq!(files(&place, "s").len(), 1501);
}

#[test]
fn failures_leave_nothing() {
    let place = place();
    place.put("short", b"abc").put("file", b"");
    for (model, code) in [("short", 1), ("gone", 2)] {
        let run = place.run(["split", model, "-o", "s"]);
        assert_eq!(
            (run.code, run.out.as_str(), place.path("s").exists()),
            (Some(code), "", false),
            "{run:?}"
        );
    }
    place.run(["split", "m", "-o", "file"]).is(2, "", "file: is not a directory\n");
    place.run(["split", "m", "-o", "a/b"]).is(2, "", "a/b: cannot be written: no such file or directory\n");
    for name in ["", "a/b", "../a", "a\\b"] {
        let run = place.run(["split", "m", "-o", "s", "--name", name]);
        assert_eq!(
            (run.code, run.err.lines().count(), place.path("s").exists()),
            (Some(2), 1, false),
            "{name}"
        );
    }
    let line: Value =
        serde_json::from_str(&place.run(["split", "--json", "gone", "-o", "s"]).out).expect("JSON");
    assert_eq!((&line["ok"], &line["file"]), (&json!(false), &json!("gone")));
}

/// Ctrl-C while writing: exit code 130, one word, and no output.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_leaves_nothing() {
    let place = Place::new();
    let len = 20_u64 << 30;
    let header = format!("{{{},{}}}", tensor("a", 0, len / 2), tensor("b", len / 2, len));
    place.put("m", &file(&header, b""));
    let whole = std::fs::OpenOptions::new().write(true).open(place.path("m")).expect("the file");
    whole.set_len(8 + header.len() as u64 + len).expect("a hole");
    for args in [&["split", "m", "-o", "s", "--max-size", "11GB"][..], &["pack", "m", "-o", "n"]] {
        let child = place.command(args).spawn().expect("it runs");
        let written = || {
            let folder = if args[0] == "split" { place.path("s") } else { place.path(".") };
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let mut hidden =
                entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".safetensors-"));
            hidden.any(|entry| entry.metadata().is_ok_and(|there| there.len() > 0))
        };
        support::until("a hidden file", written);
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        assert_eq!(
            (output.stdout.as_slice(), output.stderr.as_slice()),
            (&b""[..], &b"safetensors: interrupted\n"[..])
        );
        assert_eq!(files(&place, "."), ["m"]);
    }
}

#[test]
fn other_sizes_are_refused_with_the_forms_that_are_not() {
    let forms = "a number above 0 needed, alone or with KB, MB, GB, TB, KiB, MiB, GiB or TiB";
    for size in ["0", "100K", "5G", "-1", "KB", "0.4", ""] {
        let run = Place::new().run(["split", "m", "-o", "s", &format!("--max-size={size}")]);
        assert!(run.code == Some(2) && run.err.contains(forms), "{size}: {run:?}");
    }
}
