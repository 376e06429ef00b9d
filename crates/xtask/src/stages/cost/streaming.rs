//! What it costs to open a model, to find a network's tensors in it and to stream one of them, all
//! through one block of a card.

use super::figures::{Request, at_most, in_bytes};
use super::headers::Header;
use super::{Machine, stack_row, values};
use crate::report::Tally;
use crate::stages::firmware::Figures;

/// The block: the window of the header, then the buffer of the data.
const BLOCK: u64 = 512;

/// The block and all states and frames, with any number of tensors. The readme promises it.
const MOST_STACK: u64 = 1152;
/// How much more it may be while the error of a bad file is made. The readme promises it.
const MOST_FOR_ERROR: u64 = 64;
/// What a caller keeps for each tensor that is found. The readme promises it.
const MOST_WANTED: u64 = 104;
/// Of a program that does it all. The readme promises it.
const MOST_FLASH: u64 = 13312;
/// What streaming may take above the same reads made by hand, in percent. The readme promises it.
const MOST_OVERHEAD: u64 = 5;

/// By the numbers that `firmware/linkcheck` gives them.
pub const OPEN_AND_FIND: u32 = 5;
pub const READ_RAW: u32 = 6;
pub const STREAM: u32 = 7;
const REFUSE: u32 = 8;

const MANY: u32 = 100_000;

pub fn measure(machine: &Machine, tally: &mut Tally) {
    tally.measured(machine.board.name, measure_flash(machine));
    tally.measured(machine.board.name, measure_stack(machine));
    tally.measured(machine.board.name, measure_header_reads(machine));
    tally.measured(machine.board.name, measure_overhead(machine));
}

/// What the readme says of it.
pub fn promises() -> Vec<String> {
    vec![
        stack_row("`Model`: open, find 12, stream", MOST_STACK),
        format!("at most {} more while the error of a bad file is made", in_bytes(MOST_FOR_ERROR)),
        format!("{} for each tensor that is looked for", in_bytes(MOST_WANTED)),
        format!("by at most {} if it opens a model, finds tensors and streams one", in_bytes(MOST_FLASH)),
        format!("at most {MOST_OVERHEAD} % more instructions"),
    ]
}

/// Where `Model` is documented.
pub const DOCUMENTED: &str = "crates/embedded-safetensors/src/model.rs";

/// What is said there: the stack without the memory that the caller lends, which is the block, and of rows their values.
pub fn documented() -> String {
    let most = MOST_STACK.max(values::MOST_STACK - values::ROW_LEN) - BLOCK;
    format!(
        "whole or by rows, take at most {most} bytes of stack on a Cortex-M3, the caller's share included, for headers of any length, and {MOST_FOR_ERROR} more while an error is made"
    )
}

fn measure_flash(machine: &Machine) -> Result<String, String> {
    let bytes = machine.flash("stream")?;
    at_most("flash", bytes, MOST_FLASH)?;
    Ok(format!("open, find, stream: {bytes} bytes of flash at opt-level {}", machine.firmware.level))
}

/// The stack, the same for few and for many tensors, also for a bad file; and the size of what is the caller's.
fn measure_stack(machine: &Machine) -> Result<String, String> {
    let stack = |door, tensors| run(machine, door, tensors)?.get("stack");
    let (few, many, bad) = (stack(STREAM, 10)?, stack(STREAM, MANY)?, stack(REFUSE, 10)?);
    // Not quite the same: where the block cuts an entry depends on the header, and then less is taken at once.
    at_most("open, find, stream: the stack", few.max(many), MOST_STACK)?;
    at_most("open, find, stream: the stack for a bad file", bad, MOST_STACK + MOST_FOR_ERROR)?;
    let wanted = run(machine, STREAM, 10)?.get("wanted")?;
    at_most("a Wanted", wanted, MOST_WANTED)?;
    Ok(format!(
        "open, find 12, stream, 10 or {MANY} tensors: {many} bytes of stack with the block of {BLOCK}, {bad} for a bad file; 12 x {wanted} for the result"
    ))
}

