//! The scanner's reports to its callers, in one byte.

use crate::header::progress::Progress;

/// A report of the scanner. Its values stay in the scanner's fields until the next call.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Signal {
    /// Nothing to report.
    Nothing,
    Length,
    Name,
    Tensor,
    Metadata,
    Dtype,
    Shape,
    Dim,
    Begin,
    End,
    TensorEnd,
    MetadataNull,
    Key,
    KeyEnd,
    Value,
    ValueEnd,
    MetadataEnd,
    // These are reported to every caller.
    NeedInput,
    HeaderEnd,
    Failed,
}

impl Signal {
    /// Whether a tensor or the header is complete, or no more can be read.
    pub(crate) const fn ends(self) -> bool {
        matches!(self, Self::TensorEnd | Self::HeaderEnd | Self::NeedInput | Self::Failed)
    }

    /// Returns the progress of a pass that is not repeated; `None` if it has failed.
    pub(crate) const fn progress(self) -> Option<Progress> {
        match self {
            Self::Failed => None,
            Self::HeaderEnd => Some(Progress::Done),
            _ => Some(Progress::NeedInput),
        }
    }
}

/// The signals that a caller selects.
#[derive(Clone, Copy)]
pub(crate) struct Signals(u32);

/// A bit that is no signal: the last piece of a string is reported before its end.
const SEPARATE_ENDS: u32 = 1 << 31;

impl Signals {
    /// All signals that are events, each by itself: every bit but one.
    pub(crate) const ALL: Self = Self(!(1 << Signal::Nothing as u8));

    /// Selects these signals. With the pieces of a string, select its end: the last piece comes with it.
    pub(crate) const fn of(signals: &[Signal]) -> Self {
        let (mut bits, mut left) = (0, signals);
        while let [signal, rest @ ..] = left {
            bits |= 1 << *signal as u8;
            left = rest;
        }
        let these = Self(bits);
        assert!(!these.has(Signal::Name) || (these.has(Signal::Tensor) && these.has(Signal::Metadata)));
        assert!(!these.has(Signal::Key) || these.has(Signal::KeyEnd));
        assert!(!these.has(Signal::Value) || these.has(Signal::ValueEnd));
        these
    }

    /// Whether the last piece of a string is reported before its end. Otherwise it comes with the signal of
    /// the end.
    #[inline(always)]
    pub(crate) const fn have_separate_ends(self) -> bool {
        self.0 & SEPARATE_ENDS != 0
    }

    #[inline(always)]
    pub(crate) const fn has(self, signal: Signal) -> bool {
        (self.0 >> signal as u8) & 1 != 0
    }
}
