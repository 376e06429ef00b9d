//! The text of a header, as the reference implementation writes it.

use super::decimal;
use super::escape::escaped_len;
use super::layout::{PlannedContent, PlannedTensor, PlannedTensors};
use super::order::{Order, index_at};
use super::spec::FileSpec;
use crate::error::spec::PADDING;

/// A destination of text: it is counted ([`Length`]), or written to buffers. A method returns `None` to stop
/// when a buffer is full.
pub(super) trait Output {
    /// Takes text unchanged.
    fn text(&mut self, text: &[u8]) -> Option<()>;
    /// Takes a number in decimal.
    fn number(&mut self, number: u64) -> Option<()>;
    /// Takes the content of a string, and escapes it.
    fn quoted(&mut self, text: &str) -> Option<()>;
}

/// A part of the header. It has the same text each time it is written, until the header advances to the next
/// part.
#[derive(Clone, Copy)]
enum TextPart<'a> {
    /// The length of the header, and the text before the first key or name.
    Start,
    /// A pair of `__metadata__`, or the end of `__metadata__`.
    Pair,
    Tensor(PlannedTensor<'a>),
    End,
    Done,
}

/// A header, part by part.
#[derive(Clone)]
pub(super) struct HeaderText<'a> {
    part: TextPart<'a>,
    /// The number of parts before this one, without the start.
    earlier: usize,
    header_len: u32,
    metadata: Option<&'a [(&'a str, &'a str)]>,
    keys: &'a [u32],
    /// The tensors after this part.
    tensors: PlannedTensors<'a>,
}

impl<'a> HeaderText<'a> {
    #[inline]
    pub(super) fn new(spec: &FileSpec<'a>, order: Order<'a>, header_len: u32) -> Self {
        let (metadata, keys, tensors) = (spec.metadata, order.keys, PlannedTensors::new(spec, order));
        Self { part: TextPart::Start, earlier: 0, header_len, metadata, keys, tensors }
    }

    /// Returns the length of the header, without its 8-byte prefix.
    pub(super) const fn header_len(&self) -> u32 {
        self.header_len
    }

    /// Writes the current part.
    #[inline]
    pub(super) fn write(&self, out: &mut impl Output) -> Option<()> {
        match &self.part {
            TextPart::Start => {
                out.text(&u64::from(self.header_len).to_le_bytes())?;
                out.text(if self.metadata.is_some() { b"{\"__metadata__\":{" } else { b"{" })
            }
            TextPart::Pair => match self.pair() {
                Some((key, value)) => {
                    out.text(self.separator())?;
                    out.quoted(key)?;
                    out.text(b"\":\"")?;
                    out.quoted(value)?;
                    out.text(b"\"")
                }
                None => out.text(b"}"),
            },
            TextPart::Tensor(tensor) => self.write_tensor(tensor, out),
            TextPart::End => out.text(b"}"),
            TextPart::Done => Some(()),
        }
    }

    #[inline]
    fn write_tensor(&self, tensor: &PlannedTensor<'_>, out: &mut impl Output) -> Option<()> {
        out.text(self.separator())?;
        match tensor.content {
            PlannedContent::Tensor { spec, .. } => out.quoted(spec.name())?,
            PlannedContent::Padding { number } => {
                out.text(PADDING.as_bytes())?;
                out.number(number.into())?;
            }
        }
        out.text(b"\":{\"dtype\":\"")?;
        out.text(tensor.dtype().name().as_bytes())?;
        out.text(b"\",\"shape\":[")?;
        let padding = [tensor.byte_len()];
        let dims = match tensor.content {
            PlannedContent::Tensor { spec, .. } => spec.dims(),
            PlannedContent::Padding { .. } => &padding,
        };
        if let [first, others @ ..] = dims {
            out.number(*first)?;
            for dim in others {
                out.text(b",")?;
                out.number(*dim)?;
            }
        }
        out.text(b"],\"data_offsets\":[")?;
        out.number(tensor.begin)?;
        out.text(b",")?;
        out.number(tensor.end)?;
        out.text(b"]}")
    }

    /// Returns the separator before a key or name, with the opening quote.
    fn separator(&self) -> &'static [u8] {
        if self.earlier > 0 { b",\"" } else { b"\"" }
    }

    fn pair(&self) -> Option<(&'a str, &'a str)> {
        self.metadata?.get(index_at(self.keys, self.earlier)).copied()
    }

    /// Advances to the next part. Returns whether there is one.
    #[inline]
    pub(super) fn advance(&mut self) -> bool {
        let has_pair = match self.part {
            TextPart::Start => self.metadata.is_some(),
            TextPart::Pair => self.pair().is_some(),
            TextPart::Tensor(_) | TextPart::End | TextPart::Done => false,
        };
        self.earlier = self.earlier.wrapping_add(usize::from(!matches!(self.part, TextPart::Start)));
        self.part = match self.part {
            _ if has_pair => TextPart::Pair,
            TextPart::End | TextPart::Done => TextPart::Done,
            TextPart::Start | TextPart::Pair | TextPart::Tensor(_) => {
                self.tensors.next().map_or(TextPart::End, TextPart::Tensor)
            }
        };
        !matches!(self.part, TextPart::Done)
    }

    /// Returns the length of the file up to the spaces at the end of its header, and the length of the data
    /// with padding. `None` if the tensors are longer than a file can be. An end that does not fit in 64 bits
    /// saturates; after such an end there would be endless padding.
    #[inline]
    pub(super) fn lengths(mut self) -> Option<(u64, u64)> {
        let mut length = Length(0);
        while self.tensors.end() < u64::MAX {
            self.write(&mut length)?;
            if !self.advance() {
                return Some((length.0, self.tensors.end()));
            }
        }
        None
    }
}

/// Counts the length of text.
struct Length(u64);

impl Output for Length {
    #[inline]
    fn text(&mut self, text: &[u8]) -> Option<()> {
        self.0 += text.len() as u64;
        Some(())
    }

    #[inline]
    fn number(&mut self, number: u64) -> Option<()> {
        self.0 += decimal::digits(number) as u64;
        Some(())
    }

    #[inline]
    fn quoted(&mut self, text: &str) -> Option<()> {
        self.0 += escaped_len(text);
        Some(())
    }
}
