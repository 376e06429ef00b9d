//! `safetensors conform`: the score of readers that are right, wrong, slow, or dead.
#![cfg(unix)]

use crate::support::{Place, Run, finish};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const DECODER: &str = env!("CARGO_BIN_EXE_safetensors");

/// Asks a reader that is a line of shell about the vectors that match, on a leap day.
fn ask(place: &Place, options: &[&str], reader: &str) -> Run {
    let command = ["--", "sh", "-c", reader];
    let mut command = place.command(["conform"].iter().chain(options).chain(&command));
    finish(command.env("SOURCE_DATE_EPOCH", "951782400"))
}

/// Asks a reader that accepts the control, the only file of this length among those that the tests choose.
fn ask_with_control(place: &Place, options: &[&str], reader: &str) -> Run {
    ask(place, options, &format!("{ACCEPTS_CONTROL}{reader}"))
}

const ACCEPTS_CONTROL: &str = "[ $(wc -c) != 62 ] || exec echo '{\"tensors\":{}}'; ";

/// Makes a program of the test's directory.
fn put_program(place: &Place, name: &str, text: &str) {
    place.put(name, text.as_bytes());
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.path(name), mode).expect("it is ours");
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
    all.filter(|vector| has_it(vector) && vector["level"] != "large").count()
}

/// A reader that does as the decoder does, but for the vectors of this line of shell.
fn decoder_but(odd: &str) -> String {
    format!(
        "file=$(mktemp); cat > $file; case $(wc -c < $file) in {odd} *) exec {DECODER} decode $file;; esac"
    )
}

/// The scores in JSON.
fn scores(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{run:?}"))
}

