//! Any bytes as calls of the whole C API, with any file, storage and arguments that the header allows.
//!
//! The input is the length of a plan / 4 (1 byte), the plan, and the parts of a file. Every choice is taken
//! from the plan, byte for byte; after its end, it is all zeros. The parts are the file, its header, or the
//! numbers of a random file.
//!
//! Miri runs it with the inputs in these files.
#![cfg_attr(not(miri), no_main)]
// Each function calls the C API, with pointers to memory that `plan` lends until the end of the input.
#![allow(unsafe_op_in_unsafe_fn, dead_code)]

mod plan;
mod writes;

/// The library. Its modules name each other from the root of their crate.
#[path = "../src"]
mod library {
    pub mod abi;
    pub mod error;
    pub mod file_receiver;
    pub mod model;
    pub mod object;
    pub mod pointers;
    pub mod reading;
    pub mod receiver;
    pub mod recorder;
    pub mod storage;
    pub mod tensors;
    pub mod verifier;
}
use library::*;

use crate::error::OK;
use crate::model::*;
use crate::plan::*;
use crate::reading::*;
use crate::receiver::*;
use crate::recorder::*;
use crate::storage::{AT_MOST, EXACT, MEMORY, StorageIn};
use crate::tensors::{ANY_RANK, Request, Tensor};
use embedded_safetensors::Dtype;
use libfuzzer_sys::fuzz_target;
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut, with_exposed_provenance_mut};
use support::headers;
use support::random::Random;

/// More of an input is not used.
const LONGEST: usize = 16384;

thread_local! {
    static FILE_BYTES: Cell<&'static [u8]> = const { Cell::new(&[]) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

fuzz_target!(|data: &[u8]| run(data));

#[cfg(miri)]
fn main() {
    for path in std::env::args_os().skip(1) {
        run(&std::fs::read(path).unwrap());
    }
}

fn run(data: &[u8]) {
    let Some((words, rest)) = data.split_first() else { return };
    let (plan, parts) = rest.split_at(rest.len().min(4 * usize::from(*words)));
    plan::begin(plan);
    let original = make_file(parts);
    FILE_BYTES.set(memory(copy(&original), original.len()));
    // SAFETY: memory that is passed is lent until the end, in its exact size; what is wrong is an error.
    unsafe {
        let mut fuzz = Fuzz::new();
        while plan::continues() {
            fuzz.act();
        }
    }
    check!(file() == original);
    FILE_BYTES.set(&[]);
    take_back_all();
}

/// Makes the file of an input.
fn make_file(parts: &[u8]) -> Vec<u8> {
    let parts = &parts[..parts.len().min(LONGEST)];
    let mut file = match next() % 4 {
        0 => parts.to_vec(),
        1 => headers::file_of(parts, number() % 4096),
        _ => headers::file(&mut Random::of(parts)),
    };
    let changes = if seldom() { 1 + below(4) } else { 0 };
    for _ in 0..changes.min(file.len()) {
        let at = (usize::from(next()) << 8 | usize::from(next())) % file.len();
        file[at] ^= 1 << below(8);
    }
    file
}

/// Returns the file, in memory of its size.
fn file() -> &'static [u8] {
    FILE_BYTES.get()
}

fn in_memory(file: &[u8]) -> StorageIn {
    StorageIn { read: None, context: file.as_ptr().cast_mut().cast(), len: file.len() as u64, len_is: MEMORY }
}

pub const BEHAVIOURS: usize = 8;

/// Chooses what a device does at each call, over and over: below `harmless`, what the header demands.
fn behaviours(harmless: u8) -> [u8; BEHAVIOURS] {
    let misbehaves = next() >= 0xC0;
    std::array::from_fn(|index| match index % 3 {
        _ if misbehaves => next(),
        2 => next() % harmless,
        _ => 0,
    })
}

/// A file read through callbacks, and the model that reads it.
struct Device {
    file: &'static [u8],
    model: *mut Model,
    behaviours: [u8; BEHAVIOURS],
    calls: usize,
    /// Whether the library was told the length of the file.
    is_exact: bool,
}

impl Device {
    /// A device without mistakes.
    fn new(file: &'static [u8], model: *mut Model) -> Self {
        Self { file, model, behaviours: [0; BEHAVIOURS], calls: 0, is_exact: true }
    }

