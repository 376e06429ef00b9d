//! This project's full verdict on a file in memory, duplicates and all.

use embedded_safetensors::{
    Error,
    validate::{DuplicateFinder, Progress, SortSlot, Validator},
};

use crate::contents::contents;
use crate::split::Split;
use vectors::table::Table;

/// How a file is judged. The verdict depends on none of it, as long as the memory suffices.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// How the file arrives.
    pub split: Split,
    /// Slots to sort tensors and names in; `None`: enough to do each in one pass.
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

/// The verdict on a file that arrives whole.
///
/// # Errors
/// As [`Reader::judge`].
pub fn judge(file: &[u8]) -> Result<Table, Error> {
    Reader::default().judge(file)
}

impl Reader {
    /// The same reader for a file that arrives like this.
    #[must_use]
    pub fn split(self, split: Split) -> Self {
        Self { split, ..self }
    }

    /// The verdict, and what stands in the file.
    ///
    /// # Errors
    /// The fault of the file that the reader reports.
    pub fn judge(&self, file: &[u8]) -> Result<Table, Error> {
        let mut slots =
            self.slots.map_or_else(|| slots_for(file.len()), |slots| vec![SortSlot::EMPTY; slots]);
        self.check(file, &mut slots)?;
        self.check_duplicates(file, &mut slots)?;
        contents(file, self.split)
    }

    fn check(&self, file: &[u8], slots: &mut [SortSlot]) -> Result<(), Error> {
        let file_len = self.length_known.then_some(file.len() as u64);
        let mut check = Validator::new(file_len, slots);
        if !self.feed(file, |input| check.push(input))? {
            check.end_of_input()?;
        }
        match check.summary() {
            Some(summary) => summary.validate_file_len(file.len() as u64),
            None => panic!("the check said neither that it passed nor what is wrong"),
        }
    }

    fn check_duplicates(&self, file: &[u8], slots: &mut [SortSlot]) -> Result<(), Error> {
        let mut text = vec![0; self.text];
        let mut check = DuplicateFinder::new([1, 2], slots, &mut text);
        let is_done = self.feed(file, |input| check.push(input))?;
        assert!(is_done, "the names of a sound header did not come to an end");
        Ok(())
    }

    /// Feeds the pieces, again from the first one as often as asked. `false`: the file ended first.
    fn feed(
        &self,
        file: &[u8],
        mut push: impl FnMut(&mut &[u8]) -> Result<Progress, Error>,
    ) -> Result<bool, Error> {
        'pass: loop {
            for piece in self.split.pieces(file) {
                let mut input = piece;
                match push(&mut input)? {
                    Progress::NeedInput => assert!(input.is_empty(), "wants more, but has not consumed all"),
                    Progress::Rewind => continue 'pass,
                    Progress::Done => return Ok(true),
                }
            }
            return Ok(false);
        }
    }
}

/// Slots for all names of a file of this length, up to a million, so that no pass is made again.
pub fn slots_for(len: usize) -> Vec<SortSlot> {
    // Each takes 6 bytes at the least.
    vec![SortSlot::EMPTY; (len / 6 + 2).min(1 << 20)]
}
