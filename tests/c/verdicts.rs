//! Every vector and the files of other frameworks: the verdicts of the functions that open, list and receive,
//! and what they return of a valid file.

use crate::calls::{Failure, call, request, storage};
use crate::error::FILE;
use crate::model::{
    Model, Slot, sft_find, sft_for_each, sft_metadata, sft_open, sft_open_unordered, sft_validate_names,
};
use crate::reading::sft_read_bytes;
use crate::receiver::{
    Receiver, Target, sft_receiver_add_bytes, sft_receiver_begin, sft_receiver_end, sft_receiver_push,
};
use crate::tensors::{Request, Tensor};
use core::ffi::{CStr, c_char, c_void};
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use embedded_safetensors::{Dtype, tensor::MAX_RANK};
use std::ffi::CString;
use support::share::Half;
use support::verdict::full_verdict;
use vectors::Vector;
use vectors::table::{self, Table};

/// How many tensors and values of a file are read.
const READ: usize = 8;

#[test]
fn every_vector_of_the_first_half_has_its_verdict() {
    every_vector_has_its_verdict(Half(0));
}

#[test]
fn every_vector_of_the_second_half_has_its_verdict() {
    every_vector_has_its_verdict(Half(1));
}

fn every_vector_has_its_verdict(half: Half) {
    half.each(usize::MAX, |vector, file| {
        let error = vector.code.clone().map(|code| (code, vector.at.unwrap_or_default()));
        check(file, error, vector.table().as_ref(), vector)
    });
}

#[test]
fn files_of_frameworks_are_read() {
    let folder = vectors::folder().join("../interop");
    let folders =
        folder.read_dir().expect("files of frameworks").map(|entry| entry.expect("readable").path());
    let files = folders.filter(|folder| folder.is_dir() && !folder.ends_with("ours"));
    let files = files.flat_map(|folder| folder.read_dir().expect("readable"));
    let files = files.map(|entry| entry.expect("readable").path());
    let mut count = 0;
    for path in files.filter(|path| path.extension().is_some_and(|end| end == "safetensors")) {
        let file = std::fs::read(&path).expect("readable");
        let table = full_verdict(&file).expect("valid");
        // Nested structures in the metadata take more memory than a program would lend.
        let table = Table { metadata: None, ..table };
        assert_eq!(check_valid(&mut Memory::new(&file), &table), Ok(()), "{}", path.display());
        count += 1;
    }
    assert!(count > 10, "only {count} files");
}

/// What a program lends, and the file that its storage reads.
struct Memory<'f> {
    file: &'f [u8],
    model: MaybeUninit<Model>,
    window: Vec<u8>,
    text: Vec<u8>,
    slots: Vec<MaybeUninit<Slot>>,
}

impl<'f> Memory<'f> {
    /// Returns as much as a device would lend, but for files that no device holds.
    fn new(file: &'f [u8]) -> Self {
        let (window, text, slots) =
            if file.len() >> 16 > 0 { (1 << 16, 1 << 16, 1 << 17) } else { (256, 512, 16) };
        let slots = (0..slots).map(|_| MaybeUninit::uninit()).collect();
        Self { file, model: MaybeUninit::uninit(), window: vec![0; window], text: vec![0; text], slots }
    }

    fn window(&mut self) -> *mut c_void {
        self.window.as_mut_ptr().cast()
    }
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{what}: {got:?}, not {expected:?}")) }
}

/// An error of the file: its code, and where it is.
type Fault = Option<(String, u64)>;

fn fault(outcome: Result<(), Failure>) -> Fault {
    let failure = outcome.err()?;
    let code = failure.code();
    assert_eq!(failure.status == FILE, !code.starts_with("limit."), "{code}");
    Some((code, failure.error.at))
}

fn code(fault: &Fault) -> &str {
    fault.as_ref().map_or("", |(code, _)| code)
}

