//! Bytes and values of tensors.

use crate::error::{Cause, ErrorOut, Status, end};
use crate::model::Model;
use crate::object::Object;
use crate::pointers::{Number, array_mut, check_all, memory};
use crate::storage::Storage;
use crate::tensors::Tensor;
use core::ffi::c_void;
use embedded_safetensors::{ErrorKind, Model as Opened, values::Element};

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_read_bytes(
    model: *mut Model,
    tensor: *const Tensor,
    offset: u64,
    bytes: *mut c_void,
    len: usize,
    error: *mut ErrorOut,
) -> Status {
    let all = [memory(model, 1), memory(tensor, 1), memory(bytes, len)];
    let read = |model: &mut Opened<Storage>| -> Result<(), Cause> {
        check_all(&all)?;
        // SAFETY: the header's rules.
        let (tensor, bytes) = unsafe { (&*tensor, array_mut(bytes.cast::<u8>(), len)) };
        let tensor = tensor.checked(model)?;
        let (asked, len) = (offset.saturating_add(bytes.len() as u64), tensor.bytes());
        if asked > len {
            return Err(ErrorKind::OutsideTensor { asked, len }.at(tensor.offset + len).into());
        }
        model.source_mut().fill(tensor.offset + offset, bytes)
    };
    // SAFETY: the header's rules.
    unsafe { end(Object::with(model, read), error) }
}

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
    error: *mut ErrorOut,
) -> Status {
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
    unsafe { end(Object::with(model, read), error) }
}

macro_rules! readers {
    ($($name:ident: $type:ty, $rounded:literal;)+) => { $(
        /// # Safety
        /// See the header.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            model: *mut Model,
            tensor: *const Tensor,
            first: u64,
            out: *mut $type,
            count: usize,
            error: *mut ErrorOut,
        ) -> Status {
            // SAFETY: the header's rules.
            unsafe { values::<$type, $rounded>(model, tensor, first, out, count, error) }
        }
    )+ };
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
