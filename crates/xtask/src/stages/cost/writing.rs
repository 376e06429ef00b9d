//! What it costs to write a file; and that its bytes are the same on every machine.

use super::figures::{Request, at_most, in_bytes};
use super::{Machine, stack_row};
use crate::report::Tally;
use crate::stages::firmware::Figures;

/// Of a program that describes a file, sorts it and writes it. The readme promises it.
const MOST_FLASH: u64 = 10240;
/// Of a program that describes a file, sorts it and records it in flash. The readme promises it.
const MOST_FLASH_TO_RECORD: u64 = 12288;
/// The window or buffer of 64 bytes, all states and frames. The readme promises it.
pub const MOST_STACK: [(&str, u32, u64); 2] = [("Writer", 12, 1024), ("Recorder", 13, 1472)];
const ENCODER: u64 = 176;
const WRITER: u64 = 88;
const RECORDER: u64 = 168;
const PLAN: u64 = 64;
/// The largest sizes allowed, for every board. The readme promises them.
const MOST_BYTES: [(&str, u64); 4] =
    [("encoder", ENCODER), ("writer", WRITER), ("recorder", RECORDER), ("plan", PLAN)];

pub fn measure(machine: &Machine, tally: &mut Tally) {
    tally.measured(machine.board.name, measure_flash(machine, "write", MOST_FLASH));
    tally.measured(machine.board.name, measure_flash(machine, "record", MOST_FLASH_TO_RECORD));
    for (door, number, most_stack) in MOST_STACK {
        tally.measured(machine.board.name, measure_writing(machine, door, number, most_stack));
    }
    tally.measured(machine.board.name, measure_sizes(machine));
}

/// What the readme says of it.
pub fn promises() -> Vec<String> {
    let rows = MOST_STACK.map(|(door, _, most)| stack_row(&format!("`{door}`: sort, header, data"), most));
    let flash = [
        format!("by at most {} if it sorts a file's tensors and writes it", in_bytes(MOST_FLASH)),
        format!("by at most {} if it records it in NOR flash", in_bytes(MOST_FLASH_TO_RECORD)),
    ];
    let sizes = [
        format!(
            "a plan takes {PLAN} bytes, a writer {WRITER}, and the encoder in it {ENCODER} while the header is made"
        ),
        format!("a recorder takes {RECORDER} bytes"),
    ];
    rows.into_iter().chain(flash).chain(sizes).collect()
}

fn measure_flash(machine: &Machine, what: &str, most: u64) -> Result<String, String> {
    let bytes = machine.flash(what)?;
    at_most("flash", bytes, most)?;
    Ok(format!("describe, sort, {what}: {bytes} bytes of flash at opt-level {}", machine.firmware.level))
}

/// The firmware compares each byte with the one that is due.
fn measure_writing(machine: &Machine, door: &str, number: u32, most_stack: u64) -> Result<String, String> {
    let (figures, file_len) = run(machine, number)?;
    let written = figures.get("counted")?;
    if written != file_len {
        return Err(format!("{door}: the file is not the one that is due: {written} bytes, not {file_len}"));
    }
    let stack = figures.get("stack")?;
    at_most(&format!("{door}: the stack"), stack, most_stack)?;
    let each = machine.board.instructions(figures.get("ticks")?) as f64 / file_len as f64;
    Ok(format!(
        "{door}, a file of {TENSORS} tensors and {KEYS} keys, given in no order: the due {file_len} bytes, {stack} bytes of stack, {each:.1} instructions per byte"
    ))
}

/// The states, where a pointer has 32 bits.
fn measure_sizes(machine: &Machine) -> Result<String, String> {
    let (figures, _) = run(machine, MOST_STACK[0].1)?;
    for (name, most) in MOST_BYTES {
        at_most(name, figures.get(name)?, most)?;
    }
    let sizes = MOST_BYTES.map(|(name, _)| figures.get(name).map(|size| format!("{name} {size}")));
    let sizes: Result<Vec<String>, String> = sizes.into_iter().collect();
    Ok(format!("sizes in bytes: {}", sizes?.join(", ")))
}

fn run(machine: &Machine, door: u32) -> Result<(Figures, u64), String> {
    let request = request(door);
    let file_len = request.file_len;
    Ok((machine.run(request)?, file_len))
}

/// With the file that is due.
pub fn request(door: u32) -> Request {
    let file = expected_file();
    let file_len = file.len() as u64;
    Request { door, slots: 0, file, file_len }
}

const TENSORS: usize = 44;
const KEYS: usize = 50;

/// The reference's dtypes in the order in which it writes them, with the bits of an element.
const DTYPES: [(&str, usize); 22] = [
    ("U64", 64),
    ("I64", 64),
    ("F64", 64),
    ("C64", 64),
    ("F32", 32),
    ("U32", 32),
    ("I32", 32),
    ("BF16", 16),
    ("F16", 16),
    ("U16", 16),
    ("I16", 16),
    ("F8_E5M2FNUZ", 8),
    ("F8_E4M3FNUZ", 8),
    ("F8_E8M0", 8),
    ("F8_E4M3", 8),
    ("F8_E5M2", 8),
    ("I8", 8),
    ("U8", 8),
    ("F6_E3M2", 6),
    ("F6_E2M3", 6),
    ("F4", 4),
    ("BOOL", 8),
];

/// What `firmware/linkcheck` describes, in the order and the spelling of the reference.
fn expected_file() -> Vec<u8> {
    let keys = (0..KEYS).map(|number| format!(r#""k{number:02}":"\n\u0001é\"\\""#));
    let keys: Vec<String> = keys.collect();
    let (mut entries, mut begin) = (Vec::new(), 0);
    for (rank, (dtype, bits)) in DTYPES.into_iter().enumerate() {
        let has_this = |number: &usize| number * 5 % DTYPES.len() == DTYPES.len() - 1 - rank;
        for number in (0..TENSORS).filter(has_this) {
            let end = begin + 8 * number * bits / 8;
            entries.push(format!(
                r#""t{number:02}":{{"dtype":"{dtype}","shape":[8,{number}],"data_offsets":[{begin},{end}]}}"#
            ));
            begin = end;
        }
    }
    let json = format!(r#"{{"__metadata__":{{{}}},{}}}"#, keys.join(","), entries.join(","));
    let padded_len = json.len().next_multiple_of(8);
    let spaces = std::iter::repeat_n(b' ', padded_len - json.len());
    let data = (0..begin).map(|index| u8::try_from(index % 251).unwrap_or(0));
    (padded_len as u64).to_le_bytes().into_iter().chain(json.into_bytes()).chain(spaces).chain(data).collect()
}
