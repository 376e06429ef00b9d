//! Facts about all tensors of a file: parameter counts, alignment, and the memory that a device needs.

use crate::json::{Map, object};
use crate::print::picture::Picture;
use crate::text::{counted, listed, quoted};
use embedded_safetensors::{Dtype, index::IndexedTensor, tensor::MAX_RANK, validate::Summary};
use safetensors_emit::plan::Sizes;
use serde::Serialize;

/// The maximum number of names in a note.
const NAMED: usize = 3;

/// The tensors of a dtype.
#[derive(Clone, Copy)]
pub struct OfDtype {
    pub dtype: Dtype,
    pub tensors: u64,
    /// Of several tensors, there may be more than 64 bits can count.
    pub elements: u128,
    pub bytes: u128,
}

/// Collected tensor by tensor.
pub struct Facts {
    data_start: u64,
    pub sizes: Sizes,
    /// The range of the last tensor, as long as they are in order.
    last: (u64, u64),
    pub out_of_order: bool,
    /// In order of appearance.
    pub by_dtype: Vec<OfDtype>,
    /// Tensors that do not begin at a multiple of their element's width.
    pub misaligned: u64,
    first_misaligned: Vec<String>,
    pub picture: Picture,
}

impl Facts {
    pub fn new(summary: &Summary, columns: usize) -> Self {
        Self {
            data_start: summary.data_start,
            sizes: Sizes::default(),
            last: (0, 0),
            out_of_order: false,
            by_dtype: Vec::new(),
            misaligned: 0,
            first_misaligned: Vec::new(),
            picture: Picture::new(summary, columns),
        }
    }

    /// Adds the next tensor in the order of the header.
    pub fn add(&mut self, tensor: &IndexedTensor<'_>) {
        let (begin, end) = (tensor.begin(), tensor.end());
        self.sizes.add(tensor.name().len() as u64, tensor.dims().len() as u64);
        self.out_of_order |= (begin, end) < self.last;
        self.last = (begin, end);
        let alignment = alignment(self.data_start, begin);
        if tensor.byte_len() > 0 && alignment < element_width(tensor.dtype()) {
            self.misaligned += 1;
            if self.first_misaligned.len() < NAMED {
                self.first_misaligned.push(quoted(tensor.name()));
            }
        }
        let place = self.count(tensor.dtype(), tensor.elements(), tensor.byte_len());
        self.picture.add(place, begin, end);
    }

    /// Adds a tensor of a dtype. Returns the index of the dtype.
    pub fn count(&mut self, dtype: Dtype, elements: u64, bytes: u64) -> usize {
        let known = self.by_dtype.iter().position(|known| known.dtype == dtype);
        let place = known.unwrap_or_else(|| {
            self.by_dtype.push(OfDtype { dtype, tensors: 0, elements: 0, bytes: 0 });
            self.by_dtype.len() - 1
        });
        let all = &mut self.by_dtype[place];
        all.tensors += 1;
        all.elements += u128::from(elements);
        all.bytes += u128::from(bytes);
        place
    }

    /// The number of elements of all tensors.
    pub fn parameters(&self) -> u128 {
        self.by_dtype.iter().map(|dtype| dtype.elements).sum()
    }

    /// The number of parameters of each dtype, and their bytes, for JSON.
    pub fn dtypes(&self) -> impl Serialize {
        let of = |of: &OfDtype| (of.dtype.name(), object! { parameters: of.elements, bytes: of.bytes });
        Map(self.by_dtype.iter().map(of))
    }

    /// What a device must know, for JSON.
    pub fn for_device(&self) -> impl Serialize + use<> {
        let Sizes { tensors, dims, name_bytes, longest_name, most_dims } = self.sizes;
        let index = object! { tensors, dims, name_bytes, bytes: self.sizes.index_bytes() };
        let (misaligned, in_order) = (self.misaligned, !self.out_of_order);
        object! { misaligned, index, longest_name, most_dims, in_order }
    }

    /// Notes, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let order =
            "tensors not in the order of their offsets: a device needs sort slots or an index to open it";
        let most_dims = self.sizes.most_dims;
        let rank = format!("a tensor has {most_dims} dimensions: more than {MAX_RANK} need an index");
        let notes = [
            (self.out_of_order, order.to_owned()),
            (most_dims > MAX_RANK as u64, rank),
            (self.misaligned > 0, self.misalignment()),
        ];
        notes.into_iter().filter_map(|(applies, note)| applies.then_some(note)).collect()
    }

    fn misalignment(&self) -> String {
        let many = self.misaligned;
        let names = listed(self.first_misaligned.iter().cloned(), NAMED, many);
        let (verb, its) = if many == 1 { ("does", "its") } else { ("do", "their") };
        let begin = format!("{verb} not begin at a multiple of {its} element width");
        format!("{} {begin}, and cannot be used in place: {names}", counted(many, "tensor"))
    }
}

/// The largest power of two that divides a tensor's offset in the file.
pub fn alignment(data_start: u64, begin: u64) -> u64 {
    1 << (data_start + begin).trailing_zeros()
}

/// In bytes; 1 for elements smaller than a byte.
pub fn element_width(dtype: Dtype) -> u64 {
    u64::from(dtype.bits()).div_ceil(8).next_power_of_two()
}
