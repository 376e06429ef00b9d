//! Checks whether the tensors of a model in memory can be used in place.

use crate::error::Error;
use crate::input::model::{Model, Tensor};

/// The misaligned tensors of a model.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    /// The number of all tensors.
    pub tensors: u64,
    pub misaligned: u64,
    /// The first misaligned tensor: its name, its address and the required multiple.
    pub first: Option<(String, u64, u64)>,
    /// How to rewrite the model so that all tensors are aligned, if possible at this address.
    pub remedy: Option<Remedy>,
}

/// A way to rewrite the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The canonical order aligns every tensor to the width of its elements.
    Order,
    /// Also aligns tensors whose size is a multiple of this.
    BySize(u64),
    /// Aligns all tensors with padding tensors of zeros between them.
    Padded(u64),
}

impl Remedy {
    /// The command, without its files.
    pub fn command(self) -> String {
        match self {
            Self::Order => "safetensors pack".to_owned(),
            Self::BySize(multiple) => format!("safetensors pack --align {multiple}"),
            Self::Padded(multiple) => format!("safetensors pack --align {multiple} --align-all"),
        }
    }
}

impl Alignment {
    /// Checks a model whose file begins at an address. Tensors must be aligned to the width of their
    /// elements, or to `wanted` if that is larger.
    ///
    /// # Errors
    /// The model cannot be read.
    pub fn of(model: &Model, data_start: u64, address: u64, wanted: u64) -> Result<Self, Error> {
        let (mut alignment, mut multiple, mut all_by_size) = (Self::default(), 8, true);
        for tensor in model.without_padding()?.0 {
            let own = width(&tensor).max(wanted);
            multiple = multiple.max(own);
            all_by_size &= tensor.byte_len().is_multiple_of(own);
            alignment.tensors += 1;
            alignment.see(&tensor, address + data_start + tensor.begin(), own);
        }
        // If the model itself is misaligned, no rewrite helps.
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

/// The alignment that a processor needs for an element; of complex numbers, that of a part.
fn width(tensor: &Tensor<'_>) -> u64 {
    use embedded_safetensors::Dtype;
    match tensor.dtype() {
        Dtype::C64 => 4,
        dtype => u64::from(dtype.bits()).div_ceil(8).next_power_of_two(),
    }
}