#[test]
fn our_decoder_passes_all_vectors() {
    let place = Place::new();
    let run = place.run(["conform", "--strict", "--", DECODER, "decode"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    let counts = ["valid", "invalid", "either"].map(count);
    let all: usize = counts.iter().sum();
    let large = manifest()["vectors"].as_array().expect("a list").len() - all;
    let [valid, invalid, either] = counts;
    let rules = run.out.split("rules without a fault: ").nth(1).and_then(|rest| rest.lines().next());
    let rules = rules.expect("the rules");
    let (right, every) = rules.split_once(" of ").expect("two numbers");
    assert_eq!(right, every);
    let errors = count("reject");
    let lines: Vec<&str> = run.out.lines().collect();
    let expected = [
        format!("{:<12} {all:>5} of {all:>5}", "all"),
        format!("valid {valid} of {valid}, invalid {invalid} of {invalid}, either {either} of {either}"),
        format!("rules without a fault: {rules}"),
    ];
    assert!(lines.windows(3).any(|lines| lines == expected), "{}", run.out);
    for part in ["offsets", "checksums", "metadata"] {
        let line = lines.iter().find(|line| line.starts_with(&format!("{part}: "))).expect("a part");
        let numbers: Vec<&str> = line.split_whitespace().filter(|word| word.parse::<u32>().is_ok()).collect();
        assert!(line.ends_with("tables, all right") && numbers[0] == numbers[1], "{line}");
    }
    let last = [
        format!("of {errors} errors, {errors} have the manifest's code and {errors} its offset"),
        format!("{large} large vectors were not asked: --level large includes them"),
    ];
    assert_eq!(lines[lines.len() - 2..], last);
}

#[test]
fn large_files_are_generated_on_request() {
    let place = Place::new();
    let one = ["conform", "--level", "large", "--filter", "large-two-names-1m", "--", DECODER, "decode"];
    let said = "large            1 of     1\nall              1 of     1\nvalid 1 of 1\n\
        rules without a fault: 1 of 1\n";
    place.run(one).is(0, said, "");
    let without = ["conform", "--filter", "large-two-names-1m", "--", DECODER, "decode"];
    let said = "safetensors: none of the 1 vectors that match is of the level full; see --level\n";
    place.run(without).is(2, "", said);
}

#[test]
fn a_file_that_a_recipe_makes_has_a_path() {
    let place = Place::new();
    let reader = "echo '{\"tensors\":{}}'";
    let run = ask(&place, &["--level", "large", "--filter", "large-two-names-1m"], reader);
    let said = ": valid/large-two-names-1m.safetensors, made by its recipe\n";
    assert!(run.code == Some(1) && run.out.ends_with(said), "{run:?}");
}

#[test]
fn vectors_are_chosen_by_level_flag_and_rule() {
    let place = Place::new();
    let reader = "echo '{\"tensors\":{}}'";
    let manifest = manifest();
    let all = manifest["vectors"].as_array().expect("a list");
    let is = |vector: &Value, key: &str, value: &str| vector[key] == value;
    let has =
        |vector: &Value, flag: &str| vector["flags"].as_array().expect("flags").iter().any(|own| own == flag);
    let small: Vec<&Value> = all.iter().filter(|vector| !is(vector, "level", "large")).collect();
    let number = |test: &dyn Fn(&Value) -> bool| small.iter().filter(|vector| test(vector)).count();
    for (options, expected) in [
        (&["--level", "core"][..], number(&|vector| is(vector, "level", "core"))),
        (&["--level", "header-only"], number(&|vector| vector["header_only"] == true)),
        (
            &["--filter", "text-2", "--filter", "d?-*"],
            number(&|vector| {
                is(vector, "rule", "text-2") || is(vector, "id", "") || {
                    let id = vector["id"].as_str().expect("an id").as_bytes();
                    id[0] == b'd' && id[2] == b'-'
                }
            }),
        ),
        (&["--exclude", "no-tensors"], number(&|vector| !has(vector, "no-tensors"))),
    ] {
        let run = ask(&place, &[options, &["--json"]].concat(), reader);
        assert_eq!(scores(&run)["vectors"], expected, "{options:?}");
    }
}

/// Returns the sentence that says how the reader gets files, and which way it does not.
fn way(is_batch: bool) -> &'static str {
    match is_batch {
        true => "it gets a path per line, and without --batch each file on its standard input",
        false => "it gets each file on its standard input, and with --batch a path per line",
    }
}

/// Also where readers may differ about all files that are chosen, since the control is asked too.
#[test]
fn a_reader_that_accepts_nothing_has_no_score() {
    let (place, started) = (Place::new(), Instant::now());
    for (options, reader, problem) in [
        (&[][..], "exit 1", "must accept, but did reject"),
        (&["--strict"], "echo no >&2; exit 1", "must accept, but did reject: no"),
        (&[], "true", "accepted, but standard output is empty"),
        (&["--batch"], "exit 1", "crashed: exit code 1"),
        (&["--batch"], "sleep 600 & exit 3", "crashed: exit code 3"),
        (
            &["--batch"],
            "while read -r line; do echo hello; done",
            "bad output: the line is not one JSON object: hello",
        ),
        (
            &["--batch"],
            "while read -r line; do printf '{\"error\":\"\"}\n{\"error\":\"\"}\n'; done",
            "bad output: more than one line for a file",
        ),
        (
            &["--batch", "--timeout", "1"],
            "sleep 1.3; read -r line; echo '{\"error\":\"\"}'",
            "hung: no answer in 1 seconds",
        ),
    ] {
        let run = ask(&place, &[&["--filter", "space-before"], options].concat(), reader);
        let why = "the reader accepts none of the 1 valid files, so nothing is scored";
        let way = way(options.contains(&"--batch"));
        run.is(2, "", &format!("safetensors: {why}; {way}; entry-object: {problem}\n"));
    }
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_reader_that_answers_nothing_is_given_up() {
    let (place, started) = (Place::new(), Instant::now());
    for (options, reader, problem) in [
        (&["--timeout", "1", "--jobs", "5"][..], "sleep 600", "hung: no answer in 1 seconds"),
        (&[], "kill -9 $$", "crashed: signal 9"),
        (&[], "true", "accepted, but standard output is empty"),
        (&["--batch"], "exit 3", "crashed: exit code 3"),
        (&["--batch"], "yes", "bad output: the line is not one JSON object: y"),
    ] {
        let way = way(options.contains(&"--batch"));
        let why = format!("the reader answers none of the first 10 files; {way}; container-empty-object");
        ask(&place, options, reader).is(2, "", &format!("safetensors: {why}: {problem}\n"));
    }
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_rejection_counts_only_if_the_twin_is_accepted() {
    let place = Place::new();
    let manifest = manifest();
    let vectors = manifest["vectors"].as_array().expect("a list");
    let is_container = |vector: &&Value| vector["id"].as_str().is_some_and(|id| id.starts_with("container-"));
    let invalid: Vec<&Value> =
        vectors.iter().filter(is_container).filter(|vector| vector["verdict"] == "invalid").collect();
    let is_empty = |id: &Value| vectors.iter().any(|vector| vector["id"] == *id && vector["length"] == 10);
    let without: usize = invalid.iter().filter(|vector| is_empty(&vector["twin"])).count();
    assert!(without > 0);
    // It does not take the file `{}`.
    let run = ask(&place, &["--filter", "container-*", "--json"], &decoder_but("10) exit 1;;"));
    let score = scores(&run);
    assert_eq!((run.code, &score["kinds"]["not shown"]), (Some(1), &Value::from(without)), "{run:?}");
    let first = invalid.iter().find(|vector| is_empty(&vector["twin"])).expect("one");
    let answer = &score["answers"][first["id"].as_str().expect("an id")];
    assert_eq!((&answer["verdict"], &answer["kind"]), (&"reject".into(), &"not shown".into()));
    let problem = format!("rejected, but so is the valid file {}", first["twin"].as_str().expect("an id"));
    assert_eq!(answer["problem"], problem);
}

#[test]
fn json_has_all_numbers_and_every_answer() {
    let place = Place::new();
    let run = ask(&place, &["--json"], "echo '{\"tensors\":{}}'");
    assert_eq!((run.code, run.err.as_str()), (Some(1), ""));
    let score = scores(&run);
    assert_eq!(score["ok"], false);
    assert_eq!(score["command"], serde_json::json!(["sh", "-c", "echo '{\"tensors\":{}}'"]));
    assert_eq!(
        (&score["level"], &score["batch"], &score["strict"]),
        (&"full".into(), &false.into(), &false.into())
    );
    assert_eq!(score["suite"], manifest()["suite"]);
    assert_eq!(score["vectors"], count("valid") + count("invalid") + count("either"));
    assert_eq!(score["verdicts"]["invalid"], serde_json::json!({"vectors": count("invalid"), "right": 0}));
    assert_eq!(score["errors"], serde_json::json!({"all": 0, "code": 0, "at": 0}));
    assert_eq!(score["parts"]["metadata"]["have"], 0);
    let answer = &score["answers"]["dtype-all"];
    assert_eq!((&answer["verdict"], &answer["kind"]), (&"accept".into(), &"wrong".into()));
    for groups in ["areas", "rules", "verdicts"] {
        let groups = score[groups].as_object().expect("groups").values();
        let right: u64 = groups.map(|group| group["right"].as_u64().expect("a number")).sum();
        assert_eq!(score["right"], right);
    }
    let kinds = score["kinds"].as_object().expect("kinds").values();
    assert_eq!(score["vectors"], kinds.map(|count| count.as_u64().expect("a number")).sum::<u64>());
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
        "d3               0 of     1\nall              0 of     1\neither 0 of 1\nrules without a fault: 0 of 1\n\
         not right: wrong 1\nof 0 errors, 0 have the manifest's code and 0 its offset\n\
         d3-array: must reject, but did accept\n    {}\n    \
         entry-6, entry.array at byte 13: either/d3-array.safetensors\n",
        reason.as_str().expect("a reason")
    );
    run.is(1, &said, "");
}

#[test]
fn every_end_is_told_apart() {
    let place = Place::new();
    for (reader, kind, text) in [
        ("echo boom >&2; exit 3", "crash", "exit code 3 boom"),
        ("printf 'panic: boom\\n\\nmain.go:12\\n' >&2; exit 2", "crash", "exit code 2 panic: boom"),
        (
            "echo '==7==ERROR: AddressSanitizer: x' >&2; exit 1",
            "crash",
            "exit code 1 ==7==ERROR: AddressSanitizer: x",
        ),
        ("kill -SEGV $$", "crash", "signal 11"),
        ("yes", "bad output", "more than 16777340 bytes of output"),
        ("sleep 600", "hang", "no answer in 1 seconds"),
        ("exit 0", "bad output", "standard output is empty"),
        ("printf '\\377'", "bad output", "standard output is not UTF-8: \u{fffd}"),
        (
            "echo '{\"tensors\":{},\"metadata\":[]}'",
            "bad output",
            "\"metadata\" is neither an object nor null",
        ),
        ("echo 12 tensors", "bad output", "standard output is not one JSON object: 12 tensors"),
    ] {
        let seconds = if reader == "sleep 600" { "1" } else { "60" };
        let run = ask_with_control(&place, &["--timeout", seconds, "--filter", "d3-array", "--json"], reader);
        assert_eq!((run.code, run.err.as_str()), (Some(1), ""), "{reader}");
        let score = scores(&run);
        let answer = &score["answers"]["d3-array"];
        assert_eq!((&answer["kind"], &answer["text"]), (&kind.into(), &text.into()));
        assert_eq!(score["kinds"][kind], 1);
    }
}

/// The runner asks about one file at a time, and starts the reader again after each of these answers.
#[test]
fn a_batch_goes_on_after_every_answer() {
    let place = Place::new();
    let reader = format!(
        "echo started >> {}; while read -r file; do case $file in
         */d3-array.*) exit 3;;
         */d3-array-scalar.*) cat > /dev/null; echo '{{\"error\":\"\"}}';;
         */d3-array-second.*) echo hello;;
         */d3-array-spaced.*) printf '%s\\n' '{{\"error\":\"error[entry.array] at byte 13 \\ud800\",\"file\":\"'$file'\"}}';;
         */d3-array-four.*) printf '{{\"error\":\"\"}}\\n\\n';;
         */d4-object.*) rm $file; kill -9 $$;;
         *) {DECODER} decode $file 2> /dev/null || echo '{{\"error\":\"\"}}';;
         esac; done",
        place.path("log").display()
    );
    let options = ["--batch", "--timeout", "2", "--filter", "d[34]-*", "--filter", "dtype-all", "--json"];
    let run = ask(&place, &options, &reader);
    let score = scores(&run);
    let kinds = [
        "d3-array",
        "d3-array-scalar",
        "d3-array-second",
        "d3-array-spaced",
        "d3-array-four",
        "d4-object",
        "d4-object-f32",
    ]
    .map(|id| score["answers"][id]["kind"].as_str().unwrap_or_default());
    assert_eq!(kinds, ["crash", "hang", "bad output", "right", "bad output", "crash", "right"]);
    assert_eq!(score["answers"]["d3-array-spaced"]["text"], "error[entry.array] at byte 13 \u{fffd}");
    assert_eq!(score["answers"]["d3-array-spaced"]["at"], 13);
    assert_eq!(score["answers"]["dtype-all"]["kind"], "right");
    let log = fs::read_to_string(place.path("log")).expect("a log");
    assert_eq!(log.lines().count(), 6);
}

