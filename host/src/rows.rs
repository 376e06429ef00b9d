//! The tensors of a sound file one by one, and what an index of them takes. Nothing of the header is held
//! but one tensor, whose name and shape are cut short if they are absurdly long.

use crate::decoding::Trouble;
use crate::failure::NotRead;
use crate::header::visit;
use crate::source::Source;
use crate::text::{Beginning, quoted};
use embedded_safetensors::{Dtype, Event, IndexRecord, MAX_RANK};
use std::ops::ControlFlow;

/// How many dimensions of a shape are kept.
const SHOWN: usize = 16;

/// One tensor.
#[derive(Default)]
pub struct Row {
    name: Beginning,
    name_bytes: u64,
    dtype: Option<Dtype>,
    dims: Vec<u64>,
    rank: u64,
    begin: u64,
    end: u64,
    bytes: u64,
}

impl Row {
    pub const TITLES: [&'static str; 6] = ["tensor", "dtype", "shape", "begin", "end", "bytes"];

    /// The row of a table.
    pub fn cells(&self) -> [String; 6] {
        [
            quoted(self.name.text()),
            self.dtype.map_or("", Dtype::name).to_owned(),
            self.shape(),
            self.begin.to_string(),
            self.end.to_string(),
            self.bytes.to_string(),
        ]
    }

    fn shape(&self) -> String {
        let dims: Vec<String> = self.dims.iter().map(u64::to_string).collect();
        let dims = dims.join(", ");
        if self.rank > SHOWN as u64 {
            format!("[{dims}, … {} in all]", self.rank)
        } else {
            format!("[{dims}]")
        }
    }

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

    /// Only a file that is no longer the sound one has a tensor that ends before it begins.
    fn measure(&mut self) -> Result<(), Trouble> {
        self.bytes = self.end.checked_sub(self.begin).ok_or_else(|| Trouble::Read(NotRead::changed()))?;
        Ok(())
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
}

/// Shows all tensors, in the order of the header.
pub fn each_row(
    source: &mut Source,
    mut show: impl FnMut(&Row) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let mut row = Row::default();
    visit(source, |event, _, _| {
        if row.see(event) {
            row.measure()?;
            show(&row)?;
            row = Row::default();
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// What a device has to have memory for: the parameters of an `IndexStorage`, and what decides whether it can do
/// without one.
#[derive(Default)]
pub struct Needs {
    pub tensors: u64,
    pub dims: u64,
    pub name_bytes: u64,
    pub longest_name: u64,
    pub most_dims: u64,
    /// The range of the last tensor, as long as they are in order.
    last: (u64, u64),
    pub out_of_order: bool,
}

impl Needs {
    pub fn add(&mut self, row: &Row) {
        self.tensors += 1;
        self.dims += row.rank;
        self.name_bytes += row.name_bytes;
        self.longest_name = self.longest_name.max(row.name_bytes);
        self.most_dims = self.most_dims.max(row.rank);
        self.out_of_order |= (row.begin, row.end) < self.last;
        self.last = (row.begin, row.end);
    }

    /// What a device must be told to do, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let order =
            "the tensors are not in the order of their offsets: a device needs slots or an index to open it";
        let rank =
            format!("a tensor has {} dimensions: only an index holds more than {MAX_RANK}", self.most_dims);
        let notes = [(self.out_of_order, order.to_owned()), (self.most_dims > MAX_RANK as u64, rank)];
        notes.into_iter().filter_map(|(applies, note)| applies.then_some(note)).collect()
    }

    /// How large the `IndexStorage` is.
    pub fn bytes(&self) -> u64 {
        let records = self.tensors * size_of::<IndexRecord>() as u64;
        (records + self.dims * size_of::<u64>() as u64 + self.name_bytes).next_multiple_of(8)
    }
}

#[cfg(test)]
mod tests {
    use super::each_row;
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
}
