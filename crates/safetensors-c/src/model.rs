//! Models: opened, searched, listed, verified.

use crate::error::{Cause, Misuse, functions};
use crate::object::Object;
use crate::pointers::{array_mut, check_all, memory, text};
use crate::storage::{Fault, Storage, StorageIn};
use crate::tensors::{Home, Lookup, Request, Tensor};
use core::ffi::{c_char, c_int, c_void};
use embedded_safetensors::integrity::{Crc32, Sha256};
use embedded_safetensors::validate::SortSlot;
use embedded_safetensors::{Error, ErrorKind, Model as Opened, ReadError};

/// `sft_model`.
pub type Model = Object<Opened<Storage>, 0x4D4F_444C>;

crate::abi::fits!(Model, crate::abi::words("SFT_MODEL_WORDS"));

/// `sft_slot`.
pub type Slot = SortSlot;

crate::abi::fits!(Slot, 24);

/// Returns slots, and forgets what was in their memory.
///
/// # Safety
/// As [`array_mut`].
unsafe fn slots<'s>(slots: *mut Slot, count: usize) -> &'s mut [Slot] {
    if count == 0 {
        return &mut [];
    }
    for index in 0..count {
        // SAFETY: inside the memory, which was checked.
        unsafe { slots.add(index).write(SortSlot::EMPTY) };
    }
    // SAFETY: all were written above; the rest is the caller's promise.
    unsafe { core::slice::from_raw_parts_mut(slots, count) }
}

pub type Visit = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const Tensor);

/// Adds the final 0 to the numbers of an error about the length of a value.
fn with_final_0(error: ReadError<Fault>) -> Cause {
    match error {
        ReadError::Format(Error { kind: ErrorKind::ValueLength { needed, capacity }, at }) => {
            ErrorKind::ValueLength { needed: needed.saturating_add(1), capacity: capacity.saturating_add(1) }
                .at(at)
                .into()
        }
        error => error.into(),
    }
}

/// Verifies something about a model through the caller's buffer.
///
/// # Safety
/// See the header.
unsafe fn verify(
    model: *mut Model,
    buffer: *mut c_void,
    len: usize,
    verify: impl FnOnce(&mut Opened<Storage>, &mut [u8]) -> Result<(), Cause>,
) -> Result<(), Cause> {
    let verify = |opened: &mut Opened<Storage>| {
        check_all(&[memory(model, 1), memory(buffer, len)])?;
        // SAFETY: the header's rules.
        verify(opened, unsafe { array_mut(buffer.cast::<u8>(), len) })
    };
    // SAFETY: the header's rules.
    unsafe { Object::with(model, verify) }
}

/// Begins to open a model, once its arguments are checked.
///
/// # Safety
/// As [`Lookup::new`]; the storage is as the header says.
#[inline(never)] // its stack is free again when the header is read
unsafe fn begin<'r>(
    model: *mut Model,
    storage: *const StorageIn,
    (window, window_len): (*mut c_void, usize),
    table: (*const Request, *mut Tensor, usize),
) -> Result<(Lookup<'r>, Storage), Cause> {
    let others = [memory(model, 1), memory(storage, 1), memory(window, window_len)];
    // SAFETY: the caller's promise. First, so that no tensor seems to be found after an error.
    let lookup = unsafe { Lookup::new(others, table)? };
    // SAFETY: checked; the rest is the caller's promise.
    let storage = Storage::new(unsafe { &*storage }).inspect_err(|_| lookup.forget())?;
    Ok((lookup, storage))
}

