//! `safetensors hash`: sums of files and tensors, and their verification.
#![cfg(unix)]

use crate::support::{Place, Run, file, finish, many, one, sound, sum, tensor};
use serde_json::{Value, json};
use std::fs;

/// A list of the unchanged files, in one of the two forms.
fn listed(options: &[&str]) -> Place {
    let place = Place::new();
    place.put("a", &sound()).put("b", &file(format!("{{{}}}", tensor("t", 0, 3)), b"abc"));
    let run = place.done(["hash"].iter().chain(options).chain(&["a", "b"]));
    place.put("list", run.out.as_bytes());
    place
}

fn verified(place: &Place) -> Run {
    place.run(["hash", "--verify", "list"])
}

#[test]
fn each_model_has_a_line() {
    let place = Place::new();
    place.put("a", &sound()).put("b b", &file("{}", b""));
    let expected = format!("{}  a\n{}  b b\n", sum(&sound()), sum(&file("{}", b"")));
    place.run(["hash", "a", "b b"]).is(0, &expected, "");
    place.run_piped(["hash", "-"], &sound()).is(0, &format!("{}  -\n", sum(&sound())), "");
    let run = place.run(["hash", "--json", "a", "a"]);
    assert_eq!((run.code, run.out.lines().count()), (Some(0), 2));
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
    let gone = json!({"file": "gone", "ok": false, "error": "io", "message": "no such file or directory"});
    assert_eq!((&lines[0], &lines[1]["code"]), (&gone, &json!("container.short")));
}

