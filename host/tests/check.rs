//! `safetensors check` as scripts use it: lines, exit codes, `--json`.
#![cfg(unix)]

use crate::support::{Place, command_names, file, finish, many, sound};
use serde_json::{Value, json};

#[test]
fn many_files_have_one_line_each_and_the_worst_exit_code() {
    let place = Place::new();
    place.put("good", &sound()).put("bad", b"abc").put("dtype", &file(r#"{"n\"":{"dtype":"X"}}"#, b""));
    let good = "good: ok, 2 tensors, 118 bytes\n";
    let short = "the file is too short for the 8-byte length of its header";
    let bad = format!("bad: error[container.short] at byte 3: {short}\n");
    let gone = "gone: cannot be read: no such file or directory\n";
    place.run(["check", "good", "good"]).is(0, &[good, good].concat(), "");
    place.run(["check", "bad", "good"]).is(1, &[&bad, good].concat(), "");
    for files in [["gone", "bad", "good"], ["bad", "gone", "good"]] {
        place.run(["check"].iter().chain(&files)).is(2, &[&bad, good].concat(), gone);
    }
    let run = place.run(["check", "--json", "good", "dtype", "bad", "gone"]);
    assert_eq!((run.code, run.err.as_str()), (Some(2), ""));
    let lines: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let dtype = json!({"file": "dtype", "ok": false, "code": "dtype.unknown", "at": 24,
        "message": "tensor \"n\\\"\": unknown dtype", "tensor": "n\""});
    let expected = [
        json!({"file": "good", "ok": true, "tensors": 2, "bytes": 118}),
        dtype,
        json!({"file": "bad", "ok": false, "code": "container.short", "at": 3, "message": short}),
        json!({"file": "gone", "ok": false, "error": "io", "message": "no such file or directory"}),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn json_keeps_complete_names() {
    let place = Place::new();
    let name = "層".repeat(1000);
    place.put("m", &file(format!("{{\"{name}\":0}}"), b""));
    let line = place.run(["check", "--json", "m"]).json();
    assert_eq!(line["tensor"], name);
    assert_eq!(line["message"], format!("tensor \"{}…\": the entry is not an object", "層".repeat(80)));
}

#[test]
fn file_names_are_printed_safely() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let place = Place::new();
    let names = [
        (&b"a\x1b[31m\nb"[..], "a\\u{1b}[31m\\nb", "a\u{1b}[31m\nb"),
        (b"\xe2\x80\xaefed", "\\u{202e}fed", "\u{202e}fed"),
        (b"not\xffutf8", "not\u{fffd}utf8", "not\u{fffd}utf8"),
    ];
    for (name, shown, lossy) in names {
        let name = OsStr::from_bytes(name);
        place.put(name, &sound());
        place.run([OsStr::new("check"), name]).is(0, &format!("{shown}: ok, 2 tensors, 118 bytes\n"), "");
        let run = place.run([OsStr::new("check"), OsStr::new("--json"), name]);
        assert!(!run.out.contains(['\u{1b}', '\u{202e}']), "{run:?}");
        assert_eq!(run.json()["file"], lossy);
    }
    let missing = place.run([OsStr::new("check"), OsStr::from_bytes(b"\x1b]0;")]);
    missing.is(2, "", "\\u{1b}]0;: cannot be read: no such file or directory\n");
}

#[test]
fn bad_usage_is_exit_code_2() {
    let place = Place::new();
    for args in
        [&[][..], &["check"], &["check", "--bogus", "m"], &["decode", "a", "b"], &["bogus"], &["inspect"]]
    {
        place.run(args).fails(2, "Usage: safetensors");
    }
    for command in ["check", "inspect"] {
        let twice = "safetensors: standard input can be read only once; `-` is given twice";
        place.refuses(&format!("{command} - -"), 2, twice);
    }
}

#[test]
fn help_and_version_succeed() {
    let place = Place::new();
    place.run(["--version"]).is(0, concat!("safetensors ", env!("CARGO_PKG_VERSION"), "\n"), "");
    let help = place.done(["check", "--help"]).out;
    assert!(help.contains("otherwise 1 if at least one is invalid"), "{help}");
}

#[test]
fn help_wraps_to_the_width_of_the_terminal() {
    let place = Place::new();
    for name in command_names() {
        let args = if name == "help" { vec!["--help".to_owned()] } else { vec![name, "--help".to_owned()] };
        for (columns, most) in [("60", 60), ("80", 80), ("200", 100)] {
            let run = finish(place.command(&args).env("COLUMNS", columns));
            assert_eq!(run.code, Some(0), "{run:?}");
            // Usage lines, and words longer than a line, are never broken.
            let lines = run.out.lines().filter(|line| !line.starts_with("Usage: ") && line.contains("  "));
            for line in lines.filter(|line| line.split_whitespace().count() > 2) {
                assert!(line.chars().count() <= most, "{args:?} at {columns} columns: {line}");
            }
        }
    }
}

/// A directory with models above and below, hidden ones, other files, and loops of links.
fn folder() -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path("d/empty")).expect("directory");
    for name in ["d/z.safetensors", "d/b/a.safetensors", "d/b/10.safetensors", "d/b/9.safetensors"] {
        place.put(name, &sound());
    }
    place.put("d/.hidden/x.safetensors", b"").put("d/.x.safetensors", b"").put("d/readme.md", b"");
    std::os::unix::fs::symlink("..", place.path("d/b/round")).expect("a link");
    std::os::unix::fs::symlink("b", place.path("d/again")).expect("a link");
    std::os::unix::fs::symlink("z.safetensors", place.path("d/link.safetensors")).expect("a link");
    place
}

#[test]
fn directories_are_searched() {
    let place = folder();
    let files = ["again/10", "again/9", "again/a", "link", "z"];
    let lines = files.map(|name| format!("d/{name}.safetensors: ok, 2 tensors, 118 bytes\n"));
    for jobs in ["1", "2", "64"] {
        place.run(["check", "d", "--jobs", jobs]).is(0, &lines.concat(), "");
    }
    let hidden = place.run(["check", "d/.x.safetensors"]);
    assert_eq!(hidden.code, Some(1), "what is named itself is checked");
    std::os::unix::fs::symlink("nowhere", place.path("d/lost.safetensors")).expect("a link");
    let lost = "d/lost.safetensors: cannot be read: no such file or directory\n";
    place.run(["check", "d", "-j2"]).is(2, &lines.concat(), lost);
    let nothing = "d/empty: contains no *.safetensors and no *.safetensors.index.json file";
    place.refuses("check d/empty", 2, nothing);
    for jobs in ["0", "-1", "x"] {
        assert_eq!(place.run(["check", "--jobs", jobs, "d"]).code, Some(2));
    }
}

/// However long each file takes, and whichever is done first.
#[test]
fn lines_are_in_argument_order() {
    let place = Place::new();
    let value = "[0],".repeat(500_000);
    let slow = format!(r#"{{"a":{{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":[{value}0]}}}}"#);
    place.put("slow", &file(slow, b"")).put("fast", &sound()).put("bad", b"abc");
    let args: Vec<&str> = ["slow", "fast", "bad", "gone", "fast"].repeat(20);
    let run = |jobs: &str| place.run([&["check", "--json", "--jobs", jobs][..], &args].concat());
    let (one, four) = (run("1"), run("4"));
    assert_eq!(one, four);
    assert_eq!((one.code, one.out.lines().count()), (Some(2), 100));
}

/// All slots are shared: files that need most of them wait for each other, and all are validated.
#[test]
fn files_with_many_names_wait_for_each_other() {
    let place = Place::new();
    place.put("m", &many("t", 200_000));
    let run = place.run(["check", "--jobs", "16", "m", "m", "m", "m", "m", "m", "m", "m"]);
    assert_eq!((run.code, run.out.matches(": ok, 200,000 tensors").count()), (Some(0), 8));
}

#[test]
fn violations_of_the_text_have_a_byte_and_a_sentence() {
    let place = Place::new();
    let padding = "padding: error[published.padding] at byte 10: the header is padded with other characters than \
        spaces\n";
    let start = "start: error[published.start] at byte 8: the header does not begin with {\n";
    let null =
        "null: error[published.metadata] at byte 24: the metadata is null and not an object of strings\n";
    let long = format!("{{}}\n{}", " ".repeat(10_000));
    for (name, header, line) in [
        ("start", " {}", start),
        ("null", r#"{"__metadata__":null}"#, null),
        ("padding", "{}\t \r", padding),
        ("padding", &long, padding),
    ] {
        place.put(name, &file(header, b""));
        assert_eq!(place.run(["check", name]).code, Some(0));
        place.run(["check", "--as-published", name]).is(1, line, "");
    }
    place.put("spaces", &file("{}   ", b""));
    place.run(["check", "--as-published", "spaces"]).is(0, "spaces: ok, 0 tensors, 13 bytes\n", "");
    let run = place.run_piped(["check", "--as-published", "--json", "-"], &file("{}\n", b""));
    let message = "the header is padded with other characters than spaces";
    let expected =
        json!({"file": "-", "ok": false, "code": "published.padding", "at": 10, "message": message});
    assert_eq!((run.code, run.json()), (Some(1), expected));
}
