//! Errors as C sees them.

use crate::pointers::{array_mut, memory};
use crate::storage::Fault;
use core::ffi::c_char;
use core::fmt::{self, Display, Write};
use core::mem::MaybeUninit;
use embedded_safetensors::{
    Error, ErrorKind, ReadError, WriteError,
    error::Class,
    write::{SpecError, SpecPart},
};

/// What a function returns.
pub type Status = i32;

pub const OK: Status = 0;
pub const FILE: Status = 1;
pub const LIMIT: Status = 2;
pub const USAGE: Status = 3;
pub const STORAGE: Status = 4;

macro_rules! misuses {
    ($($name:ident $code:literal $sentence:literal;)+) => {
        /// A mistake of the caller that the C API notices.
        #[derive(Clone, Copy)]
        pub enum Misuse { $($name),+ }

        impl Misuse {
            const fn code(self) -> &'static str {
                match self { $(Self::$name => $code),+ }
            }

            const fn sentence(self) -> &'static str {
                match self { $(Self::$name => $sentence),+ }
            }
        }

        const _: () = { $(check_code($code);)+ };
    };
}

misuses! {
    Null "c.null" "a pointer is NULL";
    Misaligned "c.aligned" "a pointer is not aligned for its type";
    TooLong "c.length" "an array is longer than memory can be";
    Overlap "c.overlap" "two arrays of the call overlap";
    NotUtf8 "c.utf8" "a string is not UTF-8";
    NotOpen "c.state" "the object is not open, or was moved after it was opened";
    Reentered "c.reentered" "the object is in use, by a call that runs this callback or that never returned";
    Dtype "c.dtype" "unknown dtype: combine the SFT_ macros; a tensor has exactly one";
    Rank "c.rank" "the rank is above SFT_MAX_RANK; only a request can have SFT_ANY_RANK";
    Missing "c.missing" "the tensor was not found: its dtype is 0";
    Tensor "c.tensor" "the tensor is not one of this model";
    Added "c.added" "targets must be added before the first piece";
    Full "c.targets" "the receiver has no such target, or no memory for another one";
    NoText "c.text" "there is no memory for the final 0 of a string";
    Nul "c.nul" "the value has a character U+0000, with which a string of C ends";
    Memory "c.memory" "the memory is smaller than SFT_RECORDER_MEMORY(tensors, pairs) words";
    Storage "c.storage"
        "the storage or sink has no callback, a length of an unknown kind, a unit that \
        is not a power of two, or a unit above 8 without prepare";
}

/// A status, a code and a sentence. Unlike those of [`Misuse`], only the functions that return it link it.
pub type Refusal = (Status, &'static str, &'static str);

