//! Whether the tensors of a model that lies in memory can be used where they lie.

use crate::model::{Model, Tensor};

/// The tensors that do not begin where they should.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    /// How many there are in all.
    pub tensors: u64,
    pub misaligned: u64,
    /// The first of those, by its name, and what it would have to be a multiple of.
    pub first: Option<(String, u64, u64)>,
    /// How they could be written so that it fits.
    pub remedy: Option<&'static str>,
    /// At multiples of what.
    pub multiple: u64,
}

impl Alignment {
    /// Of a model whose file begins at an address. All tensors are to be at multiples of the width of their elements, or
    /// of `wanted` where that is more.
    pub fn of(model: &Model, data_start: u64, address: u64, wanted: u64) -> Self {
        let mut alignment = Self::default();
        let mut all_by_size = true;
        for tensor in model.tensors() {
            let multiple = width(&tensor).max(wanted);
            all_by_size &= tensor.byte_len().is_multiple_of(multiple);
            alignment.multiple = alignment.multiple.max(multiple);
            alignment.tensors += 1;
            alignment.see(&tensor, address + data_start + tensor.begin(), multiple);
        }
        if alignment.misaligned > 0 {
            alignment.remedy = Some(remedy(wanted, all_by_size));
        }
        alignment.multiple = alignment.multiple.max(8);
        alignment
    }

    fn see(&mut self, tensor: &Tensor<'_>, address: u64, multiple: u64) {
        if address.is_multiple_of(multiple) || tensor.byte_len() == 0 {
            return;
        }
        self.misaligned += 1;
        if self.first.is_none() {
            self.first = Some((tensor.name().to_owned(), address, multiple));
        }
    }
}

/// The reference's order suffices for elements; for more, sizes decide, and where they do not suffice, padding does.
fn remedy(wanted: u64, all_by_size: bool) -> &'static str {
    match (wanted > 8, all_by_size) {
        (false, _) => "Start",
        (true, true) => "BySize",
        (true, false) => "Padded",
    }
}

/// What a processor wants an element to be at a multiple of. Of what is packed and of complex numbers, the part counts.
fn width(tensor: &Tensor<'_>) -> u64 {
    use embedded_safetensors::Dtype;
    match tensor.dtype() {
        Dtype::C64 => 4,
        dtype => u64::from(dtype.bits()).div_ceil(8).next_power_of_two(),
    }
}
