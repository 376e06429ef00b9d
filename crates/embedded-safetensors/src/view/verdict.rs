//! Validates a file in memory and lists its tensors, in one pass.

use super::tensor::Tensor;
use super::walk::Walk;
use crate::error::{Error, ErrorKind};
use crate::header::Signal;
use crate::validate::Summary;
use crate::validate::order::InOrder;
use crate::values::native::Aligned;

/// The properties of a valid file.
#[derive(Clone, Copy)]
pub(super) struct Validated {
    pub(super) summary: Summary,
    pub(super) has_metadata: bool,
}

/// Validates a file whose header is in the order of its offsets, and writes the tensors that fit to the front
/// of `table`.
///
/// # Errors
/// Those of [`Validator`](crate::validate::Validator), which has the same verdict; [`ErrorKind::OutOfOrder`],
/// with the table filled.
pub(super) const fn validate_and_list<'a, const IN_CONST: bool>(
    file: Aligned<'a>,
    table: &mut [Tensor<'a>],
) -> Result<Validated, Error> {
    let validated = match list::<IN_CONST>(file, table) {
        Ok(validated) => validated,
        Err(error) => return Err(error),
    };
    match validated.summary.validate_file_len(file.bytes().len() as u64) {
        Ok(()) => Ok(validated),
        Err(error) => Err(error),
    }
}

/// As [`validate_and_list`], but does not check that the file ends with its last tensor.
///
/// # Errors
/// Those of [`validate_and_list`], except those of the length of the data.
#[cfg_attr(target_pointer_width = "64", inline(never))] // a first open would touch a copy of it
pub(super) const fn list<'a, const IN_CONST: bool>(
    file: Aligned<'a>,
    mut table: &mut [Tensor<'a>],
) -> Result<Validated, Error> {
    let (mut walk, mut order) = (Walk::<IN_CONST>::new(file.bytes()), InOrder::new());
    loop {
        match walk.next() {
            Signal::TensorEnd => order.see(walk.extent()),
            Signal::HeaderEnd => return conclude(&walk, &order),
            Signal::Failed => return Err(walk.error()),
            // The header is inside the file, so the parser cannot request more bytes.
            _ => return Err(ErrorKind::Changed.at(walk.position())),
        }
        if let [slot, rest @ ..] = table {
            *slot = Tensor::new(file, walk.data_start(), &walk.parsed());
            table = rest;
        }
    }
}

const fn conclude<const IN_CONST: bool>(
    walk: &Walk<'_, IN_CONST>,
    order: &InOrder,
) -> Result<Validated, Error> {
    if let Err(error) = order.conclude() {
        return Err(error);
    }
    let summary = Summary { tensors: order.tensors(), data_start: walk.position(), data_len: order.end() };
    Ok(Validated { summary, has_metadata: walk.has_metadata() })
}