/// What went wrong.
#[derive(Clone, Copy)]
pub enum Cause {
    Format(Error),
    Spec(SpecError),
    /// A callback.
    Storage(Fault),
    /// The file ends here, although its header says otherwise.
    End {
        at: u64,
    },
    /// The sink takes no more.
    Full {
        at: u64,
    },
    Misuse(Misuse),
    /// A mistake in the element with this index of a table.
    InTable(Misuse, &'static str, usize),
    /// The slots, at this address.
    Refused(&'static Refusal, u32),
}

impl From<Misuse> for Cause {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

impl From<Error> for Cause {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}

impl From<SpecError> for Cause {
    fn from(error: SpecError) -> Self {
        Self::Spec(error)
    }
}

impl From<ReadError<Fault>> for Cause {
    #[inline(never)] // most functions use it
    fn from(error: ReadError<Fault>) -> Self {
        match error {
            ReadError::Format(error) => Self::Format(error),
            ReadError::Source(fault) => Self::Storage(fault),
            ReadError::UnexpectedEof { at } => Self::End { at },
        }
    }
}

impl From<WriteError<Fault>> for Cause {
    fn from(error: WriteError<Fault>) -> Self {
        match error {
            WriteError::Format(error) => Self::Format(error),
            WriteError::Spec(error) => Self::Spec(error),
            WriteError::Sink(fault) => Self::Storage(fault),
            WriteError::Full { at } => Self::Full { at },
        }
    }
}

/// What C sees of an error: its status, and the fields of `sft_error`.
struct Seen {
    status: Status,
    at: u64,
    storage: i32,
    request: i32,
}

/// Returns the class of an error as a status.
const fn status(class: Class) -> Status {
    match class {
        Class::File => FILE,
        Class::Limit => LIMIT,
        Class::Usage => USAGE,
    }
}

/// Returns the class of an error.
#[inline(never)] // as numbers of 32 bits, its table takes more flash
fn class(kind: &ErrorKind) -> Class {
    kind.class()
}

/// Returns the index of the request, target, tensor or pair that an error is about; -1 if it is about none.
fn request(kind: &ErrorKind) -> i32 {
    match *kind {
        ErrorKind::NotFound { query }
        | ErrorKind::DtypeMismatch { query, .. }
        | ErrorKind::RankMismatch { query, .. }
        | ErrorKind::ShapeMismatch { query, .. } => query.map_or(-1, |query| number(query.get())),
        ErrorKind::TooManyBytes { tensor, .. }
        | ErrorKind::ValueType { tensor, .. }
        | ErrorKind::Incomplete { tensor, .. } => number(tensor),
        _ => -1,
    }
}

/// Returns an index as C sees it.
fn number(index: impl TryInto<i32>) -> i32 {
    index.try_into().unwrap_or(-1)
}

impl Cause {
    fn seen(&self) -> Seen {
        let storage = if let Self::Storage(fault) = self { fault.returned() } else { 0 };
        let (status, at, request) = match self {
            Self::Format(error) => (status(class(&error.kind)), error.at, request(&error.kind)),
            Self::Spec(SpecError { kind, part: SpecPart::Tensor(index) | SpecPart::Key(index) }) => {
                (status(kind.class()), 0, number(*index))
            }
            Self::Spec(SpecError { kind, .. }) => (status(kind.class()), 0, -1),
            Self::Storage(Fault { at, .. }) | Self::End { at } | Self::Full { at } => (STORAGE, *at, -1),
            Self::Misuse(_) => (USAGE, 0, -1),
            Self::InTable(.., index) => (USAGE, 0, number(*index)),
            Self::Refused((status, ..), at) => (*status, (*at).into(), -1),
        };
        Seen { status, at, storage, request }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Format(error) => error.kind.code(),
            Self::Spec(error) => error.kind.code(),
            Self::Storage(fault) => fault.code(),
            Self::End { .. } => "storage.end",
            Self::Full { .. } => "storage.full",
            Self::Misuse(misuse) | Self::InTable(misuse, ..) => misuse.code(),
            Self::Refused((_, code, _), _) => code,
        }
    }
}

impl Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(error) => error.fmt(f),
            Self::Spec(error) => error.fmt(f),
            Self::Storage(fault) => fault.fmt(f),
            Self::End { at } => {
                write!(f, "error[storage.end]: the file ends at byte {at}, but its header describes more")
            }
            Self::Full { at } => write!(f, "error[storage.full]: no space left from byte {at}"),
            Self::Misuse(misuse) => write!(f, "error[{}]: {}", misuse.code(), misuse.sentence()),
            Self::InTable(misuse, table, index) => {
                write!(f, "error[{}]: {table}[{index}]: {}", misuse.code(), misuse.sentence())
            }
            Self::Refused((_, code, sentence), _) => write!(f, "error[{code}]: {sentence}"),
        }
    }
}

/// Checks that a code and its final 0 fit into the memory for them.
const fn check_code(code: &str) {
    assert!(code.len() < crate::abi::CODE_LEN, "a code is longer than SFT_CODE_LEN");
}

const _: () = {
    let mut index = 0;
    while index < ErrorKind::ALL.len() {
        check_code(ErrorKind::ALL[index].1);
        index += 1;
    }
};

/// `sft_error`. What C may change is plain data.
#[repr(C)]
pub struct ErrorOut {
    pub at: u64,
    pub storage: i32,
    pub request: i32,
    pub tag: u64,
    pub outcome: MaybeUninit<Result<(), Cause>>,
}

