//! Models: opened, searched, listed, verified.

use crate::error::{Cause, ErrorOut, Misuse, Status, end};
use crate::object::Object;
use crate::pointers::{Range, array, array_mut, check_array, check_disjoint, range, reference, text};
use crate::storage::{Fault, Storage, StorageIn};
use crate::tensors::{Home, Lookup, Request, Tensor};
use core::ffi::{c_char, c_int, c_void};
use embedded_safetensors::integrity::{Crc32, Sha256};
use embedded_safetensors::validate::SortSlot;
use embedded_safetensors::{Error, ErrorKind, Model as Opened, ReadError};

/// `sft_model`.
pub type Model = Object<Opened<Storage>, 0x7366_745F_4D4F_444C>;

crate::abi::fits!(Model, crate::abi::words("SFT_MODEL_WORDS"));

/// `sft_slot`.
pub type Slot = SortSlot;

crate::abi::fits!(Slot, 24);

/// Returns slots, and forgets what was in their memory.
///
/// # Safety
/// As [`array_mut`].
unsafe fn slots<'s>(slots: *mut Slot, count: usize) -> Result<&'s mut [Slot], Misuse> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_array(slots, count)?;
    for index in 0..count {
        // SAFETY: inside the memory, which is not null and aligned.
        unsafe { slots.add(index).write(SortSlot::EMPTY) };
    }
    // SAFETY: all were written above; the rest is the caller's promise.
    Ok(unsafe { core::slice::from_raw_parts_mut(slots, count) })
}

/// Memory that overlaps with none.
const NOTHING: Range = (0, 0);

/// Returns a lookup, whose tensors are marked as missing, and the window.
///
/// # Errors
/// A pointer is null or misaligned, or two of these overlap.
///
/// # Safety
/// As [`Lookup::new`] and [`array_mut`].
pub unsafe fn lookup<'w>(
    [object, storage]: [Range; 2],
    (requests, tensors, count): (*const Request, *mut Tensor, usize),
    (window, len): (*mut u8, usize),
) -> Result<(Lookup<'w>, &'w mut [u8]), Misuse> {
    check_disjoint(&[object, storage, range(requests, count), range(tensors, count), range(window, len)])?;
    // SAFETY: the caller's promise.
    Ok(unsafe { (Lookup::new(requests, tensors, count)?, array_mut(window, len)?) })
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
    let open = || {
        let others = [range(model, 1), range(storage, 1)];
        // First, so that no tensor seems to be found after an error.
        // SAFETY: the header's rules.
        let (mut lookup, window) =
            unsafe { lookup(others, (requests, tensors, count), (window.cast(), window_len))? };
        // SAFETY: the header's rules.
        let storage = Storage::new(unsafe { reference(storage)? })?;
        let outcome = Opened::open_with(storage, lookup.begin()?, window);
        lookup.end(outcome.as_ref().ok().map(Home::of));
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
        let memory = [range(slot_memory, slot_count), range(window, window_len)];
        check_disjoint(&[range(model, 1), range(storage, 1), memory[0], memory[1]])?;
        // SAFETY: the header's rules.
        let storage = Storage::new(unsafe { reference(storage)? })?;
        // SAFETY: the header's rules.
        let (slots, window) =
            unsafe { (slots(slot_memory, slot_count)?, array_mut(window.cast::<u8>(), window_len)?) };
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
    let memory = range(model, 1);
    let find = |model: &mut Opened<Storage>| {
        // SAFETY: the header's rules.
        let (mut lookup, window) =
            unsafe { lookup([memory, NOTHING], (requests, tensors, count), (window.cast(), window_len))? };
        let outcome = model.find_all(lookup.begin()?, window);
        lookup.end(outcome.is_ok().then(|| Home::of(model)));
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
    let memory = [range(model, 1), range(name, name_len), range(window, window_len)];
    let list = |model: &mut Opened<Storage>| -> Result<(), Cause> {
        let visit = visit.ok_or(Misuse::Null)?;
        check_disjoint(&memory)?;
        // SAFETY: the header's rules.
        let (name, window) =
            unsafe { (array_mut(name.cast::<u8>(), name_len)?, array_mut(window.cast::<u8>(), window_len)?) };
        let home = Home::of(model);
        Ok(model.for_each(name, window, |entry| {
            let (name, tensor) = (entry.name(), Tensor::of(Some(entry.info), home));
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
    let memory =
        [range(model, 1), range(slot_memory, slot_count), range(text, text_len), range(window, window_len)];
    let validate = |model: &mut Opened<Storage>| -> Result<(), Cause> {
        // SAFETY: the header's rules.
        let key = if key.is_null() { [0; 2] } else { *unsafe { reference(key.cast::<[u64; 2]>())? } };
        check_disjoint(&memory)?;
        // SAFETY: the header's rules.
        let (slots, text, window) = unsafe {
            let text = array_mut(text.cast::<u8>(), text_len)?;
            (slots(slot_memory, slot_count)?, text, array_mut(window.cast::<u8>(), window_len)?)
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
    let [this, value_memory, window_memory] = [range(model, 1), range(value, len), range(window, window_len)];
    let found_memory = range(found, usize::from(!found.is_null()));
    let find = |model: &mut Opened<Storage>| -> Result<bool, Cause> {
        // SAFETY: the header's rules.
        let key = unsafe { text(key)? };
        let key_memory = range(key.as_ptr(), key.len() + 1);
        check_disjoint(&[this, key_memory, value_memory, window_memory, found_memory])?;
        // SAFETY: the header's rules.
        let (memory, window) =
            unsafe { (array_mut(value.cast::<u8>(), len)?, array_mut(window.cast::<u8>(), window_len)?) };
        // There is no memory for the final 0 if there is none at all.
        let Some((end, but_one)) = memory.split_last_mut() else { return Err(Misuse::NoText.into()) };
        let found = model.metadata_value(key, but_one, window).map_err(with_final_0)?.map(str::as_bytes);
        if found.is_some_and(|value| value.contains(&0)) {
            return Err(Misuse::Nul.into());
        }
        let len = found.map(<[u8]>::len);
        *but_one.get_mut(len.unwrap_or(0)).unwrap_or(end) = 0;
        Ok(len.is_some())
    };
    // SAFETY: the header's rules.
    let outcome = unsafe { Object::with(model, find) }.and_then(|is_found| {
        if !found.is_null() {
            crate::pointers::check(found)?;
            // SAFETY: not null and aligned; the rest is the header's rules.
            unsafe { found.write(is_found.into()) };
        }
        Ok(())
    });
    // SAFETY: the header's rules.
    unsafe { end(outcome, error) }
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
    let memory = [range(model, 1), range(buffer, len)];
    let verify = |model: &mut Opened<Storage>| -> Result<(), Cause> {
        check_disjoint(&memory)?;
        // SAFETY: the header's rules.
        let buffer = unsafe { array_mut(buffer.cast::<u8>(), len)? };
        verify(model, buffer)
    };
    // SAFETY: the header's rules.
    unsafe { end(Object::with(model, verify), error) }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_verify_sha256(
    model: *mut Model,
    expected: *const u8,
    buffer: *mut c_void,
    len: usize,
    error: *mut ErrorOut,
) -> Status {
    // SAFETY: the header's rules.
    let expected = unsafe { array(expected, 32) };
    let expected = expected.and_then(|sum| <[u8; 32]>::try_from(sum).map_err(|_| Misuse::TooLong));
    // SAFETY: the header's rules.
    unsafe {
        verify(model, buffer, len, error, |model, buffer| {
            Ok(model.verify(Sha256::new(), &expected?, buffer)?)
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