    /// Chooses a storage for the file.
    fn choose(model: *mut Model) -> (*mut Self, *mut StorageIn) {
        let mut device = Self::new(file(), model);
        let (kind, has_len) = (u32::from(next() % 4), file().len() as u64);
        let mut len = if seldom() { has_len.wrapping_add(number()).wrapping_sub(4) } else { has_len };
        device.behaviours = behaviours(FLIP);
        if kind == AT_MOST && len == has_len {
            len += u64::from(next());
        }
        if let EXACT | MEMORY = kind {
            device.file = &file()[..len.min(has_len) as usize];
        }
        let (left, device) = (device.file.len() as u64, keep(device));
        let storage = match kind {
            MEMORY if left == 0 => in_memory(&[]),
            MEMORY => in_memory(&file()[..left as usize]),
            _ => StorageIn { read: Some(read_file), context: device.cast(), len, len_is: kind },
        };
        // SAFETY: it is lent.
        unsafe { (*device).is_exact = matches!(kind, EXACT | MEMORY) && storage.len == left };
        (device, keep(storage))
    }
}

/// Uses the object of the call that is running.
unsafe fn call_again(model: *mut Model) {
    let (mine, mut window, storage) = (lend(1), [0; 8], in_memory(file()));
    let (mut text, window) = ([0; 40], (&raw mut window).cast::<c_void>());
    let status = match next() & 3 {
        0 => sft_open(model, &storage, null(), null_mut(), 0, window, 8, mine),
        1 => sft_find(model, null(), null_mut(), 0, window, 8, mine),
        2 => sft_metadata(model, c"format".as_ptr(), text.as_mut_ptr(), 40, null_mut(), window, 8, mine),
        _ => sft_verify_crc32(model, 0, window, 8, mine),
    };
    was_reentered(status, mine);
}

/// Uses other objects than the call that is running.
unsafe fn call_others() {
    if DEPTH.get() > 1 || writes::is_crowded() {
        return;
    }
    let (other, mut window, storage) = (garbage::<Model>(), [0; 16], in_memory(file()));
    let window = (&raw mut window).cast();
    if sft_open(other, &storage, null(), null_mut(), 0, window, 16, null_mut()) == OK {
        check!(sft_find(other, null(), null_mut(), 0, window, 16, null_mut()) == OK);
    }
}

/// What a device does in place of reading.
const CALL_AGAIN: u8 = 0xE0;
const CALL_OTHERS: u8 = 0xE1;
const FLIP: u8 = 0xE2;
const LIE: u8 = 0xE8;

/// Calls the library from within a callback.
unsafe fn call_back(is_again: bool, is_others: bool, model: *mut Model) {
    DEPTH.set(DEPTH.get() + 1);
    if is_again {
        call_again(model);
    } else if is_others {
        call_others();
    }
    DEPTH.set(DEPTH.get() - 1);
}

unsafe extern "C" fn read_file(context: *mut c_void, offset: u64, buffer: *mut c_void, len: usize) -> i32 {
    let device = context.cast::<Device>();
    assert!(!buffer.is_null() && len >= 1 && i32::try_from(len).is_ok());
    let behaviour = (*device).behaviours[(*device).calls % BEHAVIOURS];
    (*device).calls += 1;
    call_back(behaviour == CALL_AGAIN, behaviour == CALL_OTHERS, (*device).model);
    let file: &[u8] = (*device).file;
    let rest = usize::try_from(offset).ok().and_then(|at| file.get(at..)).unwrap_or_default();
    let (mut count, buffer) = (rest.len().min(len), memory(buffer.cast::<u8>(), len));
    if behaviour >= LIE {
        buffer.fill(behaviour);
        return match behaviour - LIE {
            1 => -1,
            2 => i32::MIN,
            3 => (len as i32).saturating_add(1),
            4 => i32::MAX,
            5 => 0,
            _ => (if behaviour & 1 != 0 { len } else { count }) as i32,
        };
    }
    if behaviour >= 0xC0 && count > 1 {
        count = 1 + usize::from(behaviour) % (count - 1);
    }
    buffer[..count].copy_from_slice(&rest[..count]);
    if count > 0 && behaviour >= FLIP {
        buffer[usize::from(behaviour) % count] ^= 1 << (behaviour % 7);
    }
    count as i32
}

