//! From a machine with nothing on it to digits recognised by a board, for a person to watch.

mod draw;
mod said;

use crate::boards::{BOARDS, Board, Case, DIGITS, Image, Machine, images};
use draw::{Reading, Style, bar};
use said::Said;
use std::io::{IsTerminal, Write, stdout};
use std::time::{Duration, Instant};

/// How many images stand beside one another.
const IN_A_ROW: usize = 8;

/// What each board shows, and whether it runs here.
pub fn list() {
    for board in BOARDS {
        let (flash, ram) = (board.flash / 1024, board.ram / 1024);
        println!("{}: {}, {flash} KiB of flash, {ram} KiB of RAM", board.name, board.cpu);
        println!("    shows: {}", board.shows);
        println!("    runs:  {}\n", whereabouts(board));
    }
}

fn whereabouts(board: &Board) -> String {
    match board.machine {
        Machine::Qemu { program, machine, .. } => format!("here, in {program} -M {machine}"),
        Machine::Rp2040js { .. } => "here, in rp2040js".to_owned(),
        Machine::Unicorn { .. } => "here, in Unicorn".to_owned(),
        Machine::Hardware => "only on the real board; it is built here".to_owned(),
    }
}

/// Builds, runs and shows a board.
pub fn show(board: &Board) -> Result<(), String> {
    let (flash, ram) = (grouped(board.flash.into()), grouped(board.ram.into()));
    println!("{}: {}, {flash} bytes of flash, {ram} bytes of RAM", board.name, board.cpu);
    println!("{}\n", board.shows);
    board.prepare()?;
    println!("building it; the first time this takes a minute or more ...");
    board.build_aloud()?;
    let Some(case) = board.case(DIGITS) else { return Err(format!("{} reads no digits", board.name)) };
    if board.needs_hardware() {
        return only_built(board);
    }
    watch(board, case)
}

/// What is left to do for the board that is not here.
fn only_built(board: &Board) -> Result<(), String> {
    let flash = board.flash_of(DIGITS)? as u64;
    println!("It is built, and takes {} of {} bytes of flash.", grouped(flash), grouped(board.flash.into()));
    println!(
        "It does not run here: it needs the real board, at the end of a cable. Then, in {}:",
        board.package.folder
    );
    println!();
    board.hardware.iter().for_each(|line| println!("    {line}"));
    Ok(())
}

fn watch(board: &Board, case: &Case) -> Result<(), String> {
    println!("running it {} ...\n", whereabouts(board));
    let (images, start) = (images()?, Instant::now());
    let mut show = Show { images, style: style(), row: Vec::new(), heard: Vec::new() };
    let ended = board.run(case, |line| show.hear(line))?;
    show.end_row();
    if ended.exit_code != Some(0) {
        return Err(format!("the board did not finish: {}", ended.how()));
    }
    show.sum_up(board, board.flash_of(case.program)? as u64, start.elapsed());
    Ok(())
}

fn style() -> Style {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    if wanted && !dumb && stdout().is_terminal() { Style::Colours } else { Style::Plain }
}

/// What has been heard of a board.
struct Show {
    images: Vec<Image>,
    style: Style,
    row: Vec<Reading>,
    heard: Vec<Said>,
}

impl Show {
    fn hear(&mut self, line: &str) {
        let said = Said::of(line);
        match &said {
            Said::Model { name, bytes, tensors, times_ram } => {
                let bytes = grouped(*bytes);
                println!("  {name}: {bytes} bytes, {tensors} tensors, {times_ram} times the RAM\n");
            }
            Said::Digit { number, label, guess } => self.read(*number, *label, *guess),
            Said::Other(line) => {
                self.end_row();
                println!("  {line}");
            }
            _ => {}
        }
        self.heard.push(said);
    }

    fn read(&mut self, number: u64, label: u64, guess: u64) {
        let image = usize::try_from(number).ok().and_then(|number| self.images.get(number));
        self.row.extend(image.map(|image| Reading { image: *image, guess, label }));
        if self.row.len() == IN_A_ROW {
            self.end_row();
        }
    }

    fn end_row(&mut self) {
        if !self.row.is_empty() {
            println!("{}", draw::row(&self.row, self.style));
            self.row.clear();
        }
        // Somebody is watching.
        let _ = stdout().flush();
    }

    fn sum_up(&self, board: &Board, flash: u64, time: Duration) {
        self.heard.iter().for_each(|said| sum_up(said, board));
        figure("flash", flash, board.flash.into(), &of(flash, board.flash));
        remark("time", &format!("{:.1} s, at the speed of the emulator", time.as_secs_f32()));
    }
}

/// A line of the summary, or none.
fn sum_up(said: &Said, board: &Board) {
    match said {
        Said::Model { bytes, times_ram, .. } => {
            remark("model", &format!("{} bytes, {times_ram} times the RAM", grouped(*bytes)));
        }
        Said::Score { right, of } => {
            figure("accuracy", *right, *of, &format!("{right} of {of} digits read right"));
        }
        Said::Storage { bytes, reads } => {
            let (bytes, reads) = (grouped(*bytes), grouped(*reads));
            remark("reads", &format!("{reads} of the storage, {bytes} bytes in all"));
        }
        Said::Recorded { bytes } => {
            remark("recorded", &format!("{} bytes, what came out of each layer", grouped(*bytes)));
        }
        Said::Ram { used, statics, stack } => {
            let (statics, stack) = (grouped(*statics), grouped(*stack));
            let what = format!("{}, {statics} static and {stack} of stack", of(*used, board.ram));
            figure("RAM", *used, board.ram.into(), &what);
        }
        Said::Board | Said::Digit { .. } | Said::Other(_) => {}
    }
}

fn of(used: u64, there_is: u32) -> String {
    format!("{} of {} bytes", grouped(used), grouped(there_is.into()))
}

fn figure(name: &str, part: u64, whole: u64, what: &str) {
    println!("  {name:10}{}  {what}", bar(part, whole));
}

fn remark(name: &str, what: &str) {
    println!("  {name:10}{:1$}  {what}", "", draw::BAR);
}

/// `45,035,520`
fn grouped(number: u64) -> String {
    match (number / 1000, number % 1000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{},{rest:03}", grouped(thousands)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 45_035_520].map(grouped), ["0", "999", "1,000", "45,035,520"]);
    }
}
