//! A checked file layout of known length.

use super::layout::PlannedTensors;
use super::order::{self, Order};
use super::spec::{FileSpec, Placement};
use super::text::HeaderText;
use crate::error::MAX_HEADER_LEN;
use crate::error::spec::PADDING;
use crate::error::spec::{SpecError, SpecErrorKind, SpecPart};
use crate::io::write::PREFIX;
use crate::util::bytes::low_u32;

/// A file that can be written. Its length and the position of every tensor are known before the first byte is
/// written.
///
/// *Memory*: 96 bytes, 56 where pointers have 32 bits; `Copy`. The description and the memory for the order
/// are borrowed.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FilePlan<'a> {
    spec: FileSpec<'a>,
    order: Order<'a>,
    header_len: u32,
    data_len: u64,
}

impl<'a> FileSpec<'a> {
    /// Creates the plan of this file, whose tensors and keys are already in the file's order. Tensors are
    /// ordered by dtype, in the reverse order of [`Dtype`](crate::Dtype), then by name; keys by name. Names
    /// are compared by the bytes of their UTF-8. ([`Placement::BySize`] takes precedence over dtypes.)
    ///
    /// It searches for each name among the tensors of each other dtype, with a binary search. So with many
    /// tensors of many dtypes it takes longer than [`plan_sorted`](Self::plan_sorted).
    ///
    /// # Errors
    /// [`SpecErrorKind::OutOfOrder`] at the first tensor or key that belongs before its predecessor;
    /// otherwise as [`plan_sorted`](Self::plan_sorted), except [`SpecErrorKind::OrderMemory`].
    #[inline]
    pub fn plan(self) -> Result<FilePlan<'a>, SpecError> {
        check_parts(&self)?;
        order::verify(&self)?;
        FilePlan::new(self, Order::AS_GIVEN)
    }

    /// Creates the plan of this file, whose tensors and keys may be in any order: they are sorted. The data
    /// must be written in the order of [`FilePlan::tensors`].
    ///
    /// *Memory*: `order` needs 4 bytes for each tensor and each key, and is borrowed by the plan.
    ///
    /// # Errors
    /// [`SpecErrorKind::OrderMemory`] when `order` is too short; [`SpecErrorKind::Reserved`],
    /// [`DuplicateName`](SpecErrorKind::DuplicateName), [`DuplicateKey`](SpecErrorKind::DuplicateKey),
    /// [`Overflow`](SpecErrorKind::Overflow), [`SubByte`](SpecErrorKind::SubByte),
    /// [`DataTooLong`](SpecErrorKind::DataTooLong), [`HeaderTooLarge`](SpecErrorKind::HeaderTooLarge),
    /// [`Placement`](SpecErrorKind::Placement) when such a file is impossible.
    pub fn plan_sorted(self, order: &'a mut [u32]) -> Result<FilePlan<'a>, SpecError> {
        check_parts(&self)?;
        let order = order::sorted(&self, order)?;
        FilePlan::new(self, order)
    }

    /// Creates the plan of this file with its tensors and keys in the given order. Every reader accepts that,
    /// but the reference would not write it. [`Placement::BySize`] acts as [`Placement::Start`] here.
    ///
    /// *Memory*: `scratch` needs 4 bytes for each tensor and each key, and is free again when this returns.
    ///
    /// # Errors
    /// As [`plan_sorted`](Self::plan_sorted).
    pub fn plan_as_given(self, scratch: &mut [u32]) -> Result<FilePlan<'a>, SpecError> {
        check_parts(&self)?;
        order::unique(&self, scratch)?;
        FilePlan::new(self, Order::AS_GIVEN)
    }
}

impl<'a> FilePlan<'a> {
    /// Creates the plan of a description whose parts are valid, if the entire file is valid.
    #[inline]
    fn new(spec: FileSpec<'a>, order: Order<'a>) -> Result<Self, SpecError> {
        let (header_len, data_len) = lengths(&spec, order)?;
        Ok(Self { spec, order, header_len, data_len })
    }

    /// Returns the length of the header, without the 8 bytes of its length, but with the spaces at its end.
    pub const fn header_len(&self) -> u64 {
        self.header_len as u64
    }

    /// Returns the offset of the data in the file.
    pub const fn data_start(&self) -> u64 {
        PREFIX as u64 + self.header_len()
    }

    /// Returns the length of the data.
    pub const fn data_len(&self) -> u64 {
        self.data_len
    }

    /// Returns the length of the file.
    pub const fn file_len(&self) -> u64 {
        self.data_start().wrapping_add(self.data_len) // cannot wrap: `new` checked it
    }

    /// Returns the description of the file.
    pub const fn spec(&self) -> FileSpec<'a> {
        self.spec
    }

    /// Returns the tensors in the order of the file, with their positions.
    #[inline]
    pub fn tensors(&self) -> PlannedTensors<'a> {
        PlannedTensors::new(&self.spec, self.order)
    }

    #[inline]
    pub(super) fn text(&self) -> HeaderText<'a> {
        HeaderText::new(&self.spec, self.order, self.header_len)
    }
}

/// Returns the lengths of the header and the data. The caller creates the plan in place: a copy of it would
/// take more than half as long as this function.
fn lengths(spec: &FileSpec<'_>, order: Order<'_>) -> Result<(u32, u64), SpecError> {
    let Some((text_len, data_len)) = HeaderText::new(spec, order, 0).lengths() else {
        return Err(SpecErrorKind::DataTooLong.at(SpecPart::File));
    };
    let unit = u64::from(spec.placement.unit());
    let data_start = (text_len + u64::from(spec.header_room) + unit - 1) & !(unit - 1);
    let length = data_start.saturating_sub(PREFIX as u64);
    if length > MAX_HEADER_LEN {
        return Err(SpecErrorKind::HeaderTooLarge { length }.at(SpecPart::File));
    }
    match data_start.checked_add(data_len) {
        Some(_) => Ok((low_u32(length), data_len)),
        None => Err(SpecErrorKind::DataTooLong.at(SpecPart::File)),
    }
}

/// Checks each part of the description by itself.
fn check_parts(spec: &FileSpec<'_>) -> Result<(), SpecError> {
    let unit = spec.placement.unit();
    if !unit.is_power_of_two() || (unit as usize) < PREFIX {
        return Err(SpecErrorKind::Placement { asked: unit }.at(SpecPart::File));
    }
    for (index, tensor) in spec.tensors.iter().enumerate() {
        if is_reserved(tensor.name(), spec.placement) {
            return Err(SpecErrorKind::Reserved.at(SpecPart::Tensor(index)));
        }
        tensor.byte_len().map_err(|kind| kind.at(SpecPart::Tensor(index)))?;
    }
    Ok(())
}

fn is_reserved(name: &str, placement: Placement) -> bool {
    let is_padded = matches!(placement, Placement::Padded(_));
    name == "__metadata__" || (is_padded && name.starts_with(PADDING))
}
