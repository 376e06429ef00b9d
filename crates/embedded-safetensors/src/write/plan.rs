//! A file that can be written: checked, laid out, and as long as it will be.

use super::layout::PlannedTensors;
use super::order::{self, Order};
use super::spec::{FileSpec, Placement};
use super::text::HeaderText;
use crate::error::MAX_HEADER_LEN;
use crate::error::spec::PADDING;
use crate::error::spec::{SpecError, SpecErrorKind, SpecPart};
use crate::io::write::PREFIX;
use crate::util::bytes::low_u32;

/// A file that can be written. Its length and the place of every tensor are known before its first byte.
///
/// *Memory*: 96 bytes, 56 where pointers have 32 bits; `Copy`. The description and the memory for the order are borrowed.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FilePlan<'a> {
    spec: FileSpec<'a>,
    order: Order<'a>,
    header_len: u32,
    data_len: u64,
}

impl<'a> FileSpec<'a> {
    /// The plan of this file, whose tensors and keys are in the file's order already. That is: dtypes as [`Dtype`](crate::Dtype) has them, the last
    /// one first; names of one dtype, and keys, by the bytes of their UTF-8. ([`Placement::BySize`] goes before dtypes.)
    ///
    /// It looks for each name among the tensors of each other dtype, by halving. So where many tensors have many dtypes it takes longer
    /// than [`plan_sorted`](Self::plan_sorted).
    ///
    /// # Errors
    /// [`SpecErrorKind::OutOfOrder`] at the first tensor or key that belongs before the one in front of it; otherwise as
    /// [`plan_sorted`](Self::plan_sorted), but for memory.
    #[inline]
    pub fn plan(self) -> Result<FilePlan<'a>, SpecError> {
        check_parts(&self)?;
        order::verify(&self)?;
        FilePlan::new(self, Order::AS_GIVEN)
    }

    /// The plan of this file, whose tensors and keys may be in any order: they are sorted. The order is the file's, so data are
    /// written in the order that [`FilePlan::tensors`] gives.
    ///
    /// *Memory*: `order` has 4 bytes for each tensor and each key, and is borrowed for as long as the plan is used.
    ///
    /// # Errors
    /// [`SpecErrorKind::OrderMemory`] when it has not; [`SpecErrorKind::Reserved`], [`NameTwice`](SpecErrorKind::NameTwice),
    /// [`KeyTwice`](SpecErrorKind::KeyTwice), [`Overflow`](SpecErrorKind::Overflow), [`SubByte`](SpecErrorKind::SubByte),
    /// [`DataTooLong`](SpecErrorKind::DataTooLong), [`HeaderTooLarge`](SpecErrorKind::HeaderTooLarge), [`Placement`](SpecErrorKind::Placement) when there
    /// can be no such file.
    pub fn plan_sorted(self, order: &'a mut [u32]) -> Result<FilePlan<'a>, SpecError> {
        check_parts(&self)?;
        let order = order::sorted(&self, order)?;
        FilePlan::new(self, order)
    }

    /// The plan of this file with its tensors and keys in the order in which they are given, which every reader takes, but the reference
    /// would not have written. [`Placement::BySize`] is as [`Placement::Start`] then.
    ///
    /// *Memory*: `scratch` has 4 bytes for each tensor and each key, and is free again when this returns.
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
    /// The parts can be in one file; whether all of it can be.
    #[inline]
    fn new(spec: FileSpec<'a>, order: Order<'a>) -> Result<Self, SpecError> {
        let (header_len, data_len) = lengths(&spec, order)?;
        Ok(Self { spec, order, header_len, data_len })
    }

    /// How long the header is, without the 8 bytes of its length, but with the spaces at its end.
    pub const fn header_len(&self) -> u64 {
        self.header_len as u64
    }

    /// Where in the file the data begin.
    pub const fn data_start(&self) -> u64 {
        PREFIX as u64 + self.header_len()
    }

    /// How many bytes of data there are.
    pub const fn data_len(&self) -> u64 {
        self.data_len
    }

    /// How long the file is.
    pub const fn file_len(&self) -> u64 {
        self.data_start().wrapping_add(self.data_len) // cannot wrap: `new` checked it
    }

    /// What the file is to hold.
    pub const fn spec(&self) -> FileSpec<'a> {
        self.spec
    }

    /// The tensors in the order of the file, with their places.
    #[inline]
    pub fn tensors(&self) -> PlannedTensors<'a> {
        PlannedTensors::new(&self.spec, self.order)
    }

    #[inline]
    pub(super) fn text(&self) -> HeaderText<'a> {
        HeaderText::new(&self.spec, self.order, self.header_len)
    }
}

/// How long the header is, and the data. The plan is made where it is to be: a copy of it takes longer than half of this.
fn lengths(spec: &FileSpec<'_>, order: Order<'_>) -> Result<(u32, u64), SpecError> {
    let Some((text_len, data_len)) = HeaderText::new(spec, order, 0).lengths() else {
        return Err(SpecErrorKind::DataTooLong.at(SpecPart::File));
    };
    let unit = u64::from(spec.placement.unit());
    let data_start = (text_len + u64::from(spec.room) + unit - 1) & !(unit - 1);
    let length = data_start.saturating_sub(PREFIX as u64);
    if length > MAX_HEADER_LEN {
        return Err(SpecErrorKind::HeaderTooLarge { length }.at(SpecPart::File));
    }
    match data_start.checked_add(data_len) {
        Some(_) => Ok((low_u32(length), data_len)),
        None => Err(SpecErrorKind::DataTooLong.at(SpecPart::File)),
    }
}

/// Whether each part of the description can be in a file, whatever else is.
fn check_parts(spec: &FileSpec<'_>) -> Result<(), SpecError> {
    let unit = spec.placement.unit();
    if !unit.is_power_of_two() || (unit as usize) < PREFIX {
        return Err(SpecErrorKind::Placement { asked: unit }.at(SpecPart::File));
    }
    for (index, tensor) in spec.tensors.iter().enumerate() {
        if is_reserved(tensor.name(), spec.placement) {
            return Err(SpecErrorKind::Reserved.at(SpecPart::Tensor(index)));
        }
        tensor.byte_len().map_err(|fault| fault.at(SpecPart::Tensor(index)))?;
    }
    Ok(())
}

fn is_reserved(name: &str, placement: Placement) -> bool {
    let is_padded = matches!(placement, Placement::Padded(_));
    name == "__metadata__" || (is_padded && name.starts_with(PADDING))
}
