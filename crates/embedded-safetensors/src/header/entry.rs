//! From events to tensors: the check of one entry against itself, and entries with their names in
//! memory that the caller gives.
//!
//! A recognizer of the writers' usual spelling has its place here, in front of the parser, because
//! this is the lowest layer that knows what a whole entry is.

use super::{Event, HeaderParser, Text};
use crate::bytes::{get_mut, low_u32};
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::info::{self, Extent, TensorInfo};
use crate::shape::Shape;

/// Follows the events of one tensor after the other and checks each against itself: the product of
/// its shape, taken left to right, the width of its dtype, the length of its range. Any rank.
pub(crate) struct TensorCheck {
    dtype: Dtype,
    elements: u64,
    begin: u64,
    end: u64,
    shape_at: u32,
    begin_at: u32,
}

impl TensorCheck {
    pub(crate) const fn new() -> Self {
        Self { dtype: Dtype::BOOL, elements: 1, begin: 0, end: 0, shape_at: 0, begin_at: 0 }
    }

    /// Takes an event that began at byte `at`. `true`: it was a tensor's last one.
    pub(crate) const fn accept(&mut self, event: &Event<'_>, at: u64) -> Result<bool, Error> {
        match *event {
            Event::Dtype(dtype) => self.dtype = dtype,
            Event::Shape => {
                self.elements = 1;
                self.shape_at = low_u32(at);
            }
            Event::Dim(dim) => match self.elements.checked_mul(dim) {
                Some(elements) => self.elements = elements,
                None => return Err(ErrorKind::Overflow.at(at)),
            },
            Event::Begin(begin) => {
                self.begin = begin;
                self.begin_at = low_u32(at);
            }
            Event::End(end) => self.end = end,
            Event::TensorEnd => return self.complete(),
            _ => {}
        }
        Ok(false)
    }

    /// The element type of the tensor that is complete.
    pub(crate) const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The place of the tensor that is complete.
    pub(crate) const fn extent(&self) -> Extent {
        Extent { begin: self.begin, end: self.end, begin_at: self.begin_at }
    }

    /// The parser lets no entry end before it had a dtype, a shape and two offsets.
    const fn complete(&self) -> Result<bool, Error> {
        let needed = match info::byte_len(self.dtype, self.elements) {
            Ok(needed) => needed,
            Err(kind) => return Err(kind.at(self.shape_at as u64)),
        };
        match info::check_range(self.begin, self.end, needed) {
            Ok(()) => Ok(true),
            Err(kind) => Err(kind.at(self.begin_at as u64)),
        }
    }
}

/// Reads a header tensor by tensor, without their names: each is checked against itself.
pub(crate) struct Extents {
    parser: HeaderParser,
    check: TensorCheck,
}

/// What [`Extents::next`] came to.
#[derive(Clone, Copy)]
pub(crate) enum Found {
    NeedInput,
    /// The length of the header.
    Length(u64),
    Tensor(Extent),
    HeaderEnd,
}

impl Extents {
    pub(crate) const fn new() -> Self {
        Self { parser: HeaderParser::new(), check: TensorCheck::new() }
    }

    pub(crate) const fn parser(&self) -> &HeaderParser {
        &self.parser
    }

    pub(crate) const fn parser_mut(&mut self) -> &mut HeaderParser {
        &mut self.parser
    }

    pub(crate) const fn next(&mut self, input: &mut &[u8]) -> Result<Found, Error> {
        loop {
            let event = match self.parser.next(input) {
                Ok(Event::NeedInput) => return Ok(Found::NeedInput),
                Ok(Event::HeaderEnd) => return Ok(Found::HeaderEnd),
                Ok(Event::Length(length)) => return Ok(Found::Length(length)),
                Ok(event) => event,
                Err(error) => return Err(error),
            };
            match self.check.accept(&event, self.parser.event_start()) {
                Ok(false) => {}
                Ok(true) => return Ok(Found::Tensor(self.check.extent())),
                Err(error) => return Err(self.parser.fail(error)),
            }
        }
    }
}