#[test]
fn a_batch_of_our_decoder_is_right() {
    let place = Place::new();
    let reader = r#"
        while read -r file; do
        DECODER decode "$file" 2> said || printf '{"error":"%s"}\n' "$(head -n 1 said | tr '"\\' ..)"
        done"#;
    let reader = reader.replace("DECODER", DECODER);
    let run = ask(&place, &["--batch", "--strict", "--filter", "d?-*", "--filter", "dtype-*"], &reader);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn a_batch_must_flush_each_line() {
    let place = Place::new();
    let run =
        ask(&place, &["--batch", "--timeout", "2"], "read -r file; cat > /dev/null; echo '{\"error\":\"\"}'");
    let said = "safetensors: the reader answers only when its input ends: it must flush its output after each line\n";
    run.is(2, "", said);
    let both = place.run(["conform", "--batch", "--jobs", "2", "--", "cat"]);
    assert_eq!(both.code, Some(2));
}

/// Nothing that a reader writes beside it is left.
#[test]
fn a_reader_runs_in_an_empty_directory() {
    let place = Place::new();
    let reader = "[ -z \"$(ls)\" ] || exit 9\necho >&2 \"$1 $2\"; mktemp >&2; touch left; exit 1";
    put_program(&place, "reader", &format!("#!/bin/sh\n{ACCEPTS_CONTROL}\n{reader}\n"));
    place.put("decode", b"").put("model.bin", b"");
    let temporary = place.path("temporary");
    fs::create_dir(&temporary).expect("a directory");
    let options = ["conform", "--filter", "d3-array", "--json"];
    let mut command = place.command(options.iter().chain(&["--", "./reader", "decode", "model.bin"]));
    let score = scores(&finish(command.env("TMPDIR", &temporary)));
    let text = score["answers"]["d3-array"]["text"].as_str().expect("a text");
    // A word that may be a subcommand is no path.
    let words = format!("decode {}\n", place.path("model.bin").display());
    assert!(text.starts_with(&words) && text.contains("/temporary/reader-"), "{text}");
    assert_eq!(fs::read_dir(&temporary).expect("a directory").count(), 0);
    assert!(!place.path("left").exists());
}

#[test]
fn sanitizers_are_told_their_exit_code() {
    let place = Place::new();
    let reader = &format!("{ACCEPTS_CONTROL}echo $ASAN_OPTIONS $UBSAN_OPTIONS; exit 1");
    let mut command = place.command(["conform", "--filter", "d3-array", "--json", "--", "sh", "-c", reader]);
    let score = scores(&finish(command.env("ASAN_OPTIONS", "abort_on_error=0")));
    let text = &score["answers"]["d3-array"]["text"];
    assert_eq!(text, "abort_on_error=0:exitcode=99 halt_on_error=1:exitcode=99");
}

#[test]
fn many_wrong_answers_are_cut_short() {
    let place = Place::new();
    let run = ask(&place, &[], "echo '{\"tensors\":{}}'");
    let wrong: usize = run
        .out
        .split("not right: wrong ")
        .nth(1)
        .and_then(|rest| rest.lines().next()?.parse().ok())
        .expect("a number");
    assert_eq!(run.out.lines().filter(|line| line.starts_with("    ")).count(), 100);
    let more = format!("… and {} more: --filter selects vectors, --json lists all answers\n", wrong - 50);
    assert!(run.out.ends_with(&more), "{}", run.out);
}

/// Processes that a shell started in the background are killed too.
#[test]
fn a_hanging_reader_is_killed_with_its_children() {
    let place = Place::new();
    let started = Instant::now();
    let run = ask_with_control(&place, &["--timeout", "1", "--filter", "d3-array"], &pid_in(&place, "wait"));
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(started.elapsed() < Duration::from_secs(30));
    assert!(is_gone(&place), "the child still runs");
}

/// Children of the reader are neither waited for nor left running.
#[cfg(unix)]
#[test]
fn an_exit_code_counts_despite_running_children() {
    let place = Place::new();
    let started = Instant::now();
    let reader = pid_in(&place, "echo bad-json >&2; exit 1");
    let run = ask_with_control(&place, &["--timeout", "60", "--filter", "d3-array", "--json"], &reader);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(started.elapsed() < Duration::from_secs(30));
    assert!(is_gone(&place), "the child still runs");
}

/// Long output on standard error is not an error and does not block.
#[cfg(unix)]
#[test]
fn long_standard_error_is_accepted() {
    let reader = "echo first >&2; yes | head -c 20000000 >&2; exit 1";
    let run = ask_with_control(&Place::new(), &["--filter", "d3-array", "--json"], reader);
    let score: Value = serde_json::from_str(&run.out).expect("JSON");
    let answer = &score["answers"]["d3-array"];
    assert_eq!((run.code, &answer["verdict"]), (Some(0), &"reject".into()));
    assert!(answer["text"].as_str().is_some_and(|text| text.starts_with("y\n")), "{answer}");
}

/// A reader that starts a process in the background, and writes its number.
fn pid_in(place: &Place, then: &str) -> String {
    format!("sleep 600 & echo $! > new; mv new {}; {then}", place.path("pid").display())
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
    let reader = &pid_in(&place, "wait");
    let mut command =
        place.command(["conform", "--filter", "d3-array", "--page", "p.html", "--", "sh", "-c", reader]);
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
    let run = ask(&place, &["--level", "large", "--filter", "large-two-names-1m"], "echo '{\"tensors\":{}}'");
    assert!(run.out.contains("not right: wrong 1\n"), "{run:?}");
}

#[test]
fn reader_output_is_escaped() {
    let place = Place::new();
    let run = ask_with_control(
        &place,
        &["--filter", "d3-array", "--page", "p.html"],
        r"printf '\033[31mred|`x`</script>\n'; exit 3",
    );
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("crashed: exit code 3 \\u{1b}[31mred|`x`</script>\n"), "{run:?}");
    let page = fs::read_to_string(place.path("p.html")).expect("a page");
    assert!(!page.contains('\u{1b}'));
    assert_eq!(data(&page)["vectors"][0]["texts"][0], "crashed: exit code 3 \\u{1b}[31mred|`x`</script>");
}

