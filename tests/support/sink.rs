//! A sink that has the planned faults.

use embedded_io::{ErrorType, Write};

use crate::mock::{Failure, Fault, Reads};
use crate::random::Random;

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
    /// Calls that were not interrupted.
    pub calls: u64,
    /// Interrupted calls.
    pub interruptions: u64,
    /// Whether everything was flushed.
    pub is_flushed: bool,
    plan: SinkPlan,
    random: Random,
    was_interrupted: bool,
}

impl Sink {
    /// Creates an empty sink.
    pub fn new(plan: SinkPlan) -> Self {
        let random = Random::new(if let Reads::Random(seed) = plan.takes { seed } else { 0 });
        let (file, was_interrupted, is_flushed) = (vec![], false, false);
        Self { file, calls: 0, interruptions: 0, is_flushed, plan, random, was_interrupted }
    }

    fn admit(&mut self) -> Result<(), Fault> {
        let index = self.calls;
        let is_interrupted = self.plan.interrupted_every.is_some_and(|every| index.is_multiple_of(every));
        if is_interrupted && !self.was_interrupted {
            self.was_interrupted = true;
            self.interruptions += 1;
            return Err(Fault::Interrupted);
        }
        self.was_interrupted = false;
        self.calls += 1;
        match self.plan.failure {
            Some(Failure::Once(call)) if index == call => Err(Fault::Broken),
            Some(Failure::Since(call)) if index >= call => Err(Fault::Broken),
            _ => Ok(()),
        }
    }

    fn taken(&mut self, given: usize) -> usize {
        let left = self.plan.capacity.map_or(given, |capacity| capacity - self.file.len());
        let taken = match self.plan.takes {
            Reads::Whole => given,
            Reads::AtMost(most) => most,
            Reads::Random(_) => 1 + self.random.below(given.max(1)),
        };
        taken.min(given).min(left)
    }
}

impl ErrorType for Sink {
    type Error = Fault;
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        self.admit()?;
        let taken = self.taken(bytes.len());
        self.file.extend(&bytes[..taken]);
        self.is_flushed = false;
        Ok(taken)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        self.admit()?;
        self.is_flushed = true;
        Ok(())
    }
}
