//! Runs all boards and compares them with what is expected.

use super::run::Ended;
use super::{Board, Case, boards, find, golden, log, storage};
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::workers::side_by_side;
use crate::{measure, minilm, python, workspace};
use std::path::PathBuf;
use std::sync::LazyLock;

/// The exit codes of a program stopped by a CPU fault, and of one that has panicked.
const DEADLY: [i32; 2] = [99, 101];

/// A board, and its case with the files of other frameworks.
pub const INTEROP: [&str; 2] = ["lm3s6965", "interop"];

/// The commands of `firmware/app` on this computer: the beginning of the lines that a board prints as well,
/// and a file with the same lines by numpy or by the crate aprender.
const DESKTOP: [(&str, &str, &str); 6] = [
    ("digits", "digit ", ""),
    ("integer", "digit ", ""),
    ("multiply", "product ", "tests/quantised/products.txt"),
    ("predict", "prediction ", "tests/aprender/predictions.txt"),
    ("structure", "value: ", ""),
    ("vectors", "vector", ""),
];

/// Runs all boards, and the tests of the code that they run.
pub fn all() -> Outcome {
    let mut tally = some(boards()?.iter().collect(), false)?;
    tally.check("golden files, and what firmware/README.md shows of them", golden::check_files());
    let others: [fn() -> Outcome; 3] = [
        || Ok(Tally::of("firmware/app: its tests", app("test").capture().map(drop))),
        || Ok(Tally::of("riscv-virt: updates over a UART", updates())),
        measure::cuts,
    ];
    let outcomes: Result<Vec<Tally>, String> = side_by_side(others, |test| test()).into_iter().collect();
    tally.add(outcomes?.into_iter().sum());
    Ok(tally)
}

/// Builds and runs these boards. With `bless`, writes their output to the golden files. Builds and runs of
/// different boards overlap.
pub fn some(boards: Vec<&'static Board>, bless: bool) -> Outcome {
    let judge = |board: &'static Board| {
        let mut tally = Tally::default();
        match board.prepare().and_then(|()| board.build("")?.capture()) {
            Ok(_) => judge(board, bless, &mut tally),
            Err(sentence) => tally.check(&format!("{} builds", board.name), Err(sentence)),
        }
        tally
    };
    Ok(side_by_side(boards, judge).into_iter().sum())
}

/// Builds and runs a case of a board. With `bless`, writes its output to the golden file.
pub fn run_case(board: &str, case: &str, bless: bool) -> Result<(), String> {
    let board = find(board)?;
    board.build("")?.capture()?;
    judge_case(board, case, bless)
}

/// Runs all cases of a board that is built.
fn judge(board: &'static Board, bless: bool, tally: &mut Tally) {
    tally.measured(&board.name, sizes(board).map(|sizes| format!("bytes of flash: {sizes}")));
    if board.needs_hardware() {
        return;
    }
    for name in board.cases.keys() {
        tally.check(&format!("{} {name}", board.name), judge_case(board, name, bless));
    }
    if board.features.iter().any(|features| features == log::FEATURE) {
        let logs = board.case(board.shown()).and_then(|case| log::check(board, case));
        tally.check(&format!("{} logs what it prints", board.name), logs);
    }
}

/// Lists how many bytes of flash each program takes.
fn sizes(board: &'static Board) -> Result<String, String> {
    let mut programs: Vec<_> = board.cases.values().map(|case| &case.program).collect();
    programs.sort_unstable();
    programs.dedup();
    let sizes = programs.iter().map(|program| Ok(format!("{program} {}", board.flash_of(program)?)));
    Ok(sizes.collect::<Result<Vec<_>, String>>()?.join(", "))
}

fn judge_case(board: &'static Board, name: &str, bless: bool) -> Result<(), String> {
    let (case, ended) = (board.case(name)?, board.run(name, |_| ())?);
    check_end(case, &ended)?;
    let path = golden::path(board, name);
    if bless {
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        workspace::write(&path, golden::bless(&committed, &ended.text()).as_bytes())?;
    } else if path.exists() {
        golden::compare(&workspace::text(&path)?, &ended.text())?;
    } else {
        let board = &board.name;
        return Err(format!("expected output missing; write it with `cargo xtask firmware {board} --bless`"));
    }
    if let Some(words) = &case.desktop {
        check_with_desktop(words, &ended.lines, board)?;
    }
    if let Some((at, model)) = &case.records {
        check_recording(*at, model, board, name)?;
    }
    // Images are large; they are kept only after a failure.
    let _ = std::fs::remove_file(board.image(name));
    Ok(())
}

/// Checks that another program does as a case says. `run` runs it with the model that the case makes of
/// `model`.
pub fn judge_other(
    board: &'static Board,
    name: &str,
    model: &[u8],
    run: impl FnOnce(&[u8]) -> Result<Run, String>,
) -> Result<(), String> {
    let case = board.case(name)?;
    let ended = Ended::of(run(&case.replaced(model.to_vec())?)?, |_| ())?;
    check_end(case, &ended)?;
    golden::compare(&workspace::text(&golden::path(board, name))?, &ended.text())
}

