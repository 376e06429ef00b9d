//! The tensors of a sound file one by one, as they are shown.

use crate::decoding::Trouble;
use crate::failure::NotRead;
use crate::header::{Part, each_entry, visit};
use crate::source::Source;
use crate::text::Beginning;
use embedded_safetensors::{Dtype, header::Event};
use std::ops::ControlFlow;

/// How many dimensions of a shape are shown.
const SHOWN: usize = 16;

/// How many a listing has at most, of all shapes and of the metadata.
const MOST_DIMS: usize = 1 << 20;
const MOST_PAIRS: usize = 1 << 16;

/// One tensor, whose name and shape are cut short if they are absurdly long.
pub struct Row<'a> {
    pub name: &'a str,
    /// Of the whole name.
    pub name_bytes: u64,
    pub dtype: Dtype,
    /// The first of them.
    pub dims: &'a [u64],
    pub rank: u64,
    pub begin: u64,
    pub end: u64,
}

impl Row<'_> {
    pub fn bytes(&self) -> u64 {
        self.end - self.begin
    }

    /// What fills its bytes, as is proven.
    pub fn elements(&self) -> u64 {
        // The data of a file have less than 2^61 bytes.
        self.bytes() * 8 / u64::from(self.dtype.bits())
    }
}

/// Shows all tensors in the order of the header, of which nothing is held but one tensor.
pub fn each_row(
    source: &mut Source,
    mut show: impl FnMut(&Row<'_>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let mut coming = Coming::default();
    visit(source, |event, _, _| {
        if coming.see(event) {
            show(&coming.row().ok_or_else(|| Trouble::Read(NotRead::changed()))?)?;
            coming = Coming::default();
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// A tensor whose events are coming by.
#[derive(Default)]
struct Coming {
    name: Beginning,
    name_bytes: u64,
    dtype: Option<Dtype>,
    dims: Vec<u64>,
    rank: u64,
    begin: u64,
    end: u64,
}

impl Coming {
    /// `true`: the tensor is complete.
    fn see(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::Name(piece) => self.keep_name(piece.as_bytes()),
            Event::Metadata => *self = Self::default(),
            Event::Dtype(dtype) => self.dtype = Some(*dtype),
            Event::Dim(dim) => self.keep_dim(*dim),
            Event::Begin(begin) => self.begin = *begin,
            Event::End(end) => self.end = *end,
            _ => {}
        }
        matches!(event, Event::TensorEnd)
    }

    fn keep_name(&mut self, piece: &[u8]) {
        self.name_bytes += piece.len() as u64;
        self.name.push(piece);
    }

    fn keep_dim(&mut self, dim: u64) {
        self.rank += 1;
        if self.dims.len() < SHOWN {
            self.dims.push(dim);
        }
    }

    /// Only a file that is no longer the sound one has a tensor that ends before it begins, or none of its parts.
    fn row(&self) -> Option<Row<'_>> {
        let Self { name_bytes, rank, begin, end, .. } = *self;
        let (name, dtype) = (self.name.text(), self.dtype.filter(|_| begin <= end)?);
        Some(Row { name, name_bytes, dtype, dims: &self.dims, rank, begin, end })
    }
}

/// All tensors of a header that is held, with whole names and shapes.
#[derive(Default)]
pub struct Listing {
    held: Vec<Held>,
    names: String,
    dims: Vec<u64>,
    pub metadata: Option<Vec<(String, String)>>,
}

/// Of what the events are about.
#[derive(Default)]
struct Parts {
    name: Vec<u8>,
    value: Vec<u8>,
    dtype: Option<Dtype>,
    begin: u64,
    end: u64,
}

/// The parser has proven every text that it completes.
fn text(bytes: &mut Vec<u8>) -> String {
    String::from_utf8(std::mem::take(bytes)).unwrap_or_default()
}

/// Ends of the parts that belong to a tensor; each begins where that of the one before ends.
struct Held {
    name: usize,
    dims: usize,
    dtype: Dtype,
    begin: u64,
    end: u64,
}

impl Listing {
    /// Of a header that is sound, or nobody looks at it; nothing if it would take too much memory.
    pub fn of(header: &[u8]) -> Option<Self> {
        let (mut listing, mut coming) = (Self::default(), Parts::default());
        let read = each_entry(header, |part| match part {
            _ if listing.is_too_long() => {}
            Part::Tensor(entry) => {
                listing.names += entry.name();
                listing.dims.extend(entry.info.shape().dims());
                listing.end(entry.info.dtype(), entry.info.begin(), entry.info.end());
            }
            Part::Event(event) => listing.see(event, &mut coming),
        });
        read.ok().filter(|()| !listing.is_too_long()).map(|()| listing)
    }

    /// A header can be made of nothing but what takes much more memory here than there.
    fn is_too_long(&self) -> bool {
        let pairs = self.metadata.as_ref().map_or(0, Vec::len);
        self.dims.len() > MOST_DIMS || pairs > MOST_PAIRS
    }

    fn see(&mut self, event: &Event<'_>, parts: &mut Parts) {
        match event {
            Event::Name(piece) | Event::Key(piece) => parts.name.extend_from_slice(piece.as_bytes()),
            Event::Value(piece) => parts.value.extend_from_slice(piece.as_bytes()),
            Event::Tensor => self.names += &text(&mut parts.name),
            Event::Metadata => {
                parts.name.clear();
                self.metadata = Some(Vec::new());
            }
            Event::MetadataNull => self.metadata = None,
            Event::ValueEnd => {
                let pair = (text(&mut parts.name), text(&mut parts.value));
                self.metadata.get_or_insert_default().push(pair);
            }
            Event::Dtype(dtype) => parts.dtype = Some(*dtype),
            Event::Dim(dim) => self.dims.push(*dim),
            Event::Begin(begin) => parts.begin = *begin,
            Event::End(end) => parts.end = *end,
            Event::TensorEnd => self.end(parts.dtype.unwrap_or(Dtype::U8), parts.begin, parts.end),
            _ => {}
        }
    }

    fn end(&mut self, dtype: Dtype, begin: u64, end: u64) {
        let (name, dims) = (self.names.len(), self.dims.len());
        self.held.push(Held { name, dims, dtype, begin, end });
    }

    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Some of the tensors, in the order of the header.
    pub fn rows(&self, places: std::ops::Range<usize>) -> impl Iterator<Item = Row<'_>> {
        let before = places.start.checked_sub(1).and_then(|before| self.held.get(before));
        let (mut name, mut dims) = before.map_or((0, 0), |before| (before.name, before.dims));
        self.held[places].iter().map(move |held| {
            let text = &self.names[std::mem::replace(&mut name, held.name)..held.name];
            let shape = &self.dims[std::mem::replace(&mut dims, held.dims)..held.dims];
            Row {
                name: text,
                name_bytes: text.len() as u64,
                dtype: held.dtype,
                dims: shape,
                rank: shape.len() as u64,
                begin: held.begin,
                end: held.end,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Listing, each_row};
    use crate::decoding::Trouble;
    use crate::source::Source;

    #[test]
    fn a_file_that_was_replaced_by_one_with_a_reversed_tensor_has_changed() {
        let mut source = Source::of_tensor(3, 1);
        let Err(Trouble::Read(reason)) = each_row(&mut source, |_| panic!("a row")) else {
            panic!("it passes for the sound file")
        };
        assert_eq!(reason.to_string(), "it changed while it was being read");
    }

    #[test]
    fn a_listing_has_the_rows_that_come_by() {
        let header = concat!(
            r#"{"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},"__metadata__":{"k":"v"},"#,
            r#""\u0062":{"shape":[],"dtype":"U8","data_offsets":[12,13]},"#,
            r#""c":{"dtype":"F32","shape":[1,1],"data_offsets":[13,17]}}"#
        );
        let header = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
        let told = |row: &super::Row<'_>| {
            format!("{} {} {:?} {}..{} {}", row.name, row.dtype, row.dims, row.begin, row.end, row.elements())
        };
        let mut source = Source::stream(Box::new(std::io::Cursor::new(header.clone()))).expect("memory");
        let mut streamed = Vec::new();
        each_row(&mut source, |row| {
            streamed.push(told(row));
            Ok(())
        })
        .ok()
        .expect("it is sound");
        let listing = Listing::of(&header).expect("it is sound");
        let listed: Vec<String> = listing.rows(0..listing.len()).map(|row| told(&row)).collect();
        assert_eq!(listed, ["a F16 [2, 3] 0..12 6", "b U8 [] 12..13 1", "c F32 [1, 1] 13..17 1"]);
        assert_eq!(streamed, listed);
        let last: Vec<String> = listing.rows(2..3).map(|row| told(&row)).collect();
        assert_eq!(last, listed[2..]);
    }
}