/// A tensor of the file, found once without any trouble, and its name with a final 0.
struct Known {
    name: Vec<u8>,
    tensor: Tensor,
}

struct Opened {
    model: *mut Model,
    device: *mut Device,
    is_open: bool,
}

struct Fuzz {
    known: Vec<Known>,
    /// Whether sft_open accepts the file.
    is_valid: bool,
    /// The file in memory, as the library reads it without any trouble.
    plain: *mut Model,
    models: [Opened; 2],
}

/// The most specs, pairs and targets of a call.
const MOST: usize = 4;
const MOST_KNOWN: usize = 8;
const WINDOW: usize = 512;

fn dtype_of(tensor: &Tensor) -> Dtype {
    check!(tensor.dtype.is_power_of_two());
    Dtype::ALL[tensor.dtype.trailing_zeros() as usize]
}

fn check_tensor(tensor: &Tensor) {
    let (dims, rest) = tensor.shape.split_at(tensor.rank as usize);
    check!(tensor.elements == dims.iter().product::<u64>() && rest.iter().all(|dim| *dim == 0));
    let bits = u128::from(tensor.elements) * u128::from(dtype_of(tensor).bits());
    check!(u128::from(tensor.bytes) == bits / 8);
}

unsafe extern "C" fn remember(context: *mut c_void, name: *const c_char, len: usize, tensor: *const Tensor) {
    let fuzz = &mut *context.cast::<Fuzz>();
    check_tensor(&*tensor);
    if fuzz.known.len() < MOST_KNOWN && len < 48 {
        fuzz.known.push(Known { name: [bytes_of(name, len), &[0]].concat(), tensor: *tensor });
    }
}

struct Visit {
    model: *mut Model,
    name_len: usize,
    behaviour: u8,
}

type Visitor = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const Tensor);

unsafe extern "C" fn visit_tensor(
    context: *mut c_void,
    name: *const c_char,
    len: usize,
    tensor: *const Tensor,
) {
    let visit = &mut *context.cast::<Visit>();
    check!(len <= visit.name_len && (len == 0 || !name.is_null()));
    check_tensor(&*tensor);
    call_back(visit.behaviour == 0xFF, visit.behaviour == 0xFE, visit.model);
}

fn choose_text() -> *mut c_char {
    const TEXTS: [&[u8]; 8] = [
        b"\0",
        b"a\0",
        b"format\0",
        b"safetensors.sha256\0",
        b"__metadata__\0",
        b"\xFF\xFE\0",
        b"\xC3\xA9\0",
        b"a\"\\b\n\t\x01\x7F\0",
    ];
    let text = TEXTS[below(TEXTS.len())];
    if seldom() { null_mut() } else { copy(text) }
}

/// Returns a request for a tensor of the file, precise or not.
fn ask_for(known: &Known) -> Request {
    let (how, tensor) = (next(), &known.tensor);
    let is_precise = |dim: usize| how & 8 << (dim % 3) != 0;
    Request {
        name: copy(&known.name),
        dtypes: [tensor.dtype | 3, tensor.dtype, 0, tensor.dtype][usize::from(how & 3)],
        rank: if how & 4 != 0 { tensor.rank as u8 } else { ANY_RANK },
        shape: std::array::from_fn(|dim| if is_precise(dim) { tensor.shape[dim] } else { u64::MAX }),
        optional: how >> 7,
    }
}

fn ask_for_anything() -> Request {
    Request {
        name: choose_text(),
        dtypes: if sometimes() { 0 } else { number() as u32 },
        rank: if sometimes() { ANY_RANK } else { next() % 12 },
        optional: next() % 3,
        shape: [(); 8].map(|()| number()),
    }
}

fn is_missing(tensor: &Tensor) -> bool {
    (tensor.dtype, tensor.rank, tensor.bytes, tensor.offset) == (0, 0, 0, 0)
}

fn check_answer(request: &Request, tensor: &Tensor) {
    if tensor.dtype == 0 {
        check!(request.optional != 0 && is_missing(tensor));
        return;
    }
    check_tensor(tensor);
    check!(request.dtypes == 0 || request.dtypes & tensor.dtype != 0);
    check!(request.rank == ANY_RANK || u32::from(request.rank) == tensor.rank);
    let dims = if request.rank == ANY_RANK { 0 } else { usize::from(request.rank) };
    check!((0..dims).all(|dim| [u64::MAX, tensor.shape[dim]].contains(&request.shape[dim])));
}

