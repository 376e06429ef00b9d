//! `safetensors hash`: sums of files and tensors, and their verification.

use crate::support::{self, Place, Run, file, finish, sound, tensor};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A list of the unchanged files, in one of the two forms.
fn listed(options: &[&str]) -> Place {
    let place = Place::new();
    place.put("a", &sound()).put("b", &file(format!("{{{}}}", tensor("t", 0, 3)), b"abc"));
    let run = place.run(["hash"].iter().chain(options).chain(&["a", "b"]));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    place.put("list", run.out.as_bytes());
    place
}

fn verified(place: &Place) -> Run {
    place.run(["hash", "--verify", "list"])
}

#[test]
fn lines_are_those_of_sha256sum() {
    let place = Place::new();
    place.put("a", &sound()).put("b b", &file("{}", b""));
    let expected = format!("{}  a\n{}  b b\n", sum(&sound()), sum(&file("{}", b"")));
    place.run(["hash", "a", "b b"]).is(0, &expected, "");
    place.run_piped(["hash", "-"], &sound()).is(0, &format!("{}  -\n", sum(&sound())), "");
}

#[test]
fn tensors_have_sums_too() {
    let place = Place::new();
    place.put("m", &sound());
    let tensors = format!("  {}  \"a\"\n  {}  \"b\"\n", sum(b"ab"), sum(b"cde"));
    place.run(["hash", "--tensors", "m"]).is(0, &format!("{}  m\n{tensors}", sum(&sound())), "");
    let run = place.run(["hash", "--json", "m", "m"]);
    assert_eq!((run.code, run.out.lines().count()), (Some(0), 2));
    let expected = json!({"file": "m", "ok": true, "files": [{"file": "m", "bytes": 118, "sha256":
        sum(&sound()), "tensors": {
        "a": {"dtype": "U8", "shape": [2], "bytes": 2, "sha256": sum(b"ab")},
        "b": {"dtype": "U8", "shape": [3], "bytes": 3, "sha256": sum(b"cde")},
    }}]});
    for line in run.out.lines() {
        assert_eq!(serde_json::from_str::<Value>(line).expect("JSON"), expected);
    }
}

#[test]
fn large_tensors_are_hashed_piece_by_piece() {
    let place = Place::new();
    let data: Vec<u8> = (0..3_000_001_u32).map(|index| index.to_le_bytes()[index as usize % 3]).collect();
    let model = file(format!("{{{},{}}}", tensor("small", 0, 1), tensor("large", 1, 3_000_001)), &data);
    place.put("m", &model);
    let tensors = format!("  {}  \"small\"\n  {}  \"large\"\n", sum(&data[..1]), sum(&data[1..]));
    place.run(["hash", "--tensors", "m"]).is(0, &format!("{}  m\n{tensors}", sum(&model)), "");
}

#[test]
fn an_invalid_model_does_not_stop_the_others() {
    let place = Place::new();
    place.put("good", &sound()).put("bad", b"abc").put("empty", b"");
    let good = format!("{}  good\n", sum(&sound()));
    let bad = place.run(["check", "bad"]).out;
    place.run(["hash", "bad", "good"]).is(1, &good, &bad);
    let gone = "gone: cannot be read: no such file or directory\n";
    place.run(["hash", "gone", "bad", "good"]).is(2, &good, &format!("{gone}{bad}"));
    let run = place.run(["hash", "--json", "gone", "empty"]);
    let lines: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((run.code, run.err.as_str(), lines.len()), (Some(2), "", 2));
    assert_eq!(
        lines[0],
        json!({"file": "gone", "ok": false, "error": "io", "message": "no such file or directory"})
    );
    assert_eq!((&lines[1]["ok"], &lines[1]["code"]), (&json!(false), &json!("container.short")));
}

#[test]
fn unchanged_files_are_ok() {
    for options in [&[][..], &["--tensors"], &["--json"]] {
        let place = listed(options);
        verified(&place).is(0, "a: ok\nb: ok\n", "");
        let list = fs::read(place.path("list")).expect("the list");
        place.run_piped(["hash", "--verify", "-"], &list).is(0, "a: ok\nb: ok\n", "");
    }
}

