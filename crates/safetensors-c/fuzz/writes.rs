//! Calls with files that arrive once, and with files that are written.

use crate::error::{OK, STORAGE, USAGE};
use crate::file_receiver::*;
use crate::model::{Model, sft_open, sft_verify_embedded};
use crate::plan::*;
use crate::receiver::*;
use crate::recorder::*;
use crate::storage::SinkIn;
use crate::tensors::{Request, Tensor};
use crate::verifier::*;
use crate::{BEHAVIOURS, Fuzz, Known, MOST, TYPES, Type, WINDOW};
use crate::{ask_for, behaviours, check_tensor, choose_text, file, in_memory, is_missing};
use embedded_safetensors::Dtype;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

impl Fuzz {
    /// Adds a target. Returns whether it was added.
    unsafe fn add_target(&self, receiver: *mut Receiver) -> bool {
        let mut request: *const Request = self.choose_requests(1).0.as_ptr();
        let (mut kind, mut count) = (Type::choose(), usize::from(next()));
        if !self.known.is_empty() && !seldom() {
            let known: &Known = &self.known[below(self.known.len())];
            request = keep(ask_for(known));
            let all = kind.count(&known.tensor);
            if all <= 8192 && !seldom() {
                count = all as usize;
            }
            if sometimes() {
                (kind, count) = (&TYPES[0], (known.tensor.bytes % 8192) as usize);
            }
        }
        (kind.add)(receiver, request, (kind.lend)(count), count)
    }

    unsafe fn check_targets(&self, receiver: *mut Receiver, count: usize) {
        let tensor = lend::<Tensor>(1);
        for index in 0..count {
            check!(call!(0, sft_receiver_tensor, receiver, index, tensor) || was_wrong());
            if !was_wrong() && (*tensor).dtype != 0 {
                check_tensor(&*tensor);
            }
        }
        let none = count.saturating_add(number() as usize);
        check!(!call!(0, sft_receiver_tensor, receiver, none, tensor));
    }

    pub unsafe fn receive(&mut self) {
        let receiver = lend::<Receiver>(1);
        let [capacity, tries] = [1, 2].map(|more| usize::from(next()) % (MOST + more));
        receiver.write_bytes(next(), 1);
        check!(sft_receiver_remaining(receiver) == 0);
        if !call!(0, sft_receiver_begin, receiver, lend::<Target>(capacity), capacity) {
            check!(!call!(0, sft_receiver_push, receiver, copy::<c_void>(b"x"), 1));
            return;
        }
        let count = (0..tries).filter(|_| self.add_target(receiver)).count();
        check!(count <= capacity);
        let len = if seldom() { below(file().len() + 1) } else { file().len() };
        let is_taken = push_file(receiver, &file()[..len]);
        self.check_targets(receiver, count);
        check!(len == 0 || !sometimes() || !self.add_target(receiver));
        let is_complete = succeeded(sft_receiver_end(receiver, report()), MOST);
        check!(!is_complete || (is_taken && sft_receiver_remaining(receiver) == 0));
        if len == file().len() {
            check!(!is_complete || self.is_valid);
            check!(count > 0 || is_complete == self.is_valid);
        }
        self.check_targets(receiver, count);
        if seldom() {
            check!(!call!(MOST, sft_receiver_push, receiver, copy::<c_void>(b"x"), 1));
        }
    }

    /// Begins a file. Returns whether it could, and the memory for tensors.
    unsafe fn begin_file(&self, it: *mut FileReceiver, sink: &SinkIn, len: u64) -> (bool, &[Tensor]) {
        let is_any = seldom() || sink.unit > 512;
        let buffer_len = if is_any { below(80) } else { 8 + 2 * sink.unit * (1 + below(3)) };
        let (count, buffer, sink) = (below(3), lend::<c_void>(buffer_len), &raw const *sink);
        let (requests, tensors) = self.choose_requests(count);
        let asked = requests.as_ptr();
        let begin = sft_file_receiver_begin;
        let is_begun = call!(count, begin, it, sink, len, asked, tensors, count, buffer, buffer_len);
        (is_begun, memory(tensors, count))
    }

