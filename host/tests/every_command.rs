//! Tests for every command: bad input gives one clear sentence and the documented exit code, and leaves no
//! partial output.
#![cfg(unix)]

use crate::signed::{KEY, PUBLIC_KEY, SOUND_OFFER};
use crate::support::{
    self, Place, Run, command_names, file, finish, interrupted, sound, tensor, until, until_it_listens,
};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A command that reads the model `MODEL`, and may make `out`.
#[derive(Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    args: &'static [&'static str],
    /// The output.
    pub makes: Option<&'static str>,
}

const fn reads(name: &'static str, args: &'static [&'static str]) -> Case {
    Case { name, args, makes: None }
}

const fn makes(name: &'static str, args: &'static [&'static str], out: &'static str) -> Case {
    Case { name, args, makes: Some(out) }
}

/// A model that `delta` reads beside another.
const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/structures/files/own-type.safetensors");

/// Commands with tests of their own for everything below.
const APART: &[&str] = &["help", "completions", "man", "decode", "scan", "set", "repair"];

/// Arguments of commands that need more than a model. Any other command gets `MODEL` alone.
const CASES: &[Case] = &[
    reads("cat", &["MODEL", "a"]),
    reads("diff", &["MODEL", "sound"]),
    reads("diff", &["sound", "MODEL"]),
    reads("emit", &["MODEL"]),
    reads("hash", &["MODEL"]),
    reads("hash", &["MODEL", "--tensors"]),
    reads("check", &["--finite", "MODEL"]),
    reads("inspect", &["MODEL"]),
    reads("inspect", &["MODEL", "--dtypes"]),
    reads("verify", &["MODEL", SOUND_OFFER, "--key", PUBLIC_KEY]),
    makes("cat", &["MODEL", "a", "-o", "out"], "out"),
    makes("cat", &["MODEL", "a", "--format", "npy", "-o", "out"], "out"),
    makes("slice", &["MODEL", "a=:", "-o", "out"], "out"),
    makes("convert", &["MODEL", "out.npz"], "out.npz"),
    makes("convert", &["MODEL", "out.safetensors", "--to", "I16", "--all"], "out.safetensors"),
    makes("quant", &["MODEL", "--from", "gptq", "-o", "out"], "out"),
    makes("pack", &["MODEL", "-o", "out"], "out"),
    makes("pack", &["MODEL", "--dedupe", "-o", "out"], "out"),
    makes("merge", &["MODEL", "MODEL", "-o", "out"], "out"),
    makes("join", &["MODEL", "-o", "out"], "out"),
    makes("split", &["MODEL", "-o", "out", "--max-size", "3"], "out"),
    makes("emit", &["MODEL", "-o", "out"], "out"),
    makes("sign", &["MODEL", "--key", KEY, "--device", "lamp", "--counter", "7", "-o", "out"], "out"),
    makes("delta", &[OLD, "MODEL", "-o", "out"], "out"),
    makes("checkpoint", &["out", "MODEL"], "out"),
    makes("checkpoint", &["MODEL", "-o", "out"], "out"),
    makes("convert", &["MODEL", "-o", "out.npz"], "out.npz"),
    makes("report", &["MODEL", "-o", "out"], "out"),
    #[cfg(feature = "chips")]
    makes("flash", &["--chip", "nRF52840_xxAA", "--at", "0x80000", "MODEL", "-o", "out.bin"], "out.bin"),
    #[cfg(feature = "chips")]
    reads("fit", &["--chip", "nRF52840_xxAA", "MODEL"]),
    #[cfg(feature = "chips")]
    reads("flash", &["--chip", "nRF52840_xxAA", "--at", "0x80000", "--dry-run", "MODEL"]),
];

/// The same sentence for all arguments.
#[cfg(not(feature = "chips"))]
#[test]
fn fit_and_flash_name_the_missing_feature() {
    let sentence =
        "`fit` and `flash` need a build with the feature `chips`: cargo install --path host --features chips";
    let place = Place::new();
    for args in [&["fit"][..], &["fit", "--list"], &["flash", "--chip", "x", "--at", "0", "m", "-o", "-"]] {
        place.run(args).is(2, "", &format!("safetensors: {sentence}\n"));
    }
    let run = place.run(["flash", "--json"]);
    assert_eq!((run.code, run.json()["message"].as_str()), (Some(2), Some(sentence)));
}

impl Case {
    pub fn args(&self, model: &str) -> Vec<String> {
        let args = self.args.iter().map(|arg| if *arg == "MODEL" { model } else { arg });
        [self.name].into_iter().chain(args).map(str::to_owned).collect()
    }

    fn run(&self, place: &Place, model: &str) -> Run {
        place.run(self.args(model))
    }

    fn in_json(&self, place: &Place, model: &str) -> Run {
        place.run(self.args(model).into_iter().chain(["--json".to_owned()]))
    }

    /// A report is written about an invalid model, too. Here it is removed.
    fn remove_report(&self, place: &Place) {
        if self.name == "report" {
            fs::remove_file(place.path("out")).expect("a report");
        }
    }
}

/// A directory with a valid model and invalid files.
fn place() -> Place {
    let place = Place::new();
    let claims_much = [&100_000_000_u64.to_le_bytes()[..], b"{}"].concat();
    let twice = file(format!("{{{},{}}}", tensor("a", 0, 2), tensor("a", 2, 4)), b"abcd");
    let short = &sound()[..sound().len() - 1];
    let torn = file(format!("{{{},{}}}", tensor("a", 0, 2), tensor("b", 3, 5)), b"abcde");
    place.put("sound", &sound()).put("empty", b"").put("short", short).put("torn", &torn);
    place.put("twice", &twice).put("claims-much", &claims_much);
    place.put("picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    place.put("text", b"this is no model at all, but a text of some length");
    fs::create_dir(place.path("folder")).expect("directory");
    place
}

fn names(place: &Place) -> Vec<String> {
    place.names(".")
}

/// For invalid files the report has an excerpt of two more lines.
fn says_one_thing(run: &Run, about: &str) -> bool {
    let said = format!("{}{}", run.out, run.err);
    let first = said.lines().next().unwrap_or("");
    let rest = said.lines().skip(1).all(|line| line.starts_with("    "));
    first.contains(about) && rest && !said.contains("panicked") && !said.contains("os error")
}

/// At least one case for each command.
pub fn cases() -> Vec<Case> {
    let commands = command_names();
    let commands = commands.iter().map(String::as_str);
    let is_missing = |command: &&str| !cfg!(feature = "chips") && ["fit", "flash"].contains(command);
    let is_listed = |command: &&str| {
        APART.contains(command) || CASES.iter().any(|case| case.name == *command && case.name != "check")
    };
    let others: Vec<&str> = commands.filter(|command| !is_missing(command) && !is_listed(command)).collect();
    assert!(others.contains(&"check") && others.contains(&"stats"), "{others:?}");
    let others = others.into_iter().map(|command| reads(command.to_owned().leak(), &["MODEL"]));
    CASES.iter().copied().chain(others).collect()
}

#[test]
fn invalid_models_are_reported_as_by_check() {
    let place = place();
    let before = names(&place);
    for model in ["empty", "short", "torn", "twice", "claims-much", "picture", "text"] {
        let verdict = place.run(["check", model]).out;
        let verdict_in_json = place.run(["check", "--json", model]).out;
        for case in cases() {
            let run = case.run(&place, model);
            assert_eq!(run.code, Some(1), "{} of {model}: {run:?}", case.name);
            assert_eq!(format!("{}{}", run.out, run.err), verdict, "{}", case.name);
            case.remove_report(&place);
            let json = case.in_json(&place, model);
            assert_eq!((json.code, json.err.as_str()), (Some(1), ""), "{} of {model}: {json:?}", case.name);
            assert_eq!(json.out, verdict_in_json, "{}", case.name);
            case.remove_report(&place);
        }
    }
    assert_eq!(names(&place), before);
}

/// Each command that writes a file or a directory has `-o`.
#[test]
fn the_output_is_an_option() {
    let all = makers(&[]);
    for (one, _) in &all {
        let mut outputs = all.iter().filter(|(case, _)| case.name == one.name);
        assert!(outputs.any(|(case, _)| case.args.contains(&"-o")), "{}", one.name);
    }
}

/// Each command that takes the name of a tensor suggests one.
#[test]
fn a_typo_in_a_name_gets_a_hint() {
    let place = Place::new();
    let model = file(format!("{{{},{}}}", tensor("fc1.weight", 0, 2), tensor("fc2.bias", 2, 5)), b"abcde");
    place.put("m.safetensors", &model);
    let m = "m.safetensors";
    for args in [
        &["cat", m, "fc1.wieght"][..],
        &["slice", m, "fc1.wieght=", "-o", "out"],
        &["slice", m, "fc1.wieght*=", "-o", "out"],
        &["convert", m, "out.npz", "--to", "F16", "--only", "fc1.wieght"],
        &["convert", m, "out.npz", "--from-bits", "F8_E4M3=fc1.wieght"],
        &["pack", m, "-o", "out", "--rename", "fc1.wieght*=w*"],
        &["pack", m, "-o", "out", "--rename-prefix", "fc1.wieght=w"],
        &["inspect", m, "--only", "fc1.wieght"],
        &["stats", m, "--only", "fc1.wieght"],
    ] {
        let run = place.run(args);
        let has_hint = run.err.contains("did you mean \"fc1.weight\"?");
        assert!(run.code == Some(2) && run.out.is_empty() && has_hint, "{args:?}: {run:?}");
    }
    assert!(!place.path("out").exists());
}

#[test]
fn unreadable_models_are_one_sentence() {
    let place = place();
    let before = names(&place);
    for (model, reason) in [("missing", "no such file or directory"), ("sound/below", "not a directory")] {
        for case in cases() {
            let line = format!("{model}: cannot be read: {reason}\n");
            case.run(&place, model).is(2, "", &line);
            let json = case.in_json(&place, model);
            let expected =
                format!("{{\"file\":\"{model}\",\"ok\":false,\"error\":\"io\",\"message\":\"{reason}\"}}\n");
            json.is(2, &expected, "");
        }
    }
    assert_eq!(names(&place), before);
}

#[test]
fn endless_and_failing_devices() {
    let place = place();
    #[cfg(target_os = "linux")]
    place.refuses("decode /proc/self/mem", 2, "/proc/self/mem: cannot be read: input/output error");
    for case in cases() {
        let run = case.run(&place, "/dev/zero");
        assert!(run.code == Some(1) && says_one_thing(&run, "/dev/zero"), "{}: {run:?}", case.name);
        case.remove_report(&place);
        #[cfg(target_os = "linux")]
        case.run(&place, "/proc/self/mem").is(2, "", "/proc/self/mem: cannot be read: input/output error\n");
    }
}

/// Commands that print.
fn printing() -> Vec<Vec<String>> {
    let mut all: Vec<_> =
        cases().iter().filter(|case| case.makes.is_none()).map(|case| case.args("sound")).collect();
    for line in [
        "decode sound",
        "check --json sound",
        "diff --json sound sound",
        "hash --verify list",
        "pack sound -o -",
        "cat long a",
        "completions zsh",
        "man",
    ] {
        all.push(line.split(' ').map(str::to_owned).collect());
    }
    all
}

#[test]
fn closed_or_full_output_ends_the_run() {
    let place = place();
    place.put("list", place.run(["hash", "sound"]).out.as_bytes());
    place.put("long", &support::one("U8", &[1_000_000], &[7; 1_000_000]));
    for args in printing() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let run = finish(place.command(&args).stdout(Stdio::from(writer)));
        assert_eq!((run.code, run.err.as_str()), (Some(2), ""), "{args:?}");
        if cfg!(target_os = "linux") {
            let full = fs::File::options().write(true).open("/dev/full").expect("a device");
            let run = finish(place.command(&args).stdout(full));
            let sentence = "safetensors: cannot write to standard output: no space left on device\n";
            assert_eq!((run.code, run.err.as_str()), (Some(2), sentence), "{args:?}");
        }
    }
}

/// Cases that make something of any model, and what they make, without those of these commands. `quant`
/// needs a layer.
fn makers(apart: &[&str]) -> Vec<(Case, &'static str)> {
    let cases = cases().into_iter().filter(|case| case.name != "quant" && !apart.contains(&case.name));
    cases.filter_map(|case| Some((case, case.makes?))).collect()
}

fn mode(place: &Place, name: &str) -> u32 {
    fs::metadata(place.path(name)).expect("existing file").permissions().mode() & 0o777
}

/// A new file has the permissions of any new file.
#[test]
fn existing_files_need_force() {
    let place = place();
    // `split` replaces only models with other file names; see its own tests.
    for (case, out) in makers(&["split"]) {
        let name = case.name;
        assert_eq!(case.run(&place, "sound").code, Some(0), "{name}");
        assert!(place.path(out).is_dir() || mode(&place, out) == mode(&place, "sound"), "{name}");
        let made = contents(&place.path(out));
        let run = case.run(&place, "sound");
        assert!(run.code == Some(2) && says_one_thing(&run, out), "{name}: {run:?}");
        assert!(run.err.contains("--force") && contents(&place.path(out)) == made, "{name}: {run:?}");
        let run = place.run(case.args("sound").into_iter().chain(["--force".to_owned()]));
        assert!(run.code == Some(0) && contents(&place.path(out)) == made, "{name}: {run:?}");
        remove(&place.path(out));
    }
}

/// Also permissions that the umask would remove.
#[test]
fn a_replaced_file_passes_on_its_permissions() {
    let place = place();
    for (case, out) in makers(&["split", "checkpoint"]) {
        place.put(out, b"old");
        for wanted in [0o664, 0o600, 0o444] {
            fs::set_permissions(place.path(out), fs::Permissions::from_mode(wanted)).expect("permissions");
            let args = case.args("sound").join("' '");
            let run = place.shell(&format!("umask 022; exec \"$0\" '{args}' --force"));
            assert_eq!((run.code, mode(&place, out)), (Some(0), wanted), "{}: {run:?}", case.name);
        }
        remove(&place.path(out));
    }
}

/// Neither through a link, nor a link that leads nowhere.
#[test]
fn an_input_is_never_overwritten() {
    let place = place();
    for (case, out) in makers(&["split", "checkpoint"]) {
        // The model has the name of the output, which is a link to it.
        std::os::unix::fs::symlink("sound", place.path(out)).expect("a link");
        for model in ["sound", out] {
            let run = place.run(case.args(model).into_iter().chain(["--force".to_owned()]));
            assert!(run.code == Some(2) && says_one_thing(&run, "is an input"), "{}: {run:?}", case.name);
            assert_eq!(place.read("sound"), sound(), "{}", case.name);
        }
        fs::remove_file(place.path(out)).expect("it can be removed");
    }
    for (case, out) in makers(&[]) {
        std::os::unix::fs::symlink("nowhere", place.path(out)).expect("a link");
        let run = case.run(&place, "sound");
        assert!(run.code == Some(2) && says_one_thing(&run, out), "{}: {run:?}", case.name);
        assert!(place.path(out).is_symlink(), "{}", case.name);
        fs::remove_file(place.path(out)).expect("it can be removed");
    }
}

#[test]
fn a_missing_output_directory_is_an_error() {
    let place = place();
    // `checkpoint` creates parent directories.
    for (case, out) in makers(&["checkpoint"]) {
        let args = case.args("../sound").into_iter();
        let args = args.map(|arg| if arg == out { format!("missing/{arg}") } else { arg });
        let run = finish(place.command(args).current_dir(place.path("folder")));
        assert!(run.code == Some(2) && says_one_thing(&run, "missing"), "{}: {run:?}", case.name);
        assert!(place.names("folder").is_empty(), "{}", case.name);
    }
}

/// Constants, offers and reports are short, and an image larger than the chip's flash is never written.
#[test]
fn a_full_disk_leaves_nothing() {
    let place = place();
    let model = file(format!("{{{}}}", tensor("a", 0, 1 << 20)), &[7; 1 << 20]);
    place.put("big", &model);
    let before = names(&place);
    for (case, _) in makers(&["emit", "flash", "report", "sign"]) {
        let run = place.on_a_full_disk(128, &args_of(&case, "big").join(" "));
        assert!(run.code == Some(2) && run.err.lines().count() == 1, "{}: {run:?}", case.name);
        assert!(run.err.contains("file too large"), "{}: {run:?}", case.name);
        let is_model = matches!(case.name, "merge" | "pack" | "quant" | "split" | "slice");
        assert!(!is_model || run.err.ends_with(" bytes needed\n"), "{}: {run:?}", case.name);
        assert_eq!(names(&place), before, "{}", case.name);
    }
}

#[test]
fn interruption_leaves_nothing() {
    let place = place();
    place.put_sparse("big", 8 << 30);
    // `merge` compares integers before it writes.
    place.put_sparse_of("F8_E4M3", "floats", 8 << 30);
    let before = names(&place);
    // A model of `sign` and `delta` is shorter.
    for (case, _) in makers(&["delta", "emit", "flash", "report", "sign"]) {
        for signal in ["-INT", "-TERM"] {
            let model = if case.name == "merge" { "floats" } else { "big" };
            let child = place.command(args_of(&case, model)).spawn().expect("the binary runs");
            until("something written", || names(&place).len() > before.len());
            std::thread::sleep(Duration::from_millis(100));
            interrupted(child, signal).is(130, "", "safetensors: interrupted\n");
            assert_eq!(names(&place), before, "{}", case.name);
        }
    }
}

/// What each command writes, the arguments that make an older one, and those of the run that is killed.
fn writers(place: &Place) -> Vec<(&'static str, [Vec<String>; 2])> {
    let model = |bytes: usize| file(format!("{{{}}}", tensor("a", 0, bytes as u64)), &vec![7; bytes]);
    place.put("big", &model(8 << 20));
    place.put("fits-the-chip", &model(500 << 10));
    crate::quant::put_layer(place, "layer", 0);
    crate::quant::put_layer(place, "big-layer", 8 << 20);
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let with_force = |case: &Case, model| [case.args(model), words("--force")].concat();
    let mut all = Vec::new();
    for case in cases() {
        let models = match case.name {
            "quant" => ["layer", "big-layer"],
            "flash" => ["sound", "fits-the-chip"],
            _ => ["sound", "big"],
        };
        let makes = case.makes.filter(|_| case.name != "split");
        all.extend(makes.map(|out| (out, models.map(|model| with_force(&case, model)))));
    }
    place.put("torn", &[sound(), vec![0]].concat()).put("big-torn", &[model(8 << 20), vec![0]].concat());
    all.push(("out", ["torn", "big-torn"].map(|file| words(&format!("repair {file} -o out --force")))));
    let older = words("pack big -o own --header-room 300 --force");
    all.push(("own", [older.clone(), words("hash --embed own")]));
    all.push(("own", [older.clone(), words("pack own --in-place --set key=value")]));
    place.put("values", &file(format!("{{{}}}", tensor("a", 0, 8 << 20)), &vec![8; 8 << 20]));
    all.push(("own", [older, words("set own a values")]));
    all
}

/// If killed at any time. `split` has a test of its own. By hand, 200 kills of each command, as `SECURITY.md`
/// says.
#[test]
fn a_kill_leaves_the_old_output_or_the_new_one() {
    let place = place();
    let (all, kills) = (writers(&place), support::kills());
    let before = names(&place);
    for (out, [older, args]) in all {
        let done = |args: &[String]| {
            let (run, start) = (place.run(args), Instant::now());
            assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
            (contents(&place.path(out)), start.elapsed())
        };
        let ((old, _), (new, took)) = (done(&older), done(&args));
        for kill in 0..kills {
            remove(&place.path(out));
            assert!(done(&older).0 == old);
            let mut child = place.command(&args).spawn().expect("the binary runs");
            std::thread::sleep(took * (2 * kill + 1) / (2 * kills));
            child.kill().and_then(|()| child.wait()).expect("it can be killed");
            let (now, is_in_place) = (contents(&place.path(out)), out == "own");
            let is_reported = || is_in_place && place.run(["check", out]).err.contains("half written");
            assert!(now == old || now == new || is_reported(), "{args:?}, kill {kill} of {kills}");
            let is_new = |name: &&String| *name != out && !before.contains(name);
            assert!(names(&place).iter().filter(is_new).all(|name| name.starts_with('.')), "{args:?}");
        }
        assert!(done(&args).0 == new, "{args:?}");
        remove(&place.path(out));
        assert_eq!(names(&place), before, "{args:?}: what killed runs have left is removed");
    }
}

fn args_of(case: &Case, model: &'static str) -> Vec<String> {
    let larger = |arg: String| if arg == "3" { "100GB".to_owned() } else { arg };
    case.args(model).into_iter().map(larger).collect()
}

/// What reads for a long time ends at once, too.
#[test]
fn interruption_ends_a_long_run() {
    let place = Place::new();
    for name in ["m", "n", "a.safetensors", "b.safetensors"] {
        place.put_sparse_of("F8_E4M3", name, 1 << 40);
    }
    place.put_sparse("short", 3 << 30);
    place.put("list", format!("{}  m\n", "0".repeat(64)).as_bytes());
    for args in [
        &["hash", "m"][..],
        &["hash", "--json", "m"],
        &["hash", "--verify", "list"],
        &["sign", "short", "--key", KEY, "--device", "d", "--counter", "0", "-o", "out"],
        &["delta", "short", "short", "-o", "out"],
        &["diff", "m", "n"],
        &["check", "--finite", "-j", "1", "a.safetensors", "b.safetensors"],
        &["stats", "a.safetensors", "b.safetensors"],
        &["convert", "a.safetensors", "b.safetensors", "--each", "-o", "out"],
    ] {
        let child = place.command(args).spawn().expect("it starts");
        until_it_listens(&child);
        let json = "{\"ok\":false,\"error\":\"interrupted\",\"message\":\"interrupted\"}\n";
        let (out, err) =
            if args.contains(&"--json") { (json, "") } else { ("", "safetensors: interrupted\n") };
        interrupted(child, "-INT").is(130, out, err);
    }
}

fn contents(path: &Path) -> Vec<(String, Vec<u8>)> {
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    if path.is_file() {
        return vec![(name(path), fs::read(path).expect("it can be read"))];
    }
    let entries = fs::read_dir(path).expect("directory").map(|entry| entry.expect("directory entry").path());
    let mut all: Vec<_> = entries.map(|path| (name(&path), fs::read(&path).expect("a file"))).collect();
    all.sort();
    all
}

fn remove(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("it can be removed");
}

#[test]
fn a_file_and_json_cannot_share_standard_output() {
    let place = place();
    for args in [
        &["pack", "sound", "-o", "-", "--json"][..],
        &["join", "sound", "-o", "-", "--json"],
        &["slice", "sound", "a=:", "-o", "-", "--json"],
        &["report", "sound", "-o", "-", "--json"],
        &["sign", "sound", "-o", "-", "--json", "--key", KEY, "--device", "d", "--counter", "0"],
    ] {
        let run = place.run(args);
        let message = "a file and JSON cannot share standard output; use --output FILE";
        run.is(2, &format!("{{\"ok\":false,\"error\":\"usage\",\"message\":\"{message}\"}}\n"), "");
    }
}

/// A file that appears while a command reads its input is not replaced either.
#[test]
fn a_file_that_appears_meanwhile_is_not_replaced() {
    let place = place();
    let much = 1 << 20;
    let header = format!("{{{},{}}}", tensor("a", 0, 2), tensor("z", 2, 2 + much));
    let model = file(header, &vec![7; 2 + usize::try_from(much).expect("little")]);
    // More than a pipe holds: once it is read, the command has checked the output path.
    let (begun, rest) = model.split_at(1 << 19);
    // `merge` reads no pipe twice.
    for (case, out) in makers(&["split", "checkpoint", "flash", "merge"]) {
        let mut child = place.command(case.args("-")).stdin(Stdio::piped()).spawn().expect("it starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(begun).expect("it is read");
        place.put(out, b"precious");
        pipe.write_all(rest).expect("it is read");
        drop(pipe);
        let run = Run::of(child.wait_with_output().expect("it ends"));
        assert!(run.code == Some(2) && run.err.starts_with(out), "{}: {run:?}", case.name);
        assert_eq!(place.read(out), b"precious", "{}", case.name);
        remove(&place.path(out));
    }
    assert_eq!(names(&place), names(&self::place()));
}

/// `-` never means a file, even if one has that name.
#[test]
fn a_dash_is_standard_output() {
    let place = place();
    place.put("-", b"a file");
    for args in [
        &["slice", "sound", "a=:"][..],
        &["pack", "sound"],
        &["cat", "sound", "a"],
        &["cat", "sound", "a", "--format", "npy"],
        &["cat", "sound", "a", "--json"],
        &["emit", "sound"],
    ] {
        let output = place.command([args, &["-o", "-"]].concat()).output().expect("it runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
        assert!(!output.stdout.is_empty(), "{args:?}");
        assert_eq!(place.read("-"), b"a file", "{args:?}");
        if args[0] == "slice" {
            assert_eq!(place.run(["slice", "sound", "a=:", "-o", "part"]).code, Some(0));
            assert_eq!(place.read("part"), output.stdout);
        }
    }
}

/// What a directory contains, and the file that it means.
const DIRECTORIES: &[(&[&str], &str)] = &[
    (&["x.safetensors", "config.json"], "x.safetensors"),
    (&["adapter_model.safetensors", "adapter_config.json"], "adapter_model.safetensors"),
    (&["adapter_model.safetensors", "a.safetensors", "model.safetensors"], "model.safetensors"),
    (&["a.safetensors", ".hidden.safetensors"], "a.safetensors"),
    (&["model.safetensors", "model.safetensors.index.json"], "model.safetensors"),
];

/// `check` is about all files below a directory, and `decode` about one file.
fn of_models() -> Vec<Case> {
    cases().into_iter().filter(|case| case.name != "check").collect()
}

/// A place with the model `sound`, and a directory `d` of these files.
fn with_directory(files: &[&str]) -> Place {
    let place = Place::new();
    fs::create_dir(place.path("d")).expect("directory");
    place.put("sound", &sound());
    for name in files {
        place.put(Path::new("d").join(name), &sound());
    }
    place
}

#[test]
fn a_directory_means_the_same_to_every_command() {
    for (files, meant) in DIRECTORIES {
        let file = format!("d/{meant}");
        for case in of_models() {
            let [by_file, by_directory] = [file.as_str(), "d"].map(|model| {
                let place = with_directory(files);
                let run = case.run(&place, model);
                let made = case.makes.map(|out| fs::read(place.path(out)).unwrap_or_default());
                (run.code, [run.out, run.err].map(|text| text.replace(&file, "d").replace(meant, "d")), made)
            });
            let name = case.name;
            assert_eq!(by_file.0, by_directory.0, "{name} {files:?}: {by_directory:?}");
            // What has the name of the model in it.
            if !["emit", "report", "checkpoint", "split"].contains(&name) {
                assert_eq!(by_file, by_directory, "{name} {files:?}");
            }
        }
    }
}

#[test]
fn several_models_in_a_directory_are_read_in_turn_or_rejected_in_one_sentence() {
    let sentence = "d: contains 2 models: \"a.safetensors\", \"b.safetensors\"; give the path of one\n";
    for case in of_models() {
        let place = with_directory(&["a.safetensors", "b.safetensors"]);
        let run = case.run(&place, "d");
        if ["inspect", "stats", "lint", "hash"].contains(&case.name) {
            let [a, b] = ["d/a.safetensors", "d/b.safetensors"].map(|model| case.run(&place, model));
            assert_eq!((run.code, run.out), (a.code, a.out + &b.out), "{}", case.name);
            assert_eq!(run.err, a.err + &b.err, "{}", case.name);
        } else {
            run.is(2, "", sentence);
        }
        assert_eq!(names(&place), ["d", "sound"]);
    }
}

#[test]
fn a_directory_without_models_is_one_sentence() {
    for case in of_models() {
        let place = with_directory(&["config.json"]);
        let sentence = "d: contains no *.safetensors and no *.safetensors.index.json file";
        let others = ", and none with a suffix of PyTorch, GGUF, TensorFlow or numpy";
        let others = if case.name == "convert" { others } else { "" };
        case.run(&place, "d").is(2, "", &format!("{sentence}{others}\n"));
    }
}

/// Shards belong to their index, also to one that is invalid; an index is a model among others.
#[test]
fn shards_are_no_models_of_their_own() {
    let place = with_directory(&["m-00001-of-00001.safetensors"]);
    let map = r#"{"weight_map":{"a":"m-00001-of-00001.safetensors","b":"m-00001-of-00001.safetensors"}}"#;
    place.put("d/m.safetensors.index.json", map.as_bytes());
    let run = place.run(["inspect", "d"]);
    assert!(run.out.starts_with("d: ok, 2 tensors in 1 shard"), "{run:?}");
    place.put("d/m.safetensors.index.json", b"{");
    let run = place.run(["inspect", "d"]);
    assert!(run.code == Some(1) && run.out.starts_with("d/m.safetensors.index.json: "), "{run:?}");
    place.put("d/other.safetensors", &sound()).put("d/m.safetensors.index.json", map.as_bytes());
    let run = place.run(["inspect", "d", "--dtypes"]);
    let lines: Vec<&str> = run.out.lines().filter(|line| line.contains(": ok, ")).collect();
    assert_eq!(lines.len(), 2, "{run:?}");
    assert!(lines[0].starts_with("d/m.safetensors.index.json: ok, 2 tensors in 1 shard"), "{lines:?}");
    assert!(lines[1].starts_with("d/other.safetensors: ok, 2 tensors"), "{lines:?}");
}

#[test]
fn shards_without_their_index_are_read_in_turn_or_rejected_in_one_sentence() {
    for numbers in [&["00001", "00002"][..], &["00002"]] {
        let names: Vec<String> =
            numbers.iter().map(|number| format!("m-{number}-of-00002.safetensors")).collect();
        let files: Vec<&str> = names.iter().map(String::as_str).collect();
        let shards = if numbers.len() == 1 { "1 shard" } else { "2 shards" };
        let advice = match numbers.len() {
            1 => "missing shards: \"m-00001-of-00002.safetensors\"",
            _ => "`safetensors join d/m-*-of-00002.safetensors -o m.safetensors` reads all of them",
        };
        let index = "m.safetensors.index.json";
        let sentence = format!("d: contains {shards} of 2, but not the index \"{index}\"; {advice}\n");
        for case in of_models() {
            let place = with_directory(&files);
            let run = case.run(&place, "d");
            if ["inspect", "stats", "lint", "hash"].contains(&case.name) {
                let each = files.iter().map(|name| case.run(&place, &format!("d/{name}")));
                let all: String = each.map(|run| run.out + &run.err).collect();
                assert_eq!(run.out + &run.err, all, "{}", case.name);
            } else {
                run.is(2, "", &sentence);
            }
        }
    }
}

/// As `diffusers` writes them.
#[test]
fn directories_with_models_in_directories_name_these() {
    let sentence = "d: contains no *.safetensors and no *.safetensors.index.json file, but its directories do: \
        \"unet\", \"vae\"; give the path of one\n";
    for case in of_models() {
        let place = with_directory(&["model_index.json"]);
        place.put("d/unet/diffusion_pytorch_model.safetensors", &sound());
        place.put("d/vae/diffusion_pytorch_model.safetensors", &sound()).put("d/tokenizer/vocab.json", b"{}");
        case.run(&place, "d").is(2, "", sentence);
    }
}

/// The members that all commands have in common. `emit` writes its object into the file.
#[test]
fn json_objects_have_the_same_members() {
    let place = place();
    for case in cases().into_iter().filter(|case| (case.name, case.makes) != ("emit", Some("out"))) {
        let (name, run) = (case.name, case.in_json(&place, "sound"));
        let object = run.json();
        assert_eq!(object["ok"], run.code == Some(0), "{name}: {run:?}");
        match name {
            "pack" => assert_eq!(object["inputs"], serde_json::json!(["sound"]), "{run:?}"),
            "diff" | "checkpoint" => assert!(object["file"].is_null(), "{name}"),
            _ => assert_eq!(object["file"], "sound", "{name}: {run:?}"),
        }
        let Some(out) = case.makes.filter(|_| object["ok"] == true) else { continue };
        assert_eq!(object["output"], out, "{name}: {run:?}");
        remove(&place.path(out));
    }
}