/// Checks what was found. After an error, nothing was, but for memory that was not used.
fn check_answers(is_ok: bool, requests: &[Request], tensors: &[Tensor], device: &Device) {
    for (request, tensor) in requests.iter().zip(tensors) {
        if !is_ok {
            check!(is_filled(tensor) || is_missing(tensor));
            continue;
        }
        check_answer(request, tensor);
        check!(!device.is_exact || tensor.offset + tensor.bytes <= device.file.len() as u64);
    }
}

/// The functions for one type of numbers. Each returns whether it has succeeded.
struct Type {
    size: usize,
    /// The bit of its dtype; 0 for bytes.
    dtype: u32,
    lend: fn(usize) -> *mut c_void,
    read: fn(*mut Model, *const Tensor, u64, *mut c_void, usize) -> bool,
    add: fn(*mut Receiver, *const Request, *mut c_void, usize) -> bool,
    write: fn(*mut Recorder, *const c_void, usize) -> bool,
}

macro_rules! types {
    ($($type:ty, $dtype:expr, $read:ident, $add:ident, $write:ident;)+) => {
        [$(Type {
            size: size_of::<$type>(),
            dtype: $dtype,
            lend: |count| lend::<$type>(count).cast(),
            // SAFETY: as all calls.
            read: |model, tensor, first, out, count| unsafe {
                call!(0, $read, model, tensor, first, out.cast::<$type>().cast(), count)
            },
            // SAFETY: as all calls.
            add: |receiver, request, out, count| unsafe {
                call!(1, $add, receiver, request, out.cast::<$type>().cast(), count)
            },
            // SAFETY: as all calls.
            write: |recorder, values, count| unsafe {
                call!(MOST, $write, recorder, values.cast::<$type>().cast(), count)
            },
        }),+]
    };
}

const fn bit(dtype: Dtype) -> u32 {
    1 << dtype as u32
}

static TYPES: [Type; 12] = types! {
    c_void, 0, sft_read_bytes, sft_receiver_add_bytes, sft_recorder_write_bytes;
    f32, bit(Dtype::F32), sft_read_f32, sft_receiver_add_f32, sft_recorder_write_f32;
    f64, bit(Dtype::F64), sft_read_f64, sft_receiver_add_f64, sft_recorder_write_f64;
    i8, bit(Dtype::I8), sft_read_i8, sft_receiver_add_i8, sft_recorder_write_i8;
    u8, bit(Dtype::U8), sft_read_u8, sft_receiver_add_u8, sft_recorder_write_u8;
    i16, bit(Dtype::I16), sft_read_i16, sft_receiver_add_i16, sft_recorder_write_i16;
    u16, bit(Dtype::U16), sft_read_u16, sft_receiver_add_u16, sft_recorder_write_u16;
    i32, bit(Dtype::I32), sft_read_i32, sft_receiver_add_i32, sft_recorder_write_i32;
    u32, bit(Dtype::U32), sft_read_u32, sft_receiver_add_u32, sft_recorder_write_u32;
    i64, bit(Dtype::I64), sft_read_i64, sft_receiver_add_i64, sft_recorder_write_i64;
    u64, bit(Dtype::U64), sft_read_u64, sft_receiver_add_u64, sft_recorder_write_u64;
    f32, bit(Dtype::F32), sft_read_rounded_f32, sft_receiver_add_f32, sft_recorder_write_f32;
};

impl Type {
    fn choose() -> &'static Self {
        &TYPES[below(TYPES.len())]
    }

    /// Returns how many values of this type a tensor has.
    fn count(&self, tensor: &Tensor) -> u64 {
        match self.dtype {
            0 => tensor.bytes,
            _ if tensor.dtype == bit(Dtype::C64) => tensor.elements.wrapping_mul(2),
            _ => tensor.elements,
        }
    }
}

/// Returns a window of any length, often a small one.
fn choose_window() -> (*mut c_void, usize) {
    let len = if next() & 3 != 0 { 16 + usize::from(next()) } else { below(12) };
    (lend(len), len)
}

