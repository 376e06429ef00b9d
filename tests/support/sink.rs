//! A sink that has the planned faults.

use embedded_io::{ErrorType, Write};

use crate::mock::{Counts, Failure, Fault, Plan, Reads, State};

/// What a sink does to its writer. Calls are counted from 0: writes and flushes.
#[derive(Clone, Copy, Debug, Default)]
pub struct SinkPlan {
    /// How many of the given bytes a write takes.
    pub takes: Reads,
    /// Each call whose index is a multiple of this is interrupted once.
    pub interrupted_every: Option<u64>,
    /// The calls that fail.
    pub failure: Option<Failure>,
    /// How many bytes fit; then writes take none.
    pub capacity: Option<usize>,
}

/// What was written.
#[derive(Debug)]
pub struct Sink {
    /// The bytes.
    pub file: Vec<u8>,
    /// Whether everything was flushed.
    pub is_flushed: bool,
    capacity: Option<usize>,
    plan: Plan,
    state: State,
}

impl Sink {
    /// Creates an empty sink.
    pub fn new(SinkPlan { takes, interrupted_every, failure, capacity }: SinkPlan) -> Self {
        let plan = Plan { reads: takes, interrupted_every, failure, ..Plan::default() };
        Self { file: vec![], is_flushed: false, capacity, state: State::new(&plan), plan }
    }

    /// Returns the calls and the interruptions.
    pub fn counts(&self) -> &Counts {
        self.state.counts()
    }
}

impl ErrorType for Sink {
    type Error = Fault;
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        self.state.admit(&self.plan)?;
        let left = self.capacity.map_or(bytes.len(), |capacity| capacity - self.file.len());
        let taken = self.state.allow(self.plan.reads, bytes.len()).min(left);
        self.file.extend(&bytes[..taken]);
        self.is_flushed = false;
        Ok(taken)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        self.state.admit(&self.plan)?;
        self.is_flushed = true;
        Ok(())
    }
}
