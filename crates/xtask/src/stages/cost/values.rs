//! What it costs to read a tensor row by row as `f32`, through one buffer, as a product of a matrix and a vector does.

use super::figures::{Request, at_most, in_bytes};
use super::streaming::OPEN_AND_FIND;
use super::{Machine, stack_row};
use crate::report::Tally;
use crate::stages::firmware::Figures;

pub const ROWS: u64 = 512;
pub const ROW: u64 = 64;
/// The values of a row as `f32`, in bytes.
pub const ROW_LEN: u64 = 4 * ROW;

/// The block of the header and all states and frames, and the row. The readme promises it.
pub const MOST_STACK: u64 = 1408;
/// The same with a part of a matrix instead of rows. The readme promises it.
const MOST_SLICE_STACK: u64 = 3072;
const MOST_SLICE_FLASH: u64 = 21504;
/// Of a program that opens a model, finds tensors and reads one so: all that can become an `f32`. The readme promises it.
const MOST_FLASH: u64 = 16384;

/// What a value may take, of the call and the copy out of the card's memory its share. The readme promises it.
const MOST_INSTRUCTIONS: [(&str, u64, u64); 4] =
    [("F32", 4, 12), ("F16", 2, 56), ("BF16", 2, 28), ("I8", 1, 76)];

/// By the numbers that `firmware/linkcheck` gives them.
pub const READ_ROWS: u32 = 9;
pub const READ_SLICE: u32 = 10;

pub fn measure(machine: &Machine, tally: &mut Tally) {
    tally.measured(machine.board.name, measure_flash(machine));
    for (dtype, width, most) in MOST_INSTRUCTIONS {
        tally.measured(machine.board.name, measure_rows(machine, dtype, width, most));
    }
    tally.measured(machine.board.name, measure_slice(machine));
}

/// What the readme says of it.
pub fn promises() -> Vec<String> {
    let most = MOST_INSTRUCTIONS.map(|(dtype, _, most)| format!("{most} of {dtype}"));
    vec![
        stack_row("`Model`: open, find 12, read rows of 64 F16 as `f32`", MOST_STACK),
        stack_row("`Model`: open, find 12, read a slice of F16 as `f32`", MOST_SLICE_STACK),
        format!("by at most {} if it reads a tensor as `f32`", in_bytes(MOST_FLASH)),
        format!("by at most {} if it reads a slice so", in_bytes(MOST_SLICE_FLASH)),
        format!("at most {} instructions a value", most.join(", ")),
    ]
}

fn measure_flash(machine: &Machine) -> Result<String, String> {
    let bytes = machine.flash("rows")?;
    at_most("flash", bytes, MOST_FLASH)?;
    Ok(format!("open, find, read as f32: {bytes} bytes of flash at opt-level {}", machine.firmware.level))
}

fn measure_rows(machine: &Machine, dtype: &str, width: u64, most: u64) -> Result<String, String> {
    let before = run(machine, OPEN_AND_FIND, dtype, width)?;
    let figures = run(machine, READ_ROWS, dtype, width)?;
    let values = figures.get("counted")?;
    if values != ROWS * ROW {
        return Err(format!("{values} values of {dtype} came, not {}", ROWS * ROW));
    }
    at_most("reading rows: the stack", figures.get("stack")?, MOST_STACK)?;
    let instructions = |figures: &Figures| Ok::<_, String>(machine.board.instructions(figures.get("ticks")?));
    let each = (instructions(&figures)?.saturating_sub(instructions(&before)?)).div_ceil(values);
    let stack = figures.get("stack")?;
    let sentence =
        format!("rows of {ROW} {dtype} as f32: {each} instructions a value, {stack} bytes of stack");
    if each > most { Err(format!("{sentence}: more than {most}")) } else { Ok(sentence) }
}

fn measure_slice(machine: &Machine) -> Result<String, String> {
    let flash = machine.flash("slice")?;
    at_most("flash", flash, MOST_SLICE_FLASH)?;
    let before = run(machine, OPEN_AND_FIND, "F16", 2)?;
    let figures = run(machine, READ_SLICE, "F16", 2)?;
    let (values, stack) = (figures.get("counted")?, figures.get("stack")?);
    if values != ROWS * ROW / 4 {
        return Err(format!("{values} values of a slice came, not {}", ROWS * ROW / 4));
    }
    at_most("reading a slice: the stack", stack, MOST_SLICE_STACK)?;
    let ticks = figures.get("ticks")?.saturating_sub(before.get("ticks")?);
    let each = machine.board.instructions(ticks).div_ceil(values);
    Ok(format!(
        "a slice of F16 as f32: {each} instructions a value, {stack} bytes of stack, {flash} bytes of flash"
    ))
}

fn run(machine: &Machine, door: u32, dtype: &str, width: u64) -> Result<Figures, String> {
    machine.run(request(door, dtype, width))
}

/// With a file of one matrix.
pub fn request(door: u32, dtype: &str, width: u64) -> Request {
    let len = ROWS * ROW * width;
    let entry = format!(r#"{{"dtype":"{dtype}","shape":[{ROWS},{ROW}],"data_offsets":[0,{len}]}}"#);
    // As long as writers make it, so that elements are aligned.
    let header = format!("{:88}", format!(r#"{{"layers.0.weight":{entry}}}"#));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    // No value is special.
    file.extend((0..len).map(|index| [0x12, 0x34][usize::from(index % 2 == 1)]));
    let file_len = file.len() as u64;
    Request { door, slots: 0, file, file_len }
}