/// One tensor of the header.
///
/// *Memory*: 120 bytes, `Copy`; the name borrows from the memory given to [`Entries`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
/// [`HeaderCheck`](crate::HeaderCheck).
///
/// *Memory*: at most 320 bytes, and the memory for one name that the caller gives.
pub struct Entries<'s> {
    parser: HeaderParser,
    check: TensorCheck,
    shape: Shape,
    name: &'s mut [u8],
    name_len: usize,
    name_at: u64,
}

impl<'s> Entries<'s> {
    /// Stands before byte 0 of a file. `name` bounds the length of the names that can be read.
    pub const fn new(name: &'s mut [u8]) -> Self {
        Self {
            parser: HeaderParser::new(),
            check: TensorCheck::new(),
            shape: Shape::SCALAR,
            name,
            name_len: 0,
            name_at: 0,
        }
    }

    /// How many bytes of the file have been consumed.
    pub const fn position(&self) -> u64 {
        self.parser.position()
    }

    /// The error that is due when the file ends where the input ended, or `Ok` when the header is
    /// complete.
    ///
    /// # Errors
    /// As [`HeaderParser::end_of_input`].
    pub const fn end_of_input(&mut self) -> Result<(), Error> {
        self.parser.end_of_input()
    }

    /// Reads on to the next tensor and moves `input` past what it consumed.
    ///
    /// # Errors
    /// The faults of the header; [`ErrorKind::NameLength`] when a name is longer than the memory
    /// for it, with the length it has, and [`ErrorKind::Rank`] when a shape is too long to be held.
    /// The same error again at every further call.
    ///
    /// # Panics
    /// Never.
    pub const fn next(&mut self, input: &mut &[u8]) -> Result<Item<'_>, Error> {
        loop {
            let event = match self.parser.next(input) {
                Ok(Event::NeedInput) => return Ok(Item::NeedInput),
                Ok(Event::HeaderEnd) => return Ok(Item::HeaderEnd),
                Ok(event) => event,
                Err(error) => return Err(error),
            };
            match self.accept(&event) {
                Ok(false) => {}
                Ok(true) => return Ok(Item::Tensor(self.entry())),
                Err(error) => return Err(self.parser.fail(error)),
            }
        }
    }

    /// `true`: the event was a tensor's last one.
    const fn accept(&mut self, event: &Event<'_>) -> Result<bool, Error> {
        let at = self.parser.event_start();
        // A fault of the file goes before a limit of the memory.
        let is_last = match self.check.accept(event, at) {
            Ok(is_last) => is_last,
            Err(error) => return Err(error),
        };
        match self.keep(event) {
            Ok(()) => Ok(is_last),
            Err(kind) => Err(kind.at(at)),
        }
    }

    /// Keeps what an entry consists of.
    const fn keep(&mut self, event: &Event<'_>) -> Result<(), ErrorKind> {
        match event {
            Event::Name(piece) => self.keep_name(piece),
            Event::Metadata => self.name_len = 0,
            Event::Tensor => {
                self.name_at = self.parser.event_start();
                return self.check_name();
            }
            Event::Shape => self.shape = Shape::SCALAR,
            Event::Dim(dim) => return self.shape.push(*dim),
            _ => {}
        }
        Ok(())
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

    const fn check_name(&self) -> Result<(), ErrorKind> {
        let (needed, capacity) = (self.name_len as u64, self.name.len() as u64);
        if needed > capacity { Err(ErrorKind::NameLength { needed, capacity }) } else { Ok(()) }
    }

    const fn entry(&mut self) -> Entry<'_> {
        let info = TensorInfo::checked(self.check.dtype(), self.shape, self.check.extent());
        let name = match self.name.split_at_checked(self.name_len) {
            Some((name, _)) => name,
            None => &[],
        };
        self.name_len = 0;
        Entry { name, info, at: self.name_at }
    }
}

impl core::fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Entries").field("at", &self.position()).finish_non_exhaustive()
    }
}
