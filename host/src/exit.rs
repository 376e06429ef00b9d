//! What the process tells its caller.

use std::process::ExitCode;

/// The exit codes, in ascending order of weight: over many files the heaviest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: all is as it should be.
    Good,
    /// 1: a file is not sound, or the answer to what was asked is no.
    Bad,
    /// 2: something could not be read or written, or was asked for wrongly.
    Failed,
    /// 130: the user stopped it, and nothing half done is left.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Good => Self::SUCCESS,
            Exit::Bad => Self::from(1),
            Exit::Failed => Self::from(2),
            Exit::Interrupted => Self::from(130),
        }
    }
}
