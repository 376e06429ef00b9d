//! The models that are not the one that the program expects, through every way to read a model in C.

use crate::calls::{Failure, call, request};
use crate::error::{Cause, FILE, USAGE};
use crate::file_receiver::{
    FileReceiver, sft_file_receiver_begin, sft_file_receiver_finish, sft_file_receiver_push,
};
use crate::model::{Model, sft_find, sft_open, sft_verify_embedded, sft_verify_sha256};
use crate::reading::{sft_read_f32, sft_read_i8};
use crate::receiver::{
    Receiver, Target, sft_receiver_add_bytes, sft_receiver_add_f32, sft_receiver_add_i8, sft_receiver_begin,
    sft_receiver_end, sft_receiver_push,
};
use crate::storage::{MEMORY, SinkIn, StorageIn};
use crate::tensors::{Request, Tensor};
use crate::verifier::{Verifier, sft_verifier_begin, sft_verifier_update, sft_verifier_verify};
use crate::wrong_models::apis::{Api, Rejection, SumApi, check_bias};
use crate::wrong_models::check;
use crate::wrong_models::models::{Bytes, DAMAGED, LONGEST, NET};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use embedded_safetensors::Dtype;
use sha2::{Digest, Sha256};

const WAYS: [(&str, Api); 5] = [
    ("sft_open", open),
    ("sft_find", find),
    ("sft_receiver_add_i8, sft_receiver_add_f32", receive_values),
    ("sft_receiver_add_bytes", receive_bytes),
    ("sft_file_receiver_push", |file| update(file, false, 0)),
];

/// Ways that verify a sum, and the right model for each.
const SUMS: [SumApi; 3] = [
    ("sft_verify_sha256", verify_sha256, Bytes::right),
    ("sft_verify_embedded", verify_embedded, Bytes::right_with_sum),
    ("sft_file_receiver_push, sft_verifier_update", |file| update(file, true, 0), Bytes::right_with_sum),
];

#[test]
fn wrong_models_give_no_number() {
    check::check(&WAYS, |_, _| ());
}

#[test]
fn damaged_models_have_another_sum() {
    let code = |outcome: Result<(), Rejection>| outcome.map_err(|rejection| rejection.kind.code());
    for (name, way, right) in SUMS {
        assert_eq!(way(&right()), Ok(()), "{name}");
        for damaged in &DAMAGED {
            let file = damaged.file(right());
            assert!(Opened::new().open(&file).is_ok(), "{}: only the sum can tell", damaged.what);
            assert_eq!(code(way(&file)), Err("integrity.sum"), "{name}: {}", damaged.what);
        }
    }
    assert_eq!(code(verify_embedded(&Bytes::right())), Err("usage.sum"));
    assert_eq!(code(update(&Bytes::right(), true, 0)), Err("usage.sum"));
    let file = Bytes::right_with_sum();
    assert_eq!(code(update(&file, true, file.len() - 1)), Err("integrity.sum"), "stored wrongly");
}

impl From<Failure> for Rejection {
    /// Also checks that C sees the same error.
    fn from(failure: Failure) -> Self {
        // SAFETY: filled in by the call that has failed.
        let Err(Cause::Format(error)) = (unsafe { failure.error.outcome.assume_init() }) else {
            panic!("{}", failure.sentence())
        };
        let tensor = usize::try_from(failure.error.request).ok().map(|index| NET[index].name());
        assert_eq!(tensor, error.tensor_name(const { &NET }));
        assert_eq!((failure.code(), failure.error.at), (error.kind.code().to_owned(), error.at));
        assert_eq!(failure.sentence(), error.to_string());
        let is_usage = error.kind.code().starts_with("usage.");
        assert_eq!(failure.status, if is_usage { USAGE } else { FILE });
        Self { tensor, kind: error.kind }
    }
}

/// What the program expects: [`NET`].
fn net() -> [Request; 3] {
    let bit = |dtype: Dtype| 1 << dtype as u32;
    [
        request(c"fc.weight", bit(Dtype::I8), &[3, 8]),
        request(c"fc.scale", bit(Dtype::F16) | bit(Dtype::BF16), &[3]),
        request(c"fc.bias", bit(Dtype::F32), &[3]),
    ]
}

/// A model, open or not, and its tensors. It is not moved after it was opened.
struct Opened {
    model: MaybeUninit<Model>,
    tensors: [MaybeUninit<Tensor>; 3],
}

fn memory(file: &[u8]) -> StorageIn {
    let context = file.as_ptr().cast_mut().cast();
    StorageIn { read: None, context, len: file.len() as u64, len_is: MEMORY }
}

impl Opened {
    fn new() -> Self {
        Self { model: MaybeUninit::uninit(), tensors: [MaybeUninit::uninit(); 3] }
    }

