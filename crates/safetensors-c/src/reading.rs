//! Bytes and values of tensors.

use crate::error::{Cause, functions};
use crate::model::Model;
use crate::object::Object;
use crate::pointers::{Number, array_mut, check_all, memory};
use crate::storage::Storage;
use crate::tensors::Tensor;
use core::ffi::c_void;
use embedded_safetensors::{ErrorKind, Model as Opened, values::Element};

/// Reads elements as numbers.
///
/// # Safety
/// See the header.
unsafe fn values<T: Element + Number, const ROUNDED: bool>(
    model: *mut Model,
    tensor: *const Tensor,
    first: u64,
    out: *mut T,
    count: usize,
) -> Result<(), Cause> {
    let all = [memory(model, 1), memory(tensor, 1), memory(out, count)];
    let read = |model: &mut Opened<Storage>| -> Result<(), Cause> {
        check_all(&all)?;
        // SAFETY: the header's rules.
        let (tensor, out) = unsafe { (&*tensor, array_mut(out, count)) };
        let tensor = tensor.checked(model)?;
        let mut values = model.reader(&tensor)?.values();
        values.seek(first)?;
        match ROUNDED {
            true => values.rounded().read_exact(out)?,
            false => values.read_exact(out)?,
        }
        Ok(())
    };
    // SAFETY: the header's rules.
    unsafe { Object::with(model, read) }
}

macro_rules! readers {
    ($($name:ident: $type:ty, $rounded:literal;)+) => { functions! { $(
        unsafe fn $name(model: *mut Model, tensor: *const Tensor, first: u64, out: *mut $type, count: usize) {
            values::<$type, $rounded>(model, tensor, first, out, count)
        }
    )+ } };
}

readers! {
    sft_read_f32: f32, false;
    sft_read_f64: f64, false;
    sft_read_i8: i8, false;
    sft_read_u8: u8, false;
    sft_read_i16: i16, false;
    sft_read_u16: u16, false;
    sft_read_i32: i32, false;
    sft_read_u32: u32, false;
    sft_read_i64: i64, false;
    sft_read_u64: u64, false;
    sft_read_rounded_f32: f32, true;
}

functions! {
    unsafe fn sft_read_bytes(
        model: *mut Model,
        tensor: *const Tensor,
        offset: u64,
        bytes: *mut c_void,
        len: usize,
    ) {
        Object::with(model, |it| {
            check_all(&[memory(model, 1), memory(tensor, 1), memory(bytes, len)])?;
            let (tensor, bytes) = ((*tensor).checked(it)?, array_mut(bytes.cast::<u8>(), len));
            let (asked, len) = (offset.saturating_add(bytes.len() as u64), tensor.bytes());
            if asked > len {
                return Err(ErrorKind::OutsideTensor { asked, len }.at(tensor.offset + len).into());
            }
            it.source_mut().fill(tensor.offset + offset, bytes)
        })
    }
}