#[test]
fn a_changed_byte_is_found_with_its_tensor() {
    let mut changed = sound();
    *changed.last_mut().expect("a byte") = b'x';
    for (options, more) in [(&[][..], ""), (&["--json"], "    tensor \"b\" is changed\n")] {
        let place = listed(options);
        place.put("a", &changed);
        let line = format!("a: changed: its sum is {}, and was {}\n", sum(&changed), sum(&sound()));
        verified(&place).is(1, &format!("{line}{more}b: ok\n"), "");
    }
}

#[test]
fn changes_of_tensors_are_reported() {
    let place = listed(&["--json"]);
    let told = |contents: &[u8]| {
        place.put("a", contents);
        let run = verified(&place);
        assert_eq!(run.code, Some(1), "{run:?}");
        let lines: Vec<&str> = run.out.lines().filter(|line| line.starts_with(' ')).map(str::trim).collect();
        lines.join("; ")
    };
    let model = |header: &str, data: &[u8]| file(format!("{{{header}}}"), data);
    let spaced = format!("{}, {}", tensor("a", 0, 2), tensor("b", 2, 5));
    assert_eq!(told(&model(&spaced, b"abcde")), "only the header has changed");
    assert_eq!(told(&model(&tensor("a", 0, 2), b"ab")), "tensor \"b\" is missing");
    let renamed = format!("{},{}", tensor("c", 0, 2), tensor("b", 2, 5));
    assert_eq!(
        told(&model(&renamed, b"abcdx")),
        "tensor \"a\" is missing; tensor \"b\" is changed; tensor \"c\" is added"
    );
    assert_eq!(told(b"abc"), "no longer a valid model; `safetensors check` shows why");
    let run = place.run(["hash", "--json", "--verify", "list"]);
    let told: Value = serde_json::from_str(&run.out).expect("JSON");
    let changed = json!({"file": "a", "ok": false, "error": "changed", "sha256": sum(b"abc"), "expected":
        sum(&sound()), "sound": false});
    assert_eq!(told, json!({"file": "list", "ok": false, "files": [changed, {"file": "b", "ok": true}]}));
}

#[test]
fn missing_files_and_directories() {
    let place = listed(&[]);
    fs::remove_file(place.path("a")).expect("it can be removed");
    verified(&place).is(1, "a: missing\nb: ok\n", "");
    fs::create_dir(place.path("a")).expect("directory");
    verified(&place).is(2, "b: ok\n", "a: cannot be read: not a regular file\n");
    let run = place.run(["hash", "--verify", "list", "--json"]);
    let told: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(
        told["files"][0],
        json!({"file": "a", "ok": false, "error": "io", "message": "not a regular file"})
    );
}

/// Nothing ever writes to it.
#[cfg(unix)]
#[test]
fn a_pipe_instead_of_a_file_does_not_block() {
    let place = listed(&[]);
    fs::remove_file(place.path("a")).expect("it can be removed");
    let made = std::process::Command::new("mkfifo").arg(place.path("a")).status();
    assert!(made.expect("mkfifo").success());
    verified(&place).is(2, "b: ok\n", "a: cannot be read: not a regular file\n");
}

/// As `sha256sum -c` does, also for lists of this command.
#[test]
fn names_in_a_list_may_be_any_path() {
    let place = listed(&[]);
    fs::create_dir(place.path("sub")).expect("directory");
    let absolute = place.path("a");
    let absolute = absolute.to_str().expect("UTF-8");
    for (name, option) in
        [("../a", "--tensors"), ("../a", "--json"), (absolute, "--tensors"), (absolute, "--json")]
    {
        let run = |args: &[&str]| finish(place.command(args).current_dir(place.path("sub")));
        place.put("sub/list", run(&["hash", option, name]).out.as_bytes());
        run(&["hash", "--verify", "list"]).is(0, &format!("{name}: ok\n"), "");
    }
    let of_input = place.run_piped(["hash", "-"], &sound());
    place.put("list", of_input.out.as_bytes());
    verified(&place).is(2, "", "-: cannot be read: it was standard input, which cannot be read again\n");
    place.put("sub/list", format!("{}  ../gone\n", sum(b"")).as_bytes());
    finish(place.command(["hash", "--verify", "list"]).current_dir(place.path("sub"))).is(
        1,
        "../gone: missing\n",
        "",
    );
}