    fn open(&mut self, file: &[u8]) -> Result<(), Failure> {
        let (net, storage, mut window) = (net(), memory(file), [0_u8; 16]);
        let (model, tensors) = (self.model.as_mut_ptr(), self.tensors.as_mut_ptr().cast());
        let window = (&raw mut window).cast();
        call!(sft_open, model, &raw const storage, net.as_ptr(), tensors, 3, window, 16)
    }

    /// Reads numbers, and checks them.
    fn read(&mut self) -> Result<(), Failure> {
        let mut numbers = Numbers::default();
        let [of_weight, of_scale, of_bias] = self.tensors.each_ref().map(MaybeUninit::as_ptr);
        let model = self.model.as_mut_ptr();
        let outcome = call!(sft_read_i8, model, of_weight, 0, numbers.weight.as_mut_ptr(), 24)
            .and(call!(sft_read_f32, model, of_scale, 0, numbers.scale.as_mut_ptr(), 3))
            .and(call!(sft_read_f32, model, of_bias, 0, numbers.bias.as_mut_ptr(), 3));
        numbers.check(outcome)
    }

    /// Checks that no tensor is usable after an error.
    fn has_none(&mut self) {
        for tensor in &self.tensors {
            // SAFETY: the call that has failed has written it.
            assert_eq!(unsafe { tensor.assume_init() }.dtype, 0);
        }
        assert!(self.read().is_err());
    }
}

/// The numbers of a model.
#[derive(Default, PartialEq, Debug)]
struct Numbers {
    weight: [i8; 24],
    scale: [f32; 3],
    bias: [f32; 3],
}

impl Numbers {
    /// Checks the numbers of the right model; after an error, that there are none.
    fn check<E>(&self, outcome: Result<(), E>) -> Result<(), E> {
        if outcome.is_ok() {
            check_bias(self.bias);
            assert!((18..42).eq(self.weight));
            assert_eq!(self.scale.map(f32::to_bits)[2], 0x3A22_0000, "0x1110 as an F16");
        } else {
            assert_eq!(*self, Self::default(), "numbers of a wrong model");
        }
        outcome
    }
}

fn open(file: &[u8]) -> Result<(), Rejection> {
    let mut opened = Opened::new();
    let outcome = opened.open(file);
    if outcome.is_err() {
        opened.has_none();
    }
    outcome?;
    Ok(opened.read()?)
}

/// Opened without requests; after an error of the search the model is still open.
fn find(file: &[u8]) -> Result<(), Rejection> {
    let (mut opened, storage, net, mut window) = (Opened::new(), memory(file), net(), [0_u8; 64]);
    let (model, tensors) = (opened.model.as_mut_ptr(), opened.tensors.as_mut_ptr().cast());
    let window = (&raw mut window).cast();
    call!(sft_open, model, &raw const storage, null(), null_mut(), 0, window, 64)?;
    let found = call!(sft_find, model, net.as_ptr(), tensors, 3, window, 64);
    if found.is_err() {
        opened.has_none();
    }
    found?;
    Ok(opened.read()?)
}

/// Gives a file to a receiver that has its targets.
fn push(receiver: *mut Receiver, file: &[u8]) -> Result<(), Failure> {
    for piece in file.chunks(5) {
        call!(sft_receiver_push, receiver, piece.as_ptr().cast(), piece.len())?;
    }
    call!(sft_receiver_end, receiver)
}

fn receive_values(file: &[u8]) -> Result<(), Rejection> {
    let (mut receiver, mut targets) = (MaybeUninit::uninit(), [const { MaybeUninit::<Target>::uninit() }; 3]);
    let (receiver, net, mut numbers) = (receiver.as_mut_ptr(), net(), Numbers::default());
    let Numbers { weight, scale, bias } = &mut numbers;
    call!(sft_receiver_begin, receiver, targets.as_mut_ptr().cast(), 3)?;
    call!(sft_receiver_add_i8, receiver, &raw const net[0], weight.as_mut_ptr(), 24)?;
    call!(sft_receiver_add_f32, receiver, &raw const net[1], scale.as_mut_ptr(), 3)?;
    call!(sft_receiver_add_f32, receiver, &raw const net[2], bias.as_mut_ptr(), 3)?;
    let outcome = push(receiver, file);
    // What arrives before the end of a file of a wrong length cannot be taken back.
    if outcome.as_ref().is_err_and(|failure| failure.code().starts_with("data.")) {
        return Ok(outcome?);
    }
    Ok(numbers.check(outcome)?)
}

