//! What the scanner tells those who feed it, in one byte.

use crate::header::progress::Progress;

/// What the scanner has come to. What there is to say of it besides stays in the scanner until the next call.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Signal {
    /// Nothing that anybody is told.
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
    // These are told to everybody.
    NeedInput,
    HeaderEnd,
    Failed,
}

impl Signal {
    /// Whether a tensor is complete, or the header, or no more can be read.
    pub(crate) const fn ends(self) -> bool {
        matches!(self, Self::TensorEnd | Self::HeaderEnd | Self::NeedInput | Self::Failed)
    }

    /// What it means to whoever feeds a machine that takes one pass; nothing when that has failed.
    pub(crate) const fn progress(self) -> Option<Progress> {
        match self {
            Self::Failed => None,
            Self::HeaderEnd => Some(Progress::Done),
            _ => Some(Progress::NeedInput),
        }
    }
}

/// Which signals somebody wants to be told.
#[derive(Clone, Copy)]
pub(crate) struct Signals(u32);

/// A bit that stands for no signal.
const APART: u32 = 1 << 31;

impl Signals {
    /// All that is an event, each by itself: every bit but one.
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

    /// Whether the last piece of a string is told before its end is. Otherwise it comes with the signal of
    /// the end.
    #[inline(always)]
    pub(crate) const fn are_apart(self) -> bool {
        self.0 & APART != 0
    }

    #[inline(always)]
    pub(crate) const fn has(self, signal: Signal) -> bool {
        (self.0 >> signal as u8) & 1 != 0
    }
}
