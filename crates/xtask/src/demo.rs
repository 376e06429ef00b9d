//! `cargo xtask demo`: builds and runs a board that recognises digits, and draws the digits in a terminal.

use crate::boards::{Board, boards};
use crate::{model, workspace};
use std::io::{IsTerminal, Write, stdout};
use std::time::Instant;

/// Where to go from here.
const NEXT: &str = "\
Next:
  firmware/minimal             a program to copy; `cargo run --release` runs it in QEMU
  docs/src/getting-started.md  four first programs: a card, NOR flash, the program itself, a UART
  cargo xtask demo --list      the other boards";

/// Lists what each board shows, and whether it runs on this computer.
pub fn list() -> Result<(), String> {
    for board in boards()? {
        println!("{}\n    shows: {}\n    runs:  {}\n", board.about(), board.shows, board.whereabouts());
    }
    Ok(())
}

/// Builds and runs a board, and draws what it reads.
pub fn show(board: &'static Board) -> Result<(), String> {
    println!("{}\n{}\n", board.about(), board.shows);
    board.prepare()?;
    println!("building (the first time takes a minute or more) ...");
    let _held = board.lock()?;
    board.build("", &[])?.check()?;
    let (name, case) = board.shown()?;
    let flash = board.flash_of(&case.program)?;
    if board.needs_hardware() {
        println!(
            "The program is built and takes {flash} of {} bytes of flash. It cannot run on this computer:",
            board.flash
        );
        println!("connect the real board by a cable. Then run in firmware/{}:\n", board.name);
        board.hardware.iter().for_each(|line| println!("    {line}"));
        return Ok(());
    }
    println!("running {} ...\n", board.whereabouts());
    let start = Instant::now();
    let mut show = Show { images: images()?, has_colours: has_colours(), row: Vec::new() };
    let ended = board.run(name, |line| show.show_line(line))?;
    show.end_row();
    if ended.exit_code != Some(0) {
        return Err(format!("the board did not finish: {}", ended.how()));
    }
    println!("  flash: {flash} of {} bytes", board.flash);
    println!("  time: {:.1} s, at the speed of the emulator", start.elapsed().as_secs_f32());
    println!("\nYou have seen: {}.\n\n{NEXT}", board.shows);
    Ok(())
}

/// An image of a handwritten digit: eight rows of eight pixels from 0 to 16.
type Image = [u8; 64];

/// Returns the images that the boards read.
fn images() -> Result<Vec<Image>, String> {
    let file = workspace::read(&workspace::root().join("firmware/app/models/digits-test.safetensors"))?;
    let bytes = model::range(&file, "images").and_then(|range| file.get(range));
    let (images, _) = bytes.ok_or("firmware/app/models/digits-test.safetensors has no images")?.as_chunks();
    Ok(images.to_vec())
}

/// An image, the digit that the board read, and the right digit.
struct Reading {
    image: Image,
    guess: u64,
    label: u64,
}

/// Draws a board's output: digits as images, all other lines unchanged.
struct Show {
    images: Vec<Image>,
    has_colours: bool,
    row: Vec<Reading>,
}

impl Show {
    fn show_line(&mut self, line: &str) {
        if self.read(line).is_none() {
            self.end_row();
            println!("  {line}");
        }
    }

    /// Parses a line such as `digit 12: a 6, read as 8, logits …`.
    fn read(&mut self, line: &str) -> Option<()> {
        const IN_A_ROW: usize = 8;
        let words: Vec<&str> = line.strip_prefix("digit ")?.split([' ', ':', ',']).collect();
        let [number, "", "a", label, "", "read", "as", guess, ..] = words[..] else { return None };
        let image = *self.images.get(number.parse::<usize>().ok()?)?;
        self.row.push(Reading { image, guess: guess.parse().ok()?, label: label.parse().ok()? });
        if self.row.len() == IN_A_ROW {
            self.end_row();
        }
        Some(())
    }

    fn end_row(&mut self) {
        if !self.row.is_empty() {
            println!("{}", draw(&self.row, self.has_colours));
            self.row.clear();
        }
        // Shows each row as soon as it is complete.
        let _ = stdout().flush();
    }
}

/// Draws four lines of images, where a character is two pixels one above the other, and a line with what
/// the board read.
fn draw(readings: &[Reading], has_colours: bool) -> String {
    let line = |parts: Vec<String>| format!("  {}\n", parts.join("  ").trim_end());
    let pixels = |rows: &[u8]| {
        let characters =
            rows[..8].iter().zip(&rows[8..]).map(|(upper, lower)| pixel(*upper, *lower, has_colours));
        characters.chain(has_colours.then(|| "\x1b[0m".to_owned())).collect()
    };
    let rows = |at| readings.iter().map(|reading| pixels(&reading.image[at..at + 16])).collect();
    let caption = |Reading { guess, label, .. }: &Reading| match guess == label {
        true => format!("   {guess}    "),
        false => format!("{guess}✗ is {label}"),
    };
    let images: String = (0..64).step_by(16).map(|at| line(rows(at))).collect();
    images + &line(readings.iter().map(caption).collect())
}

/// Draws two pixels: the upper in the foreground colour, the lower in the background colour. Without
/// colours, a pixel is set or not.
fn pixel(upper: u8, lower: u8, has_colours: bool) -> String {
    // One of 24 greys; no ink is black.
    let grey = |ink: u8| 232 + u16::from(ink.min(16)) * 23 / 16;
    match (upper > 6, lower > 6) {
        _ if has_colours => format!("\x1b[38;5;{};48;5;{}m▀", grey(upper), grey(lower)),
        (true, true) => "█".to_owned(),
        (true, false) => "▀".to_owned(),
        (false, true) => "▄".to_owned(),
        (false, false) => " ".to_owned(),
    }
}

/// Whether the output is a terminal that has colours.
fn has_colours() -> bool {
    let is_unset = |name, value| std::env::var_os(name).is_none_or(|found| found == value);
    is_unset("NO_COLOR", "")
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        && stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_becomes_an_image_and_a_caption() {
        // The left column black, the lowest row half black.
        let image =
            std::array::from_fn(|at| if at % 8 == 0 { 16 } else { u8::from((56..60).contains(&at)) * 9 });
        let mut show = Show { images: vec![image; 64], has_colours: false, row: Vec::new() };
        show.show_line("digit 3: a 3, read as 3, logits c1a2b3c4 00000000");
        show.show_line("digit 12: a 5, read as 8, logits c1a2b3c4 00000000");
        let side = "  █         █\n".repeat(3);
        assert_eq!(draw(&show.row, false), side + "  █▄▄▄      █▄▄▄\n     3      8✗ is 5\n");
        assert!(draw(&show.row, true).contains("\x1b[38;5;255;48;5;255m▀\x1b[38;5;232;48;5;244m▀"));
        assert_eq!([show.read("digit twelve: "), show.read("digit 64: a 3, read as 3, logits")], [None; 2]);
    }
}
