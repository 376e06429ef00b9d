//! What the core costs on a microcontroller: stack, flash, instructions, sizes of its states.

use super::firmware::{Board, CORTEX_M3, Firmware, RISC_V};
use super::headers::Header;
use crate::elf::Elf;
use crate::report::{Outcome, Tally};
use crate::toolchain::Toolchain;
use crate::workspace;

/// The largest sizes allowed, for every board. The readme promises the flash and the stacks.
const MOST_FLASH: u64 = 10240;
const MOST_BYTES: [(&str, u64); 5] =
    [("parser", 160), ("check", 320), ("duplicates", 320), ("entries", 320), ("slot", 24)];

/// One door of the core, by the number that `firmware/linkcheck` gives it, and the most stack that it
/// may take, its own state included: what was measured, and a little more for other compilers.
struct Door {
    name: &'static str,
    number: u32,
    most_stack: u64,
}

const PARSER: Door = Door { name: "HeaderParser", number: 3, most_stack: 384 };
const CHECK: Door = Door { name: "HeaderCheck", number: 1, most_stack: 768 };
const DUPLICATES: Door = Door { name: "DuplicateCheck", number: 2, most_stack: 832 };
const ENTRIES: Door = Door { name: "Entries", number: 4, most_stack: 704 };

struct Case {
    door: Door,
    header: Header,
    slots: u32,
}

const fn case(door: Door, tensors: u32, reversed: bool, slots: u32) -> Case {
    Case { door, header: Header { tensors, reversed }, slots }
}

const CASES: [Case; 10] = [
    case(PARSER, 10, false, 0),
    case(PARSER, 1000, false, 0),
    case(CHECK, 10, false, 0),
    case(CHECK, 1000, false, 0),
    case(CHECK, 10, true, 16),
    case(CHECK, 1000, true, 64),
    case(DUPLICATES, 10, false, 64),
    case(DUPLICATES, 1000, false, 64),
    case(ENTRIES, 10, false, 0),
    case(ENTRIES, 1000, false, 0),
];

pub fn measure() -> Outcome {
    let mut tally = Tally::default();
    tally.check("the readme promises these limits", check_readme());
    for board in [&CORTEX_M3, &RISC_V] {
        board.need_emulator()?;
        let firmware = Firmware { toolchain: Toolchain::for_target(board.triple)?, level: "s" };
        firmware.build()?;
        tally.measured(board.name, measure_flash(firmware));
        tally.measured(board.name, measure_sizes(board, firmware));
        for case in &CASES {
            tally.measured(board.name, measure_case(board, firmware, case));
        }
    }
    Ok(tally)
}

impl Tally {
    /// Counts a measurement that stayed within its limits, and keeps its sentence for the summary.
    fn measured(&mut self, board: &str, outcome: Result<String, String>) {
        match outcome {
            Ok(sentence) => {
                self.check(&format!("{board}: {sentence}"), Ok(()));
                self.notes.push(format!("{board}: {sentence}"));
            }
            Err(sentence) => self.check(board, Err(sentence)),
        }
    }
}

/// The readme says exactly what is measured here, so that no figure there outlives a change here.
fn check_readme() -> Result<(), String> {
    let page = workspace::read(&workspace::root().join("README.md"))?;
    let page = String::from_utf8_lossy(&page).split_whitespace().collect::<Vec<_>>().join(" ");
    let rows = [PARSER, CHECK, DUPLICATES, ENTRIES]
        .map(|door| format!("| `{}` | at most {} |", door.name, in_bytes(door.most_stack)));
    let flash = format!("at most {} of flash", in_bytes(MOST_FLASH));
    match rows.iter().chain([&flash]).find(|promise| !page.contains(promise.as_str())) {
        None => Ok(()),
        Some(promise) => Err(format!("README.md does not say \"{promise}\"")),
    }
}

