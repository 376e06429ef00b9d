//! From events to tensors: the check of one entry against itself, and entries with their names in
//! memory that the caller gives.
//!
//! The writers' usual spelling is recognised here ([`Tensors::take_usual`]), in front of the parser, because
//! this is the lowest layer that knows what a whole entry is.

use super::{HeaderParser, Signal, Text, Usual, WORDS};
use crate::dtype::Dtype;
use crate::error::table::Fault;
use crate::error::{Error, ErrorKind};
use crate::shape::Shape;
use crate::tensor::info::{Agreement, Extent, TensorInfo};
use crate::util::bytes::{get_mut, low_u32};

/// The parser with a check of each tensor against itself: the product of its shape, taken left to
/// right, the width of its dtype, the length of its range. Any rank.
pub(crate) struct Tensors {
    parser: HeaderParser,
}

impl Tensors {
    const TOLD: u32 = HeaderParser::ALL & !(Signal::Dtype.bit() | Signal::Begin.bit() | Signal::End.bit());
    const ENDS: u32 = Signal::Length.bit() | Signal::Metadata.bit() | Signal::TensorEnd.bit();

    /// As [`HeaderParser::of_file`].
    pub(crate) const fn of_file(file_len: Option<u64>) -> Self {
        let mut parser = HeaderParser::of_file(file_len);
        parser.multiplies = true;
        parser.told = Self::TOLD;
        Self { parser }
    }

    pub(crate) const fn parser(&self) -> &HeaderParser {
        &self.parser
    }

    pub(crate) const fn parser_mut(&mut self) -> &mut HeaderParser {
        &mut self.parser
    }

    /// As [`HeaderParser::advance`], but a tensor whose end is signalled agrees with itself. Inline: one
    /// frame less on every stack.
    #[inline]
    pub(crate) const fn advance<'i>(&mut self, input: &mut &'i [u8], run: &mut &'i [u8]) -> Signal {
        match self.parser.advance(input, run) {
            Signal::TensorEnd => self.complete(),
            signal => signal,
        }
    }

    /// Signals no more than is needed to know the places of tensors.
    pub(crate) const fn only_places(mut self) -> Self {
        self.tell_all(false);
        self
    }

    /// Signals all, or only what ends: the length, `__metadata__` and tensors.
    pub(crate) const fn tell_all(&mut self, all: bool) {
        self.parser.told = if all { Self::TOLD } else { Self::ENDS };
    }

    /// Takes the next tensor, if all of it stands in `input` in the usual spelling, byte by byte as suits the compiler. As good as
    /// [`Signal::TensorEnd`]; all else is for [`advance`](Self::advance).
    pub(crate) const fn take_usual<'i>(&mut self, input: &mut &'i [u8]) -> Option<Usual<'i>> {
        self.parser.take_usual::<false>(input)
    }

    /// As [`take_usual`](Self::take_usual), by words where processors are faster with them.
    #[inline(always)]
    pub(crate) const fn take_whole<'i>(&mut self, input: &mut &'i [u8]) -> Option<Usual<'i>> {
        self.parser.take_usual::<WORDS>(input)
    }

    /// Takes `__metadata__`, if that is next and all of it stands in `input` in the usual spelling.
    pub(crate) const fn take_metadata(&mut self, input: &mut &[u8]) -> bool {
        self.parser.take_metadata(input)
    }

    /// Whether a file of this length has room for a header of the length that was signalled. What is
    /// wrong is told by the next call.
    pub(crate) const fn check_header_fits(&mut self, file_len: u64) {
        if file_len < self.parser.end as u64 {
            self.parser.stop(Fault::HeaderBeyondFile, low_u32(file_len));
        }
    }

    /// The parser lets no entry end before it had a dtype, a shape and two offsets.
    #[inline(never)]
    const fn complete(&mut self) -> Signal {
        let parser = &mut self.parser;
        match Agreement::of(parser.dtype, parser.elements, parser.begin, parser.range_end) {
            Agreement::Full => Signal::TensorEnd,
            Agreement::Overflow => parser.stop(Fault::Overflow, parser.shape_at),
            Agreement::SubByte => parser.stop(Fault::SubByte, parser.shape_at),
            Agreement::Reversed => parser.stop(Fault::Reversed, parser.begin_at),
            Agreement::Size => parser.stop(Fault::Size, parser.begin_at),
        }
    }

    /// The error behind [`Signal::Failed`].
    pub(crate) const fn error(&self) -> Error {
        let HeaderParser { dtype, elements, begin, range_end, .. } = self.parser;
        let lack = match self.parser.fault() {
            Fault::SubByte => Agreement::SubByte,
            Fault::Reversed => Agreement::Reversed,
            Fault::Size => Agreement::Size,
            _ => return self.parser.error(),
        };
        lack.kind(dtype, elements, begin, range_end).at(self.parser.fault_at as u64)
    }

    /// The element type of the tensor that is complete.
    pub(crate) const fn dtype(&self) -> Dtype {
        self.parser.dtype
    }

    /// The dimension that was signalled last.
    pub(crate) const fn dim(&self) -> u64 {
        self.parser.number
    }

    /// As [`HeaderParser::end_of_input`].
    pub(crate) const fn end_of_input(&mut self) -> Result<(), Error> {
        match self.parser.end_pass(true) {
            Signal::Failed => Err(self.error()),
            _ => Ok(()),
        }
    }

    /// Makes a fault of the last token the last word.
    pub(crate) const fn stop(&mut self, fault: Fault) -> Signal {
        self.parser.stop_here(fault)
    }

    /// The place of the tensor that is complete.
    pub(crate) const fn extent(&self) -> Extent {
        let HeaderParser { begin, range_end, begin_at, .. } = self.parser;
        Extent { begin, end: range_end, begin_at }
    }

    /// The tensor that is complete, with the shape that its dimensions make.
    pub(crate) const fn info(&self, shape: Shape) -> TensorInfo {
        TensorInfo::checked(self.dtype(), shape, self.extent())
    }
}

