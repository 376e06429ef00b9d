//! The tensors of a valid file, one by one, for display.
// Goes with the last user in `tensor::sums`.
#![allow(dead_code)]

use crate::error::not_read::NotRead;
use crate::input::header::visit;
use crate::input::source::Source;
use crate::print::decoding::Trouble;
use crate::text::Beginning;
use embedded_safetensors::{Dtype, header::Event, index::IndexedTensor};
use std::ops::{ControlFlow, Range};

/// The maximum number of dimensions shown.
const SHOWN: usize = 16;

/// One tensor. A very long name or shape is cut.
pub struct Row<'a> {
    pub name: &'a str,
    /// The length of the complete name.
    pub name_bytes: u64,
    pub dtype: Dtype,
    /// The first dimensions.
    pub dims: &'a [u64],
    pub rank: u64,
    pub begin: u64,
    pub end: u64,
}

impl<'a> From<IndexedTensor<'a>> for Row<'a> {
    fn from(tensor: IndexedTensor<'a>) -> Self {
        Self::whole(tensor.name(), tensor.dtype(), tensor.dims(), tensor.begin()..tensor.end())
    }
}

impl<'a> Row<'a> {
    /// A tensor with its complete name and shape.
    fn whole(name: &'a str, dtype: Dtype, dims: &'a [u64], range: Range<u64>) -> Self {
        let (name_bytes, rank, Range { start: begin, end }) = (name.len() as u64, dims.len() as u64, range);
        Self { name, name_bytes, dtype, dims, rank, begin, end }
    }

    pub fn bytes(&self) -> u64 {
        self.end - self.begin
    }

    /// The number of elements, which validation has matched with the bytes.
    pub fn elements(&self) -> u64 {
        // The data of a file has fewer than 2^61 bytes.
        self.bytes() * 8 / u64::from(self.dtype.bits())
    }
}

/// Shows all tensors in header order, holding one at a time.
pub fn each_row(
    source: &mut Source,
    mut show: impl FnMut(&Row<'_>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let mut row = PartialRow::default();
    visit(source, |event, _, _| {
        if row.see(event) {
            show(&row.row().ok_or_else(|| Trouble::Read(NotRead::changed()))?)?;
            row = PartialRow::default();
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// A tensor whose events are arriving.
#[derive(Default)]
struct PartialRow {
    name: Beginning,
    name_bytes: u64,
    dtype: Option<Dtype>,
    dims: Vec<u64>,
    rank: u64,
    begin: u64,
    end: u64,
}

impl PartialRow {
    /// Returns true when the tensor is complete.
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

    /// Returns None only if the file has changed: the tensor ends before it begins, or lacks a part.
    fn row(&self) -> Option<Row<'_>> {
        let Self { name_bytes, rank, begin, end, .. } = *self;
        let (name, dtype) = (self.name.text(), self.dtype.filter(|_| begin <= end)?);
        Some(Row { name, name_bytes, dtype, dims: &self.dims, rank, begin, end })
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, each_row};
    use crate::input::source::Source;
    use crate::print::decoding::Trouble;
    use embedded_safetensors::index::OwnedIndex;

    #[test]
    fn a_file_that_was_replaced_by_one_with_a_reversed_tensor_has_changed() {
        let mut source = Source::of_tensor(3, 1);
        let Err(Trouble::Read(reason)) = each_row(&mut source, |_| panic!("a row")) else {
            panic!("accepted as the valid file")
        };
        assert_eq!(reason.to_string(), "the file changed while it was being read");
    }

    #[test]
    fn an_index_has_the_rows_that_come_by() {
        let header = concat!(
            r#"{"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},"__metadata__":{"k":"v"},"#,
            r#""\u0062":{"shape":[],"dtype":"U8","data_offsets":[12,13]},"#,
            r#""c":{"dtype":"F32","shape":[1,1],"data_offsets":[13,17]}}"#
        );
        let header = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
        let told = |row: &Row<'_>| {
            format!("{} {} {:?} {}..{} {}", row.name, row.dtype, row.dims, row.begin, row.end, row.elements())
        };
        let mut source = Source::stream(Box::new(std::io::Cursor::new(header.clone()))).expect("memory");
        let mut streamed = Vec::new();
        each_row(&mut source, |row| {
            streamed.push(told(row));
            Ok(())
        })
        .ok()
        .expect("valid file");
        let index = OwnedIndex::of(&header, header.len() as u64 + 17).expect("valid file");
        let listed: Vec<String> = index.in_header_order().map(|tensor| told(&tensor.into())).collect();
        assert_eq!(listed, ["a F16 [2, 3] 0..12 6", "b U8 [] 12..13 1", "c F32 [1, 1] 13..17 1"]);
        assert_eq!(streamed, listed);
    }
}