/// Checks the exit code. A panic or a CPU fault where none is expected is reported by the line that the
/// board printed.
fn check_end(case: &Case, ended: &Ended) -> Result<(), String> {
    let is_death = |line: &&String| line.starts_with("panic: ") || line.starts_with("fault: ");
    let (death, is_expected) = (ended.lines.iter().find(is_death), DEADLY.contains(&case.exit));
    match death {
        Some(line) if !is_expected => Err(line.clone()),
        None if is_expected => Err("it does not print how it died".to_owned()),
        _ if ended.exit_code == Some(case.exit) => Ok(()),
        _ => Err(format!("exit code {} expected; its output:\n{}", case.exit, ended.text())),
    }
}

/// `firmware/app` on this computer, without the log, which only a device can send.
fn app(subcommand: &str) -> Run {
    let run = own_cargo().dir(&workspace::root().join("firmware/app"));
    let run = run.env("CARGO_TARGET_DIR", workspace::target_dir().join("firmware/app"));
    run.args([subcommand, "--locked", "--quiet", "--features", "structures,vectors,minilm"])
}

/// Runs the tests of the program that receives models.
fn updates() -> Result<(), String> {
    let board = find("riscv-virt")?;
    let tests = Run::new(python::environment("main")?).words("-B -m pytest -q -p no:cacheprovider");
    let tests = tests.args([board.folder().join("update")]).env("PROGRAM", board.program("update")?);
    tests.limit(600).capture().map(drop)
}

/// Runs a command of `firmware/app` on this computer, and returns what it prints.
fn run_here(words: &[PathBuf]) -> Result<String, String> {
    static BUILT: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        app("build").args(["--release", "--example", "desktop"]).capture()?;
        Ok(workspace::target_dir().join("firmware/app/release/examples/desktop"))
    });
    let output = Run::new(BUILT.as_ref().map_err(String::clone)?).args(words).limit(60).capture()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Checks that this computer prints the same with this command and its files.
fn check_with_desktop(words: &[String], lines: &[String], board: &Board) -> Result<(), String> {
    if let ["minilm", model, text] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return minilm::check(&board.name, model, text, lines);
    }
    let known = DESKTOP.iter().find(|(command, ..)| words.first().is_some_and(|word| word == command));
    let (command, beginning, file) = known.ok_or_else(|| format!("firmware/app has no command {words:?}"))?;
    let files = words[1..].iter().map(|file| storage::path(file)).collect::<Result<Vec<_>, _>>()?;
    let words: Vec<PathBuf> = [command.into()].into_iter().chain(files).collect();
    let mut texts = vec![run_here(&words)?];
    if !file.is_empty() {
        texts.push(workspace::text(&workspace::root().join(file))?);
    }
    let chosen = |line: &&str| line.starts_with(beginning);
    let there: Vec<&str> = lines.iter().map(String::as_str).filter(chosen).collect();
    for text in texts {
        let here: Vec<&str> = text.lines().filter(chosen).collect();
        let differing = here.iter().zip(&there).find(|(here, there)| here != there);
        if let Some((here, there)) = differing {
            let what = "the board differs from this computer";
            return Err(format!("{what}\n        here:  {here}\n        there: {there}"));
        }
        if here.is_empty() || here.len() != there.len() {
            return Err(format!("{} lines begin with \"{beginning}\"; here {} do", there.len(), here.len()));
        }
    }
    Ok(())
}

/// Checks that the file in flash is the one that this computer records, and that Python finds the digits in
/// it by their nested names. Keeps the file for the command.
fn check_recording(at: usize, model: &str, board: &Board, case: &str) -> Result<(), String> {
    let image = board.image(case);
    let here = image.with_extension("here.safetensors");
    workspace::write(&here, b"")?;
    run_here(&["record".into(), storage::path(model)?, here.clone(), PathBuf::from(&board.name)])?;
    let (flash, expected) = (workspace::read(&image)?, workspace::read(&here)?);
    let file = flash.get(at..).and_then(|flash| flash.get(..expected.len())).unwrap_or_default();
    let recording = image.with_extension("safetensors");
    workspace::write(&recording, file)?;
    let is_same = file == expected;
    is_same.then_some(()).ok_or_else(|| "the recording differs from this computer's".to_owned())?;
    let digits = "import numpy, safestructures, sys; trace = safestructures.load_file(sys.argv[1]); \
        logits = [trace['first']['fc4'], *trace['others'][:, -10:]]; \
        assert (numpy.argmax(logits, 1) == trace['guesses']).all()";
    Run::new(python::environment("main")?).args(["-c", digits]).args([recording]).capture().map(drop)
}
