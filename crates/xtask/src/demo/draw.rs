//! Images of digits, beside one another, as text.

use crate::boards::Image;

/// An image, what it was read as and what it is.
pub struct Reading {
    pub image: Image,
    pub guess: u64,
    pub label: u64,
}

/// How to draw: for people at a terminal that has colours, or for a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Colours,
    Plain,
}

const SIDE: usize = 8;
/// As much ink as counts where there are no shades.
const MUCH: u8 = 7;
const GAP: &str = "  ";

/// Four lines of images, a character for two pixels one above the other, and a line below with what they were read as.
pub fn row(readings: &[Reading], style: Style) -> String {
    let mut text = String::new();
    for line in 0..SIDE / 2 {
        let drawn = readings.iter().map(|reading| pixels(&reading.image, line, style));
        text += &format!("{GAP}{}\n", drawn.collect::<Vec<_>>().join(GAP).trim_end());
    }
    let captions = readings.iter().map(|reading| caption(reading, style));
    text + GAP + captions.collect::<Vec<_>>().join(GAP).trim_end() + "\n"
}

fn pixels(image: &Image, line: usize, style: Style) -> String {
    let (upper, lower) = image.split_at((2 * line + 1) * SIDE);
    let pairs = upper.iter().skip(2 * line * SIDE).zip(lower);
    match style {
        Style::Plain => pairs.map(|(upper, lower)| block(*upper, *lower)).collect(),
        Style::Colours => {
            pairs.map(|(upper, lower)| shaded(*upper, *lower)).chain([RESET.to_owned()]).collect()
        }
    }
}

fn block(upper: u8, lower: u8) -> char {
    match (upper >= MUCH, lower >= MUCH) {
        (true, true) => '█',
        (true, false) => '▀',
        (false, true) => '▄',
        (false, false) => ' ',
    }
}

const RESET: &str = "\x1b[0m";
const RED: &str = "\x1b[1;31m";
const GREEN: &str = "\x1b[32m";

/// The upper half in the colour of the text, the lower in that of the ground.
fn shaded(upper: u8, lower: u8) -> String {
    format!("\x1b[38;5;{};48;5;{}m▀", grey(upper), grey(lower))
}

/// Of 24 greys, black for no ink.
fn grey(pixel: u8) -> u16 {
    232 + u16::from(pixel.min(16)) * 23 / 16
}

/// As wide as an image.
fn caption(reading: &Reading, style: Style) -> String {
    let Reading { guess, label, .. } = reading;
    let (text, colour) = match guess == label {
        true => (format!("   {guess}"), GREEN),
        false => (format!("{guess}✗ is {label}"), RED),
    };
    match style {
        Style::Plain => format!("{text:SIDE$}"),
        Style::Colours => format!("{colour}{text:SIDE$}{RESET}"),
    }
}

/// A bar as long as `part` is of `whole`, in eighths of characters; never empty when there is something.
pub fn bar(part: u64, whole: u64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let longest = 8 * BAR as u64;
    let length = (part * longest).div_ceil(whole.max(1)).min(longest);
    let full = usize::try_from(length / 8).unwrap_or(BAR);
    let rest = EIGHTHS.into_iter().cycle().nth(usize::try_from(length % 8).unwrap_or(0)).unwrap_or("");
    format!("{:BAR$}", "█".repeat(full) + rest)
}

/// How many characters a bar has.
pub const BAR: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    /// The left column black, the lowest row half black.
    fn image() -> Image {
        let mut image = [0; 64];
        image.iter_mut().step_by(SIDE).for_each(|pixel| *pixel = 16);
        image.iter_mut().skip(56).take(4).for_each(|pixel| *pixel = 9);
        image
    }

    #[test]
    fn two_pixels_are_a_character() {
        let readings = [(3, 3), (8, 5)].map(|(guess, label)| Reading { image: image(), guess, label });
        let drawn = row(&readings, Style::Plain);
        let side = "█       ";
        let lines = [side, side, side, "█▄▄▄    "].map(|line| format!("  {line}  {}\n", line.trim_end()));
        assert_eq!(drawn, lines.concat() + "     3      8✗ is 5\n");
    }

    #[test]
    fn ink_is_light_on_a_dark_ground() {
        assert_eq!(shaded(0, 16), "\x1b[38;5;232;48;5;255m▀");
        let reading = Reading { image: image(), guess: 1, label: 2 };
        let drawn = row(&[reading], Style::Colours);
        assert!(drawn.contains(RED) && !drawn.contains(GREEN));
        assert!(drawn.lines().all(|line| line.ends_with(RESET)));
    }

    #[test]
    fn bars_are_as_long_as_the_part() {
        assert_eq!(bar(0, 10), " ".repeat(BAR));
        assert_eq!(bar(10, 10), "█".repeat(BAR));
        assert_eq!(bar(11, 10), "█".repeat(BAR));
        assert_eq!(bar(1, 2).trim_end(), "█".repeat(BAR / 2));
        assert_eq!(bar(1, 1_000_000).trim_end(), "▏");
    }
}
