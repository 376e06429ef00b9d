//! The events of the header parser, with the pieces of each string joined: what does not depend on
//! how the file was cut.

use std::collections::BTreeMap;
use std::mem::take;

use embedded_safetensors::{Dtype, Error, Event, HeaderParser};

use crate::split::Split;
use crate::table::{Table, Tensor};

/// An event that owns its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The header's length.
    Length(u64),
    /// A tensor's name.
    Tensor(Vec<u8>),
    /// `__metadata__`, however it is spelled.
    Metadata(Vec<u8>),
    /// A tensor's element type.
    Dtype(Dtype),
    /// A shape begins.
    Shape,
    /// One dimension.
    Dim(u64),
    /// The first offset.
    Begin(u64),
    /// The second offset.
    End(u64),
    /// A tensor is complete.
    TensorEnd,
    /// There is no metadata.
    MetadataNull,
    /// A key of the metadata.
    Key(Vec<u8>),
    /// The key's value.
    Value(Vec<u8>),
    /// The metadata is complete.
    MetadataEnd,
    /// The header is complete.
    HeaderEnd,
}

/// Everything that the parser says about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The events, each with the byte where its token began.
    pub events: Vec<(u64, Seen)>,
    /// The error that ended the header too early.
    pub error: Option<Error>,
}

/// What the parser says when the file arrives like this.
///
/// # Panics
/// When the parser wants more although it has not consumed what it was given.
pub fn trace(file: &[u8], split: Split) -> Trace {
    let mut parser = HeaderParser::new();
    let mut recorder = Recorder::default();
    let outcome = split.pieces(file).try_for_each(|piece| recorder.record(&mut parser, piece));
    let error = outcome.and_then(|()| parser.end_of_input()).err();
    Trace { events: recorder.events, error }
}

#[derive(Default)]
struct Recorder {
    events: Vec<(u64, Seen)>,
    text: Vec<u8>,
}

impl Recorder {
    fn record(&mut self, parser: &mut HeaderParser, piece: &[u8]) -> Result<(), Error> {
        let mut input = piece;
        loop {
            let event = parser.next(&mut input)?;
            match event {
                Event::NeedInput => {
                    assert!(input.is_empty(), "wants more, but has not consumed {input:?}");
                    return Ok(());
                }
                Event::Name(text) | Event::Key(text) | Event::Value(text) => {
                    self.text.extend(text.as_bytes())
                }
                _ => {
                    let seen = self.seen(event);
                    let is_last = seen == Seen::HeaderEnd;
                    if !is_last || !self.is_complete() {
                        self.events.push((parser.event_start(), seen));
                    }
                    if is_last {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Data may come in further pieces; the header's end is then said again.
    fn is_complete(&self) -> bool {
        matches!(self.events.last(), Some((_, Seen::HeaderEnd)))
    }

    fn seen(&mut self, event: Event<'_>) -> Seen {
        match event {
            Event::Length(length) => Seen::Length(length),
            Event::Tensor => Seen::Tensor(take(&mut self.text)),
            Event::Metadata => Seen::Metadata(take(&mut self.text)),
            Event::Dtype(dtype) => Seen::Dtype(dtype),
            Event::Shape => Seen::Shape,
            Event::Dim(dim) => Seen::Dim(dim),
            Event::Begin(begin) => Seen::Begin(begin),
            Event::End(end) => Seen::End(end),
            Event::TensorEnd => Seen::TensorEnd,
            Event::MetadataNull => Seen::MetadataNull,
            Event::KeyEnd => Seen::Key(take(&mut self.text)),
            Event::ValueEnd => Seen::Value(take(&mut self.text)),
            Event::MetadataEnd => Seen::MetadataEnd,
            Event::HeaderEnd => Seen::HeaderEnd,
            Event::NeedInput | Event::Name(_) | Event::Key(_) | Event::Value(_) => {
                unreachable!("{event:?} is handled by the caller")
            }
        }
    }
}

impl Trace {
    /// The table of the file that the events describe; the last of equal names wins.
    ///
    /// # Errors
    /// The error that ended the header too early.
    pub fn into_table(self) -> Result<Table, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut builder = Builder::default();
        self.events.into_iter().for_each(|(_, seen)| builder.take(seen));
        let tensors = builder.tensors.into_values().collect();
        Ok(Table { tensors, metadata: builder.metadata }.sorted())
    }
}

#[derive(Default)]
struct Builder {
    tensors: BTreeMap<String, Tensor>,
    metadata: Option<BTreeMap<String, String>>,
    tensor: Tensor,
    key: String,
}

impl Builder {
    fn take(&mut self, seen: Seen) {
        match seen {
            Seen::Tensor(name) => self.tensor.name = text(name),
            Seen::Dtype(dtype) => self.tensor.dtype = dtype.to_string(),
            Seen::Dim(dim) => self.tensor.shape.push(dim),
            Seen::Begin(begin) => self.tensor.data_offsets[0] = begin,
            Seen::End(end) => self.tensor.data_offsets[1] = end,
            Seen::TensorEnd => {
                let tensor = take(&mut self.tensor);
                self.tensors.insert(tensor.name.clone(), tensor);
            }
            Seen::Metadata(_) => self.metadata = Some(BTreeMap::new()),
            Seen::MetadataNull => self.metadata = None,
            Seen::Key(key) => self.key = text(key),
            Seen::Value(value) => {
                self.metadata.get_or_insert_default().insert(take(&mut self.key), text(value));
            }
            Seen::Length(_) | Seen::Shape | Seen::MetadataEnd | Seen::HeaderEnd => {}
        }
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the parser checks that text is UTF-8")
}
