//! This project's full verdict on a file in memory, including duplicates.

use embedded_safetensors::{
    Error,
    validate::{DuplicateFinder, Progress, SortSlot, Validator},
};

use crate::contents::contents;
use crate::split::Split;
use vectors::table::Table;

/// How a file is validated. The verdict depends on none of it, if the memory suffices.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// How the file arrives.
    pub split: Split,
    /// Slots to sort tensors and names in; `None`: enough for one pass each.
    pub slots: Option<usize>,
    /// Bytes of memory to compare equal names in.
    pub text: usize,
    /// Whether the length of the file is known before its header is read.
    pub length_known: bool,
}

impl Default for Reader {
    fn default() -> Self {
        Self { split: Split::WHOLE, slots: None, text: 64, length_known: true }
    }
}

/// Returns the verdict on a file that arrives in one piece.
///
/// # Errors
/// As [`Reader::verdict`].
pub fn full_verdict(file: &[u8]) -> Result<Table, Error> {
    Reader::default().verdict(file)
}

impl Reader {
    /// Returns the same reader for a file that arrives like this.
    #[must_use]
    pub fn split(self, split: Split) -> Self {
        Self { split, ..self }
    }

    /// Returns the verdict and, for a valid file, its table.
    ///
    /// # Errors
    /// The error of the file that the reader reports.
    pub fn verdict(&self, file: &[u8]) -> Result<Table, Error> {
        let mut slots =
            self.slots.map_or_else(|| slots_for(file.len()), |slots| vec![SortSlot::EMPTY; slots]);
        self.validate(file, &mut slots)?;
        self.find_duplicates(file, &mut slots)?;
        contents(file, self.split)
    }

    fn validate(&self, file: &[u8], slots: &mut [SortSlot]) -> Result<(), Error> {
        let file_len = self.length_known.then_some(file.len() as u64);
        let mut validator = Validator::new(file_len, slots);
        if !self.feed(file, |input| validator.push(input))? {
            validator.end_of_input()?;
        }
        match validator.summary() {
            Some(summary) => summary.validate_file_len(file.len() as u64),
            None => panic!("validation ended without a summary or an error"),
        }
    }

    fn find_duplicates(&self, file: &[u8], slots: &mut [SortSlot]) -> Result<(), Error> {
        let mut text = vec![0; self.text];
        let mut finder = DuplicateFinder::new([1, 2], slots, &mut text);
        let is_done = self.feed(file, |input| finder.push(input))?;
        assert!(is_done, "the duplicate check of a valid header did not end");
        Ok(())
    }

    /// Feeds the pieces, again from the first one on each rewind. `false`: the file ended first.
    fn feed(
        &self,
        file: &[u8],
        mut push: impl FnMut(&mut &[u8]) -> Result<Progress, Error>,
    ) -> Result<bool, Error> {
        'pass: loop {
            for piece in self.split.pieces(file) {
                let mut input = piece;
                match push(&mut input)? {
                    Progress::NeedInput => assert!(input.is_empty(), "needs input, but has not consumed all"),
                    Progress::Rewind => continue 'pass,
                    Progress::Done => return Ok(true),
                }
            }
            return Ok(false);
        }
    }
}

/// Returns slots for all names of a file of this length, up to a million, so that no pass is repeated.
pub fn slots_for(len: usize) -> Vec<SortSlot> {
    // Each takes at least 6 bytes.
    vec![SortSlot::EMPTY; (len / 6 + 2).min(1 << 20)]
}
