//! What is reported of a vector.

/// What a reader says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It is sound.
    Sound {
        /// How many tensors it has.
        tensors: u64,
    },
    /// It is not.
    Unsound {
        /// The stable code of the error.
        code: &'a str,
        /// The byte of the file where it shows.
        at: u64,
    },
}

sentences! {
    Verdict<'_>:
    Self::Sound { tensors: 1 } => "ok, 1 tensor";
    Self::Sound { tensors } => "ok, {} tensors", tensors;
    Self::Unsound { code, at } => "error[{}] at byte {}", code, at;
}

/// What became of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// Its file is too long for the pack.
    LeftOut {
        /// The bytes of its file.
        length: u64,
    },
    /// It was judged.
    Judged {
        /// The verdict.
        verdict: Verdict<'a>,
        /// Where the manifest says something else.
        difference: Option<Difference<'a>>,
    },
}

/// What the manifest says instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference<'a> {
    /// Another verdict.
    Verdict(Verdict<'a>),
    /// It does not list this tensor, or as another one.
    Tensor {
        /// The byte of the file where its name begins.
        at: u64,
    },
    /// Other metadata.
    Metadata,
    /// What a sound file holds cannot be listed.
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

/// How many vectors there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Those of which the manifest says the same.
    pub agreeing: u32,
    /// Those of which it says something else.
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

    /// How many were judged.
    pub const fn judged(&self) -> u32 {
        self.agreeing + self.differing
    }
}

sentences! {
    Totals:
    totals => "{} of {} as the manifest says, {} left out", totals.agreeing, totals.judged(), totals.left_out;
}
