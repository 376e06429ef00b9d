//! `cargo xtask demo`: builds and runs a board that recognises digits, and draws the digits in a terminal.

use crate::boards::{Board, boards};
use crate::{model, workspace};
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
        println!("{}\n    shows: {}\n    runs:  {}\n", board.about(), board.shows, board.machine);
    }
    Ok(())
}

/// Builds and runs a board, and draws what it reads.
pub fn show(board: &'static Board) -> Result<(), String> {
    println!("{}\n{}\n", board.about(), board.shows);
    board.prepare()?;
    println!("building (the first time takes a minute or more) ...");
    let _held = board.lock()?;
    board.build("")?.check()?;
    let (name, all) = (board.shown(), board.flash);
    let flash = board.flash_of(&board.case(name)?.program)?;
    if board.needs_hardware() {
        println!(
            "The program is built and takes {flash} of {all} bytes of flash. It cannot run on this computer:"
        );
        println!("connect the real board by a cable. Then run in firmware/{}:\n", board.name);
        board.hardware.iter().for_each(|line| println!("    {line}"));
        return Ok(());
    }
    println!("running in {} ...\n", board.machine);
    let start = Instant::now();
    let mut show = Show { images: images()?, row: Vec::new() };
    let ended = board.run(name, |line| show.show_line(line))?;
    show.end_row();
    if ended.exit_code != Some(0) {
        return Err("the board did not finish".to_owned());
    }
    println!("  flash: {flash} of {all} bytes");
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

/// An image, and a caption with what the board read.
type Reading = (Image, String);

/// Draws a board's output: digits as images, all other lines unchanged.
struct Show {
    images: Vec<Image>,
    row: Vec<Reading>,
}

impl Show {
    fn show_line(&mut self, line: &str) {
        const IN_A_ROW: usize = 8;
        match self.read(line) {
            Some(reading) => self.row.push(reading),
            None => {
                self.end_row();
                println!("  {line}");
            }
        }
        if self.row.len() == IN_A_ROW {
            self.end_row();
        }
    }

    /// Parses a line such as `digit 12: a 6, read as 8, logits …`.
    fn read(&self, line: &str) -> Option<Reading> {
        let words: Vec<&str> = line.strip_prefix("digit ")?.split([' ', ':', ',']).collect();
        let [number, "", "a", label, "", "read", "as", guess, ..] = words[..] else { return None };
        let image = *self.images.get(number.parse::<usize>().ok()?)?;
        let is_right = guess == label;
        Some((image, if is_right { format!("   {guess}    ") } else { format!("{guess}✗ is {label}") }))
    }

    /// Draws four lines of images, where a character is two pixels one above the other, and the captions.
    fn end_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        let pixel = |(upper, lower): (&u8, &u8)| match (*upper > 6, *lower > 6) {
            (true, true) => '█',
            (true, false) => '▀',
            (false, true) => '▄',
            (false, false) => ' ',
        };
        let line = |parts: Vec<String>| println!("  {}", parts.join("  ").trim_end());
        for at in (0..64).step_by(16).filter(|_| !row.is_empty()) {
            let pixels =
                |(image, _): &Reading| image[at..at + 8].iter().zip(&image[at + 8..]).map(pixel).collect();
            line(row.iter().map(pixels).collect());
        }
        if !row.is_empty() {
            line(row.into_iter().map(|(_, caption)| caption).collect());
            println!();
        }
    }
}
