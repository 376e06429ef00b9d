//! Storage and sinks that are callbacks.

use crate::error::{Cause, Misuse};
use crate::pointers::memory;
use core::ffi::c_void;
use core::fmt;
use embedded_safetensors::{ReadAt, WriteAt, WriteError, io::FileLen};

/// The most bytes that a callback is asked for at once: it returns a number of 32 bits with a sign.
const MOST: usize = 1 << 30;

/// What a callback did wrong.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The byte of the file that it was called for.
    pub at: u64,
    kind: FaultKind,
}

#[derive(Clone, Copy, Debug)]
enum FaultKind {
    /// It returned a negative number.
    Failed(i32),
    /// It returned more bytes than it was asked for, or a part of a unit.
    Count { returned: i32, asked: u32 },
}

impl Fault {
    fn wrong_count(returned: i32, asked: usize, at: u64) -> Self {
        Self { at, kind: FaultKind::Count { returned, asked: u32::try_from(asked).unwrap_or(u32::MAX) } }
    }

    pub const fn code(&self) -> &'static str {
        match self.kind {
            FaultKind::Failed(_) => "storage.failed",
            FaultKind::Count { .. } => "storage.count",
        }
    }

    pub const fn returned(&self) -> i32 {
        match self.kind {
            FaultKind::Failed(returned) | FaultKind::Count { returned, .. } => returned,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, at) = (self.code(), self.at);
        match self.kind {
            FaultKind::Failed(returned) => {
                write!(f, "error[{code}] at byte {at}: the storage failed: its callback returned {returned}")
            }
            FaultKind::Count { returned, asked } => write!(
                f,
                "error[{code}] at byte {at}: the callback returned {returned} of {asked} bytes: more, or not a \
                 multiple of the unit"
            ),
        }
    }
}

/// Returns how many bytes a callback says that it has handled.
fn count(returned: i32, asked: usize, at: u64) -> Result<usize, Fault> {
    match usize::try_from(returned) {
        Err(_) => Err(Fault { at, kind: FaultKind::Failed(returned) }),
        Ok(count) if count <= asked => Ok(count),
        Ok(_) => Err(Fault::wrong_count(returned, asked, at)),
    }
}

/// Returns an error if a callback says that it failed: by any number but 0, as systems do.
pub fn done(returned: i32, at: u64) -> Result<(), Fault> {
    if returned != 0 { Err(Fault { at, kind: FaultKind::Failed(returned) }) } else { Ok(()) }
}

type Read = unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize) -> i32;

/// `sft_storage`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StorageIn {
    pub read: Option<Read>,
    pub context: *mut c_void,
    pub len: u64,
    pub len_is: u32,
}

/// A storage that was checked.
pub struct Storage(StorageIn);

pub const EXACT: u32 = 0;
pub const AT_MOST: u32 = 1;
pub const UNKNOWN: u32 = 2;
pub const MEMORY: u32 = 3;

impl Storage {
    /// # Errors
    /// It has no callback, or a length of an unknown kind.
    pub fn new(storage: &StorageIn) -> Result<Self, Misuse> {
        let mut storage = *storage;
        match storage.len_is {
            MEMORY => {
                let len = usize::try_from(storage.len).map_err(|_| Misuse::TooLong)?;
                memory(storage.context, len).check()?;
                storage.read = None;
                return Ok(Self(storage));
            }
            UNKNOWN => storage.len = u64::MAX,
            EXACT | AT_MOST => {}
            _ => storage.read = None,
        }
        if storage.read.is_some() { Ok(Self(storage)) } else { Err(Misuse::Storage) }
    }

    /// Fills `bytes` from byte `offset` of the file on.
    ///
    /// # Errors
    /// The callback fails, or the file ends.
    pub fn fill(&mut self, mut offset: u64, mut bytes: &mut [u8]) -> Result<(), Cause> {
        while !bytes.is_empty() {
            let len = self.read_at(offset, bytes).map_err(Cause::Storage)?;
            if len == 0 {
                return Err(Cause::End { at: offset });
            }
            offset += len as u64;
            bytes = bytes.get_mut(len..).unwrap_or_default();
        }
        Ok(())
    }
}

impl ReadAt for Storage {
    type Error = Fault;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Fault> {
        // What follows is not part of the file, and may belong to something else.
        let left = usize::try_from(self.0.len.saturating_sub(offset)).unwrap_or(MOST);
        let (asked, to) = (buffer.len().min(left).min(MOST), buffer.as_mut_ptr());
        if asked == 0 {
            return Ok(0);
        }
        let Some(read) = self.0.read else {
            let begin = usize::try_from(offset).unwrap_or_default();
            // SAFETY: checked by `new`: the file has these bytes.
            unsafe { self.0.context.cast::<u8>().add(begin).copy_to_nonoverlapping(to, asked) };
            return Ok(asked);
        };
        // SAFETY: the header says what a callback may do; the buffer has that many bytes.
        let returned = unsafe { read(self.0.context, offset, to.cast(), asked) };
        count(returned, asked, offset)
    }

