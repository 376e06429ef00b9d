//! Files that are written.

use crate::error::{Cause, Misuse, functions};
use crate::object::Object;
use crate::pointers::{Number, array, array_mut, check_all, memory, text};
use crate::storage::{Fault, Sink, SinkIn};
use crate::tensors::dtype;
use core::ffi::{c_char, c_void};
use embedded_safetensors::WriteError;
use embedded_safetensors::tensor::MAX_RANK;
use embedded_safetensors::write::{FileSpec, Placement, Recording, TensorSpec, Writer};

/// What C lends lives as long as its objects, by the header's rules.
type Writing = Writer<'static, Recording<'static, Sink>>;

/// `sft_recorder`.
pub type Recorder = Object<Writing, 0x5245_4344>;

crate::abi::fits!(Recorder, crate::abi::words("SFT_RECORDER_WORDS"));

/// `sft_spec`.
#[repr(C)]
pub struct Spec {
    pub name: *const c_char,
    pub dtype: u32,
    pub rank: u32,
    pub shape: [u64; MAX_RANK],
}

impl Spec {
    /// # Errors
    /// The name, the dtype or the rank is not valid.
    ///
    /// # Safety
    /// The name is a string, or null.
    unsafe fn tensor(&'static self) -> Result<TensorSpec<'static>, Misuse> {
        let dims = self.shape.get(..usize::try_from(self.rank).unwrap_or(usize::MAX)).ok_or(Misuse::Rank)?;
        // SAFETY: the caller's promise.
        Ok(TensorSpec::new(unsafe { text(self.name)? }, dtype(self.dtype)?, dims))
    }
}

/// `sft_pair`.
#[repr(C)]
pub struct Pair {
    pub key: *const c_char,
    pub value: *const c_char,
}

type TextPair = (&'static str, &'static str);

impl Pair {
    /// # Errors
    /// The key or the value is not valid.
    ///
    /// # Safety
    /// Each is a string, or null.
    unsafe fn texts(&self) -> Result<TextPair, Misuse> {
        // SAFETY: the caller's promise.
        Ok(unsafe { (text(self.key)?, text(self.value)?) })
    }
}

/// The pointers of memory that a tensor and a pair need: SFT_RECORDER_MEMORY.
const TENSOR: usize = 5;
const PAIR: usize = 4;

const _: () = assert!(size_of::<TensorSpec<'static>>() == TENSOR * size_of::<usize>());
const _: () = assert!(size_of::<TextPair>() == PAIR * size_of::<usize>());

/// Writes what C describes into its memory, as the library needs it.
///
/// # Errors
/// The memory is too small; a name, a dtype or a rank is not valid.
///
/// # Safety
/// The pointers were checked, and are as the header says.
unsafe fn describe(
    (specs, count): (*const Spec, usize),
    (pairs, pair_count): (*const Pair, usize),
    (memory, words): (*mut u64, usize),
) -> Result<FileSpec<'static>, Cause> {
    // SAFETY: the caller's promise.
    let (specs, pairs) =
        unsafe { (array::<'static, Spec>(specs, count), array::<'static, Pair>(pairs, pair_count)) };
    // Neither overflows: the arrays themselves have more bytes.
    let needed = count.wrapping_mul(TENSOR).wrapping_add(pair_count.wrapping_mul(PAIR));
    if needed == 0 {
        return Ok(FileSpec::new(&[]));
    }
    if needed.div_ceil(8 / size_of::<usize>()) > words {
        return Err(Misuse::Memory.into());
    }
    let tensors: *mut TensorSpec<'static> = memory.cast();
    for (index, spec) in specs.iter().enumerate() {
        // SAFETY: the caller's promise.
        let tensor = unsafe { spec.tensor() }.map_err(|misuse| Cause::InTable(misuse, "specs", index))?;
        // SAFETY: the memory has TENSOR pointers for each tensor.
        unsafe { tensors.add(index).write(tensor) };
    }
    // SAFETY: the end of the tensors, inside the memory.
    let texts: *mut TextPair = unsafe { tensors.add(count) }.cast();
    for (index, pair) in pairs.iter().enumerate() {
        // SAFETY: the caller's promise.
        let pair = unsafe { pair.texts() }.map_err(|misuse| Cause::InTable(misuse, "pairs", index))?;
        // SAFETY: the memory has PAIR pointers for each pair.
        unsafe { texts.add(index).write(pair) };
    }
    // SAFETY: all were written above, and C lends the memory.
    let (tensors, texts) = unsafe {
        (core::slice::from_raw_parts(tensors, count), core::slice::from_raw_parts(texts, pair_count))
    };
    let file = FileSpec::new(tensors);
    Ok(if texts.is_empty() { file } else { file.with_metadata(texts) })
}

/// Writes bytes or values. When the sink fails, the recorder is closed: C does not know how many bytes were
/// written, so it cannot continue.
///
/// # Safety
/// See the header.
unsafe fn write<V: Number>(
    recorder: *mut Recorder,
    values: *const V,
    count: usize,
    write: impl FnOnce(&mut Writing, &[V]) -> Result<(), WriteError<Fault>>,
) -> Result<(), Cause> {
    let write = |writer: &mut Writing, values: &[V]| Ok(write(writer, values)?);
    // SAFETY: the header's rules.
    let outcome = unsafe { Object::with_array(recorder, values, count, write) };
    if let Err(Cause::Storage(_) | Cause::Full { .. }) = outcome {
        // SAFETY: as above. It was open.
        let _ = unsafe { Object::finish(recorder, |_| Ok::<(), Misuse>(())) };
    }
    outcome
}

macro_rules! writers {
    ($($name:ident: $type:ty;)+) => { functions! { $(
        unsafe fn $name(recorder: *mut Recorder, values: *const $type, count: usize) {
            write(recorder, values, count, Writing::write)
        }
    )+ } };
}

writers! {
    sft_recorder_write_f32: f32;
    sft_recorder_write_f64: f64;
    sft_recorder_write_i8: i8;
    sft_recorder_write_u8: u8;
    sft_recorder_write_i16: i16;
    sft_recorder_write_u16: u16;
    sft_recorder_write_i32: i32;
    sft_recorder_write_u32: u32;
    sft_recorder_write_i64: i64;
    sft_recorder_write_u64: u64;
}

functions! {
    unsafe fn sft_recorder_begin(
        recorder: *mut Recorder,
        sink: *const SinkIn,
        specs: *const Spec,
        count: usize,
        pairs: *const Pair,
        pair_count: usize,
        words: *mut u64,
        word_count: usize,
        buffer: *mut c_void,
        buffer_len: usize,
    ) {
        Object::open(recorder, || {
            check_all(&[
                memory(recorder, 1),
                memory(sink, 1),
                memory(specs, count),
                memory(pairs, pair_count),
                memory(words, word_count),
                memory(buffer, buffer_len),
            ])?;
            let file = describe((specs, count), (pairs, pair_count), (words, word_count))?;
            let (sink, buffer) = (Sink::new(&*sink)?, array_mut(buffer.cast::<u8>(), buffer_len));
            let unit = u32::try_from(sink.unit_len()).map_err(|_| Misuse::Storage)?;
            let plan = file.with_placement(Placement::Start(unit.max(8))).plan()?;
            Ok(Writer::record(sink, plan, buffer)?)
        })
    }

    unsafe fn sft_recorder_write_bytes(recorder: *mut Recorder, bytes: *const c_void, len: usize) {
        write(recorder, bytes.cast(), len, Writing::write_bytes)
    }

    unsafe fn sft_recorder_finish(recorder: *mut Recorder) {
        Object::finish(recorder, |it| Ok(it.finish().map(drop)?))
    }
}
