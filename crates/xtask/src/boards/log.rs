//! Checks a board's program that logs with defmt what it prints: defmt sends numbers, and the program's ELF
//! file has their texts.

use super::{Board, Case};
use crate::elf::Elf;
use crate::toolchain::own_cargo;
use crate::workspace;

/// The feature and the program.
pub const FEATURE: &str = "log";
const PROGRAM: &str = "sentences";

/// Checks that the program logs the sentences that it prints, and that another one, built without the
/// feature, has nothing of defmt.
pub fn check(board: &'static Board, case: &Case) -> Result<(), String> {
    let other = Elf::open(&board.program(&case.program)?)?;
    other.lacks(&["defmt"])?;
    if other.size_of(&[".defmt"]) > 0 {
        return Err(format!("without the feature {FEATURE}, {} has texts of the log", case.program));
    }
    board.build(FEATURE)?.capture()?;
    let (program, image) = (board.program(PROGRAM)?, board.image(PROGRAM));
    let ended = board.command(case, &image)?.args([&program]).limit(60).output()?;
    workspace::write(&image, &ended.stdout)?;
    let target = workspace::target_dir().join("firmware/decoder");
    let decoder = own_cargo().dir(&workspace::root().join("firmware/decoder"));
    let decoder = decoder.env("CARGO_TARGET_DIR", &target).args(["run", "--locked", "--quiet", "--"]);
    let logged = decoder.args([&program, &image]).capture()?.stdout;
    let [printed, logged] = [&ended.stderr, &logged].map(|text| String::from_utf8_lossy(text).into_owned());
    match printed.lines().zip(logged.lines()).find(|(printed, logged)| printed != logged) {
        Some((printed, logged)) => {
            Err(format!("a sentence differs\n        printed: {printed}\n        logged:  {logged}"))
        }
        None if ended.status.success() && !logged.is_empty() && printed.len() == logged.len() => Ok(()),
        None => Err(format!("it ended with {}; it printed and logged:\n{printed}{logged}", ended.status)),
    }
}
