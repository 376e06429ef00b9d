//! The length of a header and its JSON, spelled as the reference spells it, piece by piece.

use super::decimal::digits;
use super::escape::escaped_len;
use super::layout::{Planned, PlannedTensors};
use super::order::{Order, place};
use super::spec::FileSpec;
use super::whole::{put, put_entry};
use crate::error::spec::PADDING;
use crate::header::LARGE_SHORTCUTS;

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
pub(super) const BEFORE_DTYPE: &str = "\":{\"dtype\":\"";
pub(super) const BEFORE_SHAPE: &str = "\",\"shape\":[";
pub(super) const BEFORE_OFFSETS: &str = "],\"data_offsets\":[";
const ENTRY_END: &str = "]}";

/// No longer is what is in front of an entry, or behind all of them.
const SEPARATOR: usize = "]},\"".len();

/// What comes next.
#[derive(Clone, Copy)]
enum Stage {
    Length,
    /// What is in front of the first key.
    Open,
    /// The quote in front of a key, or the end of `__metadata__`.
    Pair,
    Key,
    BeforeValue,
    Value,
    /// What is in front of a name, or the end of the header.
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
    tensor: Option<Planned<'a>>,
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
            Stage::Length => match self.metadata {
                Some(_) => self.then(Stage::Open, Piece::Length),
                None => self.then(Stage::Entry, Piece::Length),
            },
            Stage::Open => self.then(Stage::Pair, Piece::Plain(METADATA)),
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
            Stage::Entry => Piece::Plain(self.turn_to_next()),
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

    /// Puts whole entries into the room, and what ends the last one, as far as all of that has room at once. Says how long it is; nothing
    /// where pieces must do it.
    #[inline]
    pub(super) fn put_entries(&mut self, room: &mut [u8]) -> Option<usize> {
        if !LARGE_SHORTCUTS || !matches!(self.stage, Stage::Entry) {
            return None;
        }
        let (len, mut left) = (room.len(), room);
        while left.len() >= SEPARATOR && matches!(self.stage, Stage::Entry) {
            left = put(left, self.turn_to_next().as_bytes())?;
            if let Some(entry) = self.tensor.as_ref().and_then(|tensor| put_entry(tensor, left)) {
                left = left.get_mut(entry..)?;
                self.stage = Stage::Entry;
            }
        }
        (left.len() < len).then_some(len - left.len())
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

    /// Goes on to the next tensor, or to the end. Gives what is in front of its name.
    fn turn_to_next(&mut self) -> &'static str {
        let (is_first, has_metadata) = (self.tensor.is_none(), self.metadata.is_some());
        self.tensor = self.tensors.next_planned();
        self.stage = if self.tensor.is_some() { Stage::Name } else { Stage::Nothing };
        match (&self.tensor, is_first) {
            (Some(_), false) => "]},\"",
            (Some(_), true) if has_metadata => ",\"",
            (Some(_), true) => "{\"",
            (None, false) => "]}}",
            (None, true) if has_metadata => "}",
            (None, true) => "{}",
        }
    }

    fn name(&mut self) -> Piece<'a> {
        match self.tensor {
            Some(Planned { spec: Some(spec), .. }) => {
                self.dims = spec.dims();
                self.then(Stage::BeforeDtype, Piece::Escaped(spec.name()))
            }
            Some(Planned { spec: None, index, .. }) => {
                self.then(Stage::BeforeDtype, Piece::Number(PADDING, index as u64))
            }
            None => Piece::Plain(""),
        }
    }

    fn shape(&mut self) -> Piece<'a> {
        match (self.tensor, self.dims) {
            (Some(padding @ Planned { spec: None, .. }), _) => {
                self.then(Stage::Dim, Piece::Number(BEFORE_SHAPE, padding.byte_len()))
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

/// How long all pieces are together, and all tensors, padding included. Nothing where the tensors are longer than a file can be: ends that
/// do not fit are the largest number there is, and behind such an end padding would come for ever.
pub(super) fn lengths(spec: &FileSpec<'_>, order: Order<'_>) -> Option<(u64, u64)> {
    let (pairs, braces) = match spec.metadata {
        Some(pairs) => (METADATA.len() as u64 + "}".len() as u64 + list(pairs, pair_len), "}".len()),
        None => (0, "{}".len()),
    };
    let (mut entries, mut end) = (0, 0);
    let mut tensors = PlannedTensors::new(spec, order);
    while let Some(tensor) = tensors.next_planned() {
        end = tensor.end;
        if end == u64::MAX {
            return None;
        }
        entries += ",".len() as u64 + entry_len(&tensor);
    }
    // In front of the first one there is only a comma where there are metadata.
    let json = braces as u64 + pairs + entries;
    Some((json - u64::from(spec.metadata.is_none() && entries > 0), end))
}

/// With commas between them.
fn list<T>(items: &[T], len: impl Fn(&T) -> u64) -> u64 {
    items.iter().map(|item| len(item) + ",".len() as u64).sum::<u64>().saturating_sub(1)
}

fn pair_len(pair: &(&str, &str)) -> u64 {
    ("\"".len() + BEFORE_VALUE.len() + "\"".len()) as u64 + escaped_len(pair.0) + escaped_len(pair.1)
}

fn entry_len(tensor: &Planned<'_>) -> u64 {
    let (name, shape) = match tensor.spec {
        Some(spec) => (escaped_len(spec.name()), list(spec.dims(), |dim| digits(*dim) as u64)),
        None => ((PADDING.len() + digits(tensor.index as u64)) as u64, digits(tensor.byte_len()) as u64),
    };
    let dtype = tensor.dtype().name().len() as u64;
    let offsets = digits(tensor.begin) + ",".len() + digits(tensor.end);
    let frame = "\"".len() + BEFORE_DTYPE.len() + BEFORE_SHAPE.len() + BEFORE_OFFSETS.len() + ENTRY_END.len();
    name + dtype + shape + (offsets + frame) as u64
}
