//! All boards, against what they must say.

use super::{BOARDS, Board, Case, Ended, FAULT, PANIC, desktop, golden};
use crate::report::{Outcome, Tally};
use crate::workspace;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

/// How many boards are built and run at once. Linking takes one processor.
const AT_ONCE: usize = 2;

/// All boards, and the tests of what they run.
pub fn all() -> Outcome {
    let mut tally = Tally::default();
    tally.check("firmware/app: its tests", desktop::tests());
    tally.add(some(&BOARDS.iter().collect::<Vec<_>>(), false)?);
    Ok(tally)
}

/// Builds and runs these boards; with `bless`, what they say is what they must say from now on.
pub fn some(boards: &[&'static Board], bless: bool) -> Outcome {
    let mut tally = Tally::default();
    let mut ready = VecDeque::new();
    for board in boards {
        match board.prepare() {
            Ok(()) => ready.push_back(*board),
            Err(sentence) => tally.check(board.name, Err(sentence)),
        }
    }
    let queue = Mutex::new(ready);
    // Nobody panics with the lock in hand.
    let next = || queue.lock().ok().and_then(|mut boards| boards.pop_front());
    let work = || std::iter::from_fn(next).map(|board| judge(board, bless)).collect::<Vec<_>>();
    let tallies = thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
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
    case.musts.iter().try_for_each(|must| must.judge(board, case, &ended))
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