    fn file_len(&mut self) -> Result<FileLen, Fault> {
        Ok(match self.0.len_is {
            AT_MOST => FileLen::AtMost(self.0.len),
            UNKNOWN => FileLen::Unknown,
            _ => FileLen::Exactly(self.0.len),
        })
    }

    fn in_memory(&self) -> Option<&[u8]> {
        match (self.0.len_is, usize::try_from(self.0.len)) {
            (MEMORY, Ok(0)) => Some(&[]),
            // SAFETY: checked by `new`; the header says that the file stays where it is.
            (MEMORY, Ok(len)) => Some(unsafe { core::slice::from_raw_parts(self.0.context.cast(), len) }),
            _ => None,
        }
    }
}

type Write = unsafe extern "C" fn(*mut c_void, u64, *const c_void, usize) -> i32;
type Prepare = unsafe extern "C" fn(*mut c_void, u64, u64) -> i32;
type Flush = unsafe extern "C" fn(*mut c_void) -> i32;

/// `sft_sink`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SinkIn {
    pub write: Option<Write>,
    pub prepare: Option<Prepare>,
    pub flush: Option<Flush>,
    pub context: *mut c_void,
    pub capacity: u64,
    pub unit: usize,
}

/// A sink that was checked.
pub struct Sink(SinkIn);

impl Sink {
    /// # Errors
    /// It has no callback to write, a unit that is not a power of two or does not fit into 32 bits, or a unit
    /// above 8 bytes without a callback to prepare.
    pub fn new(sink: &SinkIn) -> Result<Self, Misuse> {
        let SinkIn { write, prepare, unit, .. } = *sink;
        let is_unit = unit.is_power_of_two() && u32::try_from(unit).is_ok();
        let is_right = write.is_some() && is_unit && (unit <= 8 || prepare.is_some());
        if is_right { Ok(Self(*sink)) } else { Err(Misuse::Storage) }
    }

    /// Returns its unit.
    pub const fn unit_len(&self) -> usize {
        self.0.unit
    }
}

impl WriteAt for Sink {
    type Error = Fault;

    fn unit(&self) -> usize {
        self.0.unit
    }

    fn capacity(&mut self) -> Result<Option<u64>, Fault> {
        Ok(Some(self.0.capacity))
    }

    fn prepare(&mut self, data_start: u64, file_len: u64) -> Result<(), WriteError<Fault>> {
        if let Some(prepare) = self.0.prepare {
            // SAFETY: the header says what a callback may do.
            let returned = unsafe { prepare(self.0.context, data_start, file_len) };
            return done(returned, 0).map_err(WriteError::Sink);
        }
        // The high half of the length first: however little of it is written, no header is as long. If a unit
        // holds the length, the start of the header's text first: no header with a byte 0xFF is valid.
        let steps: [(u64, &[u8]); 2] = match self.0.unit {
            ..=4 => [(4, &[0xFF; 4]), (0, &[0xFF; 4])],
            // A file of 8 bytes, which cannot be valid.
            _ if self.0.capacity < 16 => [(0, &[0xFF; 8]), (8, &[])],
            _ => [(8, &[0xFF; 8]), (0, &[0xFF; 8])],
        };
        for (mut at, mut bytes) in steps {
            while !bytes.is_empty() {
                let taken = self.write_at(at, bytes).map_err(WriteError::Sink)?;
                if taken == 0 {
                    return Err(WriteError::Full { at });
                }
                bytes = bytes.get(taken..).unwrap_or_default();
                at += taken as u64;
            }
            self.flush().map_err(WriteError::Sink)?;
        }
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Fault> {
        // A multiple of every unit that fits.
        let asked = bytes.len().min(MOST);
        let Some(write) = self.0.write.filter(|_| asked > 0) else { return Ok(0) };
        // SAFETY: the header says what a callback may do; there are that many bytes.
        let returned = unsafe { write(self.0.context, offset, bytes.as_ptr().cast(), asked) };
        match count(returned, asked, offset)? {
            // The next write would begin inside a unit.
            taken if taken & (self.0.unit - 1) > 0 => Err(Fault::wrong_count(returned, asked, offset)),
            taken => Ok(taken),
        }
    }

    fn flush(&mut self) -> Result<(), Fault> {
        match self.0.flush {
            // SAFETY: the header says what a callback may do.
            Some(flush) => done(unsafe { flush(self.0.context) }, 0),
            None => Ok(()),
        }
    }
}