fn receive_bytes(file: &[u8]) -> Result<(), Rejection> {
    let (mut receiver, mut targets) = (MaybeUninit::uninit(), [const { MaybeUninit::<Target>::uninit() }; 3]);
    let (receiver, net, mut bytes) = (receiver.as_mut_ptr(), net(), [0_u8; 42]);
    let (bias, rest) = bytes.split_at_mut(12);
    let (scale, weight) = rest.split_at_mut(6);
    call!(sft_receiver_begin, receiver, targets.as_mut_ptr().cast(), 3)?;
    for (request, to) in net.iter().zip([weight, scale, bias]) {
        call!(sft_receiver_add_bytes, receiver, &raw const *request, to.as_mut_ptr().cast(), to.len())?;
    }
    push(receiver, file)?;
    assert!((0..42).eq(bytes));
    Ok(())
}

fn verify_sha256(file: &[u8]) -> Result<(), Rejection> {
    let (mut opened, mut buffer) = (Opened::new(), [0_u8; 64]);
    let sum: [u8; 32] = Sha256::digest(&*Bytes::right()).into();
    opened.open(file)?;
    let model = opened.model.as_mut_ptr();
    call!(sft_verify_sha256, model, &raw const sum, (&raw mut buffer).cast(), 64)?;
    Ok(opened.read()?)
}

fn verify_embedded(file: &[u8]) -> Result<(), Rejection> {
    let (mut opened, mut buffer) = (Opened::new(), [0_u8; 7]);
    opened.open(file)?;
    call!(sft_verify_embedded, opened.model.as_mut_ptr(), (&raw mut buffer).cast(), 7)?;
    Ok(opened.read()?)
}

/// Storage for one file, in units of 16 bytes.
struct Flash {
    bytes: [u8; LONGEST],
    /// The byte whose lowest bit is always 0; 0 for none.
    broken_at: usize,
}

unsafe extern "C" fn store(context: *mut c_void, offset: u64, bytes: *const c_void, len: usize) -> i32 {
    // SAFETY: the flash of `update`, and what the library passes.
    let (flash, bytes) =
        unsafe { (&mut *context.cast::<Flash>(), core::slice::from_raw_parts(bytes.cast::<u8>(), len)) };
    let offset = usize::try_from(offset).expect("inside the flash");
    flash.bytes[offset..][..len].copy_from_slice(bytes);
    if flash.broken_at > 0 {
        flash.bytes[flash.broken_at] &= 0xFE;
    }
    i32::try_from(len).expect("inside the flash")
}

unsafe extern "C" fn erase(context: *mut c_void, _: u64, _: u64) -> i32 {
    // SAFETY: the flash of `update`.
    unsafe { (*context.cast::<Flash>()).bytes.fill(0xFF) };
    0
}

/// Stores the model as it arrives; with a sum, verifies it.
fn receive_file(flash: &mut Flash, file: &[u8], has_sum: bool) -> Result<(), Failure> {
    let (mut receiver, mut verifier) =
        (MaybeUninit::<FileReceiver>::uninit(), MaybeUninit::<Verifier>::uninit());
    let (mut tensors, mut buffer) = ([MaybeUninit::<Tensor>::uninit(); 3], [0_u8; 40]);
    let (receiver, verifier, net) = (receiver.as_mut_ptr(), verifier.as_mut_ptr(), net());
    let (to, context) = ((&raw mut buffer).cast(), (&raw mut *flash).cast());
    let (write, prepare, capacity) = (Some(store as _), Some(erase as _), LONGEST as u64);
    let sink = SinkIn { write, prepare, flush: None, context, capacity, unit: 16 };
    let (len, found) = (file.len() as u64, tensors.as_mut_ptr().cast());
    call!(sft_verifier_begin, verifier)?;
    call!(sft_file_receiver_begin, receiver, &raw const sink, len, net.as_ptr(), found, 3, to, 40)?;
    for piece in file.chunks(5) {
        call!(sft_verifier_update, verifier, piece.as_ptr().cast(), piece.len())?;
        call!(sft_file_receiver_push, receiver, piece.as_ptr().cast(), piece.len())?;
    }
    if has_sum {
        call!(sft_verifier_verify, verifier)?;
    }
    call!(sft_file_receiver_finish, receiver)
}

/// Stores the model, and reads what is stored; with a sum, verifies both. After an error none is valid.
fn update(file: &[u8], has_sum: bool, broken_at: usize) -> Result<(), Rejection> {
    let (mut flash, mut opened) = (Flash { bytes: [0xFF; LONGEST], broken_at }, Opened::new());
    let stored = receive_file(&mut flash, file, has_sum);
    let is_valid = opened.open(&flash.bytes[..file.len()]);
    assert_eq!(stored.is_ok(), is_valid.is_ok());
    stored?;
    if has_sum {
        return verify_embedded(&flash.bytes[..file.len()]);
    }
    Ok(opened.read()?)
}
