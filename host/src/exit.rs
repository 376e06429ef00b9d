//! Exit codes.

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

impl Exit {
    pub const fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Bad => 1,
            Self::Failed => 2,
            Self::Interrupted => 130,
        }
    }
}