#[test]
fn changed_files_are_found() {
    let mut changed = sound();
    *changed.last_mut().expect("a byte") = b'x';
    let line = format!("a: changed: its sum is {}, and was {}\n", sum(&changed), sum(&sound()));
    for (options, more) in
        [(&[][..], ""), (&["--tensors"], ""), (&["--json"], "    tensor \"b\" is changed\n")]
    {
        let place = listed(options);
        verified(&place).is(0, "a: ok\nb: ok\n", "");
        let list = place.read("list");
        place.run_piped(["hash", "--verify", "-"], &list).is(0, "a: ok\nb: ok\n", "");
        place.put("a", &changed);
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
    let three = "tensor \"a\" is missing; tensor \"b\" is changed; tensor \"c\" is added";
    assert_eq!(told(&model(&renamed, b"abcdx")), three);
    assert_eq!(told(b"abc"), "no longer a valid model; `safetensors check` shows why");
    let told = place.run(["hash", "--json", "--verify", "list"]).json();
    let changed = json!({"file": "a", "ok": false, "error": "changed", "sha256": sum(b"abc"), "expected":
        sum(&sound()), "sound": false});
    assert_eq!(told, json!({"file": "list", "ok": false, "files": [changed, {"file": "b", "ok": true}]}));
}

/// Also a pipe to which nothing writes.
#[test]
fn missing_files_directories_and_pipes() {
    let place = listed(&[]);
    fs::remove_file(place.path("a")).expect("it can be removed");
    verified(&place).is(1, "a: missing\nb: ok\n", "");
    for make in ["mkdir a", "rmdir a; mkfifo a"] {
        assert_eq!(place.shell(make).code, Some(0));
        verified(&place).is(2, "b: ok\n", "a: cannot be read: not a regular file\n");
    }
    let told = place.run(["hash", "--verify", "list", "--json"]).json();
    let special = json!({"file": "a", "ok": false, "error": "io", "message": "not a regular file"});
    assert_eq!(told["files"][0], special);
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
    let run = finish(place.command(["hash", "--verify", "list"]).current_dir(place.path("sub")));
    run.is(1, "../gone: missing\n", "");
}

#[test]
fn an_invalid_list_is_one_sentence() {
    let place = listed(&[]);
    let list = place.read("list");
    for (damaged, why) in [
        (&b""[..], "it lists no files"),
        (&list[..list.len() / 2 + 10], "line 2 is not a sum and a name"),
        (
            b"{\"files\":",
            "not the output of `safetensors hash --json`: EOF while parsing a value at line 1 column 9",
        ),
        (&sound(), "it is a model; --check-embedded verifies the sum in a model"),
    ] {
        place.put("list", damaged);
        verified(&place).is(2, "", &format!("list: not a list of sums: {why}\n"));
    }
    place.run(["hash", "--verify", "gone"]).is(2, "", "gone: cannot be read: no such file or directory\n");
    let told = place.run(["hash", "--json", "--verify", "gone"]).json();
    let gone = json!({"file": "gone", "ok": false, "error": "io", "message": "no such file or directory"});
    assert_eq!(told, gone);
}

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

/// More tensors than the threads get at a time, and more sums than are held in memory.
#[test]
fn many_tensors_keep_their_sums() {
    let place = Place::new();
    let count = 40_000_u64;
    place.put("m", &many("t", count));
    let run = place.done(["hash", "--tensors", "m"]);
    let lines: Vec<&str> = run.out.lines().skip(1).collect();
    assert_eq!(lines.len() as u64, count);
    for (line, at) in lines.iter().zip(0..) {
        let byte = (at % 251_u64).to_le_bytes()[0];
        assert_eq!(*line, format!("  {}  \"t{at}\"", sum(&[byte])));
    }
    // More than is read at a time.
    let data: Vec<u8> = (0..3_000_001_u32).map(|at| (at * 7 % 253).to_le_bytes()[0]).collect();
    place.put("large", &one("U8", &[3_000_001], &data));
    let line = format!("{}  large\n  {}  \"a\"\n", sum(&place.read("large")), sum(&data));
    place.run(["hash", "--tensors", "large"]).is(0, &line, "");
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
    place.put("c/m", &sound()).put("c/SHA256SUMS", format!("{}  m\n", sum(&sound())).as_bytes());
    place
}

#[test]
fn a_checkpoint_contains_exactly_the_listed_files() {
    let place = checkpoint();
    let verify = || place.run(["hash", "--verify", "c"]);
    verify().is(0, "c/m: ok\n", "");
    fs::create_dir_all(place.path("c/state/empty")).expect("directory");
    place.put("c/.more", b"").put("c/state/step", b"7");
    let added = "added: not in the list\n";
    verify().is(1, &format!("c/m: ok\nc/.more: {added}c/state/step: {added}"), "");
    place.put("c/SHA256SUMS", format!("{}  m\n{}  state/step\n", sum(&sound()), sum(b"7")).as_bytes());
    let told = place.run(["hash", "--json", "--verify", "c"]).json();
    let files = json!([{"file": "c/m", "ok": true}, {"file": "c/state/step", "ok": true},
        {"file": "c/.more", "ok": false, "error": "added"}]);
    assert_eq!(told, json!({"file": "c", "ok": false, "files": files}));
    fs::remove_file(place.path("c/.more")).expect("it can be removed");
    place.put("c/m", b"other");
    let changed = format!("c/m: changed: its sum is {}, and was {}\n", sum(b"other"), sum(&sound()));
    verify().is(1, &format!("{changed}c/state/step: ok\n"), "");
    fs::remove_file(place.path("c/m")).expect("it can be removed");
    verify().is(1, "c/m: missing\nc/state/step: ok\n", "");
}

/// The target of a link may change unnoticed.
#[test]
fn links_in_a_checkpoint_are_rejected() {
    let place = checkpoint();
    place.put("elsewhere", &sound());
    fs::remove_file(place.path("c/m")).expect("it can be removed");
    std::os::unix::fs::symlink("../elsewhere", place.path("c/m")).expect("a link");
    place.refuses("hash --verify c", 2, "c/m: cannot be read: symbolic link, not a regular file");
}

#[test]
fn a_sharded_model_has_a_line_per_file() {
    let place = Place::new();
    place.put("whole", &sound());
    place.done(["split", "whole", "-o", "m", "--max-size", "3"]);
    let [index, one, two] = [
        "model.safetensors.index.json",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ]
    .map(|name| format!("m/{name}"));
    let files = [&index, &one, &two].map(|name| format!("{}  {name}\n", sum(&place.read(name))));
    for model in ["m", &index] {
        let run = place.run(["hash", model]);
        run.is(0, &files.concat(), "");
        place.put("list", run.out.as_bytes());
        assert_eq!(verified(&place).code, Some(0));
        let tensors = [format!("  {}  \"a\"\n", sum(b"ab")), format!("  {}  \"b\"\n", sum(b"cde"))];
        let lines = [&*files[0], &files[1], &tensors[0], &files[2], &tensors[1]].concat();
        place.run(["hash", "--tensors", model]).is(0, &lines, "");
        place.put("list", place.run(["hash", "--json", model]).out.as_bytes());
        assert_eq!(verified(&place).code, Some(0));
    }
    place.put(&two, &file(format!("{{{}}}", tensor("b", 0, 3)), b"cdx"));
    assert!(verified(&place).out.ends_with("    tensor \"b\" is changed\n"));
    fs::remove_file(place.path(&one)).expect("it can be removed");
    let run = place.run(["hash", "m"]);
    assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (Some(1), "", 1), "{run:?}");
}

