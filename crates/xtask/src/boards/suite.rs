//! Runs all boards and compares them with what is expected.

use super::run::Ended;
use super::{Board, Case, DIGITS, boards, conditions, golden};
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::workers::side_by_side;
use crate::{stages, workspace};
use std::thread;

/// The exit codes of a program stopped by a CPU fault, and of one that has panicked.
const DEADLY: [i32; 2] = [99, 101];

/// One board of each architecture.
pub const QUICK: [&str; 2] = ["netduinoplus2", "riscv-virt"];

/// A board, and its case with the files of other frameworks.
pub const INTEROP: [&str; 2] = ["lm3s6965", "interop"];

/// Boards, and their cases with files of other projects.
pub const EXAMPLES: [[&str; 2]; 3] = [INTEROP, ["lm3s6965", "regression"], ["lm3s6965", "structure"]];

const RECORDINGS: &str = "the command accepts the boards' recordings";

/// The packages that firmware engineers copy and that an emulator runs.
pub const MINIMAL: [&str; 2] = ["minimal", "minimal-embassy"];

/// The first boards read digits, another one the files of other projects; the minimal programs pass all their
/// cases.
pub fn quick() -> Outcome {
    let boards = QUICK.map(super::find).into_iter().collect::<Result<Vec<_>, _>>()?;
    let cases: Vec<_> = QUICK.map(|board| [board, DIGITS]).into_iter().chain(EXAMPLES).collect();
    let judge =
        |[board, case]: [&str; 2]| Tally::of(&format!("{board} {case}"), run_case(board, case, false));
    let mut tally: Tally = side_by_side(cases, judge).into_iter().sum();
    tally.check(RECORDINGS, conditions::check_recordings(&boards, DIGITS, stages::command()));
    tally.add(some(MINIMAL.map(super::find).into_iter().collect::<Result<_, _>>()?, false)?);
    Ok(tally)
}

/// Runs all boards, and the tests of the code that they run.
pub fn all() -> Outcome {
    let mut tally = Tally::default();
    tally.check("firmware/README.md shows only what boards print", golden::check_readme());
    let (tests, boards) = thread::scope(|scope| {
        let tests = scope.spawn(conditions::test_app);
        let boards = boards().and_then(|boards| some(boards.iter().collect(), false));
        (tests.join().unwrap_or_else(|_| Err("they panicked".to_owned())), boards)
    });
    tally.check("firmware/app: its tests", tests);
    tally.add(boards?);
    let boards: Vec<&'static Board> = super::boards()?.iter().collect();
    tally.check(RECORDINGS, conditions::check_recordings(&boards, DIGITS, stages::release_command()));
    Ok(tally)
}

/// Builds and runs these boards. With `bless`, writes their output to the golden files. Builds and runs of
/// different boards overlap.
pub fn some(boards: Vec<&'static Board>, bless: bool) -> Outcome {
    let mut tally = Tally::default();
    let mut ready = Vec::new();
    for board in boards {
        match board.prepare() {
            Ok(()) => ready.push(board),
            Err(sentence) => tally.check(&board.name, Err(sentence)),
        }
    }
    tally.add(side_by_side(ready, |board| judge(board, bless)).into_iter().sum());
    Ok(tally)
}

/// Builds and runs a case of a board. With `bless`, writes its output to the golden file.
pub fn run_case(board: &str, case: &str, bless: bool) -> Result<(), String> {
    let board = super::find(board)?;
    let program = &board.cases.get(case).ok_or_else(|| format!("{} has no case {case}", board.name))?.program;
    let _held = board.lock()?;
    board.build("", &[program])?.capture()?;
    judge_case(board, case, bless)
}

/// Builds and runs all cases of a board. A failed build only skips that board's runs.
fn judge(board: &'static Board, bless: bool) -> Tally {
    let _held = match board.lock() {
        Ok(held) => held,
        Err(sentence) => return Tally::of(&board.name, Err(sentence)),
    };
    let mut tally = Tally::default();
    if let Err(sentence) = golden::check_files(board) {
        tally.check(&board.name, Err(sentence));
    }
    for features in &board.features {
        let built = board.build(features, &[]).and_then(|build| build.capture().map(drop));
        let failed = built.is_err();
        tally.check(format!("{} builds {features}", board.name).trim_end(), built);
        if failed {
            continue;
        }
        let sizes = sizes(board, features);
        tally.measured(&board.name, sizes.map(|sizes| format!("bytes of flash: {sizes}")));
        let cases =
            board.cases.iter().filter(|(_, case)| case.features == *features && !board.needs_hardware());
        for (name, _) in cases {
            tally.check(&format!("{} {name}", board.name), judge_case(board, name, bless));
        }
    }
    tally
}

/// Lists how many bytes of flash each program takes.
fn sizes(board: &'static Board, features: &str) -> Result<String, String> {
    let cases = board.cases.values().filter(|case| case.features == features);
    let mut programs: Vec<_> = cases.map(|case| &case.program).collect();
    programs.sort_unstable();
    programs.dedup();
    let sizes = programs.iter().map(|program| Ok(format!("{program} {}", board.flash_of(program)?)));
    Ok(sizes.collect::<Result<Vec<_>, String>>()?.join(", "))
}

fn judge_case(board: &'static Board, name: &str, bless: bool) -> Result<(), String> {
    let (case, ended) = (&board.cases[name], board.run(name, |_| ())?);
    let path = golden::path(board, name);
    check_end(case, &ended)?;
    check_board(board, &ended)?;
    if bless {
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        workspace::write(&path, golden::bless(&committed, &ended.text()).as_bytes())?;
    } else if path.exists() {
        golden::compare(&workspace::text(&path)?, &ended.text())?;
    } else {
        let board = &board.name;
        return Err(format!("expected output missing; write it with `cargo xtask firmware {board} --bless`"));
    }
    case.conditions.judge(board, name, case, &ended)?;
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
    let case = &board.cases[name];
    let ended = Ended::of(run(&case.storage.replaced(model)?)?, |_| ())?;
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

/// Checks that the board which a program prints is the one in its manifest.
fn check_board(board: &Board, ended: &Ended) -> Result<(), String> {
    let Some(line) = ended.lines.iter().find(|line| line.starts_with("board: ")) else { return Ok(()) };
    let Board { cpu, flash, ram, .. } = board;
    let expected = format!(", {cpu}, {flash} bytes of flash, {ram} bytes of RAM");
    if line.ends_with(&expected) {
        Ok(())
    } else {
        Err(format!("the board differs from its manifest: {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexpected_panic_or_fault_is_reported_by_its_line() {
        let riscv = super::super::find("riscv-virt").unwrap();
        let end = |case: &str, line: &str, code| {
            check_end(&riscv.cases[case], &Ended { lines: vec![line.to_owned()], exit_code: Some(code) })
        };
        let panic = "panic: why at src/main.rs:1";
        assert_eq!(end(DIGITS, "score: 64", 0).and(end("panics", panic, 101)), Ok(()));
        assert_eq!(end(DIGITS, panic, 101), Err(panic.to_owned()));
        assert_eq!(end("corrupt", "fault: there", 1), Err("fault: there".to_owned()));
        assert!(end(DIGITS, "score: 64", 1).unwrap_err().contains("exit code 0 expected"));
        assert!(end("panics", "nothing", 101).is_err() && end("faults", "fault: there", 101).is_err());
    }
}
