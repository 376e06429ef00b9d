//! Whether the tensors of a model that lies in memory can be used where they lie.

use crate::complaint::Complaint;
use crate::model::{Model, Tensor};

/// The tensors that do not begin where they should.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    /// How many there are in all.
    pub tensors: u64,
    pub misaligned: u64,
    /// The first of those, by its name, and what it would have to be a multiple of.
    pub first: Option<(String, u64, u64)>,
    /// How they can be written so that all do, if it can be done at this address.
    pub remedy: Option<Remedy>,
}

/// A way to write the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// In the reference's order every tensor begins at a multiple of the width of its elements.
    Order,
    /// So do those whose size is a multiple of more.
    BySize(u64),
    /// For the others, tensors of zeros between them are needed.
    Padded(u64),
}

impl Remedy {
    /// The command that does it, without its files.
    pub fn command(self) -> String {
        match self {
            Self::Order => "safetensors pack".to_owned(),
            Self::BySize(multiple) => format!("safetensors pack --align {multiple}"),
            Self::Padded(multiple) => format!("safetensors pack --align {multiple} --align-all"),
        }
    }
}

impl Alignment {
    /// Of a model whose file begins at an address. All tensors are to be at multiples of the width of their elements, or
    /// of `wanted` where that is more.
    ///
    /// # Errors
    /// The model cannot be read.
    pub fn of(model: &Model, data_start: u64, address: u64, wanted: u64) -> Result<Self, Complaint> {
        let (mut alignment, mut multiple, mut all_by_size) = (Self::default(), 8, true);
        for tensor in model.without_padding()?.0 {
            let own = width(&tensor).max(wanted);
            multiple = multiple.max(own);
            all_by_size &= tensor.byte_len().is_multiple_of(own);
            alignment.tensors += 1;
            alignment.see(&tensor, address + data_start + tensor.begin(), own);
        }
        // Where the model itself is at no such multiple, nothing in it is brought to one.
        if alignment.misaligned > 0 && address.is_multiple_of(multiple) {
            alignment.remedy = Some(match (wanted > 1, all_by_size) {
                (false, _) => Remedy::Order,
                (true, true) => Remedy::BySize(multiple),
                (true, false) => Remedy::Padded(multiple),
            });
        }
        Ok(alignment)
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

/// What a processor wants an element to be at a multiple of. Of what is packed and of complex numbers, the part counts.
fn width(tensor: &Tensor<'_>) -> u64 {
    use embedded_safetensors::Dtype;
    match tensor.dtype() {
        Dtype::C64 => 4,
        dtype => u64::from(dtype.bits()).div_ceil(8).next_power_of_two(),
    }
}
