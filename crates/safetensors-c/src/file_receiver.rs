//! Files that arrive once and are stored.

use crate::error::{Cause, ErrorOut, Status, end};
use crate::object::Object;
use crate::pointers::{array_mut, memory};
use crate::storage::{Sink, SinkIn};
use crate::tensors::{Home, Lookup, Request, Tensor};
use core::ffi::c_void;
use embedded_safetensors::stream::FileReceiver as Storing;

/// `sft_file_receiver`.
pub type FileReceiver = Object<State, 0x4652_4356>;

crate::abi::fits!(FileReceiver, crate::abi::words("SFT_FILE_RECEIVER_WORDS"));

/// The receiver, and the memory of its queries. What C lends lives as long as its objects, by the header's
/// rules.
pub struct State {
    storing: Storing<'static, 'static, Sink>,
    lookup: Lookup<'static>,
}

impl State {
    /// Makes the file valid, and writes its tensors in place of the queries; after an error, that there are
    /// none.
    ///
    /// # Errors
    /// The file is incomplete; the sink has failed.
    fn finish(self) -> Result<(), Cause> {
        let Self { storing, lookup } = self;
        let summary = storing.summary();
        let finished = storing.finish();
        match summary.filter(|_| finished.is_ok()) {
            Some(summary) => lookup.end(Home { data_start: summary.data_start, header: 0 }),
            None => lookup.forget(),
        }
        Ok(finished.map(drop)?)
    }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_file_receiver_begin(
    receiver: *mut FileReceiver,
    sink: *const SinkIn,
    file_len: u64,
    requests: *const Request,
    tensors: *mut Tensor,
    count: usize,
    buffer: *mut c_void,
    buffer_len: usize,
    error: *mut ErrorOut,
) -> Status {
    let others = [memory(receiver, 1), memory(sink, 1), memory(buffer, buffer_len)];
    let begin = || -> Result<State, Cause> {
        // First, so that no tensor seems to be found after an error.
        // SAFETY: the header's rules.
        let lookup = unsafe { Lookup::new(others, (requests, tensors, count))? };
        // SAFETY: checked; the rest is the header's rules.
        let sink = Sink::new(unsafe { &*sink }).inspect_err(|_| lookup.forget())?;
        // SAFETY: the header's rules.
        let (queries, buffer) = unsafe { (lookup.queries(), array_mut(buffer.cast::<u8>(), buffer_len)) };
        let storing = Storing::new(sink, file_len, queries, buffer).inspect_err(|_| lookup.forget())?;
        Ok(State { storing, lookup })
    };
    // SAFETY: the header's rules.
    unsafe { end(Object::open(receiver, begin), error) }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_file_receiver_push(
    receiver: *mut FileReceiver,
    bytes: *const c_void,
    len: usize,
    error: *mut ErrorOut,
) -> Status {
    let push = |state: &mut State, bytes: &[u8]| Ok(state.storing.push(bytes).map(drop)?);
    // SAFETY: the header's rules.
    let outcome = unsafe { Object::with_array(receiver, bytes.cast(), len, push) };
    if !matches!(outcome, Ok(()) | Err(Cause::Misuse(_))) {
        let give_up = |state: State| {
            state.lookup.forget();
            Ok::<(), Cause>(())
        };
        // SAFETY: as above. It was open.
        let _ = unsafe { Object::finish(receiver, give_up) };
    }
    // SAFETY: the header's rules.
    unsafe { end(outcome, error) }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_file_receiver_finish(
    receiver: *mut FileReceiver,
    error: *mut ErrorOut,
) -> Status {
    // SAFETY: the header's rules.
    unsafe { end(Object::finish(receiver, State::finish), error) }
}