#[test]
fn an_invalid_list_is_one_sentence() {
    let place = listed(&[]);
    let list = fs::read(place.path("list")).expect("the list");
    for (damaged, why) in [
        (&b""[..], "it lists no files"),
        (&list[..list.len() / 2 + 10], "line 2 is not a sum and a name"),
        (
            b"{\"files\":",
            "not the output of `safetensors hash --json`: EOF while parsing a value at line 1 column 9",
        ),
        (&sound(), "line 1 is not a sum and a name"),
    ] {
        place.put("list", damaged);
        verified(&place).is(2, "", &format!("list: not a list of sums: {why}\n"));
    }
    place.run(["hash", "--verify", "gone"]).is(2, "", "gone: cannot be read: no such file or directory\n");
    let run = place.run(["hash", "--json", "--verify", "gone"]);
    assert_eq!(
        run.out,
        "{\"file\":\"gone\",\"ok\":false,\"error\":\"io\",\"message\":\"no such file or directory\"}\n"
    );
}

#[cfg(unix)]
#[test]
fn unusual_names_are_escaped_as_by_sha256sum() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let names = [&b"a\nb"[..], b"a\\b", b"not\xffutf8", b"\xe2\x80\x8b"].map(OsStr::from_bytes);
    let mut list = Vec::new();
    for name in names {
        place.put(name, &sound());
        let output = place.command([OsStr::new("hash"), name]).output().expect("it runs");
        list.extend(output.stdout);
    }
    let spelled = [&b"a\\nb\n"[..], b"a\\\\b\n", b"not\xffutf8\n", b"\xe2\x80\x8b\n"];
    for spelled in spelled {
        assert!(list.windows(spelled.len()).any(|window| window == spelled), "{spelled:?}");
    }
    place.put("list", &list);
    verified(&place).is(0, "a\\nb: ok\na\\b: ok\nnot\u{fffd}utf8: ok\n\\u{200b}: ok\n", "");
}

/// A pipe often ends on a terminal. `sha256sum` has no escapes for these either.
#[cfg(unix)]
#[test]
fn control_characters_of_names_are_not_printed() {
    let place = Place::new();
    for (name, shown) in
        [("\x1b[31m", "\\u{1b}[31m"), ("a\x07", "a\\u{7}"), ("\u{9b}2J", "\\u{9b}2J"), ("a\x7f", "a\\u{7f}")]
    {
        place.put(name, &sound());
        let why = "name has control characters, which a list of sums cannot escape; use --json";
        place.run(["hash", name]).is(2, "", &format!("{shown}: {why}\n"));
        let run = place.run(["hash", "--json", name]);
        assert!(run.code == Some(0) && !run.out.trim().contains(char::is_control), "{run:?}");
        place.put("list", run.out.as_bytes());
        verified(&place).is(0, &format!("{shown}: ok\n"), "");
        // Lists of other programs may have such names.
        place.put("list", format!("{}  {name}\n", sum(&sound())).as_bytes());
        verified(&place).is(0, &format!("{shown}: ok\n"), "");
    }
}

/// A model with a directory to itself is one file with another path.
#[test]
fn a_directory_with_one_model_is_that_model() {
    let place = Place::new();
    fs::create_dir(place.path("m")).expect("directory");
    place.put("m/model.safetensors", &sound());
    let file = "m/model.safetensors";
    for options in [&["hash"][..], &["hash", "--tensors"]] {
        let by_folder = place.run([options, &["m"]].concat());
        assert_eq!(by_folder, place.run([options, &[file]].concat()));
        assert_eq!(by_folder.code, Some(0));
    }
    let json: Value = serde_json::from_str(&place.run(["hash", "--json", "m"]).out).expect("JSON");
    assert_eq!((&json["file"], &json["files"][0]["file"]), (&json!("m"), &json!(file)));
}