/// Checks all verdicts on a vector, and what is read of a valid one.
fn check(file: &[u8], error: Fault, table: Option<&Table>, vector: &Vector) -> Result<(), String> {
    let (mut memory, is_duplicate) = (Memory::new(file), code(&error).ends_with(".duplicate"));
    // Duplicates are found by sft_validate_names.
    let opened = if is_duplicate { None } else { error.clone() };
    let in_order = open(&mut memory);
    let needs_slots = code(&in_order) == "limit.order";
    if !needs_slots {
        expect("sft_open", in_order, opened.clone())?;
    }
    let unordered = open_unordered(&mut memory);
    expect("sft_open_unordered", unordered, opened.clone())?;
    if opened.is_none() {
        let [count, text_len, len] = [memory.slots.len(), memory.text.len(), memory.window.len()];
        let (model, slots) = (memory.model.as_mut_ptr(), memory.slots.as_mut_ptr().cast());
        let (text, window) = (memory.text.as_mut_ptr().cast(), memory.window());
        let names = call!(sft_validate_names, model, null(), slots, count, text, text_len, window, len);
        expect("sft_validate_names", fault(names), error.clone())?;
    }
    let received = receive(&mut memory, None);
    match code(&error) {
        _ if needs_slots => expect("the receiver", code(&received), "limit.order")?,
        // A stream does not know its length: the bytes after the header may be wrong first.
        "container.header-beyond-file" => expect("the receiver accepts it", received.is_none(), false)?,
        _ => expect("the receiver", received, opened)?,
    }
    match table {
        Some(table) if error.is_none() => check_valid(&mut memory, table),
        _ if error.is_none() => Err(format!("{} has no table", vector.id)),
        _ => Ok(()),
    }
}

fn open(memory: &mut Memory<'_>) -> Fault {
    let (storage, len) = (storage(&memory.file), memory.window.len());
    let model = memory.model.as_mut_ptr();
    fault(call!(sft_open, model, &raw const storage, null(), null_mut(), 0, memory.window(), len))
}

fn open_unordered(memory: &mut Memory<'_>) -> Fault {
    let (storage, count, len) = (storage(&memory.file), memory.slots.len(), memory.window.len());
    let (model, slots) = (memory.model.as_mut_ptr(), memory.slots.as_mut_ptr().cast());
    fault(call!(sft_open_unordered, model, &raw const storage, slots, count, memory.window(), len))
}

/// A tensor that was listed, and its name.
type Listed = (Vec<u8>, Tensor);

unsafe extern "C" fn visit(context: *mut c_void, name: *const c_char, len: usize, tensor: *const Tensor) {
    // SAFETY: the list, and what the library passes.
    unsafe {
        let name = core::slice::from_raw_parts(name.cast::<u8>(), len).to_vec();
        (*context.cast::<Vec<Listed>>()).push((name, *tensor));
    }
}

/// Lists, reads, finds and receives a valid file.
fn check_valid(memory: &mut Memory<'_>, table: &Table) -> Result<(), String> {
    expect("sft_open_unordered", open_unordered(memory), None)?;
    let (file, mut listed, len) = (memory.file, Vec::<Listed>::new(), memory.window.len());
    let model = memory.model.as_mut_ptr();
    let window = memory.window();
    let (name, name_len) = (memory.text.as_mut_ptr().cast(), memory.text.len());
    let list = (&raw mut listed).cast();
    let outcome = fault(call!(sft_for_each, model, Some(visit), list, name, name_len, window, len));
    if table.tensors.iter().any(|tensor| tensor.shape.len() > MAX_RANK) {
        return expect("sft_for_each", code(&outcome), "limit.rank");
    }
    if table.tensors.iter().any(|tensor| tensor.name.len() > name_len) {
        return expect("sft_for_each", code(&outcome), "limit.name");
    }
    expect("sft_for_each", outcome, None)?;
    let data_start = 8 + u64::from_le_bytes(file[..8].try_into().expect("8 bytes"));
    let mut tensors: Vec<table::Tensor> = listed.iter().map(|listed| row(listed, data_start)).collect();
    tensors.sort();
    expect("the tensors", tensors, Table::clone(table).tensors)?;
    for (_, tensor) in listed.iter().take(READ) {
        read(model, tensor, &mut memory.window, file)?;
    }
    for (key, value) in table.metadata.iter().flatten().take(READ) {
        check_metadata(memory, key, Some(value))?;
    }
    check_metadata(memory, "?missing", None)?;
    let Some((name, tensor)) = listed.first() else { return Ok(()) };
    match CString::new(name.clone()) {
        Ok(name) if name.count_bytes() < 64 => find_and_receive(memory, (&name, tensor)),
        _ => Ok(()),
    }
}

fn row((name, tensor): &Listed, data_start: u64) -> table::Tensor {
    let begin = tensor.offset - data_start;
    let shape = tensor.shape[..usize::try_from(tensor.rank).expect("at most 8")].to_vec();
    assert_eq!(tensor.elements, shape.iter().product::<u64>());
    assert!(tensor.dtype.is_power_of_two());
    table::Tensor {
        data_offsets: [begin, begin + tensor.bytes],
        name: String::from_utf8(name.clone()).expect("UTF-8"),
        dtype: Dtype::ALL[tensor.dtype.trailing_zeros() as usize].name().to_owned(),
        shape,
    }
}

