//! The functions that index.js calls. An instance of the module is one file. Results of several parts are in
//! an [`Answer`]. A function that can fail returns 0, or the class of the error that is in the answer: 1 the
//! file is invalid, 2 there is too little memory, 3 the caller made a mistake.

#![no_std]

mod file;
mod memory;

use core::fmt::{self, Write};
use embedded_safetensors::slice::AxisRange;
use embedded_safetensors::{Error, ErrorKind, Shape};
use file::{File, Runs};
use memory::{lent, release, take};

/// Results, in the order in which index.js reads them.
#[repr(C)]
struct Answer {
    numbers: [u64; 4],
    texts: [Part; 3],
    /// What is left of the slice.
    runs: Part,
}

/// The address of bytes, or of numbers of 64 bits, and how many there are.
#[repr(C)]
#[derive(Clone, Copy)]
struct Part {
    at: *const u8,
    len: usize,
}

impl Part {
    const NOTHING: Self = Self { at: core::ptr::null(), len: 0 };

    fn of<T>(values: &[T]) -> Self {
        Self { at: values.as_ptr().cast(), len: values.len() }
    }
}

struct State {
    file: Option<File>,
    shape: Option<Shape>,
    message: Message,
    answer: Answer,
}

static mut STATE: State = State {
    file: None,
    shape: None,
    message: Message { bytes: [0; 512], len: 0 },
    answer: Answer { numbers: [0; 4], texts: [Part::NOTHING; 3], runs: Part::NOTHING },
};

fn state() -> &'static mut State {
    let state = &raw mut STATE;
    // SAFETY: an instance has no threads. Each exported function calls this once, and none calls another one,
    // so this is the only reference.
    unsafe { &mut *state }
}

/// Ends the instance with an exception: the library has no panics.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

/// Returns the address of the answers.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    (&raw const state().answer).cast()
}

/// Opens the file that begins with these bytes, which end with its header or later, with a key for hashes.
/// Numbers: where the data begins, how many tensors there are.
#[unsafe(no_mangle)]
pub extern "C" fn open(address: usize, len: usize, file_len: u64, key: u64, other: u64) -> u32 {
    let state = state();
    match File::open(lent(address, len), file_len, [key, other]) {
        Ok(file) => {
            let file = state.file.insert(file);
            let summary = file.index.summary();
            state.answer.numbers = [summary.data_start, summary.tensors, 0, 0];
            state.answer.runs = Part { at: (&raw const file.runs).cast(), len: size_of::<Runs>() };
            0
        }
        Err(error) => state.fail(error),
    }
}

/// Makes the tensor at this position, in the order of the offsets, the current one, and selects a part of it
/// by a table: for each axis its kind (0 all, 1 an index, 2 a range), its step, begin and end. The table is
/// the last memory that was reserved, and is taken back. Numbers: the tensor's offsets, how many bytes and
/// elements the part has. Texts: the tensor's name and dtype, the part's shape.
#[unsafe(no_mangle)]
pub extern "C" fn select(position: usize, table: usize, axes: usize) -> u32 {
    let state = state();
    let Some(file) = &mut state.file else { return 3 };
    let ranges = take(axes, AxisRange::ALL);
    for (range, row) in ranges.iter_mut().zip(&*lent::<[u64; 4]>(table, axes)) {
        match *row {
            [1, _, index, _] => *range = AxisRange::index(index),
            [2, step, begin, end] => *range = AxisRange::new(begin, end).step_by(step),
            _ => {}
        }
    }
    let needed = size_of_val(&AxisRange::ALL) as u64 * axes as u64;
    let selected = if ranges.len() < axes {
        Err(ErrorKind::BufferLength { needed, capacity: 0 }.at(0))
    } else {
        file.select(position, ranges)
    };
    release(table);
    let (tensor, shape, [byte_len, elements]) = match selected {
        Ok(selected) => selected,
        Err(error) => return state.fail(error),
    };
    state.answer.numbers = [tensor.begin(), tensor.end(), byte_len, elements];
    let [name, dtype] = [tensor.name(), tensor.dtype().name()].map(|name| Part::of(name.as_bytes()));
    let dims = shape.map_or(tensor.dims(), |shape| state.shape.insert(shape).dims());
    state.answer.texts = [name, dtype, Part::of(dims)];
    0
}

/// Lists the next runs of the slice in a table of this many rows, at most `limit` bytes. Returns how many.
#[unsafe(no_mangle)]
pub extern "C" fn runs(table: usize, rows: usize, limit: u64) -> usize {
    state().file.as_mut().map_or(0, |file| file.runs.list(lent(table, rows), limit))
}

/// Converts bytes, which are elements of the current tensor, to this many values.
#[unsafe(no_mangle)]
pub extern "C" fn convert(address: usize, len: usize, values: usize, count: usize) -> u32 {
    let state = state();
    let Some(file) = &mut state.file else { return 3 };
    file.convert(lent(address, len), lent(values, count)).map_or_else(|error| state.fail(error), |()| 0)
}

impl State {
    /// Answers with an error: its byte, its code and its sentence.
    fn fail(&mut self, error: Error) -> u32 {
        self.message.len = 0;
        let _ = write!(self.message, "{error}"); // cut if it is too long
        let message = self.message.bytes.get(..self.message.len).unwrap_or_default();
        self.answer.numbers[0] = error.at;
        self.answer.texts = [Part::of(error.kind.code().as_bytes()), Part::of(message), Part::NOTHING];
        error.kind.class() as u32 + 1
    }
}

/// A sentence.
struct Message {
    bytes: [u8; 512],
    len: usize,
}

impl Write for Message {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let free = self.bytes.get_mut(self.len..).unwrap_or_default();
        self.len += free.iter_mut().zip(part.bytes()).map(|(to, from)| *to = from).count();
        Ok(())
    }
}