/// More tensors than the threads get at a time, and more sums than are held in memory.
#[test]
fn many_tensors_keep_their_sums() {
    let place = Place::new();
    let count = 40_000_u64;
    let mut members: Vec<String> = (0..count).map(|at| tensor(&format!("t{at}"), at, at + 1)).collect();
    members.reverse();
    let data: Vec<u8> = (0..count).map(|at| (at % 251).to_le_bytes()[0]).collect();
    place.put("m", &file(format!("{{{}}}", members.join(",")), &data));
    let run = place.run(["hash", "--tensors", "m"]);
    let lines: Vec<&str> = run.out.lines().skip(1).collect();
    assert_eq!(lines.len() as u64, count);
    for (line, at) in lines.iter().zip((0..count).rev()) {
        let byte = (at % 251).to_le_bytes()[0];
        assert_eq!(*line, format!("  {}  \"t{at}\"", sum(&[byte])));
    }
}

/// A file that cannot be read does not count as invalid.
#[test]
fn tensors_of_a_too_large_index_are_unknown() {
    let place = Place::new();
    let index = "m.safetensors.index.json";
    let json =
        json!({"files": [{"file": index, "sha256": sum(b""), "tensors": {"a": {"sha256": sum(b"")}}}]});
    let long = "x".repeat(100_001);
    place.put("list", json.to_string().as_bytes());
    place.put(index, format!(r#"{{"weight_map":{{"{long}":"1.safetensors"}}}}"#).as_bytes());
    let run = verified(&place);
    assert!(
        run.code == Some(1) && run.out.contains("\n    its tensors cannot be compared: m.safetensors"),
        "{run:?}"
    );
}

/// A directory with a model and its list.
fn checkpoint() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("c")).expect("directory");
    place.put("c/m", &sound()).put("c/SHA256SUMS", format!("{}  m\n", sum(&sound())).as_bytes());
    place
}

#[test]
fn a_checkpoint_contains_exactly_the_listed_files() {
    let place = checkpoint();
    let verify = || place.run(["hash", "--verify", "c"]);
    verify().is(0, "c/m: ok\n", "");
    place.put("c/.more", b"");
    verify().is(1, "c/m: ok\nc/.more: added: not in the list\n", "");
    let run = place.run(["hash", "--json", "--verify", "c"]);
    let told: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(
        told,
        json!({"file": "c", "ok": false, "files": [{"file": "c/m", "ok": true}, {"file": "c/.more", "ok":
            false, "error": "added"}]})
    );
    fs::remove_file(place.path("c/.more")).expect("it can be removed");
    place.put("c/m", b"other");
    verify().is(1, &format!("c/m: changed: its sum is {}, and was {}\n", sum(b"other"), sum(&sound())), "");
    fs::remove_file(place.path("c/m")).expect("it can be removed");
    verify().is(1, "c/m: missing\n", "");
}

#[test]
fn directories_in_a_checkpoint_are_searched() {
    let place = checkpoint();
    fs::create_dir_all(place.path("c/state/empty")).expect("directory");
    place.put("c/state/step", b"7");
    let verify = || place.run(["hash", "--verify", "c"]);
    verify().is(1, "c/m: ok\nc/state/step: added: not in the list\n", "");
    place.put("c/SHA256SUMS", format!("{}  m\n{}  state/step\n", sum(&sound()), sum(b"7")).as_bytes());
    verify().is(0, "c/m: ok\nc/state/step: ok\n", "");
}

/// The target of a link may change unnoticed.
#[cfg(unix)]
#[test]
fn links_in_a_checkpoint_are_rejected() {
    let place = checkpoint();
    place.put("elsewhere", &sound());
    fs::remove_file(place.path("c/m")).expect("it can be removed");
    std::os::unix::fs::symlink("../elsewhere", place.path("c/m")).expect("a link");
    place.run(["hash", "--verify", "c"]).is(
        2,
        "",
        "c/m: cannot be read: symbolic link, not a regular file\n",
    );
}

