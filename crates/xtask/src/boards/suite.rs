//! All boards, against what they must say.

use super::{BOARDS, Board, Case, DIGITS, Ended, FAULT, PANIC, desktop, golden, readme};
use crate::report::{Outcome, Tally};
use crate::workspace;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

/// One board of each architecture reads digits.
pub fn quick() -> Outcome {
    const NAMES: [&str; 2] = ["lm3s6965", "riscv-virt"];
    let boards = NAMES.into_iter().map(super::find).collect::<Result<Vec<_>, _>>()?;
    boards.iter().try_for_each(|board| board.prepare())?;
    let outcomes = thread::scope(|scope| {
        let threads: Vec<_> = boards.iter().map(|board| scope.spawn(|| reads_digits(board))).collect();
        let panicked = |_| Err("its run panicked".to_owned());
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect::<Vec<_>>()
    });
    let mut tally = Tally::default();
    for (board, outcome) in boards.iter().zip(outcomes) {
        tally.check(&format!("{} {DIGITS}", board.name), outcome);
    }
    Ok(tally)
}

fn reads_digits(board: &'static Board) -> Result<(), String> {
    board.build_digits()?;
    let case = board.case(DIGITS).ok_or("it has no such case")?;
    judge_case(board, case, false)
}

/// All boards, and the tests of what they run.
pub fn all() -> Outcome {
    let mut tally = Tally::default();
    tally.check("firmware/README.md shows what boards say", readme::check());
    let (tests, boards) = thread::scope(|scope| {
        let tests = scope.spawn(desktop::tests);
        let boards = some(&BOARDS.iter().collect::<Vec<_>>(), false);
        (tests.join().unwrap_or_else(|_| Err("they panicked".to_owned())), boards)
    });
    tally.check("firmware/app: its tests", tests);
    tally.add(boards?);
    Ok(tally)
}

