//! Why vectors could not be judged.

use super::outcome::Totals;
use crate::report::Hears;
use core::fmt;
use serde_json_core::de::Error as Reason;

/// One of the two files that all is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// What is expected.
    Manifest,
    /// The files of the vectors.
    Pack,
}

sentences! {
    File:
    Self::Manifest => "manifest";
    Self::Pack => "pack";
}

/// What can go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure<E> {
    /// Not all verdicts are the manifest's, or there is none.
    Differs(Totals),
    /// A file is not there, or its storage is not.
    NoFile {
        /// Which.
        file: File,
        /// What the storage says.
        error: E,
    },
    /// The storage failed.
    Storage {
        /// The file that was read.
        file: File,
        /// The byte of it at which the read began.
        at: u64,
        /// What the storage says.
        error: E,
    },
    /// What lies in the manifest's place is none: erased flash, say.
    NoManifest,
    /// A file ends too early.
    Ends {
        /// Which.
        file: File,
        /// Its end.
        at: u64,
    },
    /// The pack goes on behind the last file of the manifest.
    Surplus {
        /// The byte behind the last file.
        at: u64,
    },
    /// A line of the manifest says nothing that can be understood.
    Line {
        /// Counted from 1.
        number: u32,
        /// What is wrong with it.
        reason: Reason,
    },
    /// A line of the manifest does not fit into memory.
    LongLine {
        /// Counted from 1.
        number: u32,
        /// How many bytes it has, with its end.
        needed: u64,
        /// How many bytes there are for it.
        capacity: usize,
    },
}

impl<E> Failure<E> {
    /// A read that failed at this byte of a file.
    pub const fn storage(file: File, at: u64, error: E) -> Self {
        Self::Storage { file, at, error }
    }

    /// The file that is not there, or not all of it.
    pub const fn file(&self) -> Option<File> {
        match self {
            Self::NoFile { file, .. } | Self::Storage { file, .. } | Self::Ends { file, .. } => Some(*file),
            _ => None,
        }
    }

    /// The code that the program ends with.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Differs(_) | Self::Ends { .. } | Self::Surplus { .. } | Self::Line { .. } => 1,
            Self::NoFile { .. } | Self::Storage { .. } | Self::NoManifest => 2,
            Self::LongLine { .. } => 4,
        }
    }

    /// Tells the sentence, and gives the code that the program ends with.
    pub fn tell(&self, sink: &mut impl Hears<Self>) -> u8 {
        sink.failure(self);
        self.exit_code()
    }

    /// The same, with other words for what the storage says.
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
        "error in line {} of the manifest: it cannot be understood: {}", number, Foreign(reason);
    Self::LongLine { number, needed, capacity } =>
        "error in line {} of the manifest: it has {} bytes, and there is memory for {}", number, needed, capacity;
}

/// A sentence of another crate, which the device has to put together itself.
struct Foreign<'r>(&'r Reason);

impl fmt::Display for Foreign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Foreign<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{}", defmt::Display2Format(self.0));
    }
}