#[test]
fn a_sharded_model_has_a_line_per_file() {
    let place = Place::new();
    fs::create_dir(place.path("m")).expect("directory");
    let index = r#"{"metadata":{"total_size":5},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}}"#;
    let (one, two) = (
        file(format!("{{{}}}", tensor("a", 0, 2)), b"ab"),
        file(format!("{{{}}}", tensor("b", 0, 3)), b"cde"),
    );
    place.put("m/1.safetensors", &one).put("m/2.safetensors", &two);
    place.put("m/model.safetensors.index.json", index.as_bytes());
    let files = [
        format!("{}  m/model.safetensors.index.json\n", sum(index.as_bytes())),
        format!("{}  m/1.safetensors\n", sum(&one)),
        format!("{}  m/2.safetensors\n", sum(&two)),
    ];
    for model in ["m", "m/model.safetensors.index.json"] {
        let run = place.run(["hash", model]);
        run.is(0, &files.concat(), "");
        place.put("list", run.out.as_bytes());
        assert_eq!(verified(&place).code, Some(0));
        let run = place.run(["hash", "--tensors", model]);
        let tensors = [format!("  {}  \"a\"\n", sum(b"ab")), format!("  {}  \"b\"\n", sum(b"cde"))];
        run.is(0, &[&*files[0], &files[1], &tensors[0], &files[2], &tensors[1]].concat(), "");
        place.put("list", place.run(["hash", "--json", model]).out.as_bytes());
        assert_eq!(verified(&place).code, Some(0));
    }
    place.put("m/2.safetensors", &file(format!("{{{}}}", tensor("b", 0, 3)), b"cdx"));
    assert!(verified(&place).out.ends_with("    tensor \"b\" is changed\n"));
    fs::remove_file(place.path("m/1.safetensors")).expect("it can be removed");
    let run = place.run(["hash", "m"]);
    assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(1), "", 1), "{run:?}");
}

#[test]
fn a_checkpoint_with_a_damaged_list_is_rejected() {
    let place = checkpoint();
    let verify = || place.run(["hash", "--verify", "c"]);
    for name in ["../m", "/m", "x/../m", "./m", "m/", "..", "SHA256SUMS"] {
        place.put("c/SHA256SUMS", format!("{}  m\n{}  {name}\n", sum(&sound()), sum(b"")).as_bytes());
        verify().is(
            2,
            "",
            &format!("c/SHA256SUMS: the name \"{name}\" is not a path inside the checkpoint\n"),
        );
    }
    place.put("c/SHA256SUMS", format!("{0}  m\n{0}  m\n", sum(&sound())).as_bytes());
    verify().is(2, "", "c/SHA256SUMS: the name \"m\" is listed more than once\n");
    place.put("c/SHA256SUMS", b"nonsense");
    verify().is(2, "", "c/SHA256SUMS: not a list of sums: line 1 is not a sum and a name\n");
    fs::remove_file(place.path("c/SHA256SUMS")).expect("it can be removed");
    verify().is(2, "", "c/SHA256SUMS: cannot be read: no such file or directory\n");
}

#[test]
fn bad_usage_is_exit_code_2() {
    let place = listed(&[]);
    for args in [
        &["hash"][..],
        &["hash", "a", "--verify", "list"],
        &["hash", "--tensors", "--verify", "list"],
        &["hash", "--verify", "list", "--anywhere"],
        &["hash", "-", "-"],
    ] {
        let run = place.run(args);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(!run.err.is_empty());
    }
}

