//! From a machine with nothing on it to digits recognised by a board, for a person to watch.

use crate::boards::{Board, DIGITS, boards};
use crate::{model, workspace};
use std::io::{IsTerminal, Write, stdout};
use std::time::Instant;

/// What each board shows, and whether it runs here.
pub fn list() -> Result<(), String> {
    for board in boards()? {
        println!("{}\n    shows: {}\n    runs:  {}\n", board.about(), board.shows, board.whereabouts());
    }
    Ok(())
}

/// Builds, runs and shows a board.
pub fn show(board: &'static Board) -> Result<(), String> {
    println!("{}\n{}\n", board.about(), board.shows);
    board.prepare()?;
    println!("building it; the first time this takes a minute or more ...");
    board.build("", &[])?.check()?;
    let flash = board.flash_of(DIGITS)?;
    if board.needs_hardware() {
        println!(
            "It is built, and takes {}.",
            grouped(&format!("{flash} of {} bytes of flash", board.flash))
        );
        println!(
            "It does not run here: it needs the real board, at the end of a cable. Then, in firmware/{}:\n",
            board.name
        );
        board.hardware.iter().for_each(|line| println!("    {line}"));
        return Ok(());
    }
    println!("running it {} ...\n", board.whereabouts());
    let start = Instant::now();
    let mut show = Show { images: images()?, style: style(), row: Vec::new(), summary: Vec::new() };
    let ended = board.run(DIGITS, |line| show.hear(line))?;
    show.end_row();
    if ended.exit_code != Some(0) {
        return Err(format!("the board did not finish: {}", ended.how()));
    }
    show.summary.push(("flash".to_owned(), format!("{flash} of {} bytes", board.flash)));
    let seconds = start.elapsed().as_secs_f32();
    show.summary.push(("time".to_owned(), format!("{seconds:.1} s, at the speed of the emulator")));
    show.summary.iter().for_each(|(name, what)| println!("  {name:10}{}  {}", bar(what), grouped(what)));
    Ok(())
}

/// An image of a handwritten digit: eight rows of eight pixels, each of 0 to 16.
type Image = [u8; 64];

/// The images that the boards read.
fn images() -> Result<Vec<Image>, String> {
    let file = workspace::read(&workspace::root().join("firmware/app/models/digits-test.safetensors"))?;
    let bytes = model::range(&file, "images").and_then(|range| file.get(range));
    let (images, _) = bytes.ok_or("the file with the images has no images")?.as_chunks();
    Ok(images.to_vec())
}

/// How to draw: for people at a terminal that has colours, or for a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Colours,
    Plain,
}

fn style() -> Style {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    if wanted && !dumb && stdout().is_terminal() { Style::Colours } else { Style::Plain }
}

/// An image, what it was read as and what it is.
struct Reading {
    image: Image,
    guess: u64,
    label: u64,
}

/// What has been heard of a board.
struct Show {
    images: Vec<Image>,
    style: Style,
    row: Vec<Reading>,
    /// What its lines have told of the whole run, by their first words.
    summary: Vec<(String, String)>,
}

impl Show {
    fn hear(&mut self, line: &str) {
        match line.split_once(": ") {
            Some(("board", _)) => {}
            Some(("model", what)) => println!("  {}\n", grouped(what)),
            Some((name @ ("score" | "storage" | "recorded" | "RAM"), what)) => {
                self.summary.push((name.to_owned(), what.to_owned()));
            }
            _ if self.read(line).is_some() => {}
            _ => {
                self.end_row();
                println!("  {line}");
            }
        }
    }

    /// `digit 12: a 6, read as 8, logits …`
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
            println!("{}", draw(&self.row, self.style));
            self.row.clear();
        }
        // Somebody is watching.
        let _ = stdout().flush();
    }
}

const SIDE: usize = 8;
const GAP: &str = "  ";
const RESET: &str = "\x1b[0m";
const RED: &str = "\x1b[1;31m";
const GREEN: &str = "\x1b[32m";

/// Four lines of images, a character for two pixels one above the other, and a line below with what they were read as.
fn draw(readings: &[Reading], style: Style) -> String {
    let line = |parts: Vec<String>| format!("{GAP}{}\n", parts.join(GAP).trim_end());
    let rows = |at| readings.iter().map(|reading| pixels(&reading.image[at..at + 2 * SIDE], style)).collect();
    let captions = readings.iter().map(|reading| caption(reading, style)).collect();
    let images: String = (0..4 * 2 * SIDE).step_by(2 * SIDE).map(|at| line(rows(at))).collect();
    images + &line(captions)
}