#[test]
fn a_checkpoint_with_a_damaged_list_is_rejected() {
    let place = checkpoint();
    let verify = || place.run(["hash", "--verify", "c"]);
    for name in ["../m", "/m", "x/../m", "./m", "m/", "..", "SHA256SUMS"] {
        place.put("c/SHA256SUMS", format!("{}  m\n{}  {name}\n", sum(&sound()), sum(b"")).as_bytes());
        let why = format!("c/SHA256SUMS: the name \"{name}\" is not a path inside the checkpoint\n");
        verify().is(2, "", &why);
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
        "hash",
        "hash a --verify list",
        "hash --tensors --verify list",
        "hash --verify list --anywhere",
        "hash - -",
        "hash --embed -",
        "hash --embed --check-embedded a",
        "hash --textconv missing",
    ] {
        place.run(args.split(' ')).fails(2, "");
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
    let model = place.read("m");
    let (computed, stored) = embedded_sum(&model);
    assert_eq!(computed, stored);
    run.is(0, &format!("m: sum {stored}, rewritten: no space in the header\n"), "");
    check().is(0, "m: ok\n", "");
    place.run_piped(["hash", "--check-embedded", "-"], &model).is(0, "-: ok\n", "");
    place.run(["hash", "--embed", "m"]).is(0, &format!("m: sum {stored}, in place\n"), "");
    assert_eq!(place.read("m"), model, "the same file has the same sum");

    let mut changed = model.clone();
    *changed.last_mut().expect("data") ^= 1;
    place.put("m", &changed);
    let (new, _) = embedded_sum(&changed);
    check().is(1, &format!("m: changed: its sum is {new}, and was {stored}\n"), "");
    let run = place.run(["hash", "--check-embedded", "--json", "m"]);
    let expected = json!({"file": "m", "ok": false, "error": "changed", "sha256": new, "expected": stored});
    assert_eq!((run.code, run.json()), (Some(1), expected));
    let expected = json!({"file": "m", "ok": true, "sha256": new, "in_place": true, "padding_left_out": 0});
    assert_eq!(place.done(["hash", "--embed", "--json", "m"]).json(), expected);
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
        let digits = format!("{name}: error[integrity.digits] at byte ");
        place.run(["hash", "--check-embedded", name]).fails(1, &digits);
    }
    for option in ["--check-embedded", "--embed"] {
        place.run(["hash", option, "bad"]).is(1, "", &bad);
        assert_eq!(place.run(["hash", option, "gone"]).code, Some(2));
    }
    let signed = file("{\"__metadata__\":{\"c2pa:manifest\":\"AAAA\"}}", b"");
    let why = "signed: contains a C2PA manifest, which an embedded sum would make invalid\n";
    place.put("signed", &signed).run(["hash", "--embed", "signed"]).is(2, "", why);
    assert_eq!(place.read("signed"), signed);
    assert_eq!(place.run(["hash", "--embed", "upper"]).code, Some(0), "an old sum is replaced");
    place.run(["hash", "--check-embedded", "upper"]).is(0, "upper: ok\n", "");
}

#[test]
fn models_in_several_files_have_no_sum_of_their_own() {
    let place = Place::new();
    place.put("m", &sound());
    place.done(["split", "m", "-o", "d", "--max-size", "3"]);
    let files = ["d/model-00001-of-00002.safetensors", "d/model-00002-of-00002.safetensors"];
    let bytes = || files.map(|name| place.read(name));
    let before = bytes();
    for option in ["--embed", "--check-embedded"] {
        for path in ["d", "d/model.safetensors.index.json"] {
            let why = "is in 2 files, but one is needed; use `safetensors join`";
            place.run(["hash", option, path]).is(2, "", &format!("{path}: {why}\n"));
        }
    }
    assert_eq!(bytes(), before);
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
    let text = |name: &str| place.done(["hash", "--textconv", name]).out;
    let sum = "9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0";
    let lines = text("one");
    let first = ["metadata \"format\": \"pt\"", &format!("\"a\" U8 [3] {sum}")];
    assert!(lines.lines().zip(first).all(|(line, expected)| line == expected), "{lines}");
    assert_eq!((lines.lines().count(), &lines), (3, &text("other")));
    place.run(["pack", "one", "-o", "padded", "--order", "file", "--align", "64", "--align-all"]);
    assert_eq!(text("padded"), lines);
    let new = text("changed");
    let differing = lines.lines().zip(new.lines()).filter(|(one, other)| one != other).count();
    assert_eq!((differing, new.lines().count()), (1, 3));
    // An invalid file is its error, without the path.
    place.put("bad", &one[..20]).put("worse", &[&one[..19], b"!"].concat());
    let bad = text("bad");
    let is_whole = bad.starts_with("invalid: error[") && bad.contains("\n20 bytes, ");
    assert!(is_whole && !bad.contains("bad:") && bad != text("worse"), "{bad}");
}