#[cfg(unix)]
#[test]
fn closed_or_full_output_is_an_error() {
    let place = listed(&[]);
    for args in [&["hash", "a", "b"][..], &["hash", "--verify", "list"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        finish(place.command(args).stdout(writer)).is(2, "", "");
        if cfg!(target_os = "linux") {
            let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
            let said = "safetensors: cannot write to standard output: no space left on device\n";
            finish(place.command(args).stdout(full)).is(2, "", said);
        }
    }
}

/// A sparse file.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_long_run() {
    use std::time::{Duration, Instant};
    let place = Place::new();
    let len: u64 = 1 << 40;
    place.put("m", &file(format!("{{{}}}", tensor("a", 0, len)), b""));
    let model = fs::OpenOptions::new().write(true).open(place.path("m")).expect("the model");
    model.set_len(model.metadata().expect("its length").len() + len).expect("a file with holes");
    place.put("list", format!("{}  m\n", sum(b"")).as_bytes());
    for args in [&["hash", "m"][..], &["hash", "--json", "m"], &["hash", "--verify", "list"]] {
        let child = place.command(args).spawn().expect("it starts");
        support::until_it_listens(&child);
        let started = Instant::now();
        let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{args:?}: {output:?}");
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

/// The sum of a file with zeros in place of the sum that it contains, and that sum.
fn embedded_sum(file: &[u8]) -> (String, String) {
    let key = b"\"safetensors.sha256\":\"";
    let at = file.windows(key.len()).position(|bytes| bytes == key).expect("a sum") + key.len();
    let stored = String::from_utf8(file[at..at + 64].to_vec()).expect("digits");
    let zeros = [&file[..at], &[b'0'; 64], &file[at + 64..]].concat();
    (sum(&zeros), stored)
}

#[test]
fn sum_is_embedded_and_checked() {
    let place = Place::new();
    place.put("m", &sound());
    let check = || place.run(["hash", "--check-embedded", "m"]);
    check().is(1, "", "m: contains no sum; `safetensors hash --embed` embeds one\n");
    assert!(place.run(["hash", "--check-embedded", "--json", "m"]).out.contains("\"error\":\"no-sum\""));
    let run = place.run(["hash", "--embed", "m"]);
    let model = fs::read(place.path("m")).expect("written");
    let (computed, stored) = embedded_sum(&model);
    assert_eq!(computed, stored);
    run.is(0, &format!("m: sum {stored}, rewritten: no space in the header\n"), "");
    check().is(0, "m: ok\n", "");
    place.run_piped(["hash", "--check-embedded", "-"], &model).is(0, "-: ok\n", "");
    place.run(["hash", "--embed", "m"]).is(0, &format!("m: sum {stored}, in place\n"), "");
    assert_eq!(fs::read(place.path("m")).expect("there"), model, "the same file has the same sum");

    let mut changed = model.clone();
    *changed.last_mut().expect("data") ^= 1;
    place.put("m", &changed);
    let (new, _) = embedded_sum(&changed);
    check().is(1, &format!("m: changed: its sum is {new}, and was {stored}\n"), "");
    let json = place.run(["hash", "--check-embedded", "--json", "m"]);
    let expected = json!({"file": "m", "ok": false, "error": "changed", "sha256": new, "expected": stored});
    assert_eq!((json.code, serde_json::from_str::<Value>(&json.out).expect("JSON")), (Some(1), expected));
    let json = place.run(["hash", "--embed", "--json", "m"]);
    let expected = json!({"file": "m", "ok": true, "sha256": new, "in_place": true, "padding_left_out": 0});
    assert_eq!((json.code, serde_json::from_str::<Value>(&json.out).expect("JSON")), (Some(0), expected));
    check().is(0, "m: ok\n", "");
}

#[test]
fn misspelled_sums_and_bad_models_are_reported() {
    let place = Place::new();
    let metadata =
        |text: &str| file(format!("{{\"__metadata__\":{{\"safetensors.sha256\":\"{text}\"}}}}"), b"");
    place.put("upper", &metadata(&"A".repeat(64))).put("short", &metadata("00")).put("bad", b"abc");
    let bad = place.run(["check", "bad"]).out;
    for name in ["upper", "short"] {
        let run = place.run(["hash", "--check-embedded", name]);
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
        assert!(run.err.starts_with(&format!("{name}: error[integrity.digits] at byte ")), "{}", run.err);
    }
    for option in ["--check-embedded", "--embed"] {
        place.run(["hash", option, "bad"]).is(1, "", &bad);
        assert_eq!(place.run(["hash", option, "gone"]).code, Some(2));
    }
    assert_eq!(place.run(["hash", "--embed", "upper"]).code, Some(0), "an old sum is replaced");
    place.run(["hash", "--check-embedded", "upper"]).is(0, "upper: ok\n", "");
    assert_eq!(place.run(["hash", "--embed", "-"]).code, Some(2));
    assert_eq!(place.run(["hash", "--embed", "--check-embedded", "short"]).code, Some(2));
}

#[test]
fn models_in_several_files_have_no_sum_of_their_own() {
    let place = Place::new();
    place.put("m", &sound());
    assert_eq!(place.run(["split", "m", "-o", "d", "--max-size", "3"]).code, Some(0));
    let files = ["d/model-00001-of-00002.safetensors", "d/model-00002-of-00002.safetensors"];
    let bytes = || files.map(|name| fs::read(place.path(name)).expect("a shard"));
    let before = bytes();
    for option in ["--embed", "--check-embedded"] {
        for path in ["d", "d/model.safetensors.index.json"] {
            let why = "is in 2 files, but one is needed; use `safetensors join`";
            place.run(["hash", option, path]).is(2, "", &format!("{path}: {why}\n"));
        }
    }
    assert_eq!(bytes(), before);
    fs::create_dir(place.path("one")).expect("a directory");
    place.put("one/model.safetensors", &sound());
    let run = place.run(["hash", "--embed", "one"]);
    assert!(run.code == Some(0) && run.out.starts_with("one/model.safetensors: sum "), "{run:?}");
    place.run(["hash", "--check-embedded", "one"]).is(0, "one/model.safetensors: ok\n", "");
}

/// The sum of a file is wrong in every other one.
#[test]
fn new_files_have_no_sum_of_an_old_one() {
    let place = Place::new();
    let key = "\"safetensors.sha256\"";
    place.put("m", &sound());
    assert_eq!(place.run(["hash", "--embed", "m"]).code, Some(0));
    fs::copy(place.path("m"), place.path("n")).expect("a copy");
    place.run(["pack", "n", "--in-place", "--set", "k=v", "--rename", "a=c", "--rename", "b=d"]);
    assert_eq!(place.run(["hash", "--embed", "n"]).code, Some(0));
    for (name, args) in [
        ("packed", &["pack", "m", "-o", "packed"][..]),
        ("both", &["pack", "m", "n", "-o", "both"]),
        ("edited", &["pack", "edited", "--in-place", "--set", "k=w"]),
        ("sliced", &["slice", "m", "a=0:1", "-o", "sliced"]),
        ("new.safetensors", &["convert", "m", "new.safetensors"]),
        ("dir/model-00001-of-00002.safetensors", &["split", "m", "-o", "dir", "--max-size", "3"]),
    ] {
        fs::copy(place.path("m"), place.path("edited")).expect("a copy");
        let run = place.run(args);
        assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
        let file = fs::read(place.path(name)).expect("written");
        assert!(!String::from_utf8_lossy(&file).contains(key), "{args:?}");
    }
}

/// Only what changes in a model changes in its text.
#[test]
fn the_text_for_git_does_not_depend_on_the_layout() {
    let place = Place::new();
    let metadata = r#""__metadata__":{"format":"pt"}"#;
    let one = file(format!("{{{metadata},{},{}}}", tensor("b", 0, 2), tensor("a", 2, 5)), b"bbaaa");
    let other = file(format!("{{{},{},{metadata}}}  ", tensor("a", 0, 3), tensor("b", 3, 5)), b"aaabb");
    let changed = file(format!("{{{metadata},{},{}}}", tensor("b", 0, 4), tensor("a", 4, 7)), b"bbbbaaa");
    place.put("one", &one).put("other", &other).put("changed", &changed);
    let text = |name: &str| {
        let run = place.run(["hash", "--textconv", name]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
        run.out
    };
    let sum = "9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0";
    let lines = text("one");
    assert_eq!(
        lines.lines().take(2).collect::<Vec<_>>(),
        ["metadata \"format\": \"pt\"", &format!("\"a\" U8 [3] {sum}")]
    );
    assert_eq!((lines.lines().count(), &lines), (3, &text("other")));
    place.run(["pack", "one", "-o", "padded", "--order", "file", "--align", "64", "--align-all"]);
    assert_eq!(text("padded"), lines);
    let new = text("changed");
    let differing = lines.lines().zip(new.lines()).filter(|(one, other)| one != other).count();
    assert_eq!((differing, new.lines().count()), (1, 3));
    // An invalid file is its error, without the path.
    place.put("bad", &one[..20]).put("worse", &[&one[..19], b"!"].concat());
    let bad = text("bad");
    assert!(
        bad.starts_with("invalid: error[") && bad.contains("\n20 bytes, ") && !bad.contains("bad:"),
        "{bad}"
    );
    assert_ne!(bad, text("worse"));
    assert_eq!(place.run(["hash", "--textconv", "missing"]).code, Some(2));
}