/// The data of a page.
fn data(page: &str) -> Value {
    let (_, data) = page.split_once("<script type=\"application/json\" id=\"data\">").expect("a place");
    serde_json::from_str(data.split_once("</script>").expect("its end").0).expect("JSON")
}

#[test]
fn the_page_has_the_answers_as_data() {
    let place = Place::new();
    let reader = "echo 'error[entry.array] at byte 13'; exit 1";
    let options = ["--filter", "d3-array", "--filter", "d4-object*", "--strict", "--page", "p.html"];
    let run = ask_with_control(&place, &options, reader);
    assert_eq!(run.code, Some(1), "{run:?}");
    let page = fs::read_to_string(place.path("p.html")).expect("a page");
    let (data, manifest) = (data(&page), manifest());
    for member in ["suite", "flags"] {
        assert_eq!(data[member], manifest[member]);
    }
    assert_eq!(data["rules"]["entry-6"], manifest["rules"]["entry-6"]);
    let reader = &data["readers"][0];
    // Not the day of the manifest, on which the reader was not asked.
    assert_eq!((&data["date"], &reader["date"]), (&"2000-02-29".into(), &"2000-02-29".into()));
    let page_name = reader["name"].as_str().expect("a name");
    assert_eq!(page_name, format!("sh -c {ACCEPTS_CONTROL}echo 'error[entry.array] at byte 13'; exit 1"));
    assert_eq!(
        (&reader["kind"], &reader["how"]),
        (&"full".into(), &"safetensors conform --level full: one process for each file, strictly".into())
    );
    let vectors = data["vectors"].as_array().expect("vectors");
    let right = vectors.iter().filter(|vector| vector["answers"][0] == "right").count();
    assert!(run.out.contains(&format!("{:<12} {right:>5} of {:>5}", "all", vectors.len())), "{}", run.out);
    let first =
        manifest["vectors"].as_array().expect("a list").iter().find(|one| one["id"] == vectors[0]["id"]);
    let first = first.expect("it is listed");
    for member in [
        "file",
        "verdict",
        "published",
        "source",
        "ours",
        "rule",
        "reason",
        "flags",
        "level",
        "code",
        "at",
        "length",
        "twin",
    ] {
        assert_eq!(vectors[0][member], first[member], "{member}");
    }
    let hex = vectors[0]["hex"].as_str().expect("bytes");
    assert!(Some(hex.len() as u64 / 2) == first["length"].as_u64() && hex.contains("00000000"));
}

