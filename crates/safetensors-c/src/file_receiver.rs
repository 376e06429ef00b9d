//! Files that arrive once and are stored.

use crate::error::{Cause, functions};
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

functions! {
    unsafe fn sft_file_receiver_begin(
        receiver: *mut FileReceiver,
        sink: *const SinkIn,
        file_len: u64,
        requests: *const Request,
        tensors: *mut Tensor,
        count: usize,
        buffer: *mut c_void,
        buffer_len: usize,
    ) {
        let others = [memory(receiver, 1), memory(sink, 1), memory(buffer, buffer_len)];
        Object::open(receiver, || {
            // First, so that no tensor seems to be found after an error.
            let lookup = Lookup::new(others, (requests, tensors, count))?;
            let sink = Sink::new(&*sink).inspect_err(|_| lookup.forget())?;
            let (queries, buffer) = (lookup.queries(), array_mut(buffer.cast::<u8>(), buffer_len));
            let storing = Storing::new(sink, file_len, queries, buffer).inspect_err(|_| lookup.forget())?;
            Ok(State { storing, lookup })
        })
    }

    unsafe fn sft_file_receiver_push(receiver: *mut FileReceiver, bytes: *const c_void, len: usize) {
        let push = |it: &mut State, bytes: &[u8]| Ok(it.storing.push(bytes).map(drop)?);
        let outcome = Object::with_array(receiver, bytes.cast(), len, push);
        if !matches!(outcome, Ok(()) | Err(Cause::Misuse(_))) {
            // It was open.
            let _ = Object::finish(receiver, |it| {
                it.lookup.forget();
                Ok::<(), Cause>(())
            });
        }
        outcome
    }

    unsafe fn sft_file_receiver_finish(receiver: *mut FileReceiver) {
        Object::finish(receiver, State::finish)
    }
}
