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
    /// The offset of the first dimension that does not fit in the shape; 0 while there is none.
    rank_at: u32,
    has_metadata: bool,
}

/// A tensor as parsed from the header.
#[derive(Clone, Copy)]
pub(super) struct ParsedTensor<'a> {
    pub(super) name: JsonStr<'a>,
    pub(super) info: TensorInfo,
    /// The offset of the first dimension that did not fit in `info`, or 0.
    pub(super) rank_at: u32,
}

impl ParsedTensor<'_> {
    /// Checks that all dimensions fit.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] when they do not.
    pub(super) const fn check_rank(&self) -> Result<(), Error> {
        match self.rank_at {
            0 => Ok(()),
            at => Err(TOO_DEEP.at(at as u64)),
        }
    }
}

impl<'a, const IN_CONST: bool> Walk<'a, IN_CONST> {
    /// Creates a walk that begins at byte 0.
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
        const REPORTED: Signals = Signals::of(&[Signal::Tensor, Signal::MetadataEnd]);
        let mut run: &[u8] = &[];
        loop {
            while self.take_entry() {
                if self.name.is(name) {
                    return true;
                }
            }
            match self.parser.advance::<IN_CONST>(&mut self.left, &mut run, REPORTED) {
                // `take_entry` may take the entries that follow.
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

    /// Advances to the end of a tensor or of the header. [`Signal::Failed`] only if the header has not been
    /// validated before.
    pub(super) const fn next(&mut self) -> Signal {
        const REPORTED: Signals =
            Signals::of(&[Signal::Tensor, Signal::Shape, Signal::Dim, Signal::Metadata, Signal::TensorEnd]);
        if self.take_entry() {
            return Signal::TensorEnd;
        }
        let mut run: &[u8] = &[];
        loop {
            let signal = self.parser.advance::<IN_CONST>(&mut self.left, &mut run, REPORTED);
            match signal {
                Signal::Tensor => self.name = self.string(),
                Signal::Shape => (self.shape, self.rank_at) = (Shape::SCALAR, 0),
                Signal::Dim => self.see_dim(),
                Signal::Metadata => self.has_metadata = true,
                _ => return signal,
            }
        }
    }

    /// Returns the name of the tensor just completed.
    pub(super) const fn name(&self) -> JsonStr<'a> {
        self.name
    }

    /// Returns the tensor just completed.
    pub(super) const fn parsed(&self) -> ParsedTensor<'a> {
        ParsedTensor { name: self.name, info: self.parser.info(self.shape), rank_at: self.rank_at }
    }

    pub(super) const fn extent(&self) -> Extent {
        self.parser.extent()
    }

    /// Returns the bytes after the name `__metadata__` in the header, or none if there is no such name. Only
    /// for a validated header.
    pub(super) const fn find_metadata(&mut self) -> &'a [u8] {
        const REPORTED: Signals = Signals::of(&[Signal::Metadata, Signal::Tensor]);
        let mut run: &[u8] = &[];
        loop {
            match self.parser.advance::<IN_CONST>(&mut self.left, &mut run, REPORTED) {
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

    /// Returns the string just completed.
    const fn string(&self) -> JsonStr<'a> {
        let at = self.parser.event_start();
        let (begin, end) = (low_u32(at) as usize + 1, low_u32(self.position()) as usize);
        let Some((before, _)) = self.file.split_at_checked(end) else { return JsonStr::new(&[], 0) };
        match before.split_at_checked(begin) {
            Some((_, [text @ .., _quote])) => JsonStr::new(text, low_u32(at)),
            _ => JsonStr::new(&[], low_u32(at)),
        }
    }

    /// Returns the number of bytes read.
    pub(super) const fn position(&self) -> u64 {
        self.parser.position()
    }

    /// Returns the offset of the data, once a tensor or the end has been read.
    pub(super) const fn data_start(&self) -> u64 {
        match self.parser.header_len() {
            Some(len) => len + 8,
            None => 8,
        }
    }

    /// Returns whether `__metadata__` has been read.
    pub(super) const fn has_metadata(&self) -> bool {
        self.has_metadata
    }

    /// Returns the error after [`Signal::Failed`].
    pub(super) const fn error(&self) -> Error {
        self.parser.error()
    }

    /// Returns whether byte `at` is in the entry of the current name. The walk has ended in that entry or
    /// after it.
    const fn is_in_entry(&self, at: u64, signal: Signal) -> bool {
        self.name.at() <= at && (at < self.position() || matches!(signal, Signal::Failed))
    }

    /// Takes an entry as [`HeaderParser::take_entry`] does. Not inlined: it is large, and all passes share
    /// it.
    #[cfg_attr(target_pointer_width = "64", inline(never))]
    const fn take_entry(&mut self) -> bool {
        let Some(entry) = self.parser.take_entry::<IN_CONST>(&mut self.left) else { return false };
        self.name = JsonStr::validated(entry.name, entry.name_at, true);
        (self.shape, self.rank_at) = (entry.shape, 0);
        true
    }

    const fn see_dim(&mut self) {
        if self.shape.push(self.parser.dim()).is_err() && self.rank_at == 0 {
            self.rank_at = low_u32(self.parser.event_start());
        }
    }
}

/// Returns the name of the tensor whose entry contains byte `at`. An entry extends from the name's opening
/// quote to the closing brace, or to an error in it.
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
