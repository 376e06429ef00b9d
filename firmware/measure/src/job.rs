//! What is asked for.

use board::{MEMORY, Request};

/// Lent to the job, beside the request.
const WINDOW: usize = MEMORY + 0x00ff_0000;
/// As long as there is memory for it.
const MOST_WINDOW: usize = 0x1_0000;

/// How far the job goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The model is opened: its header is proven.
    Open,
    /// The tensor is found, too.
    Find,
    /// All of its bytes are read, too.
    Read,
}

/// A model, and a tensor of it to find and to read.
pub struct Job {
    /// The file.
    pub file: &'static [u8],
    /// The tensor's name.
    pub name: &'static str,
    /// Memory to read through.
    pub window: &'static mut [u8],
    /// How far to go.
    pub last: Step,
    /// What the job found: tensors, bytes of the tensor, bytes that were read; nothing after an error.
    pub found: Option<u32>,
}

impl Job {
    /// From a request: its words are the lengths of the window, of the heap and of the bytes, and whether instructions are
    /// counted. The bytes are the file, the name, and a byte that says how long that is. Nothing when that is no request.
    pub fn new(request: Request) -> Option<Self> {
        let [window, ..] = request.words;
        let (&name_len, bytes) = request.bytes.split_last()?;
        let (file, name) = bytes.split_at_checked(bytes.len().checked_sub(name_len.into())?)?;
        let name = core::str::from_utf8(name).ok()?;
        Some(Self { file, name, window: lend(window as usize), last: Step::Read, found: None })
    }
}

fn lend(len: usize) -> &'static mut [u8] {
    // SAFETY: memory of the machine that nothing else uses, zero from the start; asked for once.
    unsafe { core::slice::from_raw_parts_mut(WINDOW as *mut u8, len.min(MOST_WINDOW)) }
}
