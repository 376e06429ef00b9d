//! A storage that has the planned faults, and counts calls.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt;
use std::ops::Range;

use embedded_safetensors::{
    ReadAt,
    io::{FileLen, NorError},
};
use embedded_storage::nor_flash::{NorFlashError, NorFlashErrorKind};

use crate::random::Random;

/// What a storage does to its reader. Calls are counted from 0: reads, seeks and queries for the length.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// How many of the requested bytes a read returns.
    pub reads: Reads,
    /// Each call whose index is a multiple of this is interrupted once.
    pub interrupted_every: Option<u64>,
    /// The calls that fail.
    pub failure: Option<Failure>,
    /// The length that is reported; `None`: the true one.
    pub reported_len: Option<FileLen>,
    /// Another file that replaces this one.
    pub replacement: Option<Replacement>,
}

/// How many of the requested bytes a read returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// All that are available.
    #[default]
    Whole,
    /// At most this many bytes.
    AtMost(usize),
    /// One byte or more, picked with this seed.
    Random(u64),
}

/// The calls that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// This one alone.
    Once(u64),
    /// These two.
    Both(u64, u64),
    /// This one and all after it.
    Since(u64),
}

/// Another file that replaces the first one; or a part of the first one, to cut it.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// When it starts to be read.
    pub since: Since,
    /// Its bytes.
    pub file: Vec<u8>,
}

/// When the other file starts to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The call of this index.
    Call(u64),
    /// The read of byte 0 of this index: a pass over the header begins there.
    Pass(u64),
}

/// The calls that a storage has had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All calls; one that was interrupted and repeated counts once.
    pub calls: u64,
    /// Interrupted calls.
    pub interruptions: u64,
    /// Reads.
    pub reads: u64,
    /// Seeks.
    pub seeks: u64,
    /// Reads that began at byte 0.
    pub passes: u64,
    /// Bytes read.
    pub bytes: u64,
    /// The range of bytes that each read returned, in order; of the first million reads, so that the list
    /// fits into memory where there are more.
    pub ranges: Vec<Range<u64>>,
}

/// A fault of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call failed, as planned.
    Broken,
    /// The call was interrupted, as planned.
    Interrupted,
    /// An address or a length that is not a multiple of the unit.
    NotAligned,
    /// An address beyond the end.
    OutOfBounds,
}

/// A file in mock storage. All sources over it share the plan and the counts.
///
/// It is a [`ReadAt`] itself; [`sources`](crate::sources) has the others.
#[derive(Debug)]
pub struct Storage<'f> {
    file: &'f [u8],
    plan: RefCell<Plan>,
    state: RefCell<State>,
}

/// The calls so far, and what comes next.
#[derive(Debug)]
pub(crate) struct State {
    counts: Counts,
    random: Random,
    /// Whether the next call was interrupted already.
    was_interrupted: bool,
}

impl<'f> Storage<'f> {
    /// Creates a storage of this file, with all counts at zero.
    pub fn new(file: &'f [u8], plan: Plan) -> Self {
        let state = State::new(&plan);
        Self { file, plan: RefCell::new(plan), state: RefCell::new(state) }
    }

    /// Continues with another plan, and resets the counts.
    pub fn set_plan(&self, plan: Plan) {
        *self.state.borrow_mut() = State::new(&plan);
        *self.plan.borrow_mut() = plan;
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        self.state.borrow().counts.clone()
    }

