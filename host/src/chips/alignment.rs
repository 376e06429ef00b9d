//! Checks whether the tensors of a model in memory can be used in place.

use crate::error::Error;
use crate::input::model::{Model, Tensor};
use embedded_safetensors::Dtype;

/// The misaligned tensors of a model.
#[derive(Debug, Default)]
pub struct Alignment {
    /// The number of all tensors.
    pub tensors: u64,
    pub misaligned: u64,
    /// The first misaligned tensor: its name, its address and the required multiple.
    pub first: Option<(String, u64, u64)>,
    /// The command that aligns all tensors, without its files, if one does at this address.
    pub remedy: Option<String>,
}

impl Alignment {
    /// Checks a model whose data begin at an address, and its file at another. Tensors must be aligned to the
    /// width of their elements, or to `wanted` if that is larger.
    pub fn of(model: &Model, file: u64, data: u64, wanted: u64) -> Result<Self, Error> {
        let (mut found, mut multiple, mut all_by_size) = (Self::default(), 8, true);
        for tensor in model.without_padding()?.0 {
            let (own, address) = (width(&tensor).max(wanted), data + tensor.begin());
            multiple = multiple.max(own);
            all_by_size &= tensor.byte_len().is_multiple_of(own);
            found.tensors += 1;
            if !address.is_multiple_of(own) && tensor.byte_len() > 0 {
                found.misaligned += 1;
                found.first.get_or_insert_with(|| (tensor.name().to_owned(), address, own));
            }
        }
        // If the model itself is misaligned, no rewrite helps.
        if found.misaligned > 0 && file.is_multiple_of(multiple) {
            let pack = "safetensors pack";
            found.remedy = Some(match (wanted > 1, all_by_size) {
                // The canonical order aligns every tensor to the width of its elements.
                (false, _) => pack.to_owned(),
                // Also aligns tensors whose size is a multiple of it.
                (true, true) => format!("{pack} --align {multiple}"),
                // Aligns all tensors with padding tensors of zeros between them.
                (true, false) => format!("{pack} --align {multiple} --align-all"),
            });
        }
        Ok(found)
    }
}

/// The alignment that a processor needs for an element, or for a part of a complex number.
fn width(tensor: &Tensor<'_>) -> u64 {
    match tensor.dtype() {
        Dtype::C64 => 4,
        dtype => u64::from(dtype.bits()).div_ceil(8).next_power_of_two(),
    }
}
