//! The length of a header and its JSON, spelled as the reference spells it, piece by piece.

use super::decimal::digits;
use super::escape::escaped_len;
use super::layout::{Content, PlannedTensor, PlannedTensors};
use super::order::{Order, place};
use super::spec::{FileSpec, PADDING};

/// A part of the text.
pub(super) enum Piece<'a> {
    /// How long the header is.
    Length,
    Plain(&'static str),
    /// Text, and a number behind it.
    Number(&'static str, u64),
    /// What stands between quotes, before it is escaped.
    Escaped(&'a str),
}

const METADATA: &str = "{\"__metadata__\":{";
const BEFORE_VALUE: &str = "\":\"";
const BEFORE_DTYPE: &str = "\":{\"dtype\":\"";
const BEFORE_SHAPE: &str = "\",\"shape\":[";
const BEFORE_OFFSETS: &str = "],\"data_offsets\":[";
const ENTRY_END: &str = "]}";

/// What comes next.
#[derive(Clone, Copy)]
enum Stage {
    Length,
    Open,
    /// The quote in front of a key, or the end of `__metadata__`.
    Pair,
    Key,
    BeforeValue,
    Value,
    /// The quote in front of a name, or the end of the header.
    Entry,
    Name,
    BeforeDtype,
    Dtype,
    Shape,
    /// A dimension behind another one, or what follows the last one.
    Dim,
    End,
    Nothing,
}

/// The pieces in their order.
#[derive(Clone)]
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
}

impl<'a> Pieces<'a> {
    #[inline]
    pub(super) fn new(spec: &FileSpec<'a>, order: Order<'a>) -> Self {
        let tensors = PlannedTensors::new(spec, order);
        let metadata = spec.metadata;
        Self { stage: Stage::Length, metadata, keys: order.keys, pair: 0, tensors, tensor: None, dims: &[] }
    }

    /// The next one; none when there are no more.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Piece<'a>> {
        Some(match self.stage {
            Stage::Length => self.then(Stage::Open, Piece::Length),
            Stage::Open => self.open(),
            Stage::Pair => self.next_pair(),
            Stage::Key => {
                let key = self.pair().map_or("", |pair| pair.0);
                self.then(Stage::BeforeValue, Piece::Escaped(key))
            }
            Stage::BeforeValue => self.then(Stage::Value, Piece::Plain(BEFORE_VALUE)),
            Stage::Value => {
                let value = self.value();
                self.then(Stage::Pair, Piece::Escaped(value))
            }
            Stage::Entry => self.next_entry(),
            Stage::Name => self.name(),
            Stage::BeforeDtype => self.then(Stage::Dtype, Piece::Plain(BEFORE_DTYPE)),
            Stage::Dtype => {
                let dtype = self.tensor.map_or("", |tensor| tensor.dtype().name());
                self.then(Stage::Shape, Piece::Plain(dtype))
            }
            Stage::Shape => self.shape(),
            Stage::Dim => self.dim(),
            Stage::End => {
                let end = self.tensor.map_or(0, |tensor| tensor.end);
                self.then(Stage::Entry, Piece::Number(",", end))
            }
            Stage::Nothing => return None,
        })
    }

    fn open(&mut self) -> Piece<'a> {
        match self.metadata {
            Some(_) => self.then(Stage::Pair, Piece::Plain(METADATA)),
            None => self.then(Stage::Entry, Piece::Plain("{")),
        }
    }

    fn pair(&self) -> Option<(&'a str, &'a str)> {
        self.metadata?.get(place(self.keys, self.pair)).copied()
    }

    fn next_pair(&mut self) -> Piece<'a> {
        let is_first = self.pair == 0;
        match self.pair() {
            Some(_) => self.then(Stage::Key, Piece::Plain(if is_first { "\"" } else { "\",\"" })),
            None => self.then(Stage::Entry, Piece::Plain(if is_first { "}" } else { "\"}" })),
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
        self.then(stage, Piece::Plain(text))
    }

    fn name(&mut self) -> Piece<'a> {
        match self.tensor.map(|tensor| tensor.content) {
            Some(Content::Padding { number }) => {
                self.then(Stage::BeforeDtype, Piece::Number(PADDING, number.into()))
            }
            Some(Content::Tensor { spec, .. }) => {
                self.dims = spec.dims();
                self.then(Stage::BeforeDtype, Piece::Escaped(spec.name()))
            }
            None => Piece::Plain(""),
        }
    }

    fn shape(&mut self) -> Piece<'a> {
        match (self.tensor, self.dims) {
            (Some(tensor @ PlannedTensor { content: Content::Padding { .. }, .. }), _) => {
                self.then(Stage::Dim, Piece::Number(BEFORE_SHAPE, tensor.byte_len()))
            }
            (_, [dim, rest @ ..]) => {
                self.dims = rest;
                self.then(Stage::Dim, Piece::Number(BEFORE_SHAPE, *dim))
            }
            _ => self.then(Stage::Dim, Piece::Plain(BEFORE_SHAPE)),
        }
    }

    fn dim(&mut self) -> Piece<'a> {
        if let [dim, rest @ ..] = self.dims {
            self.dims = rest;
            return Piece::Number(",", *dim);
        }
        let begin = self.tensor.map_or(0, |tensor| tensor.begin);
        self.then(Stage::End, Piece::Number(BEFORE_OFFSETS, begin))
    }

    /// Gives a piece, and says what comes behind it.
    fn then(&mut self, stage: Stage, piece: Piece<'a>) -> Piece<'a> {
        self.stage = stage;
        piece
    }
}

/// How long all pieces are together.
pub(super) fn total_len(spec: &FileSpec<'_>, order: Order<'_>) -> u64 {
    let pairs =
        spec.metadata.map_or(0, |pairs| METADATA.len() as u64 + "}".len() as u64 + list(pairs, pair_len));
    let tensors = PlannedTensors::new(spec, order);
    let (count, entries) =
        tensors.fold((0, 0), |(count, total): (u64, u64), tensor| (count + 1, total + entry_len(&tensor)));
    let braces = if spec.metadata.is_some() { "}".len() } else { "{}".len() } as u64;
    let commas = match spec.metadata {
        Some(_) => count,
        None => count.saturating_sub(1),
    };
    braces + pairs + commas + entries
}

/// With commas between them.
fn list<T>(items: &[T], len: impl Fn(&T) -> u64) -> u64 {
    items.iter().map(|item| len(item) + ",".len() as u64).sum::<u64>().saturating_sub(1)
}

fn pair_len(pair: &(&str, &str)) -> u64 {
    ("\"".len() + BEFORE_VALUE.len() + "\"".len()) as u64 + escaped_len(pair.0) + escaped_len(pair.1)
}

fn entry_len(tensor: &PlannedTensor<'_>) -> u64 {
    let (name, shape) = match tensor.content {
        Content::Tensor { spec, .. } => {
            (escaped_len(spec.name()), list(spec.dims(), |dim| digits(*dim) as u64))
        }
        Content::Padding { number } => {
            ((PADDING.len() + digits(number.into())) as u64, digits(tensor.byte_len()) as u64)
        }
    };
    let dtype = tensor.dtype().name().len() as u64;
    let offsets = digits(tensor.begin) + ",".len() + digits(tensor.end);
    let frame = "\"".len() + BEFORE_DTYPE.len() + BEFORE_SHAPE.len() + BEFORE_OFFSETS.len() + ENTRY_END.len();
    name + dtype + shape + (offsets + frame) as u64
}
