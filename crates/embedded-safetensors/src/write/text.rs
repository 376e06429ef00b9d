//! The text of a header, as the reference spells it.

use super::decimal;
use super::escape::escaped_len;
use super::layout::{PlannedContent, PlannedTensor, PlannedTensors};
use super::order::{Order, place};
use super::spec::FileSpec;
use crate::error::spec::PADDING;

/// Where text goes: it is counted ([`Length`]), or it fills buffers. `None` stops the spelling, where there is no more room.
pub(super) trait Output {
    /// Takes text as it is.
    fn text(&mut self, text: &[u8]) -> Option<()>;
    /// Takes a number in decimal.
    fn number(&mut self, number: u64) -> Option<()>;
    /// Takes what is between quotes, and escapes it.
    fn quoted(&mut self, text: &str) -> Option<()>;
}

/// What is spelled at once: the same text each time, until it is the next part's turn.
#[derive(Clone, Copy)]
enum TextPart<'a> {
    /// The length of the header, and what is before the first key or name.
    Start,
    /// A pair of `__metadata__`, or what ends them.
    Pair,
    Tensor(PlannedTensor<'a>),
    End,
    Nothing,
}

/// A header, part by part.
#[derive(Clone)]
pub(super) struct HeaderText<'a> {
    part: TextPart<'a>,
    /// How many parts come before this one, without the start.
    earlier: usize,
    header_len: u32,
    metadata: Option<&'a [(&'a str, &'a str)]>,
    keys: &'a [u32],
    /// Those after this part.
    tensors: PlannedTensors<'a>,
}

impl<'a> HeaderText<'a> {
    #[inline]
    pub(super) fn new(spec: &FileSpec<'a>, order: Order<'a>, header_len: u32) -> Self {
        let (metadata, keys, tensors) = (spec.metadata, order.keys, PlannedTensors::new(spec, order));
        Self { part: TextPart::Start, earlier: 0, header_len, metadata, keys, tensors }
    }

    /// Of the header, without the bytes that say it.
    pub(super) const fn header_len(&self) -> u32 {
        self.header_len
    }

    /// Spells the part whose turn it is.
    #[inline]
    pub(super) fn spell(&self, out: &mut impl Output) -> Option<()> {
        match &self.part {
            TextPart::Start => {
                out.text(&u64::from(self.header_len).to_le_bytes())?;
                out.text(if self.metadata.is_some() { b"{\"__metadata__\":{" } else { b"{" })
            }
            TextPart::Pair => match self.pair() {
                Some((key, value)) => {
                    out.text(self.lead())?;
                    out.quoted(key)?;
                    out.text(b"\":\"")?;
                    out.quoted(value)?;
                    out.text(b"\"")
                }
                None => out.text(b"}"),
            },
            TextPart::Tensor(tensor) => self.spell_tensor(tensor, out),
            TextPart::End => out.text(b"}"),
            TextPart::Nothing => Some(()),
        }
    }

    #[inline]
    fn spell_tensor(&self, tensor: &PlannedTensor<'_>, out: &mut impl Output) -> Option<()> {
        out.text(self.lead())?;
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

    /// What is before a key or a name.
    fn lead(&self) -> &'static [u8] {
        if self.earlier > 0 { b",\"" } else { b"\"" }
    }

    fn pair(&self) -> Option<(&'a str, &'a str)> {
        self.metadata?.get(place(self.keys, self.earlier)).copied()
    }

    /// Goes on to the next part, if there is one.
    #[inline]
    pub(super) fn advance(&mut self) -> bool {
        let is_among_pairs = match self.part {
            TextPart::Start => self.metadata.is_some(),
            TextPart::Pair => self.pair().is_some(),
            TextPart::Tensor(_) | TextPart::End | TextPart::Nothing => false,
        };
        self.earlier = self.earlier.wrapping_add(usize::from(!matches!(self.part, TextPart::Start)));
        self.part = match self.part {
            _ if is_among_pairs => TextPart::Pair,
            TextPart::End | TextPart::Nothing => TextPart::Nothing,
            TextPart::Start | TextPart::Pair | TextPart::Tensor(_) => {
                self.tensors.next().map_or(TextPart::End, TextPart::Tensor)
            }
        };
        !matches!(self.part, TextPart::Nothing)
    }

    /// How long the file is up to the spaces at the end of its header, and how long its data are, padding included. Nothing where the
    /// tensors are longer than a file can be: ends that do not fit are the largest number there is, and after such an end padding would
    /// come for ever.
    #[inline]
    pub(super) fn lengths(mut self) -> Option<(u64, u64)> {
        let mut length = Length(0);
        while self.tensors.end() < u64::MAX {
            self.spell(&mut length)?;
            if !self.advance() {
                return Some((length.0, self.tensors.end()));
            }
        }
        None
    }
}

/// How long text is, which goes nowhere.
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
