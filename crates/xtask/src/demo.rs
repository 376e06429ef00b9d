//! `cargo xtask demo`: builds and runs a board that recognises digits, and draws the digits in a terminal.

use crate::boards::{Board, boards};
use crate::{model, workspace};

/// Where to go from here.
const NEXT: &str = "\
Next:
  firmware/minimal             a program to copy; `cargo run --release` runs it in QEMU
  docs/src/getting-started.md  four first programs: a card, NOR flash, the program itself, a UART
  cargo xtask demo --list      the other boards
  cargo xtask demo minilm      a model of 90 MB on 64 KiB of RAM";

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
    board.build("")?.check()?;
    let (name, all) = (board.shown(), board.flash);
    println!("The program takes {} of {all} bytes of flash.", board.flash_of(&board.case(name)?.program)?);
    if board.needs_hardware() {
        println!("It cannot run on this computer: connect the real board by a cable.");
        println!("Then run in firmware/{}:\n\n    {}", board.name, board.hardware.join("\n    "));
        return Ok(());
    }
    println!("running in {} ...\n", board.machine);
    let file = workspace::read(&workspace::root().join("firmware/app/models/digits-test.safetensors"))?;
    let images = model::range(&file, "images").and_then(|range| file.get(range)).unwrap_or_default();
    let ended =
        board.run(name, |line| println!("{}", drawn(line, images).unwrap_or_else(|| line.to_owned())))?;
    if ended.exit_code != Some(0) {
        return Err("the board did not finish".to_owned());
    }
    println!("\nYou have seen: {}.\n\n{NEXT}", board.shows);
    Ok(())
}

/// Draws the image that a line such as `digit 12: a 6, read as 8, logits …` is about: eight rows of eight
/// pixels from 0 to 16, where a character is two pixels one above the other.
fn drawn(line: &str, images: &[u8]) -> Option<String> {
    let number: usize = line.strip_prefix("digit ")?.split_once(':')?.0.parse().ok()?;
    let image = images.get(64 * number..64 * number + 64)?;
    let pixel = |(upper, lower): (&u8, &u8)| {
        [[' ', '▄'], ['▀', '█']][usize::from(*upper > 6)][usize::from(*lower > 6)]
    };
    let row = |rows: &[u8]| rows[..8].iter().zip(&rows[8..]).map(pixel).collect::<String>();
    let rows: Vec<String> = image.chunks(16).map(row).collect();
    Some(format!("{}\n{}", rows.join("\n"), line.split_once(", logits").map_or(line, |(said, _)| said)))
}