crate::abi::fits!(ErrorOut, 64);

/// The tag of an error that was filled in. Memory that C has not initialised has it by chance only.
const FILLED: u64 = 0x7366_745F_7366_745F;

/// Ends a function: fills in `error` if there is one, and returns the status.
///
/// # Safety
/// `error` is null, misaligned, or points to an `sft_error`.
pub unsafe fn end(outcome: Result<(), Cause>, error: *mut ErrorOut) -> Status {
    let none = Seen { status: OK, at: 0, storage: 0, request: -1 };
    let Seen { status, at, storage, request } = outcome.as_ref().map_or_else(Cause::seen, |()| none);
    if memory(error, 1).check().is_ok() {
        let tag = if status == OK { 0 } else { FILLED };
        let outcome = MaybeUninit::new(outcome);
        // SAFETY: not null and aligned; the rest is the caller's promise.
        unsafe { error.write(ErrorOut { at, storage, request, tag, outcome }) };
    }
    status
}

/// Functions of the header that return a status: their arguments before `error`, and what they do.
macro_rules! functions {
    ($(unsafe fn $name:ident($($argument:ident: $type:ty),+ $(,)?) $outcome:block)+) => { $(
        /// # Safety
        /// See the header.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($argument: $type,)+
            error: *mut $crate::error::ErrorOut,
        ) -> $crate::error::Status {
            // SAFETY: the header's rules. Each body checks memory before it uses it.
            unsafe { $crate::error::end($outcome, error) }
        }
    )+ };
}

pub(crate) use functions;

/// Returns the cause of an error that was filled in.
///
/// # Safety
/// As [`end`].
unsafe fn cause(error: *const ErrorOut) -> Option<Cause> {
    memory(error, 1).check().ok()?;
    // SAFETY: checked; the rest is the caller's promise.
    let error = unsafe { &*error };
    if error.tag != FILLED {
        return None;
    }
    // SAFETY: written together with the tag. C cannot have changed it without breaking the header's rules.
    unsafe { error.outcome.assume_init() }.err()
}

/// A text that is cut where the memory ends, and always ends with a 0.
struct Text<'t> {
    memory: &'t mut [u8],
    /// The length that it would have.
    len: usize,
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.memory.len().saturating_sub(1);
        let free = self.memory.get_mut(..room).and_then(|memory| memory.get_mut(self.len..));
        for (to, from) in free.unwrap_or_default().iter_mut().zip(text.bytes()) {
            *to = from;
        }
        self.len = self.len.saturating_add(text.len());
        Ok(())
    }
}

impl Text<'_> {
    fn end(self) -> usize {
        let last = self.memory.len().saturating_sub(1).min(self.len);
        if let Some(end) = self.memory.get_mut(last) {
            *end = 0;
        }
        self.len
    }
}

/// What is written for an `sft_error` that no function has filled in.
const NO_ERROR: &str = "no error";

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_error_code(error: *const ErrorOut, text: *mut c_char, len: usize) -> usize {
    // First, because the text may be written over the error.
    // SAFETY: the header's rules.
    let code = unsafe { cause(error) }.map_or(NO_ERROR, |cause| cause.code());
    if memory(text, len).check().is_err() {
        return 0;
    }
    // SAFETY: checked; the rest is the header's rules.
    let memory = unsafe { array_mut(text.cast::<u8>(), len) };
    let mut text = Text { memory, len: 0 };
    // A text never fails.
    let _ = text.write_str(code);
    text.end()
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_error_sentence(error: *const ErrorOut, text: *mut c_char, len: usize) -> usize {
    // First, because the text may be written over the error.
    // SAFETY: the header's rules.
    let cause = unsafe { cause(error) };
    if memory(text, len).check().is_err() {
        return 0;
    }
    // SAFETY: checked; the rest is the header's rules.
    let memory = unsafe { array_mut(text.cast::<u8>(), len) };
    let mut text = Text { memory, len: 0 };
    // A text never fails.
    let _ = match cause {
        Some(cause) => write!(text, "{cause}"),
        None => text.write_str(NO_ERROR),
    };
    text.end()
}