/// Returns the bytes of a tensor in the file.
fn bytes_of<'f>(file: &'f [u8], tensor: &Tensor) -> &'f [u8] {
    let begin = usize::try_from(tensor.offset).expect("inside the file");
    &file[begin..][..usize::try_from(tensor.bytes).expect("inside the file")]
}

/// Reads a tensor in pieces of the window.
fn read(model: *mut Model, tensor: &Tensor, window: &mut [u8], file: &[u8]) -> Result<(), String> {
    let mut at = 0;
    for expected in bytes_of(file, tensor).chunks(window.len()) {
        let to = window.as_mut_ptr().cast();
        let read = call!(sft_read_bytes, model, &raw const *tensor, at, to, expected.len());
        expect("sft_read_bytes", fault(read), None)?;
        expect("the bytes", &window[..expected.len()] == expected, true)?;
        at += expected.len() as u64;
    }
    Ok(())
}

/// A string of C ends at its first 0, so a value with one is an error, and no key has one.
fn check_metadata(memory: &mut Memory<'_>, key: &str, expected: Option<&String>) -> Result<(), String> {
    let Ok(name) = CString::new(key) else { return Ok(()) };
    let (mut found, len, window_len) = (-1, memory.text.len(), memory.window.len());
    let (model, text) = (memory.model.as_mut_ptr(), memory.text.as_mut_ptr().cast());
    let window = memory.window();
    let outcome = call!(sft_metadata, model, name.as_ptr(), text, len, &raw mut found, window, window_len);
    match (outcome, expected) {
        (Err(failure), Some(value)) if value.contains('\0') => expect(key, &failure.code()[..], "c.nul"),
        (Err(failure), Some(value)) if value.len() >= len => expect(key, &failure.code()[..], "limit.value"),
        (Err(failure), _) => Err(failure.sentence()),
        (Ok(()), _) => {
            let value = CStr::from_bytes_until_nul(&memory.text).map_err(|error| error.to_string())?;
            let expected = (i32::from(expected.is_some()), expected.map_or("", |value| value).as_bytes());
            expect(key, (found, value.to_bytes()), expected)
        }
    }
}

/// Finds the first tensor as it was listed, and receives it if there is memory for it.
fn find_and_receive(memory: &mut Memory<'_>, (name, tensor): (&CStr, &Tensor)) -> Result<(), String> {
    let asked =
        request(name, tensor.dtype, &tensor.shape[..usize::try_from(tensor.rank).expect("at most 8")]);
    let (mut found, len) = (MaybeUninit::<Tensor>::uninit(), memory.window.len());
    let model = memory.model.as_mut_ptr();
    let outcome = call!(sft_find, model, &raw const asked, found.as_mut_ptr(), 1, memory.window(), len);
    expect("sft_find", fault(outcome), None)?;
    // SAFETY: it was found.
    let found = unsafe { found.assume_init() };
    expect("what was found", (found.offset, found.bytes), (tensor.offset, tensor.bytes))?;
    let expected = bytes_of(memory.file, tensor);
    if expected.len() > memory.text.len() || code(&open(memory)) == "limit.order" {
        return Ok(());
    }
    expect("the receiver", receive(memory, Some((&asked, expected.len()))), None)?;
    expect("what was received", &memory.text[..expected.len()] == expected, true)
}

/// Receives a file in pieces of 1 byte up to the window, and a tensor into the text.
fn receive(memory: &mut Memory<'_>, asked: Option<(&Request, usize)>) -> Fault {
    let (mut receiver, mut target) = (MaybeUninit::<Receiver>::uninit(), MaybeUninit::<Target>::uninit());
    let receiver = receiver.as_mut_ptr();
    let (mut outcome, mut rest, mut turn) =
        (call!(sft_receiver_begin, receiver, target.as_mut_ptr(), 1), memory.file, 0);
    if let Some((request, len)) = asked {
        let to = memory.text.as_mut_ptr().cast();
        outcome = outcome.and(call!(sft_receiver_add_bytes, receiver, &raw const *request, to, len));
    }
    while outcome.is_ok() && !rest.is_empty() {
        let (piece, after) = rest.split_at((1 + turn * 37 % memory.window.len()).min(rest.len()));
        outcome = call!(sft_receiver_push, receiver, piece.as_ptr().cast(), piece.len());
        (rest, turn) = (after, turn + 1);
    }
    fault(outcome.and_then(|()| call!(sft_receiver_end, receiver)))
}