/// Opens a model without requests.
unsafe fn open(model: *mut Model, storage: &StorageIn, window: (*mut c_void, usize)) -> bool {
    call!(
        0,
        sft_open,
        model,
        &raw const *storage,
        null::<Request>(),
        null_mut::<Tensor>(),
        0,
        window.0,
        window.1
    )
}

impl Opened {
    unsafe fn end_opening(&mut self, is_open: bool) {
        self.is_open = is_open;
        // With a null pointer the object may not have been touched.
        if was_wrong() {
            self.model.write_bytes(FILL, 1);
        }
    }
}

impl Fuzz {
    unsafe fn new() -> Self {
        let models = [(); 2].map(|()| Opened { model: lend(1), device: null_mut(), is_open: false });
        let mut fuzz = Self { known: vec![], is_valid: false, plain: lend(1), models };
        let (window, storage) = (lend(WINDOW), in_memory(file()));
        let status = sft_open(fuzz.plain, &storage, null(), null_mut(), 0, window, WINDOW, report());
        fuzz.is_valid = succeeded(status, 0);
        if fuzz.is_valid {
            let (plain, name, this) = (fuzz.plain, lend(WINDOW), (&raw mut fuzz).cast());
            let status = sft_for_each(plain, Some(remember), this, name, WINDOW, window, WINDOW, report());
            succeeded(status, 0);
        }
        fuzz
    }

    /// Returns requests, and memory for as many tensors.
    fn choose_requests(&self, count: usize) -> (&'static [Request], *mut Tensor) {
        let (requests, are_known) = (lend::<Request>(count), !self.known.is_empty() && !seldom());
        for index in 0..count {
            let request = match are_known {
                true => ask_for(&self.known[(usize::from(next()) + index) % self.known.len()]),
                false => ask_for_anything(),
            };
            // SAFETY: inside of the memory.
            unsafe { requests.add(index).write(request) };
        }
        (memory(requests, count), lend(count))
    }

    /// Returns a model, opened if it can be and has not been.
    unsafe fn ready_model(&mut self) -> &mut Opened {
        let one = &mut self.models[below(2)];
        if !one.is_open && self.is_valid {
            let (device, storage) = Device::choose(one.model);
            one.device = device;
            let is_open = open(one.model, &*storage, (lend(64), 64));
            one.end_opening(is_open);
        }
        one
    }

    unsafe fn open_model(&mut self) {
        let count = usize::from(next() % 4);
        let ((requests, tensors), (window, len)) = (self.choose_requests(count), choose_window());
        let one = &mut self.models[below(2)];
        let (device, storage) = Device::choose(one.model);
        one.device = device;
        let asked = requests.as_ptr();
        let is_open = call!(count, sft_open, one.model, storage, asked, tensors, count, window, len);
        let device = &*device;
        check_answers(is_open, requests, memory(tensors, count), device);
        one.end_opening(is_open);
    }

    unsafe fn open_unordered(&mut self) {
        let one = &mut self.models[below(2)];
        let (device, storage) = Device::choose(one.model);
        let (count, (window, len)) = (usize::from(next() % 6), choose_window());
        one.device = device;
        let slots = lend::<Slot>(count);
        let is_open = call!(0, sft_open_unordered, one.model, storage, slots, count, window, len);
        one.end_opening(is_open);
    }

    unsafe fn find(&mut self) {
        let count = usize::from(next() % 5);
        let ((requests, tensors), (window, len)) = (self.choose_requests(count), choose_window());
        let (one, asked) = (self.ready_model(), requests.as_ptr());
        let same = bytes_of(asked, count).to_vec();
        let is_ok = call!(count, sft_find, one.model, asked, tensors, count, window, len);
        // Miri reports that padding is compared, too.
        check!((!is_ok || one.is_open) && (cfg!(miri) || same == bytes_of(asked, count)));
        if let Some(device) = one.device.as_ref() {
            check_answers(is_ok, requests, memory(tensors, count), device);
        }
    }

    unsafe fn list(&mut self) {
        let one = self.ready_model();
        let (name_len, (window, len)) = (below(64), choose_window());
        let visit = Visit { model: one.model, name_len, behaviour: next() };
        let function = if seldom() { None } else { Some(visit_tensor as Visitor) };
        let (name, visit) = (lend::<c_void>(name_len), keep(visit).cast::<c_void>());
        let context = visit.expose_provenance();
        // The context is not checked: as a number it is never the wrong pointer.
        let for_each = |model, function, context, name, name_len, window, len, error| {
            let context = with_exposed_provenance_mut(context);
            sft_for_each(model, function, context, name, name_len, window, len, error)
        };
        let is_ok = call!(0, for_each, one.model, function, context, name, name_len, window, len);
        check!(!is_ok || one.is_open);
    }

