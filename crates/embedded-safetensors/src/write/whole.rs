//! An entry that is put into the room at once, where all of it has room: what [`Pieces`](super::text::Pieces) gives piece by piece from
//! its name to its last number.

use super::decimal;
use super::layout::Planned;
use super::text::{BEFORE_DTYPE, BEFORE_OFFSETS, BEFORE_SHAPE};
use crate::header::behind_plain;
use crate::util::bytes::copy;

/// How long the entry is that stands in the room now. Nothing where it has no room, or its name may have something to escape; what is
/// in the room then does not count.
#[inline]
pub(super) fn put_entry(tensor: &Planned<'_>, room: &mut [u8]) -> Option<usize> {
    let spec = tensor.spec?;
    let name = spec.name().as_bytes();
    if !behind_plain(name).is_empty() {
        return None;
    }
    let (len, left) = (room.len(), put(room, name)?);
    let left = put(left, BEFORE_DTYPE.as_bytes())?;
    let left = put(left, spec.dtype().name().as_bytes())?;
    let mut left = put(left, BEFORE_SHAPE.as_bytes())?;
    if let [first, others @ ..] = spec.dims() {
        left = put_number(left, *first)?;
        for dim in others {
            left = put_number(put(left, b",")?, *dim)?;
        }
    }
    let left = put_number(put(left, BEFORE_OFFSETS.as_bytes())?, tensor.begin)?;
    let left = put_number(put(left, b",")?, tensor.end)?;
    Some(len - left.len())
}

/// Puts the text in front, and gives the room behind it.
#[inline(always)]
pub(super) fn put<'r>(room: &'r mut [u8], text: &[u8]) -> Option<&'r mut [u8]> {
    let (front, rest) = room.split_at_mut_checked(text.len())?;
    copy(front, text);
    Some(rest)
}

#[inline]
fn put_number(room: &mut [u8], number: u64) -> Option<&mut [u8]> {
    let (front, rest) = room.split_at_mut_checked(decimal::digits(number))?;
    decimal::fill(front, number);
    Some(rest)
}