functions! {
    unsafe fn sft_open(
        model: *mut Model,
        storage: *const StorageIn,
        requests: *const Request,
        tensors: *mut Tensor,
        count: usize,
        window: *mut c_void,
        window_len: usize,
    ) {
        Object::open(model, || {
            let (lookup, storage) = begin(model, storage, (window, window_len), (requests, tensors, count))?;
            let (queries, window) = (lookup.queries(), array_mut(window.cast::<u8>(), window_len));
            let outcome = Opened::open_with(storage, queries, window);
            match &outcome {
                Ok(model) => lookup.end(Home::of(model)),
                Err(_) => lookup.forget(),
            }
            Ok(outcome?)
        })
    }

    unsafe fn sft_open_unordered(
        model: *mut Model,
        storage: *const StorageIn,
        slot_memory: *mut Slot,
        slot_count: usize,
        window: *mut c_void,
        window_len: usize,
    ) {
        Object::open(model, || {
            let (slot_array, window_array) = (memory(slot_memory, slot_count), memory(window, window_len));
            check_all(&[memory(model, 1), memory(storage, 1), slot_array, window_array])?;
            let storage = Storage::new(&*storage)?;
            let window = array_mut(window.cast::<u8>(), window_len);
            Ok(Opened::open_unordered(storage, slots(slot_memory, slot_count), window)?)
        })
    }

    unsafe fn sft_find(
        model: *mut Model,
        requests: *const Request,
        tensors: *mut Tensor,
        count: usize,
        window: *mut c_void,
        window_len: usize,
    ) {
        let others = [memory(model, 1), memory(model, 0), memory(window, window_len)];
        Object::with(model, |model| {
            let lookup = Lookup::new(others, (requests, tensors, count))?;
            let outcome = model.find_all(lookup.queries(), array_mut(window.cast::<u8>(), window_len));
            match outcome {
                Ok(()) => lookup.end(Home::of(model)),
                Err(_) => lookup.forget(),
            }
            Ok(outcome?)
        })
    }

    unsafe fn sft_for_each(
        model: *mut Model,
        visit: Option<Visit>,
        context: *mut c_void,
        name: *mut c_void,
        name_len: usize,
        window: *mut c_void,
        window_len: usize,
    ) {
        let all = [memory(model, 1), memory(name, name_len), memory(window, window_len)];
        Object::with(model, |model| {
            let visit = visit.ok_or(Misuse::Null)?;
            check_all(&all)?;
            let name = array_mut(name.cast::<u8>(), name_len);
            let window = array_mut(window.cast::<u8>(), window_len);
            let home = Home::of(model);
            Ok(model.for_each(name, window, |entry| {
                let (name, info) = (entry.name(), entry.info);
                let mut tensor = Tensor::MISSING;
                tensor.fill(info.shape().dims(), info.dtype(), info.begin()..info.end(), home);
                visit(context, name.as_ptr().cast(), name.len(), &raw const tensor);
            })?)
        })
    }

    unsafe fn sft_validate_names(
        model: *mut Model,
        key: *const u64,
        slot_memory: *mut Slot,
        slot_count: usize,
        text: *mut c_void,
        text_len: usize,
        window: *mut c_void,
        window_len: usize,
    ) {
        let keys = if key.is_null() { 0 } else { 2 };
        let (slot_array, text_array) = (memory(slot_memory, slot_count), memory(text, text_len));
        let all = [memory(model, 1), slot_array, text_array, memory(window, window_len), memory(key, keys)];
        Object::with(model, |model| {
            check_all(&all)?;
            let key = if keys == 0 { [0; 2] } else { *key.cast::<[u64; 2]>() };
            let text = array_mut(text.cast::<u8>(), text_len);
            let window = array_mut(window.cast::<u8>(), window_len);
            Ok(model.validate_names(key, slots(slot_memory, slot_count), text, window)?)
        })
    }

    unsafe fn sft_metadata(
        model: *mut Model,
        key: *const c_char,
        value: *mut c_char,
        len: usize,
        found: *mut c_int,
        window: *mut c_void,
        window_len: usize,
    ) {
        let found_array = memory(found, usize::from(!found.is_null()));
        let (this, value_array, window_array) =
            (memory(model, 1), memory(value, len), memory(window, window_len));
        Object::with(model, |model| {
            let key = text(key)?;
            check_all(&[this, memory(key.as_ptr(), key.len() + 1), value_array, window_array, found_array])?;
            let memory = array_mut(value.cast::<u8>(), len);
            let window = array_mut(window.cast::<u8>(), window_len);
            // There is no memory for the final 0 if there is none at all.
            let Some((end, but_one)) = memory.split_last_mut() else { return Err(Misuse::NoText.into()) };
            let text = model.metadata_value(key, but_one, window).map_err(with_final_0)?.map(str::as_bytes);
            if text.is_some_and(|value| value.contains(&0)) {
                return Err(Misuse::Nul.into());
            }
            let len = text.map(<[u8]>::len);
            *but_one.get_mut(len.unwrap_or(0)).unwrap_or(end) = 0;
            if !found.is_null() {
                found.write(len.is_some().into());
            }
            Ok(())
        })
    }

    unsafe fn sft_verify_sha256(model: *mut Model, sum: *const [u8; 32], buffer: *mut c_void, len: usize) {
        verify(model, buffer, len, |model, buffer| {
            memory(sum, 1).check()?;
            Ok(model.verify(Sha256::new(), &*sum, buffer)?)
        })
    }

    unsafe fn sft_verify_crc32(model: *mut Model, expected: u32, buffer: *mut c_void, len: usize) {
        verify(model, buffer, len, |model, buffer| Ok(model.verify(Crc32::new(), &expected, buffer)?))
    }

    unsafe fn sft_verify_embedded(model: *mut Model, buffer: *mut c_void, len: usize) {
        verify(model, buffer, len, |model, buffer| Ok(model.verify_embedded(Sha256::new(), buffer)?))
    }
}
