//! The results that are reported for a vector.

/// The verdict about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// The file is valid.
    Valid {
        /// The number of its tensors.
        tensors: u64,
    },
    /// The file is invalid.
    Invalid {
        /// The stable code of the error.
        code: &'a str,
        /// The byte of the file that is reported.
        at: u64,
    },
}

sentences! {
    Verdict<'_>:
    Self::Valid { tensors: 1 } => "ok, 1 tensor";
    Self::Valid { tensors } => "ok, {} tensors", tensors;
    Self::Invalid { code, at } => "error[{}] at byte {}", code, at;
}

/// The outcome of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// The file is too long for the pack.
    LeftOut {
        /// The length of the file in bytes.
        length: u64,
    },
    /// The file was validated.
    Judged {
        /// The verdict.
        verdict: Verdict<'a>,
        /// The difference from the manifest.
        difference: Option<Difference<'a>>,
    },
}

/// What the manifest has instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference<'a> {
    /// Another verdict.
    Verdict(Verdict<'a>),
    /// The tensor is not listed, or differs from the listed one.
    Tensor {
        /// The byte of the file where its name begins.
        at: u64,
    },
    /// Other metadata.
    Metadata,
    /// The contents of a valid file cannot be listed.
    Listing {
        /// The stable code of the error.
        code: &'a str,
    },
}

sentences! {
    Outcome<'_>:
    Self::LeftOut { length } => "left out, {} bytes", length;
    Self::Judged { verdict, difference: None } => "{}", verdict;
    Self::Judged { verdict, difference: Some(difference) } => "{}, but {}", verdict, difference;
}

sentences! {
    Difference<'_>:
    Self::Verdict(verdict) => "the manifest says {}", verdict;
    Self::Tensor { at } => "the tensor at byte {} is not the manifest's", at;
    Self::Metadata => "the metadata is not the manifest's";
    Self::Listing { code } => "what it holds cannot be listed: error[{}]", code;
}

/// The numbers of vectors by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Those that agree with the manifest.
    pub agreeing: u32,
    /// Those that differ from the manifest.
    pub differing: u32,
    /// Those whose files are too long for the pack.
    pub left_out: u32,
}

impl Totals {
    pub(super) fn count(&mut self, outcome: &Outcome<'_>) {
        let counter = match outcome {
            Outcome::LeftOut { .. } => &mut self.left_out,
            Outcome::Judged { difference: None, .. } => &mut self.agreeing,
            Outcome::Judged { difference: Some(_), .. } => &mut self.differing,
        };
        *counter += 1;
    }

    /// Returns the number of vectors with a verdict.
    pub const fn judged(&self) -> u32 {
        self.agreeing + self.differing
    }
}

sentences! {
    Totals:
    totals => "{} of {} as the manifest says, {} left out", totals.agreeing, totals.judged(), totals.left_out;
}
