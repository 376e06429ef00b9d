//! Exit codes.

use std::process::ExitCode;

/// The exit codes in order of severity: of several files the most severe counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: success.
    Good,
    /// 1: a file is invalid, or the answer is no.
    Bad,
    /// 2: something could not be read or written, or bad usage.
    Failed,
    /// 130: interrupted by the user; no partial output is left.
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
