//! The header parser's events for a file.

use embedded_safetensors::{
    Dtype, Error,
    header::{Event, HeaderParser},
};

use crate::split::Split;

/// An event that owns its text. Pieces of one string are joined, because only their boundaries may differ.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Text(&'static str, Vec<u8>, u64),
    Number(&'static str, u64, u64),
    Dtype(Dtype, u64),
    Mark(&'static str, u64),
}

impl Seen {
    fn new(event: &Event<'_>, at: u64) -> Self {
        match event {
            Event::Name(text) => Self::Text("name", text.as_bytes().to_vec(), at),
            Event::Key(text) => Self::Text("key", text.as_bytes().to_vec(), at),
            Event::Value(text) => Self::Text("value", text.as_bytes().to_vec(), at),
            Event::Length(number) => Self::Number("length", *number, at),
            Event::Dim(number) => Self::Number("dim", *number, at),
            Event::Begin(number) => Self::Number("begin", *number, at),
            Event::End(number) => Self::Number("end", *number, at),
            Event::Dtype(dtype) => Self::Dtype(*dtype, at),
            Event::Tensor => Self::Mark("tensor", at),
            Event::Metadata => Self::Mark("metadata", at),
            Event::Shape => Self::Mark("shape", at),
            Event::TensorEnd => Self::Mark("tensor end", at),
            Event::MetadataNull => Self::Mark("metadata null", at),
            Event::KeyEnd => Self::Mark("key end", at),
            Event::ValueEnd => Self::Mark("value end", at),
            Event::MetadataEnd => Self::Mark("metadata end", at),
            Event::HeaderEnd => Self::Mark("header end", at),
            other => unreachable!("{other:?} is an outcome or new: give it a line here"),
        }
    }

    /// Appends a piece of the same string, without a copy: strings of 100 MB arrive in pieces of one byte.
    fn joins(&mut self, next: &Event<'_>, next_at: u64) -> bool {
        let (next_kind, piece) = match next {
            Event::Name(piece) => ("name", piece),
            Event::Key(piece) => ("key", piece),
            Event::Value(piece) => ("value", piece),
            _ => return false,
        };
        match self {
            Self::Text(kind, text, at) if *kind == next_kind && *at == next_at => {
                text.extend_from_slice(piece.as_bytes());
                true
            }
            _ => false,
        }
    }
}

/// Everything that can be observed of a parse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    seen: Vec<Seen>,
    /// The error, if the header was rejected.
    pub error: Option<Error>,
    position: u64,
}

impl Trace {
    fn push(&mut self, event: &Event<'_>, at: u64) {
        if !self.seen.last_mut().is_some_and(|last| last.joins(event, at)) {
            self.seen.push(Seen::new(event, at));
        }
    }

    /// Feeds one chunk. Returns `false` once the parse has ended.
    fn feed(&mut self, parser: &mut HeaderParser, mut chunk: &[u8]) -> bool {
        loop {
            let event = match parser.next(&mut chunk) {
                Ok(Event::NeedInput) => {
                    assert!(chunk.is_empty(), "needs input, but has not consumed all");
                    return true;
                }
                Ok(event) => event,
                Err(error) => {
                    assert_eq!(parser.next(&mut chunk), Err(error), "an error is repeated");
                    self.error = Some(error);
                    return false;
                }
            };
            assert!(parser.event_start() <= parser.position());
            self.push(&event, parser.event_start());
            if event == Event::HeaderEnd {
                let rest = chunk;
                assert_eq!(parser.next(&mut chunk), Ok(Event::HeaderEnd), "the end is repeated");
                assert_eq!(chunk, rest, "the bytes after the header are not consumed");
                return false;
            }
        }
    }

    /// Parses a file that arrives like this.
    pub fn of(file: &[u8], split: Split) -> Self {
        let mut parser = HeaderParser::new();
        let mut trace = Self::default();
        let more = split.pieces(file).all(|piece| trace.feed(&mut parser, piece));
        if more {
            trace.error = parser.end_of_input().err();
        }
        trace.position = parser.position();
        trace
    }
}