/// The number with a comma between thousands and hundreds, as people read it.
fn in_bytes(number: u64) -> String {
    match (number / 1000, number % 1000) {
        (0, rest) => format!("{rest} B"),
        (thousands, rest) => format!("{thousands},{rest:03} B"),
    }
}

/// What firmware that judges a file has more in flash than firmware that does nothing.
fn measure_flash(firmware: Firmware) -> Result<String, String> {
    let flash =
        |name| Elf::open(&firmware.program(name)).map(|elf| elf.size_of(&[".text", ".rodata", ".data"]));
    let bytes = flash("validate")?.saturating_sub(flash("empty")?);
    at_most("flash", bytes as u64, MOST_FLASH)?;
    Ok(format!("HeaderCheck: {bytes} bytes of flash at opt-level {}", firmware.level))
}

/// The states of the doors, where a pointer has 32 bits.
fn measure_sizes(board: &Board, firmware: Firmware) -> Result<String, String> {
    let figures = run(board, firmware, &CASES[0])?;
    for (name, most) in MOST_BYTES {
        at_most(name, figures.get(name)?, most)?;
    }
    let size = |(name, _): &(&str, u64)| Ok(format!("{name} {}", figures.get(name)?));
    let sizes: Result<Vec<String>, String> = MOST_BYTES.iter().map(size).collect();
    Ok(format!("sizes in bytes: {}", sizes?.join(", ")))
}

fn measure_case(board: &Board, firmware: Firmware, case: &Case) -> Result<String, String> {
    let figures = run(board, firmware, case)?;
    case.check_count(figures.get("counted")?)?;
    let stack = figures.get("stack")?;
    at_most("stack", stack, case.door.most_stack)?;
    Ok(case.sentence(stack, board.instructions(figures.get("ticks")?)))
}

fn run(board: &Board, firmware: Firmware, case: &Case) -> Result<Figures, String> {
    board.run(firmware.program("cost"), &case.request()).map(Figures)
}

/// What the firmware printed: `name=value` on lines of their own.
struct Figures(String);

impl Figures {
    fn get(&self, wanted: &str) -> Result<u64, String> {
        let mut pairs = self.0.lines().filter_map(|line| line.split_once('='));
        let value = pairs.find(|(name, _)| *name == wanted).and_then(|(_, value)| value.trim().parse().ok());
        value.ok_or_else(|| format!("no {wanted} in what the firmware printed:\n{}", self.0))
    }
}

fn at_most(name: &str, value: u64, most: u64) -> Result<(), String> {
    if value <= most { Ok(()) } else { Err(format!("{name} takes {value} bytes, more than {most}")) }
}

impl Case {
    /// Four words that `firmware/linkcheck` reads, and the header.
    fn request(&self) -> Vec<u8> {
        let header = self.header.bytes();
        let file_len = header.len() as u64 + self.header.data_len();
        let words = [self.door.number.into(), self.slots.into(), header.len() as u64, file_len];
        // Our own small numbers: the upper half of each is zero.
        let words = words.into_iter().flat_map(|word: u64| word.to_le_bytes().into_iter().take(4));
        words.chain(header).collect()
    }

    /// The duplicate check gives a yes; the other doors count the tensors.
    fn check_count(&self, counted: u64) -> Result<(), String> {
        let due = if self.door.number == DUPLICATES.number { 1 } else { self.header.tensors.into() };
        if counted == due { Ok(()) } else { Err(format!("{} counted {counted}, not {due}", self.door.name)) }
    }

    fn sentence(&self, stack: u64, instructions: u64) -> String {
        let order = if self.header.reversed { "in reversed order" } else { "in order" };
        let (door, tensors, slots) = (self.door.name, self.header.tensors, self.slots);
        let each = instructions as f64 / self.header.bytes().len() as f64;
        format!(
            "{door}, {tensors} tensors {order}, {slots} slots: {stack} bytes of stack, {each:.1} instructions per byte"
        )
    }
}