    pub unsafe fn store(&mut self) {
        let (medium, sink) = Medium::choose();
        let (receiver, verifier) = (garbage::<FileReceiver>(), lend::<Verifier>(1));
        (*medium).receiver = receiver;
        let len = if seldom() { below(file().len() + 1) } else { file().len() };
        let announced = if seldom() { number() } else { file().len() as u64 };
        let (is_begun, tensors) = self.begin_file(receiver, &*sink, announced);
        check!(succeeded(sft_verifier_begin(verifier, report()), 0));
        let is_taken = push_to_both(receiver, verifier, &file()[..len]) && is_begun;
        (*medium).check_incomplete();
        let is_finished = succeeded(sft_file_receiver_finish(receiver, report()), MOST);
        let is_whole = is_taken && self.is_valid && len == file().len() && announced == len as u64;
        check!(!is_finished || is_whole);
        check!(!is_finished || (*medium).lies > 0 || (*medium).memory.starts_with(file()));
        check!(!is_begun || is_finished || tensors.iter().all(is_missing));
        let status = sft_verifier_verify(verifier, report());
        check!(succeeded(status, 0) || status != OK);
        if self.is_valid && len == file().len() {
            check!(status == sft_verify_embedded(self.plain, lend(WINDOW), WINDOW, null_mut()));
        }
        check!(sft_file_receiver_finish(receiver, null_mut()) == USAGE);
        check!(sft_verifier_verify(verifier, null_mut()) == USAGE);
    }
}

/// Whether so much memory is lent that what follows must take little.
pub fn is_crowded() -> bool {
    block_count() > MOST_BLOCKS * 3 / 4
}

/// Passes the file to a receiver. Returns whether all pieces were taken.
unsafe fn push_file(receiver: *mut Receiver, mut left: &[u8]) -> bool {
    let rhythm = next();
    while !left.is_empty() {
        let size = match rhythm {
            _ if is_crowded() => left.len(),
            0..0x40 => left.len(),
            0x40..0x80 => 1 + usize::from(rhythm % 4),
            0x80..0xC0 => below(64) + 1,
            _ => usize::try_from(sft_receiver_remaining(receiver))
                .map_or(usize::MAX, |len| len.saturating_add(1)),
        };
        let (piece, rest) = left.split_at(size.min(left.len()));
        let status = sft_receiver_push(receiver, copy(piece), piece.len(), report());
        if !succeeded(status, MOST) {
            check!(sft_receiver_remaining(receiver) == 0);
            check!(sft_receiver_push(receiver, null(), 0, report()) == status);
            return false;
        }
        left = rest;
    }
    true
}

/// Passes the file to both objects. Returns whether the receiver took all pieces.
unsafe fn push_to_both(receiver: *mut FileReceiver, verifier: *mut Verifier, mut left: &[u8]) -> bool {
    let mut is_taken = true;
    while !left.is_empty() {
        let size = if is_crowded() { left.len() } else { 1 + number() as usize % 4096 };
        let (piece, rest) = left.split_at(size.min(left.len()));
        let (bytes, len) = (copy::<c_void>(piece), piece.len());
        check!(succeeded(sft_verifier_update(verifier, bytes, len, report()), 0));
        let is_pushed = succeeded(sft_file_receiver_push(receiver, bytes, len, report()), MOST);
        check!(is_taken || !is_pushed);
        (is_taken, left) = (is_pushed, rest);
    }
    is_taken
}

const MOST_MEDIUM: usize = 8192;

/// Where a file is recorded.
struct Medium {
    memory: &'static mut [u8],
    is_written: &'static mut [u8],
    end: usize,
    unit: usize,
    behaviours: [u8; BEHAVIOURS],
    calls: usize,
    lies: usize,
    is_prepared: bool,
    /// The object that writes: one of these.
    recorder: *mut Recorder,
    receiver: *mut FileReceiver,
}

/// What a medium does in place of writing.
const USE_WRITER: u8 = 0xF0;
const FAILS: u8 = 0xF9;

impl Medium {
    fn choose() -> (*mut Self, *mut SinkIn) {
        let capacity = if seldom() { below(200) } else { MOST_MEDIUM };
        let behaviours = behaviours(USE_WRITER + 1);
        let write = if seldom() { None } else { Some(write_medium as _) };
        let prepare = if sometimes() { Some(prepare_medium as _) } else { None };
        let flush = if sometimes() { Some(flush_medium as _) } else { None };
        let unit = 1 << (next() % 7);
        let unit = if seldom() { number() as usize } else { unit };
        let is_written = memory(lend::<u8>(capacity), capacity);
        is_written.fill(0);
        let medium = keep(Self {
            memory: memory(lend(capacity), capacity),
            is_written,
            end: 0,
            unit: unit.max(1),
            behaviours,
            calls: 0,
            lies: 0,
            is_prepared: false,
            recorder: null_mut(),
            receiver: null_mut(),
        });
        let context = medium.cast();
        (medium, keep(SinkIn { write, prepare, flush, context, capacity: capacity as u64, unit }))
    }