/// One tensor of the header.
///
/// *Memory*: 120 bytes, `Copy`; the name borrows from the memory given to [`Entries`], or from the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Entry<'n> {
    name: &'n [u8],
    /// Dtype, shape and range, which agree with each other.
    pub info: TensorInfo,
    /// Where in the file the name's opening quote stands.
    pub at: u64,
}

impl<'n> Entry<'n> {
    /// The name. Costs a pass over it; [`name_bytes`](Self::name_bytes) does not.
    pub const fn name(&self) -> &'n str {
        match core::str::from_utf8(self.name) {
            Ok(name) => name,
            // The parser has proven every name that it completes.
            Err(_) => "",
        }
    }

    /// The name in UTF-8, to compare with.
    pub const fn name_bytes(&self) -> &'n [u8] {
        self.name
    }
}

/// What [`Entries::next`] found.
///
/// *Memory*: 120 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Item<'n> {
    /// All input is consumed; call again with more.
    NeedInput,
    /// The next tensor, in the header's order.
    Tensor(Entry<'n>),
    /// The header is complete.
    HeaderEnd,
}

/// Reads the tensors of a header one by one, with their names.
///
/// It checks each entry against itself, not the entries against each other: a header is proven by
/// [`HeaderCheck`](crate::validate::HeaderCheck).
///
/// *Memory*: at most 232 bytes, and the memory for one name that the caller gives.
pub struct Entries<'s> {
    tensors: Tensors,
    shape: Shape,
    name: &'s mut [u8],
    name_len: usize,
    name_at: u32,
}

impl<'s> Entries<'s> {
    /// Stands before byte 0 of a file. `name` bounds the length of the names that can be read.
    pub const fn new(name: &'s mut [u8]) -> Self {
        Self { tensors: Tensors::of_file(None), shape: Shape::SCALAR, name, name_len: 0, name_at: 0 }
    }

    /// How many bytes of the file have been consumed.
    pub const fn position(&self) -> u64 {
        self.tensors.parser.position()
    }

    /// The error that is due when the file ends where the input ended, or `Ok` when the header is
    /// complete.
    ///
    /// # Errors
    /// As [`HeaderParser::end_of_input`].
    pub const fn end_of_input(&mut self) -> Result<(), Error> {
        match self.tensors.parser.end_pass(true) {
            Signal::Failed => Err(self.error()),
            _ => Ok(()),
        }
    }

    /// Reads on to the next tensor and moves `input` past what it consumed.
    ///
    /// # Errors
    /// The faults of the header; [`ErrorKind::NameLength`] when a name is longer than the memory
    /// for it, with the length it has, and [`ErrorKind::Rank`] when a shape is too long to be held.
    /// The same error again at every further call.
    pub const fn next(&mut self, input: &mut &[u8]) -> Result<Item<'_>, Error> {
        match self.run(input) {
            Signal::Failed => Err(self.error()),
            Signal::HeaderEnd => Ok(Item::HeaderEnd),
            Signal::TensorEnd => Ok(Item::Tensor(self.entry())),
            _ => Ok(Item::NeedInput),
        }
    }

    /// Reads on to the end of a tensor or of the header, or to where no more can be read.
    const fn run(&mut self, input: &mut &[u8]) -> Signal {
        let mut run: &[u8] = &[];
        loop {
            // A fault of the file goes before a limit of the memory.
            let signal = self.tensors.advance(input, &mut run);
            match signal {
                Signal::Name => self.keep_name(&self.tensors.parser.piece(run)),
                Signal::Metadata => self.name_len = 0,
                Signal::Shape => self.shape = Shape::SCALAR,
                Signal::Dim if !self.keep_dim() => return self.tensors.stop(Fault::Rank),
                Signal::Tensor if !self.keep_place() => return self.tensors.stop(Fault::Other),
                _ if signal.ends() => return signal,
                _ => {}
            }
        }
    }

    pub(crate) const fn error(&self) -> Error {
        match self.tensors.parser.fault() {
            Fault::Other => {
                let (needed, capacity) = (self.name_len as u64, self.name.len() as u64);
                ErrorKind::NameLength { needed, capacity }.at(self.name_at as u64)
            }
            _ => self.tensors.error(),
        }
    }

    const fn keep_dim(&mut self) -> bool {
        self.shape.push(self.tensors.dim()).is_ok()
    }

    /// Keeps where the name stands, if all of it could be kept.
    const fn keep_place(&mut self) -> bool {
        self.name_at = self.tensors.parser.token;
        self.name_len <= self.name.len()
    }

    /// Counts on where the memory ends, so that the error can say how much is needed.
    const fn keep_name(&mut self, piece: &Text<'_>) {
        let mut left = piece.as_bytes();
        while let Some((&byte, rest)) = left.split_first() {
            if let Some(slot) = get_mut(self.name, self.name_len) {
                *slot = byte;
            }
            self.name_len += 1;
            left = rest;
        }
    }

    const fn entry(&mut self) -> Entry<'_> {
        let info = self.tensors.info(self.shape);
        let name = match self.name.split_at_checked(self.name_len) {
            Some((name, _)) => name,
            None => &[],
        };
        self.name_len = 0;
        Entry { name, info, at: self.name_at as u64 }
    }
}

impl core::fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Entries").field("at", &self.position()).finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Entries<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Entries {{ at: {=u64}, .. }}", self.position());
    }
}