    /// Returns the original file.
    pub fn first_file(&self) -> &'f [u8] {
        self.file
    }

    /// Calls `at` with the current file.
    pub fn with_file<T>(&self, at: impl FnOnce(&[u8]) -> T) -> T {
        match &self.plan.borrow().replacement {
            Some(other) if self.state.borrow().has_reached(other.since) => at(&other.file),
            _ => at(self.file),
        }
    }

    /// Returns the current length of the file.
    pub fn current_len(&self) -> usize {
        self.with_file(<[u8]>::len)
    }

    /// Reads as specified by [`ReadAt`].
    ///
    /// # Errors
    /// As planned.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Fault> {
        let allowed = self.admit_read(offset, buffer.len())?;
        let len = self.copy(offset, &mut buffer[..allowed]);
        self.record_read(offset, len);
        Ok(len)
    }

    /// Counts a read, and returns how many bytes it may return.
    ///
    /// # Errors
    /// As planned.
    pub fn admit_read(&self, offset: u64, asked: usize) -> Result<usize, Fault> {
        self.admit()?;
        let mut state = self.state.borrow_mut();
        state.counts.reads += 1;
        state.counts.passes += u64::from(offset == 0);
        Ok(state.allow(self.plan.borrow().reads, asked))
    }

    /// Copies bytes of the current file from this offset on.
    pub fn copy(&self, offset: u64, buffer: &mut [u8]) -> usize {
        self.with_file(|file| {
            let present = usize::try_from(offset).ok().and_then(|offset| file.get(offset..)).unwrap_or(&[]);
            let len = present.len().min(buffer.len());
            buffer[..len].copy_from_slice(&present[..len]);
            len
        })
    }

    /// Records the range that a read returned.
    pub fn record_read(&self, offset: u64, len: usize) {
        let counts = &mut self.state.borrow_mut().counts;
        counts.bytes += len as u64;
        if counts.ranges.len() < 1_000_000 {
            counts.ranges.push(offset..offset + len as u64);
        }
    }

    /// Records a seek.
    ///
    /// # Errors
    /// As planned.
    pub fn record_seek(&self) -> Result<(), Fault> {
        self.admit()?;
        self.state.borrow_mut().counts.seeks += 1;
        Ok(())
    }

    /// Returns the reported length.
    pub fn reported_len(&self) -> FileLen {
        self.planned_len().unwrap_or_else(|| FileLen::Exactly(self.current_len() as u64))
    }

    /// Returns the planned length.
    pub fn planned_len(&self) -> Option<FileLen> {
        self.plan.borrow().reported_len
    }

    /// Counts a call.
    ///
    /// # Errors
    /// As planned.
    pub fn admit(&self) -> Result<(), Fault> {
        self.state.borrow_mut().admit(&self.plan.borrow())
    }
}

impl State {
    pub(crate) fn new(plan: &Plan) -> Self {
        let seed = if let Reads::Random(seed) = plan.reads { seed } else { 0 };
        Self { counts: Counts::default(), random: Random::new(seed), was_interrupted: false }
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn admit(&mut self, plan: &Plan) -> Result<(), Fault> {
        let index = self.counts.calls;
        if plan.interrupted_every.is_some_and(|every| index.is_multiple_of(every)) && !self.was_interrupted {
            self.was_interrupted = true;
            self.counts.interruptions += 1;
            return Err(Fault::Interrupted);
        }
        self.was_interrupted = false;
        self.counts.calls += 1;
        match plan.failure {
            Some(Failure::Once(call)) if index == call => Err(Fault::Broken),
            Some(Failure::Both(one, two)) if index == one || index == two => Err(Fault::Broken),
            Some(Failure::Since(call)) if index >= call => Err(Fault::Broken),
            _ => Ok(()),
        }
    }

    pub(crate) fn allow(&mut self, reads: Reads, asked: usize) -> usize {
        match reads {
            Reads::Whole => asked,
            Reads::AtMost(most) => asked.min(most),
            Reads::Random(_) => asked.min(1 + self.random.below(asked.max(1))),
        }
    }

    /// Whether the current call is at this point or later.
    fn has_reached(&self, since: Since) -> bool {
        match since {
            Since::Call(call) => self.counts.calls > call,
            Since::Pass(pass) => self.counts.passes > pass,
        }
    }
}

impl ReadAt for &Storage<'_> {
    type Error = Fault;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Fault> {
        self.read(offset, buffer)
    }

    fn file_len(&mut self) -> Result<FileLen, Fault> {
        self.admit()?;
        Ok(self.reported_len())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => "broken as planned",
            Self::Interrupted => "interrupted as planned",
            Self::NotAligned => "not aligned",
            Self::OutOfBounds => "out of bounds",
        })
    }
}

impl core::error::Error for Fault {}

impl embedded_io::Error for Fault {
    fn kind(&self) -> embedded_io::ErrorKind {
        match self {
            Self::Interrupted => embedded_io::ErrorKind::Interrupted,
            _ => embedded_io::ErrorKind::Other,
        }
    }
}

impl From<Infallible> for Fault {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl From<NorError<Fault>> for Fault {
    fn from(NorError(fault): NorError<Fault>) -> Self {
        fault
    }
}

impl NorFlashError for Fault {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::NotAligned => NorFlashErrorKind::NotAligned,
            Self::OutOfBounds => NorFlashErrorKind::OutOfBounds,
            Self::Broken | Self::Interrupted => NorFlashErrorKind::Other,
        }
    }
}
