//! The verdict on a file in memory, and a list of its tensors, in one pass.

use super::tensor::Tensor;
use super::walk::Walk;
use crate::error::{Error, ErrorKind};
use crate::header::Signal;
use crate::validate::Summary;
use crate::validate::order::InOrder;
use crate::values::native::Aligned;

/// A file that is sound.
#[derive(Clone, Copy)]
pub(super) struct Proof {
    pub(super) summary: Summary,
    pub(super) has_metadata: bool,
}

/// Proves a file, which `walk` stands before, if its header is in the order of its offsets, and puts its tensors into the front of `table`, as many
/// as there is room for.
///
/// # Errors
/// As [`Validator`](crate::validate::Validator) has them, which is the same verdict; [`ErrorKind::OutOfOrder`], with the table filled.
pub(super) const fn prove<'a, const IN_CONST: bool>(
    file: Aligned<'a>,
    mut table: &mut [Tensor<'a>],
) -> Result<Proof, Error> {
    let (mut walk, mut order) = (Walk::<IN_CONST>::new(file.bytes()), InOrder::new());
    loop {
        match walk.next() {
            Signal::TensorEnd => order.see(walk.extent()),
            Signal::HeaderEnd => return conclude(&walk, &order, file.bytes().len() as u64),
            Signal::Failed => return Err(walk.error()),
            // The header lies inside the file, so the parser cannot want more than all of it.
            _ => return Err(ErrorKind::Changed.at(walk.position())),
        }
        if let [slot, rest @ ..] = table {
            *slot = Tensor::new(file, walk.data_start(), &walk.seen());
            table = rest;
        }
    }
}

/// As [`prove`], without a table.
pub(super) const fn prove_alone(file: &[u8]) -> Result<Summary, Error> {
    match prove::<false>(Aligned::anywhere(file), &mut []) {
        Ok(proof) => Ok(proof.summary),
        Err(error) => Err(error),
    }
}

const fn conclude<const IN_CONST: bool>(
    walk: &Walk<'_, IN_CONST>,
    order: &InOrder,
    file_len: u64,
) -> Result<Proof, Error> {
    if let Err(error) = order.conclude() {
        return Err(error);
    }
    let summary = Summary { tensors: order.tensors(), data_start: walk.position(), data_len: order.end() };
    match summary.validate_file_len(file_len) {
        Ok(()) => Ok(Proof { summary, has_metadata: walk.has_metadata() }),
        Err(error) => Err(error),
    }
}
