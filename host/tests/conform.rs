//! `safetensors conform`: the score of readers that are right, wrong, slow, or dead.
#![cfg(unix)]

use crate::support::{Place, Run, finish};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const DECODER: &str = env!("CARGO_BIN_EXE_safetensors");

/// Asks a reader that is a line of shell about the vectors that match.
fn ask(place: &Place, options: &[&str], reader: &str) -> Run {
    let command = ["--", "sh", "-c", reader];
    place.run(["conform"].iter().chain(options).chain(&command))
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors")
}

fn manifest() -> Value {
    serde_json::from_slice(&fs::read(vectors().join("manifest.json")).expect("the manifest")).expect("JSON")
}

/// The number of small vectors with this verdict, of every reader or of this project's.
fn count(word: &str) -> usize {
    let manifest = manifest();
    let all = manifest["vectors"].as_array().expect("a list").iter();
    let has_it = |vector: &&Value| vector["verdict"] == word || vector["ours"] == word;
    all.filter(|vector| has_it(vector) && vector["large"].is_null()).count()
}

#[test]
fn our_decoder_passes_all_vectors() {
    let place = Place::new();
    let run = place.run(["conform", "--strict", "--", DECODER, "decode"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    let all = count("valid") + count("invalid") + count("either");
    let large = manifest()["vectors"].as_array().expect("a list").len() - all;
    let last: Vec<_> = run.out.lines().rev().skip(1).take(2).collect();
    let left_out =
        format!("{large} vectors of more than a megabyte were not tested: --large includes them\n");
    assert!(run.out.ends_with(&left_out), "{}", run.out);
    assert_eq!(last[1], format!("{:<12} {all:>5} of {all:>5}", "all"));
    assert!(last[0].starts_with("of ") && last[0].contains(" errors, "));
    let numbers: Vec<_> = last[0].split_whitespace().filter(|word| word.parse::<u32>().is_ok()).collect();
    assert!(numbers.len() == 3 && numbers.iter().all(|number| *number == numbers[0]), "{}", last[0]);
}

#[test]
fn large_files_are_generated_on_request() {
    let place = Place::new();
    let one = ["conform", "--large", "--filter", "large-two-names-1m", "--", DECODER, "decode"];
    let said = "large            1 of     1\nall              1 of     1\nof 0 errors, 0 have the \
        manifest's code and 0 its offset (not scored)\n";
    place.run(one).is(0, said, "");
    let without = ["conform", "--filter", "large-two-names-1m", "--", DECODER, "decode"];
    place.run(without).is(2, "", "safetensors: no vector matches \"large-two-names-1m\"\n");
}

#[test]
fn a_reader_that_rejects_everything_passes_invalid_vectors() {
    let place = Place::new();
    let run = ask(&place, &["--json"], "exit 1");
    assert_eq!((run.code, run.err.as_str()), (Some(1), ""));
    let score: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(score["ok"], false);
    assert_eq!(score["command"], serde_json::json!(["sh", "-c", "exit 1"]));
    assert_eq!(score["vectors"], count("valid") + count("invalid") + count("either"));
    assert_eq!(score["right"], count("invalid") + count("either"));
    assert_eq!((&score["crashed"], &score["strict"]), (&Value::from(0), &Value::from(false)));
    assert_eq!(score["errors"], serde_json::json!({"all": count("reject"), "code": 0, "at": 0}));
    let answer = &score["answers"]["dtype-all"];
    assert_eq!(
        (&answer["verdict"], &answer["problem"]),
        (&"reject".into(), &"must accept, but did reject".into())
    );
    let right: u64 =
        score["areas"].as_object().expect("areas").values().map(|area| area["right"].as_u64().unwrap()).sum();
    assert_eq!(score["right"], right);
}

#[test]
fn wrong_answers_are_listed_with_reasons() {
    let place = Place::new();
    let run = ask(&place, &["--filter", "d3-array"], r#"echo '{"tensors":{},"metadata":null}'"#);
    assert_eq!(run.code, Some(0), "readers may differ: {run:?}");
    let run = ask(&place, &["--strict", "--filter", "d3-array"], r#"echo '{"tensors":{},"metadata":null}'"#);
    let reason = manifest()["vectors"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|vector| vector["id"] == "d3-array")
        .expect("it")["reason"]
        .clone();
    let said = format!(
        "d3               0 of     1\nall              0 of     1\nof 0 errors, 0 have the manifest's code \
         and 0 its offset\nd3-array: must reject, but did accept\n    {}\n    \
         entry-6, entry.array at byte 13: either/d3-array.safetensors\n",
        reason.as_str().expect("a reason")
    );
    run.is(1, &said, "");
}

#[test]
fn any_other_exit_is_a_crash() {
    let place = Place::new();
    for (reader, text) in [
        ("echo boom >&2; exit 3", "exit code 3 boom"),
        ("printf 'panic: boom\\n\\nmain.go:12\\n' >&2; exit 2", "exit code 2 panic: boom"),
        ("kill -SEGV $$", "signal 11"),
        ("yes", "more than 16777340 bytes of output"),
        ("sleep 600", "no answer in 1 seconds"),
        ("exit 0", "exit code 0, but standard output is empty"),
        (
            "echo '{\"tensors\":{},\"metadata\":[]}'",
            "exit code 0, but \"metadata\" is neither an object nor null",
        ),
        ("echo 12 tensors", "exit code 0, but standard output is not one JSON object: 12 tensors"),
    ] {
        let seconds = if reader == "sleep 600" { "1" } else { "60" };
        let run = ask(&place, &["--timeout", seconds, "--filter", "d3-array", "--json"], reader);
        assert_eq!((run.code, run.err.as_str()), (Some(1), ""), "{reader}");
        let score: Value = serde_json::from_str(&run.out).expect("JSON");
        let answer = &score["answers"]["d3-array"];
        assert_eq!((&answer["verdict"], &answer["text"]), (&"crash".into(), &text.into()));
        assert_eq!((&answer["problem"], &score["crashed"]), (&format!("crashed: {text}").into(), &1.into()));
    }
}

#[test]
fn a_reader_that_always_hangs_is_given_up() {
    let place = Place::new();
    let started = Instant::now();
    let run = ask(&place, &["--timeout", "1", "--jobs", "5"], "sleep 600");
    let said = "safetensors: the reader answered none of 10 files in 1 seconds; see --timeout\n";
    run.is(2, "", said);
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn many_wrong_answers_are_cut_short() {
    let place = Place::new();
    let run = ask(&place, &[], "exit 1");
    assert!(run.out.contains("\nno valid file was accepted: does the runner work?\n"), "{}", run.out);
    assert_eq!(run.out.matches(": must accept, but did reject\n").count(), 50);
    let more =
        format!("… and {} more: --filter selects vectors, --json lists all answers\n", count("valid") - 50);
    assert!(run.out.ends_with(&more), "{}", run.out);
}

#[cfg(unix)]
#[test]
fn a_missing_interpreter_is_named_as_the_reason() {
    let place = Place::new();
    place.put("reader", b"#!/no/such/interpreter\n");
    fs::set_permissions(place.path("reader"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("it is ours");
    let run = place.run(["conform", "--", "./reader"]);
    let said =
        "safetensors: reader \"./reader\" cannot be run: its interpreter or its loader does not exist\n";
    run.is(2, "", said);
    let said =
        "safetensors: reader \"reader\" is not in PATH; write ./ before it for a file of this directory\n";
    place.run(["conform", "--", "reader"]).is(2, "", said);
}

/// Processes that a shell started in the background are killed too.
#[test]
fn a_hanging_reader_is_killed_with_its_children() {
    let place = Place::new();
    let started = Instant::now();
    let run = ask(&place, &["--timeout", "1", "--filter", "d3-array"], "sleep 600 & echo $! > pid; wait");
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(started.elapsed() < Duration::from_secs(30));
    assert!(is_gone(&place), "the child still runs");
}

/// Children of the reader are neither waited for nor left running.
#[cfg(unix)]
#[test]
fn an_exit_code_counts_despite_running_children() {
    let place = Place::new();
    let reader = "sleep 600 & echo $! > new; mv new pid; echo bad-json >&2; exit 1";
    let run = ask(&place, &["--timeout", "60", "--filter", "d3-array", "--json"], reader);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(is_gone(&place), "the child still runs");
}

/// Long output on standard error is not an error and does not block.
#[cfg(unix)]
#[test]
fn long_standard_error_is_accepted() {
    let reader = "echo first >&2; yes | head -c 20000000 >&2; exit 1";
    let run = ask(&Place::new(), &["--filter", "d3-array", "--json"], reader);
    let score: Value = serde_json::from_str(&run.out).expect("JSON");
    let answer = &score["answers"]["d3-array"];
    assert_eq!((run.code, &answer["verdict"]), (Some(0), &"reject".into()));
    assert!(answer["text"].as_str().is_some_and(|text| text.starts_with("y\n")), "{answer}");
}

fn is_gone(place: &Place) -> bool {
    let pid = fs::read_to_string(place.path("pid")).expect("a number");
    let is_there = || {
        let probe = Command::new("sh").args(["-c", &format!("kill -0 {} 2>&1", pid.trim())]).output();
        let state = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        probe.expect("a shell").status.success() && !state.contains(") Z ")
    };
    (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        !is_there()
    })
}

#[test]
fn ctrl_c_ends_the_readers_and_leaves_no_page() {
    let place = Place::new();
    let reader = "sleep 600 & echo $! > new; mv new pid; wait";
    let mut command =
        place.command(["conform", "--filter", "d3-array", "--page", "p.md", "--", "sh", "-c", reader]);
    let child = command.spawn().expect("it starts");
    let started = Instant::now();
    while !place.path("pid").exists() {
        assert!(started.elapsed() < Duration::from_secs(30), "the reader does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
    assert!(kill.expect("a shell").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0), "{output:?}");
    assert!(is_gone(&place), "the reader is still there");
    let left: Vec<_> = fs::read_dir(place.path("."))
        .expect("directory")
        .map(|entry| entry.expect("one").file_name())
        .collect();
    assert_eq!(left, ["pid"]);
}

#[test]
fn a_reader_need_not_read() {
    let place = Place::new();
    let run = ask(&place, &["--large", "--filter", "large-zeros"], "exit 1");
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn reader_output_is_escaped() {
    let place = Place::new();
    let run = ask(&place, &["--filter", "d3-array", "--page", "p.md"], r"printf '\033[31mred|`x`\n'; exit 3");
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("crashed: exit code 3 \\u{1b}[31mred|`x`\n"), "{run:?}");
    let page = fs::read_to_string(place.path("p.md")).expect("a page");
    assert!(
        !page.contains('\u{1b}') && page.contains("`` crashed: exit code 3 \\u{1b}[31mred\\|`x` ``"),
        "{page}"
    );
}

#[test]
fn the_page_has_the_score_and_wrong_answers() {
    let place = Place::new();
    let run = ask(
        &place,
        &["--filter", "d[34]-*", "--strict", "--page", "p.md"],
        "echo 'error[entry.array] at byte 13'; exit 1",
    );
    assert_eq!(run.code, Some(1), "{run:?}");
    let page = fs::read_to_string(place.path("p.md")).expect("a page");
    let (right, all) = page
        .split_once("\n\n")
        .and_then(|(_, rest)| rest.split_once(" answers"))
        .and_then(|(words, _)| words.split_once(" of "))
        .expect("a score");
    assert!(run.out.contains(&format!("{:<12} {right:>5} of {all:>5}", "all")), "{page}");
    for part in [
        "# What `sh -c ",
        "| either: readers may differ |",
        "## By area",
        "| d3 | ",
        "## By flag",
        "## By rule",
        "| entry-",
        "## Crashed or hung\n\nNone.",
        "## Wrong answers",
        "| d4-object | ",
        "must say error[dtype.object]",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let widths: Vec<usize> = page
        .lines()
        .filter(|line| line.starts_with("| d4-"))
        .map(|line| line.replace("\\|", "").matches('|').count())
        .collect();
    assert!(!widths.is_empty() && widths.iter().all(|width| *width == 7), "{page}");
}

#[test]
fn the_page_is_checked_before_readers_run() {
    let place = Place::new();
    place.put("p.md", b"mine");
    let options = ["--filter", "d3-array", "--page", "p.md"];
    ask(&place, &options, "touch asked; exit 1").is(
        2,
        "",
        "p.md: already exists; use --force to overwrite it\n",
    );
    assert!(!place.path("asked").exists());
    assert_eq!(fs::read(place.path("p.md")).expect("the page"), b"mine");
    assert_eq!(ask(&place, &[&options[..], &["--force"]].concat(), "exit 1").code, Some(0));
    assert!(fs::read_to_string(place.path("p.md")).expect("the page").starts_with("# What"));
    let printed = ask(&place, &["--filter", "d3-array", "--page", "-"], "exit 1");
    assert_eq!(printed.out, fs::read_to_string(place.path("p.md")).expect("the page"));
    let nowhere = ask(&place, &["--filter", "d3-array", "--page", "none/p.md"], "exit 1");
    nowhere.is(2, "", "none/p.md: cannot be written: no such file or directory\n");
}

#[test]
fn a_reader_that_cannot_be_run_is_an_error() {
    let place = Place::new();
    place.put("text", b"no program");
    for (reader, why) in [
        ("nosuch", "reader \"nosuch\" is not an executable program"),
        ("./text", "reader \"./text\" is not an executable program"),
    ] {
        place.run(["conform", "--", reader]).is(2, "", &format!("safetensors: {why}\n"));
        let run = place.run(["conform", "--json", "--", reader]);
        let said: Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!(
            (run.code, said),
            (Some(2), serde_json::json!({"ok": false, "error": "usage", "message": why}))
        );
    }
    for wrong in [
        &["conform"][..],
        &["conform", "--"],
        &["conform", "--jobs", "0", "--", "cat"],
        &["conform", "--timeout", "0", "--", "cat"],
        &["conform", "--force", "--", "cat"],
    ] {
        let run = place.run(wrong);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{wrong:?}");
    }
}

#[test]
fn vectors_of_a_directory_are_used() {
    let place = Place::new();
    let folder = vectors();
    let folder = folder.to_str().expect("UTF-8");
    let run =
        place.run(["conform", "--vectors", folder, "--filter", "d*", "--strict", "--", DECODER, "decode"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let within = place.run(["conform", "--filter", "d*", "--strict", "--", DECODER, "decode"]);
    assert_eq!(run, within);
}

#[test]
fn damaged_vectors_are_reported() {
    let place = Place::new();
    fs::create_dir_all(place.path("v/valid")).expect("directory");
    let said = |text: &[u8]| {
        place.put("v/manifest.json", text);
        let run = ask(&place, &["--vectors", "v"], "exit 1");
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{run:?}");
        assert_eq!(run.err.lines().count(), 1, "{run:?}");
        run.err
    };
    let start = "v/manifest.json: it is no manifest of conformance vectors: ";
    for damaged in [
        &b""[..],
        b"{",
        b"[]",
        b"\xff",
        b"{\"flags\":{},\"vectors\":[{\"id\":\"\x1b[31m\"}]}",
        &[b'['; 100_000],
    ] {
        assert!(said(damaged).starts_with(start));
    }
    let manifest = |members: &str| {
        format!(
            r#"{{"flags":{{}},"vectors":[{{"id":"a-b","sha256":"00","verdict":"valid","ours":"accept","rule":"","reason":"","flags":[],{members}}}]}}"#
        )
    };
    let start = "v/manifest.json: vector \"a-b\" cannot be used: ";
    let unusable = |members: &str| said(manifest(members).as_bytes()).strip_prefix(start).map(str::to_owned);
    place.put("v/valid/a", b"abc");
    for (members, why) in [
        (r#""length":3,"file":"valid/none""#, "valid/none: no such file or directory\n"),
        (r#""length":3,"file":"valid""#, "valid: not a regular file\n"),
        (r#""length":3,"file":"valid/a""#, "the file is not the one that the manifest means\n"),
        (r#""length":3"#, "it needs a file or a recipe, and not both\n"),
        (r#""length":2,"file":"valid/a""#, "it does not have the 2 bytes that the manifest states\n"),
        (
            r#""length":9999999999,"recipe":{"header":[],"data":[{"zeros":9999999991}]}"#,
            "too long: 9999999999 bytes, at most 1073741824 allowed\n",
        ),
        (
            r#""length":100,"recipe":{"header":[],"data":[{"zeros":9999999991}]}"#,
            "its recipe makes more than the 100 bytes that it has\n",
        ),
    ] {
        assert_eq!(unusable(members).as_deref(), Some(why), "{members}");
    }
    let missing = ask(&place, &["--vectors", "none"], "exit 1");
    missing.is(2, "", "none/manifest.json: cannot be read: no such file or directory\n");
}

#[test]
fn closed_or_full_output_is_an_error() {
    let place = Place::new();
    let args = ["conform", "--filter", "d3-array", "--", "sh", "-c", "exit 1"];
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    finish(place.command(args).stdout(writer)).is(2, "", "");
    if cfg!(target_os = "linux") {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        finish(place.command(args).stdout(full)).is(
            2,
            "",
            "safetensors: cannot write to standard output: no space left on device\n",
        );
    }
}
