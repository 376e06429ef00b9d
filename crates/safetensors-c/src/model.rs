//! Models: opened, searched, listed, verified.

use crate::error::{Cause, ErrorOut, Misuse, Status, end};
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

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_open(
    model: *mut Model,
    storage: *const StorageIn,
    requests: *const Request,
    tensors: *mut Tensor,
    count: usize,
    window: *mut c_void,
    window_len: usize,
    error: *mut ErrorOut,
) -> Status {
    let others = [memory(model, 1), memory(storage, 1), memory(window, window_len)];
    let open = || {
        // First, so that no tensor seems to be found after an error.
        // SAFETY: the header's rules.
        let lookup = unsafe { Lookup::new(others, (requests, tensors, count))? };
        // SAFETY: checked; the rest is the header's rules.
        let storage = Storage::new(unsafe { &*storage }).inspect_err(|_| lookup.forget())?;
        // SAFETY: the header's rules.
        let (queries, window) = unsafe { (lookup.queries(), array_mut(window.cast::<u8>(), window_len)) };
        let outcome = Opened::open_with(storage, queries, window);
        match &outcome {
            Ok(model) => lookup.end(Home::of(model)),
            Err(_) => lookup.forget(),
        }
        Ok::<_, Cause>(outcome?)
    };
    // SAFETY: the header's rules.
    unsafe { end(Object::open(model, open), error) }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_open_unordered(
    model: *mut Model,
    storage: *const StorageIn,
    slot_memory: *mut Slot,
    slot_count: usize,
    window: *mut c_void,
    window_len: usize,
    error: *mut ErrorOut,
) -> Status {
    let open = || -> Result<_, Cause> {
        let (slots_and_window, this) =
            ([memory(slot_memory, slot_count), memory(window, window_len)], memory(model, 1));
        check_all(&[this, memory(storage, 1), slots_and_window[0], slots_and_window[1]])?;
        // SAFETY: the header's rules.
        let storage = Storage::new(unsafe { &*storage })?;
        // SAFETY: the header's rules.
        let (slots, window) =
            unsafe { (slots(slot_memory, slot_count), array_mut(window.cast::<u8>(), window_len)) };
        Ok(Opened::open_unordered(storage, slots, window)?)
    };
    // SAFETY: the header's rules.
    unsafe { end(Object::open(model, open), error) }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_find(
    model: *mut Model,
    requests: *const Request,
    tensors: *mut Tensor,
    count: usize,
    window: *mut c_void,
    window_len: usize,
    error: *mut ErrorOut,
) -> Status {
    let others = [memory(model, 1), memory(model, 0), memory(window, window_len)];
    let find = |model: &mut Opened<Storage>| {
        // SAFETY: the header's rules.
        let lookup = unsafe { Lookup::new(others, (requests, tensors, count))? };
        // SAFETY: the header's rules.
        let (queries, window) = unsafe { (lookup.queries(), array_mut(window.cast::<u8>(), window_len)) };
        let outcome = model.find_all(queries, window);
        match outcome {
            Ok(()) => lookup.end(Home::of(model)),
            Err(_) => lookup.forget(),
        }
        Ok::<_, Cause>(outcome?)
    };
    // SAFETY: the header's rules.
    unsafe { end(Object::with(model, find), error) }
}

pub type Visit = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const Tensor);

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_for_each(
    model: *mut Model,
    visit: Option<Visit>,
    context: *mut c_void,
    name: *mut c_void,
    name_len: usize,
    window: *mut c_void,
    window_len: usize,
    error: *mut ErrorOut,
) -> Status {
    let all = [memory(model, 1), memory(name, name_len), memory(window, window_len)];
    let list = |model: &mut Opened<Storage>| -> Result<(), Cause> {
        let visit = visit.ok_or(Misuse::Null)?;
        check_all(&all)?;
        // SAFETY: the header's rules.
        let (name, window) =
            unsafe { (array_mut(name.cast::<u8>(), name_len), array_mut(window.cast::<u8>(), window_len)) };
        let home = Home::of(model);
        Ok(model.for_each(name, window, |entry| {
            let (name, info) = (entry.name(), entry.info);
            let mut tensor = Tensor::MISSING;
            tensor.fill(info.shape().dims(), info.dtype(), info.begin()..info.end(), home);
            // SAFETY: the header says what a callback may do.
            unsafe { visit(context, name.as_ptr().cast(), name.len(), &raw const tensor) };
        })?)
    };
    // SAFETY: the header's rules.
    unsafe { end(Object::with(model, list), error) }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_validate_names(
    model: *mut Model,
    key: *const u64,
    slot_memory: *mut Slot,
    slot_count: usize,
    text: *mut c_void,
    text_len: usize,
    window: *mut c_void,
    window_len: usize,
    error: *mut ErrorOut,
) -> Status {
    let keys = if key.is_null() { 0 } else { 2 };
    let (slot_array, text_array) = (memory(slot_memory, slot_count), memory(text, text_len));
    let all = [memory(model, 1), slot_array, text_array, memory(window, window_len), memory(key, keys)];
    let validate = |model: &mut Opened<Storage>| -> Result<(), Cause> {
        check_all(&all)?;
        // SAFETY: the header's rules.
        let key = if keys == 0 { [0; 2] } else { unsafe { *key.cast::<[u64; 2]>() } };
        // SAFETY: the header's rules.
        let (slots, text, window) = unsafe {
            let text = array_mut(text.cast::<u8>(), text_len);
            (slots(slot_memory, slot_count), text, array_mut(window.cast::<u8>(), window_len))
        };
        Ok(model.validate_names(key, slots, text, window)?)
    };
    // SAFETY: the header's rules.
    unsafe { end(Object::with(model, validate), error) }
}

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

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_metadata(
    model: *mut Model,
    key: *const c_char,
    value: *mut c_char,
    len: usize,
    found: *mut c_int,
    window: *mut c_void,
    window_len: usize,
    error: *mut ErrorOut,
) -> Status {
    let found_array = memory(found, usize::from(!found.is_null()));
    let (this, value_array, window_array) =
        (memory(model, 1), memory(value, len), memory(window, window_len));
    let find = |model: &mut Opened<Storage>| -> Result<(), Cause> {
        // SAFETY: the header's rules.
        let key = unsafe { text(key)? };
        check_all(&[this, memory(key.as_ptr(), key.len() + 1), value_array, window_array, found_array])?;
        // SAFETY: the header's rules.
        let (memory, window) =
            unsafe { (array_mut(value.cast::<u8>(), len), array_mut(window.cast::<u8>(), window_len)) };
        // There is no memory for the final 0 if there is none at all.
        let Some((end, but_one)) = memory.split_last_mut() else { return Err(Misuse::NoText.into()) };
        let text = model.metadata_value(key, but_one, window).map_err(with_final_0)?.map(str::as_bytes);
        if text.is_some_and(|value| value.contains(&0)) {
            return Err(Misuse::Nul.into());
        }
        let len = text.map(<[u8]>::len);
        *but_one.get_mut(len.unwrap_or(0)).unwrap_or(end) = 0;
        if !found.is_null() {
            // SAFETY: checked; the rest is the header's rules.
            unsafe { found.write(len.is_some().into()) };
        }
        Ok(())
    };
    // SAFETY: the header's rules.
    unsafe { end(Object::with(model, find), error) }
}

/// Verifies something about a model through the caller's buffer.
///
/// # Safety
/// See the header.
unsafe fn verify(
    model: *mut Model,
    buffer: *mut c_void,
    len: usize,
    error: *mut ErrorOut,
    verify: impl FnOnce(&mut Opened<Storage>, &mut [u8]) -> Result<(), Cause>,
) -> Status {
    let verify = |opened: &mut Opened<Storage>| -> Result<(), Cause> {
        check_all(&[memory(model, 1), memory(buffer, len)])?;
        // SAFETY: the header's rules.
        verify(opened, unsafe { array_mut(buffer.cast::<u8>(), len) })
    };
    // SAFETY: the header's rules.
    unsafe { end(Object::with(model, verify), error) }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_verify_sha256(
    model: *mut Model,
    expected: *const [u8; 32],
    buffer: *mut c_void,
    len: usize,
    error: *mut ErrorOut,
) -> Status {
    // SAFETY: the header's rules.
    unsafe {
        verify(model, buffer, len, error, |model, buffer| {
            memory(expected, 1).check()?;
            Ok(model.verify(Sha256::new(), &*expected, buffer)?)
        })
    }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_verify_crc32(
    model: *mut Model,
    expected: u32,
    buffer: *mut c_void,
    len: usize,
    error: *mut ErrorOut,
) -> Status {
    // SAFETY: the header's rules.
    unsafe {
        verify(model, buffer, len, error, |model, buffer| {
            Ok(model.verify(Crc32::new(), &expected, buffer)?)
        })
    }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_verify_embedded(
    model: *mut Model,
    buffer: *mut c_void,
    len: usize,
    error: *mut ErrorOut,
) -> Status {
    // SAFETY: the header's rules.
    unsafe {
        verify(model, buffer, len, error, |model, buffer| Ok(model.verify_embedded(Sha256::new(), buffer)?))
    }
}
