//! What the process tells its caller.

use std::process::ExitCode;

/// The exit codes, in ascending order of weight: over many files the heaviest counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0
    Sound,
    /// 1
    Unsound,
    /// 2, as for bad usage.
    NotRead,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Sound => Self::SUCCESS,
            Exit::Unsound => Self::from(1),
            Exit::NotRead => Self::from(2),
        }
    }
}
