//! Entries with their names, in memory that the caller gives.

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
/// [`Validator`](crate::validate::Validator).
///
/// *Memory*: at most 232 bytes, and the memory for one name that the caller gives.
pub struct Entries<'s> {
    parser: HeaderParser,
    shape: Shape,
    name: &'s mut [u8],
    name_len: usize,
    name_at: u32,
}

impl<'s> Entries<'s> {
    const TOLD: Signals = Signals::of(&[
        Signal::Name,
        Signal::Metadata,
        Signal::Tensor,
        Signal::Shape,
        Signal::Dim,
        Signal::TensorEnd,
    ]);

    /// Stands before byte 0 of a file. `name` bounds the length of the names that can be read.
    pub const fn new(name: &'s mut [u8]) -> Self {
        Self { parser: HeaderParser::of_tensors(None), shape: Shape::SCALAR, name, name_len: 0, name_at: 0 }
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
        match self.parser.end_pass(true) {
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
            let signal = self.parser.advance::<false>(input, &mut run, Self::TOLD);
            match signal {
                Signal::Name => self.keep_name(&self.parser.piece(signal, run)),
                Signal::Tensor => {
                    self.keep_name(&self.parser.piece(signal, run));
                    if !self.keep_place() {
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

    /// Keeps where the name stands, if all of it could be kept.
    const fn keep_place(&mut self) -> bool {
        self.name_at = self.parser.token;
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
