//! A file that can be written: proven, laid out, and as long as it will be.

use super::encoder::HeaderEncoder;
use super::layout::PlannedTensors;
use super::order::{self, Order};
use super::text::{Pieces, lengths};
use super::spec::{FileSpec, Placement};
use crate::error::MAX_HEADER_LEN;
use crate::error::spec::PADDING;
use crate::error::spec::{SpecError, SpecFault, Which};
use crate::util::bytes::low_u32;

/// The length of the header's length.
pub(super) const PREFIX: u64 = 8;

/// A file that can be written. Its length and the place of every tensor are known before its first byte.
///
/// *Memory*: 96 bytes, 64 where pointers have 32 bits; `Copy`. The description and the memory for the order are borrowed.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FilePlan<'a> {
    spec: FileSpec<'a>,
    order: Order<'a>,
    /// Of the header's JSON, without spaces at its end.
    json_len: u32,
    header_len: u32,
    data_len: u64,
}

impl<'a> FilePlan<'a> {
    #[inline]
    pub(super) fn in_order(spec: FileSpec<'a>) -> Result<Self, SpecError> {
        let lengths = Lengths::in_order(&spec)?;
        Ok(Self::new(spec, Order::AS_GIVEN, &lengths))
    }

    pub(super) fn sorted(spec: FileSpec<'a>, memory: &'a mut [u32]) -> Result<Self, SpecError> {
        check_parts(&spec)?;
        let order = order::sorted(&spec, memory)?;
        Ok(Self::new(spec, order, &Lengths::of(&spec, order)?))
    }

    pub(super) fn as_given(spec: FileSpec<'a>, memory: &mut [u32]) -> Result<Self, SpecError> {
        check_parts(&spec)?;
        order::unique(&spec, memory)?;
        Ok(Self::new(spec, Order::AS_GIVEN, &Lengths::of(&spec, Order::AS_GIVEN)?))
    }

    #[inline]
    const fn new(spec: FileSpec<'a>, order: Order<'a>, lengths: &Lengths) -> Self {
        let Lengths { json_len, header_len, data_len } = *lengths;
        Self { spec, order, json_len, header_len, data_len }
    }

    /// How long the header is, without the 8 bytes of its length, but with the spaces at its end.
    pub const fn header_len(&self) -> u64 {
        self.header_len as u64
    }

    /// Where in the file the data begin.
    pub const fn data_start(&self) -> u64 {
        PREFIX + self.header_len()
    }

    /// How many bytes of data there are.
    pub const fn data_len(&self) -> u64 {
        self.data_len
    }

    /// How long the file is.
    pub const fn file_len(&self) -> u64 {
        self.data_start().wrapping_add(self.data_len) // cannot wrap: `measured` saw to it
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

    /// What spells the header, into buffers of any size.
    #[inline]
    pub fn encoder(&self) -> HeaderEncoder<'a> {
        HeaderEncoder::new(self)
    }

    #[inline]
    pub(super) fn pieces(&self) -> Pieces<'a> {
        Pieces::new(&self.spec, self.order)
    }

    /// How many spaces end the header.
    pub(super) const fn spaces(&self) -> u32 {
        self.header_len - self.json_len
    }
}

/// As the plan has them, which is made where it is to be: a copy of it takes longer than half of its proof.
struct Lengths {
    json_len: u32,
    header_len: u32,
    data_len: u64,
}

impl Lengths {
    fn in_order(spec: &FileSpec<'_>) -> Result<Self, SpecError> {
        check_parts(spec)?;
        order::verify(spec)?;
        Self::of(spec, Order::AS_GIVEN)
    }

    /// The parts can stand in one file; whether all of it can be.
    fn of(spec: &FileSpec<'_>, order: Order<'_>) -> Result<Self, SpecError> {
        let Some((json_len, data_len)) = lengths(spec, order) else {
            return Err(SpecFault::DataTooLong.at(Which::File));
        };
        let unit = u64::from(spec.placement.unit());
        let data_start = (PREFIX + json_len + u64::from(spec.room) + unit - 1) & !(unit - 1);
        let length = data_start - PREFIX;
        if length > MAX_HEADER_LEN {
            return Err(SpecFault::HeaderTooLarge { length }.at(Which::File));
        }
        if data_start.checked_add(data_len).is_none() {
            return Err(SpecFault::DataTooLong.at(Which::File));
        }
        Ok(Self { json_len: low_u32(json_len), header_len: low_u32(length), data_len })
    }
}

/// Whether each part of the description can be in a file, whatever else is.
fn check_parts(spec: &FileSpec<'_>) -> Result<(), SpecError> {
    let unit = spec.placement.unit();
    if !unit.is_power_of_two() || u64::from(unit) < PREFIX {
        return Err(SpecFault::Placement { asked: unit }.at(Which::File));
    }
    for (index, tensor) in spec.tensors.iter().enumerate() {
        if is_reserved(tensor.name(), spec.placement) {
            return Err(SpecFault::Reserved.at(Which::Tensor(index)));
        }
        tensor.byte_len().map_err(|fault| fault.at(Which::Tensor(index)))?;
    }
    Ok(())
}

fn is_reserved(name: &str, placement: Placement) -> bool {
    let is_padded = matches!(placement, Placement::Padded(_));
    name == "__metadata__" || (is_padded && name.starts_with(PADDING))
}
