//! One pass over a header in memory.

use super::json_str::JsonStr;
use crate::error::{Error, ErrorKind};
use crate::header::{HeaderParser, Signal, Signals};
use crate::shape::{MAX_RANK, Shape};
use crate::tensor::info::{Extent, TensorInfo};
use crate::util::bytes::low_u32;

const TOO_DEEP: ErrorKind = ErrorKind::Rank { limit: MAX_RANK.to_le_bytes()[0] };

/// Parses a header in memory. `IN_CONST` selects the variant for const evaluation.
pub(super) struct Walk<'a, const IN_CONST: bool> {
    file: &'a [u8],
    left: &'a [u8],
    parser: HeaderParser,
    name: JsonStr<'a>,
    shape: Shape,
    /// Where the first dimension stands that the shape has no room for; 0 while there is none.
    rank_at: u32,
    has_metadata: bool,
}

/// A tensor as the header has it.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) name: JsonStr<'a>,
    pub(super) info: TensorInfo,
    /// 0, or where the first dimension stands that is not in `info`, for want of room.
    pub(super) rank_at: u32,
}

impl Seen<'_> {
    /// # Errors
    /// [`ErrorKind::Rank`] unless all of its dimensions are held.
    pub(super) const fn check_rank(&self) -> Result<(), Error> {
        match self.rank_at {
            0 => Ok(()),
            at => Err(TOO_DEEP.at(at as u64)),
        }
    }
}

impl<'a, const IN_CONST: bool> Walk<'a, IN_CONST> {
    /// Stands before byte 0.
    pub(super) const fn new(file: &'a [u8]) -> Self {
        Self {
            file,
            left: file,
            parser: HeaderParser::of_tensors(Some(file.len() as u64)),
            name: JsonStr::new(&[], 0),
            shape: Shape::SCALAR,
            rank_at: 0,
            has_metadata: false,
        }
    }

    /// Advances to the next tensor called `name`, in a header that is validated. `false` if there is none.
    pub(super) const fn seek(&mut self, name: &str) -> bool {
        const TOLD: Signals = Signals::of(&[Signal::Tensor, Signal::MetadataEnd]);
        let mut run: &[u8] = &[];
        loop {
            while self.take_entry() {
                if self.name.is(name) {
                    return true;
                }
            }
            match self.parser.advance::<IN_CONST>(&mut self.left, &mut run, TOLD) {
                // Entries may follow that are taken whole.
                Signal::MetadataEnd => continue,
                Signal::Tensor => self.name = self.string(),
                _ => return false,
            }
            if self.name.is(name) {
                return matches!(self.next(), Signal::TensorEnd);
            }
            self.parser.skim_entry();
        }
    }

    /// Goes on to the end of a tensor or of the header. [`Signal::Failed`] only where nobody has proven it
    /// before.
    pub(super) const fn next(&mut self) -> Signal {
        const TOLD: Signals =
            Signals::of(&[Signal::Tensor, Signal::Shape, Signal::Dim, Signal::Metadata, Signal::TensorEnd]);
        if self.take_entry() {
            return Signal::TensorEnd;
        }
        let mut run: &[u8] = &[];
        loop {
            let signal = self.parser.advance::<IN_CONST>(&mut self.left, &mut run, TOLD);
            match signal {
                Signal::Tensor => self.name = self.string(),
                Signal::Shape => (self.shape, self.rank_at) = (Shape::SCALAR, 0),
                Signal::Dim => self.see_dim(),
                Signal::Metadata => self.has_metadata = true,
                _ => return signal,
            }
        }
    }

    /// The name of the tensor that is complete.
    pub(super) const fn name(&self) -> JsonStr<'a> {
        self.name
    }

    /// The tensor that is complete.
    pub(super) const fn seen(&self) -> Seen<'a> {
        Seen { name: self.name, info: self.parser.info(self.shape), rank_at: self.rank_at }
    }

    pub(super) const fn extent(&self) -> Extent {
        self.parser.extent()
    }

    /// What follows the name `__metadata__` in the header, where there are any. Only for one that is proven.
    pub(super) const fn find_metadata(&mut self) -> &'a [u8] {
        const TOLD: Signals = Signals::of(&[Signal::Metadata, Signal::Tensor]);
        let mut run: &[u8] = &[];
        loop {
            match self.parser.advance::<IN_CONST>(&mut self.left, &mut run, TOLD) {
                Signal::Metadata => return self.left_in_header(),
                Signal::Tensor => self.parser.skim_entry(),
                _ => return &[],
            }
        }
    }

    const fn left_in_header(&self) -> &'a [u8] {
        match self.left.split_at_checked(low_u32(self.data_start() - self.position()) as usize) {
            Some((header, _)) => header,
            None => &[],
        }
    }

    /// The string that is complete.
    const fn string(&self) -> JsonStr<'a> {
        let at = self.parser.event_start();
        let (begin, end) = (low_u32(at) as usize + 1, low_u32(self.position()) as usize);
        let Some((before, _)) = self.file.split_at_checked(end) else { return JsonStr::new(&[], 0) };
        match before.split_at_checked(begin) {
            Some((_, [text @ .., _quote])) => JsonStr::new(text, low_u32(at)),
            _ => JsonStr::new(&[], low_u32(at)),
        }
    }

    /// How many bytes have been read.
    pub(super) const fn position(&self) -> u64 {
        self.parser.position()
    }

    /// Where the data begins, once a tensor or the end has been seen.
    pub(super) const fn data_start(&self) -> u64 {
        match self.parser.header_len() {
            Some(len) => len + 8,
            None => 8,
        }
    }

    /// Whether `__metadata__` has come by.
    pub(super) const fn has_metadata(&self) -> bool {
        self.has_metadata
    }

    /// Why it has failed.
    pub(super) const fn error(&self) -> Error {
        self.parser.error()
    }

    /// Whether the entry of this name has byte `at` in it, the walk having ended in it or behind it.
    const fn is_in_entry(&self, at: u64, signal: Signal) -> bool {
        self.name.at() <= at && (at < self.position() || matches!(signal, Signal::Failed))
    }

    /// As [`HeaderParser::take_entry`]. Not inlined: it is large, and all passes share it.
    #[cfg_attr(target_pointer_width = "64", inline(never))]
    const fn take_entry(&mut self) -> bool {
        let Some(entry) = self.parser.take_entry::<IN_CONST>(&mut self.left) else { return false };
        self.name = JsonStr::proven(entry.name, entry.name_at, true);
        (self.shape, self.rank_at) = (entry.shape, 0);
        true
    }

    const fn see_dim(&mut self) {
        if self.shape.push(self.parser.dim()).is_err() && self.rank_at == 0 {
            self.rank_at = low_u32(self.parser.event_start());
        }
    }
}

/// The name of the tensor whose entry, from the name's opening quote to the closing brace, has byte `at` in
/// it. An entry that a fault broke off ends there.
pub(super) const fn tensor_at(file: &[u8], at: u64) -> Option<JsonStr<'_>> {
    let mut walk = Walk::<false>::new(file);
    loop {
        let before = walk.position();
        let signal = walk.next();
        let has_name = walk.name.at() > before;
        if has_name && walk.is_in_entry(at, signal) {
            return Some(walk.name);
        }
        if !matches!(signal, Signal::TensorEnd) {
            return None;
        }
    }
}