/// Builds and runs these boards; with `bless`, what they say is what they must say from now on.
pub fn some(boards: &[&'static Board], bless: bool) -> Outcome {
    let mut tally = Tally::default();
    // Those without a machine to run on come last in the table, and take longest to build.
    let mut ready = Vec::new();
    for board in boards {
        match board.prepare() {
            Ok(()) => ready.push(*board),
            Err(sentence) => tally.check(board.name, Err(sentence)),
        }
    }
    let queue = Mutex::new(ready);
    // Nobody panics with the lock in hand.
    let next = || queue.lock().ok().and_then(|mut boards| boards.pop());
    let work = || std::iter::from_fn(next).map(|board| judge(board, bless)).collect::<Vec<_>>();
    let tallies = thread::scope(|scope| {
        // Linking takes one processor; a machine that runs takes one, too.
        let at_once = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>()
    });
    for outcome in tallies {
        outcome
            .map_err(|_| "a board's run panicked".to_owned())?
            .into_iter()
            .for_each(|found| tally.add(found));
    }
    Ok(tally)
}

/// A board that does not build does not run, and does not hinder others.
fn judge(board: &'static Board, bless: bool) -> Tally {
    let mut tally = Tally::default();
    if let Err(sentence) = check_golden_files(board) {
        tally.check(board.name, Err(sentence));
    }
    for features in board.package.features {
        let start = Instant::now();
        let built = board.build(features);
        let failed = built.is_err();
        tally.check(format!("{} builds {features}", board.name).trim_end(), built);
        if failed {
            continue;
        }
        note_flash(board, features, start, &mut tally);
        if board.needs_hardware() {
            continue;
        }
        for case in board.cases.iter().filter(|case| case.features == *features) {
            tally.check(&format!("{} {}", board.name, case.name), judge_case(board, case, bless));
        }
    }
    tally
}

fn judge_case(board: &Board, case: &Case, bless: bool) -> Result<(), String> {
    let ended = board.run(case, |_| ())?;
    let path = golden_path(board, case);
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    check_end(case, &ended)?;
    check_board(board, &ended)?;
    if bless {
        workspace::write(&path, golden::bless(&committed, &ended.text()).as_bytes())?;
    } else if !path.exists() {
        return Err(format!(
            "nobody has said what it must say: `cargo xtask firmware {} --bless`",
            board.name
        ));
    } else {
        golden::compare(&committed, &ended.text())?;
    }
    case.musts.iter().try_for_each(|must| must.judge(board, case, &ended))?;
    // What is there to be looked at when something is wrong takes much place.
    let _ = std::fs::remove_file(board.image(case));
    Ok(())
}

/// A board that dies has a line of its own to say so; in a case that is not about dying, that line tells the most.
fn check_end(case: &Case, ended: &Ended) -> Result<(), String> {
    let is_death = |line: &&String| line.starts_with("panic: ") || line.starts_with("fault: ");
    let deadly = matches!(case.exit_code, FAULT | PANIC);
    match ended.lines.iter().find(is_death) {
        Some(line) if !deadly => Err(line.clone()),
        None if deadly => Err("it does not say how it died".to_owned()),
        _ if ended.exit_code == Some(case.exit_code) => Ok(()),
        _ => {
            let said = ended.text();
            Err(format!("it must end with exit code {}, but says:\n{said}", case.exit_code))
        }
    }
}

/// Every committed file belongs to a case.
fn check_golden_files(board: &Board) -> Result<(), String> {
    let Ok(files) = board.folder().join("golden").read_dir() else { return Ok(()) };
    for file in files {
        let path = file.map_err(|error| error.to_string())?.path();
        if !board.cases.iter().any(|case| golden_path(board, case) == path) {
            return Err(format!("{} is of no case", path.display()));
        }
    }
    Ok(())
}

/// A program that says what its board is says what the table has of it.
fn check_board(board: &Board, ended: &Ended) -> Result<(), String> {
    let Some(line) = ended.lines.iter().find(|line| line.starts_with("board: ")) else { return Ok(()) };
    let Board { cpu, flash, ram, .. } = board;
    let due = format!(", {cpu}, {flash} bytes of flash, {ram} bytes of RAM");
    if line.ends_with(&due) { Ok(()) } else { Err(format!("the board is not the one of the table: {line}")) }
}

fn golden_path(board: &Board, case: &Case) -> PathBuf {
    board.folder().join("golden").join(case.name).with_extension("txt")
}

/// Keeps for the summary what each program takes of the flash.
fn note_flash(board: &Board, features: &str, start: Instant, tally: &mut Tally) {
    let mut programs: Vec<_> =
        board.cases.iter().filter(|case| case.features == features).map(|case| case.program).collect();
    programs.sort_unstable();
    programs.dedup();
    let sizes = programs.iter().map(|program| Ok(format!("{program} {}", board.flash_of(program)?)));
    let sizes: Result<Vec<String>, String> = sizes.collect();
    let seconds = start.elapsed().as_secs();
    tally.measured(
        board.name,
        sizes.map(|sizes| format!("bytes of flash: {}; built in {seconds} s", sizes.join(", "))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::find;

    fn end(case: &str, lines: &[&str], exit_code: i32) -> Result<(), String> {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        let case = find("riscv-virt").unwrap().case(case).unwrap();
        check_end(case, &Ended { lines, exit_code: Some(exit_code) })
    }

    #[test]
    fn a_death_is_told_where_none_is_due() {
        assert_eq!(end(DIGITS, &["score: 64"], 0), Ok(()));
        let panic = "panic: why at src/main.rs:1";
        assert_eq!(end(DIGITS, &["score: 64", panic], PANIC), Err(panic.to_owned()));
        assert_eq!(end("corrupt", &["fault: there"], 1), Err("fault: there".to_owned()));
        assert!(end(DIGITS, &["score: 64"], 1).unwrap_err().contains("exit code 0, but says"));
        assert_eq!(end("panics", &[panic], PANIC), Ok(()));
        assert!(end("panics", &["nothing"], PANIC).is_err());
        assert!(end("faults", &["fault: there"], PANIC).is_err());
    }

    #[test]
    fn a_board_is_the_one_of_the_table() {
        let board = find("microbit").unwrap();
        let says = |line: &str| check_board(board, &Ended { lines: vec![line.to_owned()], exit_code: None });
        assert_eq!(says("board: micro:bit, Cortex-M0, 262144 bytes of flash, 16384 bytes of RAM"), Ok(()));
        assert!(says("board: micro:bit, Cortex-M0, 262144 bytes of flash, 16385 bytes of RAM").is_err());
    }
}