/// Opening reads the header once, and finding 12 tensors once again.
fn measure_header_reads(machine: &Machine) -> Result<String, String> {
    let header_len = header(1000).bytes().len() as u64;
    let figures = run(machine, OPEN_AND_FIND, 1000)?;
    let (bytes, calls) = (figures.get("bytes")?, figures.get("calls")?);
    let due = (2 * header_len, 2 * header_len.div_ceil(BLOCK));
    if (bytes, calls) != due {
        return Err(format!("open and find read {bytes} bytes in {calls} calls, not {due:?}"));
    }
    let instructions = machine.board.instructions(figures.get("ticks")?) as f64 / bytes as f64;
    Ok(format!(
        "open, find 12 of 1000: each reads the header of {header_len} bytes once, {instructions:.1} instructions per byte"
    ))
}

/// Streaming a tensor against reading the same blocks by hand.
fn measure_overhead(machine: &Machine) -> Result<String, String> {
    let [before, raw, stream] = [OPEN_AND_FIND, READ_RAW, STREAM].map(|door| run(machine, door, 10));
    let before = Spent::of(machine, &before?)?;
    let raw = Spent::of(machine, &raw?)?.since(&before);
    let stream = Spent::of(machine, &stream?)?.since(&before);
    if stream.calls != raw.calls {
        return Err(format!("streaming makes {} calls, reading raw {}", stream.calls, raw.calls));
    }
    let (each, each_raw) = (stream.instructions / stream.calls, raw.instructions / raw.calls);
    let sentence =
        format!("streaming takes {each} instructions a block of {BLOCK}, reading it raw {each_raw}");
    if stream.instructions * 100 > raw.instructions * (100 + MOST_OVERHEAD) {
        return Err(format!("{sentence}: more than {MOST_OVERHEAD} % above it"));
    }
    Ok(sentence)
}

/// Up to the end of a door.
struct Spent {
    instructions: u64,
    calls: u64,
}

impl Spent {
    fn of(machine: &Machine, figures: &Figures) -> Result<Self, String> {
        let instructions = machine.board.instructions(figures.get("ticks")?);
        Ok(Self { instructions, calls: figures.get("calls")? })
    }

    fn since(&self, before: &Self) -> Self {
        let instructions = self.instructions.saturating_sub(before.instructions);
        Self { instructions, calls: self.calls.saturating_sub(before.calls) }
    }
}

/// Many blocks to stream, and small tensors behind them.
fn header(tensors: u32) -> Header {
    Header { tensors, first_len: 1 << 20, ..Header::SMALL }
}

fn run(machine: &Machine, door: u32, tensors: u32) -> Result<Figures, String> {
    let (request, due) = request(door, tensors)?;
    let figures = machine.run(request)?;
    match figures.get("counted")? {
        counted if counted == due => Ok(figures),
        counted => Err(format!("door {door} read {counted} bytes of a tensor, not {due}")),
    }
}

/// With how many bytes of the tensor will come.
pub fn request(door: u32, tensors: u32) -> Result<(Request, u64), String> {
    let header = header(tensors);
    let mut file = header.bytes();
    if door == REFUSE {
        spoil(&mut file)?;
    }
    let file_len = file.len() as u64 + header.data_len();
    file.resize(usize::try_from(file_len).map_err(|_| "a file too long for this machine")?, 0);
    let due = if [READ_RAW, STREAM].contains(&door) { header.first_len.into() } else { 0 };
    Ok((Request { door, slots: 0, file, file_len }, due))
}

/// Gives the first tensor a shape that does not agree with its range.
fn spoil(file: &mut [u8]) -> Result<(), String> {
    let shape = br#""shape":[2,"#;
    let at = file.windows(shape.len()).position(|bytes| bytes == shape);
    let columns = at.and_then(|at| file.get_mut(at + shape.len() - 2));
    *columns.ok_or("the header has no shape to spoil")? = b'3';
    Ok(())
}
