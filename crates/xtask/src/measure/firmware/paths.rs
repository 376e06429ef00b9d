//! What the doors to a header cost.

use super::figures::{Request, at_most, in_bytes};
use super::headers::Header;
use super::{Machine, stack_row};
use crate::report::Tally;
use crate::stages::firmware::Figures;

/// The largest sizes allowed, for every board. The readme promises the flash and the stacks.
const MOST_FLASH: u64 = 11520;
const MOST_VIEW_FLASH: u64 = 14848;
const MOST_BYTES: [(&str, u64); 5] =
    [("parser", 128), ("check", 248), ("duplicates", 328), ("entries", 232), ("slot", 24)];

/// One door of the core, by the number that `firmware/linkcheck` gives it, and the most stack that it
/// may take, its own state included: what was measured, and a little more for other compilers.
struct Door {
    name: &'static str,
    number: u32,
    most_stack: u64,
}

const PARSER: Door = Door { name: "HeaderParser", number: 3, most_stack: 400 };
const CHECK: Door = Door { name: "HeaderCheck", number: 1, most_stack: 576 };
const DUPLICATES: Door = Door { name: "DuplicateCheck", number: 2, most_stack: 640 };
const ENTRIES: Door = Door { name: "Entries", number: 4, most_stack: 576 };

/// With the whole file in memory.
const VIEW: Door = Door { name: "View", number: 11, most_stack: 832 };

const DOORS: [Door; 5] = [PARSER, CHECK, DUPLICATES, ENTRIES, VIEW];

impl Door {
    /// What it counts: the duplicate check gives a yes, the others count the tensors.
    fn due(&self, tensors: u32) -> u64 {
        if self.number == DUPLICATES.number { 1 } else { tensors.into() }
    }
}

struct Case {
    door: Door,
    header: Header,
    slots: u32,
}

const fn case(door: Door, tensors: u32, reversed: bool, slots: u32) -> Case {
    Case { door, header: Header { tensors, reversed, ..Header::SMALL }, slots }
}

const CASES: [Case; 12] = [
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
    case(VIEW, 10, false, 0),
    case(VIEW, 1000, false, 0),
];

pub fn measure(machine: &Machine, tally: &mut Tally) {
    tally.measured(machine.board.name, measure_flash(machine));
    tally.measured(machine.board.name, measure_view_flash(machine));
    tally.measured(machine.board.name, measure_sizes(machine));
    for case in &CASES {
        tally.measured(machine.board.name, measure_case(machine, case));
    }
}

/// Each door, its number, and what it counts in a header of so many tensors.
pub fn all(tensors: u32) -> [(&'static str, u32, u64); 5] {
    DOORS.map(|door| (door.name, door.number, door.due(tensors)))
}

/// What the readme says of these doors.
pub fn promises() -> Vec<String> {
    let rows = DOORS.map(|door| stack_row(&format!("`{}`", door.name), door.most_stack));
    rows.into_iter()
        .chain([
            format!("at most {} of flash", in_bytes(MOST_FLASH)),
            format!(
                "at most {} if it proves a model at run time and looks a tensor up, with `View`",
                in_bytes(MOST_VIEW_FLASH)
            ),
        ])
        .collect()
}

/// What firmware that judges a file has more in flash than firmware that does nothing.
fn measure_flash(machine: &Machine) -> Result<String, String> {
    let bytes = machine.flash("validate")?;
    at_most("flash", bytes, MOST_FLASH)?;
    Ok(format!("HeaderCheck: {bytes} bytes of flash at opt-level {}", machine.firmware.level))
}

/// The same of firmware that proves a model in memory and looks a tensor up in it.
fn measure_view_flash(machine: &Machine) -> Result<String, String> {
    let bytes = machine.flash("view")?;
    at_most("flash", bytes, MOST_VIEW_FLASH)?;
    Ok(format!("View: {bytes} bytes of flash at opt-level {}", machine.firmware.level))
}

/// The states of the doors, where a pointer has 32 bits.
fn measure_sizes(machine: &Machine) -> Result<String, String> {
    let figures = machine.run(CASES[0].request())?;
    for (name, most) in MOST_BYTES {
        at_most(name, figures.get(name)?, most)?;
    }
    let size = |(name, _): &(&str, u64)| Ok(format!("{name} {}", figures.get(name)?));
    let sizes: Result<Vec<String>, String> = MOST_BYTES.iter().map(size).collect();
    Ok(format!("sizes in bytes: {}", sizes?.join(", ")))
}

fn measure_case(machine: &Machine, case: &Case) -> Result<String, String> {
    let figures = machine.run(case.request())?;
    case.check_count(figures.get("counted")?)?;
    at_most("stack", figures.get("stack")?, case.door.most_stack)?;
    case.sentence(machine, &figures)
}

impl Case {
    fn request(&self) -> Request {
        let mut file = self.header.bytes();
        let file_len = file.len() as u64 + self.header.data_len();
        if self.door.number == VIEW.number {
            file.extend((0..self.header.data_len()).map(|_| 0));
        }
        Request { door: self.door.number, slots: self.slots, file, file_len }
    }

    fn check_count(&self, counted: u64) -> Result<(), String> {
        let due = self.door.due(self.header.tensors);
        if counted == due { Ok(()) } else { Err(format!("{} counted {counted}, not {due}", self.door.name)) }
    }

    fn sentence(&self, machine: &Machine, figures: &Figures) -> Result<String, String> {
        let order = if self.header.reversed { "in reversed order" } else { "in order" };
        let (door, tensors, slots) = (self.door.name, self.header.tensors, self.slots);
        let stack = figures.get("stack")?;
        let instructions = machine.board.instructions(figures.get("ticks")?);
        let each = instructions as f64 / self.header.bytes().len() as f64;
        Ok(format!(
            "{door}, {tensors} tensors {order}, {slots} slots: {stack} bytes of stack, {each:.1} instructions per byte"
        ))
    }
}