/// Two rows of pixels; where there are colours, the upper in the colour of the text, the lower in that of the ground.
fn pixels(rows: &[u8], style: Style) -> String {
    /// As much ink as counts where there are no shades.
    const MUCH: u8 = 7;
    // Of 24 greys, black for no ink.
    let grey = |pixel: u8| 232 + u16::from(pixel.min(16)) * 23 / 16;
    let (upper, lower) = rows.split_at(SIDE);
    let pairs = upper.iter().zip(lower).map(|(&upper, &lower)| match (style, upper >= MUCH, lower >= MUCH) {
        (Style::Colours, ..) => format!("\x1b[38;5;{};48;5;{}m▀", grey(upper), grey(lower)),
        (_, true, true) => "█".to_owned(),
        (_, true, false) => "▀".to_owned(),
        (_, false, true) => "▄".to_owned(),
        (_, false, false) => " ".to_owned(),
    });
    pairs.chain((style == Style::Colours).then(|| RESET.to_owned())).collect()
}

/// As wide as an image.
fn caption(Reading { guess, label, .. }: &Reading, style: Style) -> String {
    let (text, colour) = match guess == label {
        true => (format!("   {guess}"), GREEN),
        false => (format!("{guess}✗ is {label}"), RED),
    };
    match style {
        Style::Plain => format!("{text:SIDE$}"),
        Style::Colours => format!("{colour}{text:SIDE$}{RESET}"),
    }
}

/// As long as `12 of 60 …` is part of the whole, in eighths of characters, and never empty when there is something; room for
/// it where the text says nothing of that kind.
fn bar(text: &str) -> String {
    const LONGEST: usize = 24;
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let words: Vec<&str> = text.split(' ').collect();
    let length = match words[..] {
        [part, "of", whole, ..] => match (part.parse::<usize>(), whole.parse::<usize>()) {
            (Ok(part), Ok(whole)) => (part * 8 * LONGEST).div_ceil(whole.max(1)).min(8 * LONGEST),
            _ => 0,
        },
        _ => 0,
    };
    format!("{:LONGEST$}", "█".repeat(length / 8) + EIGHTHS[length % 8])
}

/// With commas in its numbers: `45,035,520`.
fn grouped(text: &str) -> String {
    let mut grouped = String::new();
    for (at, character) in text.char_indices() {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let is_inside = text[..at].ends_with(|c: char| c.is_ascii_digit());
        if is_inside && digits(&text[at..]) > 0 && digits(&text[at..]).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(character);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The left column black, the lowest row half black.
    fn image() -> Image {
        std::array::from_fn(|at| if at % SIDE == 0 { 16 } else { u8::from((56..60).contains(&at)) * 9 })
    }

    fn show() -> Show {
        Show { images: vec![image(); 64], style: Style::Plain, row: Vec::new(), summary: Vec::new() }
    }

    #[test]
    fn a_line_becomes_an_image_of_two_pixels_a_character() {
        let mut show = show();
        show.hear("digit 3: a 3, read as 3, logits c1a2b3c4 00000000");
        show.hear("digit 12: a 5, read as 8, logits c1a2b3c4 00000000");
        show.hear("score: 63 of 64 digits read right");
        let side = "█       ";
        let lines = [side, side, side, "█▄▄▄    "].map(|line| format!("  {line}  {}\n", line.trim_end()));
        assert_eq!(draw(&show.row, Style::Plain), lines.concat() + "     3      8✗ is 5\n");
        assert_eq!(show.summary, [("score".to_owned(), "63 of 64 digits read right".to_owned())]);
        assert_eq!([show.read("digit twelve: "), show.read("digit 64: a 3, read as 3, logits")], [None; 2]);
        let drawn = draw(&show.row, Style::Colours);
        assert!(drawn.contains(RED) && drawn.contains("\x1b[38;5;255;48;5;255m▀"), "{drawn}");
        assert!(drawn.lines().all(|line| line.ends_with(RESET)));
    }

    #[test]
    fn bars_and_numbers_are_read_at_a_glance() {
        assert_eq!(bar("10 of 10"), "█".repeat(24));
        assert_eq!(bar("1 of 2 bytes").trim_end(), "█".repeat(12));
        assert_eq!(bar("1 of 1000000").trim_end(), "▏");
        assert_eq!([bar("0 of 10"), bar("4 s")], [const { " " }; 2].map(|space| space.repeat(24)));
        let text = "999 and 1000 of 45035520 in 12, 10.7 times";
        assert_eq!(grouped(text), "999 and 1,000 of 45,035,520 in 12, 10.7 times");
    }
}