    /// Returns what the next call does; uses the object whose callback is running.
    unsafe fn behave(&mut self) -> u8 {
        let behaviour = self.behaviours[self.calls % BEHAVIOURS];
        self.calls += 1;
        if behaviour == USE_WRITER {
            self.call_again();
        }
        behaviour
    }

    unsafe fn call_again(&self) {
        let (mine, one, to, from) = (lend(1), c"".as_ptr().cast(), self.recorder, self.receiver);
        let context = null_mut();
        let sink = SinkIn { write: None, prepare: None, flush: None, context, capacity: 8192, unit: 1 };
        let is_recorder = !to.is_null();
        let status = match (next() % 3, is_recorder) {
            (0, true) => sft_recorder_write_bytes(to, one, 1, mine),
            (0, false) => sft_file_receiver_push(from, one, 1, mine),
            (1, true) => sft_recorder_finish(to, mine),
            (1, false) => sft_file_receiver_finish(from, mine),
            (_, true) => sft_recorder_begin(to, &sink, null(), 0, null(), 0, null_mut(), 0, lend(8), 8, mine),
            _ => sft_file_receiver_begin(from, &sink, 8, null(), null_mut(), 0, lend(16), 16, mine),
        };
        was_reentered(status, mine);
    }

    /// Checks that an incomplete file is not valid, if the medium has done its part.
    unsafe fn check_incomplete(&self) {
        let len = if self.end > 8 { self.end } else { self.memory.len() };
        let (storage, model) = (in_memory(&self.memory[..len]), lend::<Model>(1));
        let status = sft_open(model, &storage, null(), null_mut(), 0, lend(WINDOW), WINDOW, null_mut());
        check!(self.lies > 0 || status != OK);
    }
}

unsafe extern "C" fn write_medium(
    context: *mut c_void,
    offset: u64,
    from: *const c_void,
    mut len: usize,
) -> i32 {
    let medium = &mut *context.cast::<Medium>();
    let (behaviour, at, unit) = (medium.behave(), offset as usize, medium.unit);
    check!(len >= 1 && i32::try_from(len).is_ok() && at.is_multiple_of(unit) && len.is_multiple_of(unit));
    check!(at <= medium.memory.len() && len <= medium.memory.len() - at);
    if behaviour >= FAILS {
        medium.lies += 1;
        return match behaviour - FAILS {
            0 => -7,
            1 => 0,
            2 => len as i32 + 1,
            3 => len as i32 - 1,
            _ => i32::MAX,
        };
    }
    if behaviour >= 0xC0 && len > unit {
        len = unit * (1 + usize::from(behaviour) % (len / unit));
    }
    let is_written = &mut medium.is_written[at..at + len];
    check!(!medium.is_prepared || !is_written.contains(&1));
    is_written.fill(1);
    medium.memory[at..at + len].copy_from_slice(bytes_of(from.cast::<u8>(), len));
    medium.end = medium.end.max(at + len);
    len as i32
}

unsafe extern "C" fn prepare_medium(context: *mut c_void, data_start: u64, len: u64) -> i32 {
    let medium = &mut *context.cast::<Medium>();
    let behaviour = medium.behave();
    check!(data_start >= 8 && data_start <= len && len <= medium.memory.len() as u64);
    medium.is_prepared = true;
    let first = medium.memory.len().min(8);
    medium.memory[..first].fill(0xFF);
    match behaviour {
        ..FAILS => 0,
        _ if behaviour & 1 != 0 => behaviour.into(),
        _ => -i32::from(behaviour),
    }
}

unsafe extern "C" fn flush_medium(context: *mut c_void) -> i32 {
    match (*context.cast::<Medium>()).behave() {
        ..FAILS => 0,
        behaviour if behaviour & 1 != 0 => 1,
        _ => i32::MIN,
    }
}