    unsafe fn validate_names(&mut self) {
        let one = self.ready_model();
        let (count, text_len, (window, len)) = (usize::from(next() % 6), below(80), choose_window());
        let (text, slots) = (lend::<c_void>(text_len), lend::<Slot>(count));
        let key = if sometimes() { lend::<u64>(2) } else { null_mut() };
        let validate = |model, slots, count, text, text_len, window, len, error| {
            sft_validate_names(model, key, slots, count, text, text_len, window, len, error)
        };
        let is_ok = call!(0, validate, one.model, slots, count, text, text_len, window, len);
        check!(!is_ok || one.is_open);
    }

    unsafe fn find_metadata(&mut self) {
        let one = self.ready_model();
        let (len, (window, window_len)) = (below(80), choose_window());
        let (key, value) = (choose_text(), lend::<c_char>(len));
        let found = if next() & 3 != 0 { lend::<i32>(1) } else { null_mut() };
        let metadata = |model, key, value, len, window, window_len, error| {
            sft_metadata(model, key, value, len, found, window, window_len, error)
        };
        if !call!(0, metadata, one.model, key, value, len, window, window_len) {
            check!(found.is_null() || is_filled(found));
            return;
        }
        check!(one.is_open && bytes_of(value, len).contains(&0));
        check!(found.is_null() || *found == 1 || (*found == 0 && *value == 0));
    }

    /// Returns a tensor of the file, and whether its caller has changed it, in any way.
    fn choose_tensor(&self) -> (&'static Tensor, bool) {
        let tensor = match self.known.len() {
            0 => lend(1),
            count => keep(self.known[below(count)].tensor),
        };
        let tensor = &mut memory(tensor, 1)[0];
        let is_changed = seldom() || self.known.is_empty();
        for _ in 0..if is_changed { 1 + below(3) } else { 0 } {
            let value = number();
            match below(13) {
                8 if sometimes() => tensor.offset = value,
                8 => tensor.offset = tensor.offset.wrapping_add(value),
                9 => tensor.bytes = value,
                10 => tensor.elements = value,
                11 if sometimes() => tensor.dtype = 1 << below(32),
                11 => tensor.dtype = value as u32,
                12 => tensor.rank = value as u32,
                dim => tensor.shape[dim] = value,
            }
        }
        (tensor, is_changed)
    }

    unsafe fn read_values(&mut self) {
        let ((tensor, is_changed), kind) = (self.choose_tensor(), Type::choose());
        let (one, has) = (self.ready_model(), kind.count(tensor));
        let first = if seldom() { number() } else { u64::from(next()).checked_rem(has).unwrap_or(0) };
        let rest = has.saturating_sub(first).min(600) as usize;
        let count = if next() & 3 != 0 { rest } else { next().into() };
        let is_read = (kind.read)(one.model, tensor, first, (kind.lend)(count), count);
        check!(!is_read || (one.is_open && (is_changed || first + count as u64 <= has)));
    }

    unsafe fn verify(&mut self) {
        let one = self.ready_model();
        let (buffer, len) = choose_window();
        let is_ok = match next() % 3 {
            0 => call!(0, sft_verify_sha256, one.model, lend::<u8>(32).cast::<[u8; 32]>(), buffer, len),
            1 => call!(0, sft_verify_crc32, one.model, number() as u32, buffer, len),
            _ => call!(0, sft_verify_embedded, one.model, buffer, len),
        };
        check!(!is_ok || one.is_open);
    }

    unsafe fn act(&mut self) {
        match next() % 16 {
            0 => self.open_model(),
            1 => self.open_unordered(),
            2 | 3 => self.find(),
            4 => self.list(),
            5 => self.validate_names(),
            6 => self.find_metadata(),
            7 | 8 => self.read_values(),
            9 => self.verify(),
            10 | 11 => self.receive(),
            12 | 13 => writes::record(),
            _ => self.store(),
        }
    }
}