#[test]
fn the_page_is_checked_before_readers_run() {
    let place = Place::new();
    place.put("p.html", b"mine");
    let options = ["--filter", "d3-array", "--page", "p.html"];
    ask(&place, &options, "touch asked; exit 1").is(
        2,
        "",
        "p.html: already exists; use --force to overwrite it\n",
    );
    assert!(!place.path("asked").exists());
    assert_eq!(fs::read(place.path("p.html")).expect("the page"), b"mine");
    assert_eq!(ask_with_control(&place, &[&options[..], &["--force"]].concat(), "exit 1").code, Some(0));
    assert!(fs::read_to_string(place.path("p.html")).expect("the page").starts_with("<!doctype html>"));
    let printed = ask_with_control(&place, &["--filter", "d3-array", "--page", "-"], "exit 1");
    assert_eq!(printed.out, fs::read_to_string(place.path("p.html")).expect("the page"));
    let nowhere = ask(&place, &["--filter", "d3-array", "--page", "none/p.html"], "exit 1");
    nowhere.is(2, "", "none/p.html: cannot be written: no such file or directory\n");
}

#[test]
fn a_reader_that_cannot_be_run_is_an_error() {
    let place = Place::new();
    place.put("text", b"no program");
    put_program(&place, "reader", "#!/no/such/interpreter\n");
    for (reader, why) in [
        ("nosuch", "reader \"nosuch\" is not an executable program"),
        ("./text", "reader \"./text\" is not an executable program"),
        ("./reader", "reader \"./reader\" cannot be run: its interpreter or its loader does not exist"),
        ("reader", "reader \"reader\" is not in PATH; write ./ before it for a file of this directory"),
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
            "too long: 9999999999 bytes, at most 8589934592 allowed\n",
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
    let reader = &format!("{ACCEPTS_CONTROL}exit 1");
    let args = ["conform", "--filter", "d3-array", "--", "sh", "-c", reader];
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