/// Chooses tensors, in the order in which they are written if `is_tidy`.
unsafe fn choose_specs(count: usize, is_tidy: bool) -> &'static [Spec] {
    let (specs, mut dtype) = (lend::<Spec>(count), Dtype::ALL.len() - 1);
    for index in 0..count {
        dtype =
            if is_tidy { dtype - usize::from(next()) % (dtype / 4 + 1) } else { below(Dtype::ALL.len() + 1) };
        specs.add(index).write(Spec {
            name: if is_tidy { copy(&[b'a' + index as u8, 0]) } else { choose_text() },
            dtype: if seldom() { number() as u32 } else { 1 << dtype },
            rank: if seldom() { number() as u32 } else { (next() % 4).into() },
            shape: std::array::from_fn(|dim| match dim {
                _ if seldom() => number(),
                0 => 4 * u64::from(next() % 4),
                _ => 1 + u64::from(next() % 3),
            }),
        });
    }
    memory(specs, count)
}

unsafe fn choose_pairs(count: usize) -> *mut Pair {
    let pairs = lend::<Pair>(count);
    for index in 0..count {
        pairs.add(index).write(Pair { key: choose_text(), value: choose_text() });
    }
    pairs
}

/// Returns how many bytes the tensor of a recorder has.
fn spec_bytes(spec: &Spec) -> u64 {
    let dtype = Dtype::ALL[spec.dtype.trailing_zeros() as usize];
    spec.shape[..spec.rank as usize].iter().product::<u64>() * u64::from(dtype.bits()) / 8
}

/// Returns the type of a tensor's values, or the one of bytes, or seldom any.
fn choose_type(dtype: u32) -> &'static Type {
    let mut chosen = &TYPES[0];
    for kind in &TYPES[1..] {
        if !sometimes() {
            break;
        }
        chosen = if kind.dtype == dtype { kind } else { chosen };
    }
    if seldom() { Type::choose() } else { chosen }
}

/// Writes the data of a tensor. After a mistake, it writes the right values. Returns whether all was taken.
unsafe fn write_tensor(recorder: *mut Recorder, spec: &Spec) -> bool {
    let mut left = spec_bytes(spec) as usize;
    while left > 0 && !is_crowded() {
        let kind = choose_type(spec.dtype);
        let count = match left / kind.size {
            0 => 1,
            most if sometimes() => 1 + usize::from(next()) % most,
            most => most,
        };
        let count = count.min(512);
        (kind.write)(recorder, (kind.lend)(count), count);
        match status() {
            STORAGE => {
                check!(sft_recorder_write_bytes(recorder, null(), 0, null_mut()) == USAGE);
                return false;
            }
            OK => left = left.saturating_sub(count * kind.size),
            _ => {}
        }
    }
    left == 0
}

unsafe fn begin_recorder(recorder: *mut Recorder, sink: &SinkIn, specs: &[Spec]) -> bool {
    let pair_count = if sometimes() { 0 } else { 1 + below(3) };
    let (mut words, count) = (5 * specs.len() + 4 * pair_count, specs.len());
    let buffer_len = match sink.unit {
        _ if seldom() => below(80),
        unit @ ..=512 => unit * (1 + below(3)),
        _ => 512,
    };
    if seldom() {
        words = if words > 0 && sometimes() { words - 1 } else { words + 1 };
    }
    let words = if count + pair_count > 0 { words } else { 0 };
    let (pairs, memory, buffer) = (choose_pairs(pair_count), lend::<u64>(words), lend::<c_void>(buffer_len));
    let (begin, sink, specs) = (sft_recorder_begin, &raw const *sink, specs.as_ptr());
    let most = count.max(pair_count);
    call!(most, begin, recorder, sink, specs, count, pairs, pair_count, memory, words, buffer, buffer_len)
}

pub unsafe fn record() {
    let (medium, sink) = Medium::choose();
    let specs = choose_specs(usize::from(next()) % (MOST + 1), !seldom());
    let recorder = garbage::<Recorder>();
    (*medium).recorder = recorder;
    if !begin_recorder(recorder, &*sink, specs) {
        check!(!call!(0, sft_recorder_write_bytes, recorder, copy::<c_void>(b"x"), 1));
        return;
    }
    let is_complete = !seldom() && specs.iter().all(|spec| write_tensor(recorder, spec));
    (*medium).check_incomplete();
    let is_finished = succeeded(sft_recorder_finish(recorder, report()), MOST);
    check!(sft_recorder_finish(recorder, null_mut()) == USAGE);
    if !is_finished && !is_complete {
        (*medium).check_incomplete();
    }
}
