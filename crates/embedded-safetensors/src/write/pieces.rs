//! The JSON of a header, spelled as the reference spells it, piece by piece.

use super::decimal::digits;
use super::layout::{Content, PlannedTensor, PlannedTensors};
use super::order::{Order, place};
use super::spec::{FileSpec, PADDING};

/// A part of the text.
#[derive(Clone, Copy)]
pub(super) enum Piece<'a> {
    Plain(&'a str),
    /// What stands between quotes, before it is escaped.
    Escaped(&'a str),
    Number(u64),
}

impl Piece<'_> {
    fn len(self) -> u64 {
        match self {
            Self::Plain(text) => text.len() as u64,
            Self::Escaped(text) => text.bytes().map(escaped_len).sum(),
            Self::Number(number) => digits(number) as u64,
        }
    }
}

/// Of one byte between quotes.
fn escaped_len(byte: u8) -> u64 {
    match byte {
        b'"' | b'\\' | 8 | 9 | 10 | 12 | 13 => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

/// What comes next. Behind each piece of an entry the next one follows, so that only the first one has a choice.
#[derive(Clone, Copy)]
enum Stage {
    Open,
    /// The quote in front of a key, or the end of `__metadata__`.
    Pair,
    Key,
    BeforeValue,
    Value,
    /// The quote in front of a name, or the end.
    Entry,
    Name,
    PaddingNumber,
    BeforeDtype,
    Dtype,
    BeforeShape,
    Dim,
    /// A comma, or what follows the shape.
    AfterDim,
    Begin,
    BeforeEnd,
    End,
    Nothing,
}

/// The pieces in their order.
#[derive(Clone, Copy)]
pub(super) struct Pieces<'a> {
    stage: Stage,
    metadata: Option<&'a [(&'a str, &'a str)]>,
    keys: &'a [u32],
    /// Of the pair that comes next, or is on its way.
    pair: usize,
    tensors: PlannedTensors<'a>,
    /// The one on its way; none before the first one.
    tensor: Option<PlannedTensor<'a>>,
    /// Those of its shape that are still to come.
    dims: &'a [u64],
    /// The one dimension of padding, if it is still to come.
    padding: Option<u64>,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(spec: &FileSpec<'a>, order: Order<'a>) -> Self {
        let tensors = PlannedTensors::new(spec, order);
        let metadata = spec.metadata;
        Self {
            stage: Stage::Open,
            metadata,
            keys: order.keys,
            pair: 0,
            tensors,
            tensor: None,
            dims: &[],
            padding: None,
        }
    }

    /// How long all of them are together.
    pub(super) fn total_len(self) -> u64 {
        self.map(Piece::len).sum()
    }

    fn pair(&self) -> Option<(&'a str, &'a str)> {
        self.metadata?.get(place(self.keys, self.pair)).copied()
    }

    fn next_pair(&mut self) -> Piece<'a> {
        let is_first = self.pair == 0;
        match self.pair() {
            Some(_) => {
                self.stage = Stage::Key;
                Piece::Plain(if is_first { "\"" } else { "\",\"" })
            }
            None => {
                self.stage = Stage::Entry;
                Piece::Plain(if is_first { "}" } else { "\"}" })
            }
        }
    }

    fn value(&mut self) -> &'a str {
        let value = self.pair().map_or("", |pair| pair.1);
        self.pair = self.pair.wrapping_add(1); // below the number of pairs
        value
    }

    fn next_entry(&mut self) -> Piece<'a> {
        let is_first = self.tensor.is_none();
        self.tensor = self.tensors.next();
        let (stage, text) = match (self.tensor, is_first) {
            (Some(_), false) => (Stage::Name, "]},\""),
            (Some(_), true) if self.metadata.is_some() => (Stage::Name, ",\""),
            (Some(_), true) => (Stage::Name, "\""),
            (None, false) => (Stage::Nothing, "]}}"),
            (None, true) => (Stage::Nothing, "}"),
        };
        self.stage = stage;
        Piece::Plain(text)
    }

    fn name(&mut self) -> Piece<'a> {
        match self.tensor.map(|tensor| tensor.content) {
            Some(Content::Tensor { spec, .. }) => {
                self.dims = spec.dims();
                self.then(Stage::BeforeDtype, Piece::Escaped(spec.name()))
            }
            _ => {
                self.padding = self.tensor.map(|tensor| tensor.byte_len());
                self.before(Stage::PaddingNumber, PADDING)
            }
        }
    }

    fn padding_number(&self) -> u32 {
        match self.tensor.map(|tensor| tensor.content) {
            Some(Content::Padding { number }) => number,
            _ => 0,
        }
    }

    fn dtype(&self) -> &'static str {
        self.tensor.map_or("", |tensor| tensor.dtype().name())
    }

    fn has_dim(&self) -> bool {
        self.padding.is_some() || !self.dims.is_empty()
    }

    fn dim(&mut self) -> u64 {
        let (dim, rest) = self.dims.split_first().unwrap_or((&0, &[]));
        self.dims = rest;
        self.padding.take().unwrap_or(*dim)
    }

    fn after_dim(&mut self) -> Piece<'a> {
        let (stage, text) = match self.has_dim() {
            true => (Stage::Dim, ","),
            false => (Stage::Begin, "],\"data_offsets\":["),
        };
        self.stage = stage;
        Piece::Plain(text)
    }

    fn begin(&self) -> u64 {
        self.tensor.map_or(0, |tensor| tensor.begin)
    }

    fn end(&self) -> u64 {
        self.tensor.map_or(0, |tensor| tensor.end)
    }

    /// Gives a piece, and says what comes behind it.
    fn then(&mut self, stage: Stage, piece: Piece<'a>) -> Piece<'a> {
        self.stage = stage;
        piece
    }

    fn before(&mut self, stage: Stage, text: &'static str) -> Piece<'a> {
        self.then(stage, Piece::Plain(text))
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        Some(match self.stage {
            Stage::Open if self.metadata.is_some() => self.before(Stage::Pair, "{\"__metadata__\":{"),
            Stage::Open => self.before(Stage::Entry, "{"),
            Stage::Pair => self.next_pair(),
            Stage::Key => {
                let key = self.pair().map_or("", |pair| pair.0);
                self.then(Stage::BeforeValue, Piece::Escaped(key))
            }
            Stage::BeforeValue => self.before(Stage::Value, "\":\""),
            Stage::Value => {
                let value = self.value();
                self.then(Stage::Pair, Piece::Escaped(value))
            }
            Stage::Entry => self.next_entry(),
            Stage::Name => self.name(),
            Stage::PaddingNumber => {
                let number = self.padding_number().into();
                self.then(Stage::BeforeDtype, Piece::Number(number))
            }
            Stage::BeforeDtype => self.before(Stage::Dtype, "\":{\"dtype\":\""),
            Stage::Dtype => {
                let dtype = self.dtype();
                self.before(Stage::BeforeShape, dtype)
            }
            Stage::BeforeShape => {
                let stage = if self.has_dim() { Stage::Dim } else { Stage::AfterDim };
                self.before(stage, "\",\"shape\":[")
            }
            Stage::Dim => {
                let dim = self.dim();
                self.then(Stage::AfterDim, Piece::Number(dim))
            }
            Stage::AfterDim => self.after_dim(),
            Stage::Begin => {
                let begin = self.begin();
                self.then(Stage::BeforeEnd, Piece::Number(begin))
            }
            Stage::BeforeEnd => self.before(Stage::End, ","),
            Stage::End => {
                let end = self.end();
                self.then(Stage::Entry, Piece::Number(end))
            }
            Stage::Nothing => return None,
        })
    }
}
