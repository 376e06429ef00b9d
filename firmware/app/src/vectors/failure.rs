//! The reason why vectors could not be tested.

use super::outcome::Totals;
use crate::report::FailureSink;
use core::fmt;
use serde_json_core::de::Error as Reason;

/// One of the two input files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// The expectations.
    Manifest,
    /// The files of the vectors.
    Pack,
}

sentences! {
    File:
    Self::Manifest => "manifest";
    Self::Pack => "pack";
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure<E> {
    /// Some verdicts differ from the manifest, or there are none.
    Differs(Totals),
    /// A file or its storage is missing.
    NoFile {
        /// The file.
        file: File,
        /// The storage's error.
        error: E,
    },
    /// The storage failed.
    Storage {
        /// The file that was read.
        file: File,
        /// The offset at which the read began.
        at: u64,
        /// The storage's error.
        error: E,
    },
    /// The manifest's storage contains something else, such as erased flash.
    NoManifest,
    /// A file ends too early.
    Ends {
        /// The file.
        file: File,
        /// Its end.
        at: u64,
    },
    /// The pack continues after the last file of the manifest.
    Surplus {
        /// The offset after the last file.
        at: u64,
    },
    /// A line of the manifest cannot be decoded.
    Line {
        /// The line number, from 1.
        number: u32,
        /// The decoder's error.
        reason: Reason,
    },
    /// A line of the manifest does not fit into memory.
    LongLine {
        /// The line number, from 1.
        number: u32,
        /// The line's bytes, including its end.
        needed: u64,
        /// The bytes available for it.
        capacity: usize,
    },
}

impl<E> Failure<E> {
    /// Creates the failure of a read at this offset of a file.
    pub const fn storage(file: File, at: u64, error: E) -> Self {
        Self::Storage { file, at, error }
    }

    /// Returns the file that is missing or incomplete.
    pub const fn file(&self) -> Option<File> {
        match self {
            Self::NoFile { file, .. } | Self::Storage { file, .. } | Self::Ends { file, .. } => Some(*file),
            _ => None,
        }
    }

    /// Returns the exit code of the program.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Differs(_) | Self::Ends { .. } | Self::Surplus { .. } | Self::Line { .. } => 1,
            Self::NoFile { .. } | Self::Storage { .. } | Self::NoManifest => 2,
            Self::LongLine { .. } => 4,
        }
    }

    /// Reports the sentence, and returns the exit code.
    pub fn report(&self, sink: &mut impl FailureSink<Self>) -> u8 {
        sink.failure(self);
        self.exit_code()
    }

    /// Converts the storage's error.
    pub fn map<F>(self, words: impl FnOnce(E) -> F) -> Failure<F> {
        match self {
            Self::NoFile { file, error } => Failure::NoFile { file, error: words(error) },
            Self::Storage { file, at, error } => Failure::Storage { file, at, error: words(error) },
            Self::Differs(totals) => Failure::Differs(totals),
            Self::NoManifest => Failure::NoManifest,
            Self::Ends { file, at } => Failure::Ends { file, at },
            Self::Surplus { at } => Failure::Surplus { at },
            Self::Line { number, reason } => Failure::Line { number, reason },
            Self::LongLine { number, needed, capacity } => Failure::LongLine { number, needed, capacity },
        }
    }
}

sentences! {
    Failure<E>:
    Self::Differs(totals) =>
        "error: {} of {} verdicts are not the manifest's", totals.differing, totals.judged();
    Self::NoFile { file, error } => "error: the {} cannot be opened: {}", file, error;
    Self::Storage { file, at, error } =>
        "error at byte {} of the {}: the storage cannot be read: {}", at, file, error;
    Self::NoManifest => "error: there is no manifest";
    Self::Ends { file, at } => "error at byte {} of the {}: it ends here, before its end was due", at, file;
    Self::Surplus { at } => "error at byte {} of the pack: it goes on behind the files of the manifest", at;
    Self::Line { number, reason } =>
        "error in line {} of the manifest: it cannot be understood: {}", number, External(reason);
    Self::LongLine { number, needed, capacity } =>
        "error in line {} of the manifest: it has {} bytes, and there is memory for {}",
        number, needed, capacity;
}

/// An error of another crate, which has to be formatted on the device.
struct External<'r>(&'r Reason);

impl fmt::Display for External<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(feature = "log")]
impl defmt::Format for External<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{}", defmt::Display2Format(self.0));
    }
}
