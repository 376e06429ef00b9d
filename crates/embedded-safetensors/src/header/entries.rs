//! Entries of a header with their names, in a buffer of the caller.

use super::scanner::HeaderParser;
use super::signal::{Signal, Signals};
use super::text::Text;
use crate::error::table::Fault;
use crate::error::{Error, ErrorKind};
use crate::shape::Shape;
use crate::tensor::info::TensorInfo;
use crate::util::bytes::get_mut;

/// One tensor of the header.
///
/// *Memory*: 120 bytes, `Copy`; the name borrows from the buffer given to [`Entries`], or from the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Entry<'n> {
    name: &'n [u8],
    /// Dtype, shape and range, which agree.
    pub info: TensorInfo,
    /// The offset of the name's opening quote in the file.
    pub at: u64,
}

impl<'n> Entry<'n> {
    /// Returns the name. This takes a pass over its bytes; [`name_bytes`](Self::name_bytes) does not.
    pub const fn name(&self) -> &'n str {
        match core::str::from_utf8(self.name) {
            Ok(name) => name,
            // The parser has validated every name that it completes.
            Err(_) => "",
        }
    }

    /// Returns the name in UTF-8, for comparisons.
    pub const fn name_bytes(&self) -> &'n [u8] {
        self.name
    }
}

/// The result of [`Entries::next`].
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
/// It validates each entry by itself, not the entries against each other:
/// [`Validator`](crate::validate::Validator) validates the entire header.
///
/// *Memory*: at most 232 bytes, and the caller's buffer for one name.
pub struct Entries<'s> {
    pub(crate) parser: HeaderParser,
    shape: Shape,
    name: &'s mut [u8],
    name_len: usize,
    name_at: u32,
}

impl<'s> Entries<'s> {
    const SELECTED: Signals = Signals::of(&[
        Signal::Name,
        Signal::Metadata,
        Signal::Tensor,
        Signal::Shape,
        Signal::Dim,
        Signal::TensorEnd,
    ]);

    /// Creates a reader for a new file. The length of `name` limits the length of the names that can be read.
    pub const fn new(name: &'s mut [u8]) -> Self {
        Self { parser: HeaderParser::of_tensors(None), shape: Shape::SCALAR, name, name_len: 0, name_at: 0 }
    }

    /// Returns how many bytes of the file have been consumed.
    pub const fn position(&self) -> u64 {
        self.parser.position()
    }

    /// Ends the input: the file has no more bytes. Returns `Ok` if the header is complete.
    ///
    /// # Errors
    /// As [`HeaderParser::end_of_input`].
    pub const fn end_of_input(&mut self) -> Result<(), Error> {
        match self.parser.end_pass(true) {
            Signal::Failed => Err(self.error()),
            _ => Ok(()),
        }
    }

    /// Reads to the next tensor, and moves `input` past the bytes consumed.
    ///
    /// # Errors
    /// Errors of the header; [`ErrorKind::NameLength`], with the length needed, when a name does not fit into
    /// its buffer; [`ErrorKind::Rank`] when a shape has too many dimensions for a [`Shape`]. Every further
    /// call returns the same error.
    pub const fn next(&mut self, input: &mut &[u8]) -> Result<Item<'_>, Error> {
        match self.run(input) {
            Signal::Failed => Err(self.error()),
            Signal::HeaderEnd => Ok(Item::HeaderEnd),
            Signal::TensorEnd => Ok(Item::Tensor(self.entry())),
            _ => Ok(Item::NeedInput),
        }
    }

    /// Reads to the end of a tensor, of the header or of the input, or to an error.
    const fn run(&mut self, input: &mut &[u8]) -> Signal {
        let mut run: &[u8] = &[];
        loop {
            // An error in the file takes precedence over a buffer that is too small.
            let signal = self.parser.advance::<false>(input, &mut run, Self::SELECTED);
            match signal {
                Signal::Name => self.keep_name(&self.parser.piece(signal, run)),
                Signal::Tensor => {
                    self.keep_name(&self.parser.piece(signal, run));
                    if !self.keep_name_offset() {
                        return self.parser.stop_here(Fault::OTHER);
                    }
                }
                Signal::Metadata => self.name_len = 0,
                Signal::Shape => self.shape = Shape::SCALAR,
                Signal::Dim if !self.keep_dim() => {
                    return self.parser.stop_here(Fault::RANK);
                }
                _ if signal.ends() => return signal,
                _ => {}
            }
        }
    }

    pub(crate) const fn error(&self) -> Error {
        match self.parser.fault() {
            Fault::OTHER => {
                let (needed, capacity) = (self.name_len as u64, self.name.len() as u64);
                ErrorKind::NameLength { needed, capacity }.at(self.name_at as u64)
            }
            _ => self.parser.error(),
        }
    }

    const fn keep_dim(&mut self) -> bool {
        self.shape.push(self.parser.dim()).is_ok()
    }

    /// Keeps the name's offset. Returns whether the entire name was kept.
    const fn keep_name_offset(&mut self) -> bool {
        self.name_at = self.parser.token;
        self.name_len <= self.name.len()
    }

    /// Keeps a piece of the name. Bytes that do not fit are counted, so that the error can report the length
    /// needed.
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
        let info = self.parser.info(self.shape);
        let name = match self.name.split_at_checked(self.name_len) {
            Some((name, _)) => name,
            None => &[],
        };
        self.name_len = 0;
        Entry { name, info, at: self.name_at as u64 }
    }
}

shown!(Entries<'_>, it => "Entries {{ at: {:?}, .. }}", it.position());
