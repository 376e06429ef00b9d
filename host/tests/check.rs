//! The contract of `safetensors check` that scripts build on: lines, exit codes, `--json`.

mod support;
use serde_json::{Value, json};
use support::{Place, file, finish, sound, tensor};

#[test]
fn a_sound_file_is_one_line() {
    let place = Place::new();
    place.put("two", &sound()).put("one", &file(format!("{{{}}}", tensor("a", 0, 3)), b"abc"));
    place.put("none", &file("{}", b""));
    place.run(["check", "two"]).is(0, "two: ok, 2 tensors, 118 bytes\n", "");
    place.run(["check", "one"]).is(0, "one: ok, 1 tensor, 64 bytes\n", "");
    place.run(["check", "none"]).is(0, "none: ok, 0 tensors, 10 bytes\n", "");
}

#[test]
fn a_header_in_any_order_is_sound() {
    let place = Place::new();
    let members = [tensor("c", 7, 9), tensor("b", 2, 7), tensor("empty", 2, 2), tensor("a", 0, 2)];
    place.put("m", &file(format!("{{{}}}", members.join(",")), b"123456789"));
    let run = place.run(["check", "m"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
}

#[test]
fn many_files_have_one_line_each_and_the_worst_exit_code() {
    let place = Place::new();
    place.put("good", &sound()).put("bad", b"abc");
    let good = "good: ok, 2 tensors, 118 bytes\n";
    let bad = "bad: error[container.short] at byte 3: the file is shorter than the 8 bytes of the header's length\n";
    let gone = "gone: cannot be read: no such file or directory\n";
    place.run(["check", "good", "good"]).is(0, &[good, good].concat(), "");
    place.run(["check", "bad", "good"]).is(1, &[bad, good].concat(), "");
    place.run(["check", "gone", "bad", "good"]).is(2, &[bad, good].concat(), gone);
    place.run(["check", "bad", "gone", "good"]).is(2, &[bad, good].concat(), gone);
}

#[test]
fn json_says_the_same() {
    let place = Place::new();
    place.put("good", &sound()).put("bad", &file(r#"{"n\"":{"dtype":"X"}}"#, b"")).put("short", b"");
    let run = place.run(["check", "--json", "good", "bad", "short", "gone"]);
    assert_eq!((run.code, run.err.as_str()), (Some(2), ""));
    let lines: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(
        lines,
        [
            json!({"file": "good", "ok": true, "tensors": 2, "bytes": 118}),
            json!({"file": "bad", "ok": false, "code": "dtype.unknown", "at": 24,
                "message": "tensor \"n\\\"\": there is no such dtype", "tensor": "n\""}),
            json!({"file": "short", "ok": false, "code": "container.short", "at": 0,
                "message": "the file is shorter than the 8 bytes of the header's length"}),
            json!({"file": "gone", "ok": false, "error": "io", "message": "no such file or directory"}),
        ]
    );
}

#[test]
fn json_keeps_names_whole_where_the_sentence_shortens_them() {
    let place = Place::new();
    let name = "層".repeat(1000);
    place.put("m", &file(format!("{{\"{name}\":0}}"), b""));
    let run = place.run(["check", "--json", "m"]);
    let line: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(line["tensor"], name);
    assert_eq!(line["message"], format!("tensor \"{}…\": the entry is not an object", "層".repeat(80)));
}

#[cfg(unix)]
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
        let line: Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!(line["file"], lossy);
    }
    let missing = place.run([OsStr::new("check"), OsStr::from_bytes(b"\x1b]0;")]);
    missing.is(2, "", "\\u{1b}]0;: cannot be read: no such file or directory\n");
}

#[test]
fn bad_usage_is_exit_code_2() {
    let place = Place::new();
    for args in [&[][..], &["check"], &["check", "--bogus", "m"], &["decode", "a", "b"], &["bogus"]] {
        let run = place.run(args);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(run.err.contains("Usage: safetensors"), "{run:?}");
    }
}

#[test]
fn help_and_version_are_answers() {
    let place = Place::new();
    let version = concat!("safetensors ", env!("CARGO_PKG_VERSION"), "\n");
    place.run(["--version"]).is(0, version, "");
    for (args, word) in [
        (&["--help"][..], "check"),
        (&["check", "--help"], "Exit code"),
        (&["decode", "--help"], "Exit code"),
    ] {
        let run = place.run(args);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{args:?}");
        assert!(run.out.contains(word), "{run:?}");
    }
}

#[test]
fn a_reader_that_leaves_ends_the_run_quietly() {
    let place = Place::new();
    place.put("m", &sound());
    for args in [&["check", "m", "m"][..], &["decode", "m"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        finish(place.command(args).stdout(writer)).is(2, "", "");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_once() {
    let place = Place::new();
    place.put("m", &sound());
    for args in [&["check", "m", "m"][..], &["check", "--json", "m"], &["decode", "m"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        finish(place.command(args).stdout(full)).is(
            2,
            "",
            "safetensors: cannot write to standard output: no space left on device\n",
        );
    }
}
