//! Models that arrive once.

use crate::error::{Cause, Misuse, functions};
use crate::object::Object;
use crate::pointers::{Memory, Number, array_mut, check_all, memory};
use crate::tensors::{Home, Request, Tensor};
use core::ffi::c_void;
use embedded_safetensors::query::Query;
use embedded_safetensors::stream::{Receiver as Receiving, Target as One};

/// What C lends lives as long as its objects, by the header's rules.
pub type Target = One<'static, 'static>;

crate::abi::fits!(Target, crate::abi::words("SFT_TARGET_WORDS"));

/// `sft_receiver`.
pub type Receiver = Object<State, 0x5243_5652>;

crate::abi::fits!(Receiver, crate::abi::words("SFT_RECEIVER_WORDS"));

/// The targets, and the receiver once the first piece has arrived.
pub struct State {
    targets: *mut Target,
    count: usize,
    capacity: usize,
    receiving: Option<Receiving<&'static mut [Target]>>,
}

impl State {
    /// Returns the receiver, which begins with the first call.
    fn receiving(&mut self) -> &mut Receiving<&'static mut [Target]> {
        let (targets, count) = (self.targets, self.count);
        self.receiving.get_or_insert_with(|| {
            Receiving::new(match count {
                0 => &mut [],
                // SAFETY: this many were added. C lends the memory, and the receiver is all that uses it.
                count => unsafe { core::slice::from_raw_parts_mut(targets, count) },
            })
        })
    }

    /// Checks that a target with this memory can be added.
    ///
    /// # Errors
    /// The first piece has arrived, there is no space for another target, or one has some of this memory.
    fn check(&self, aim: Memory) -> Result<(), Misuse> {
        match () {
            () if self.receiving.is_some() => return Err(Misuse::Added),
            () if self.count >= self.capacity => return Err(Misuse::Full),
            () => {}
        }
        for index in 0..self.count {
            // SAFETY: this many were added. No receiver uses them yet.
            let other = unsafe { &*self.targets.add(index) }.memory();
            check_all(&[aim, memory(other.as_ptr(), other.len())])?;
        }
        Ok(())
    }

    /// Adds a target that was checked.
    fn add(&mut self, target: Target) {
        // SAFETY: inside the memory, which is not null and aligned.
        unsafe { self.targets.add(self.count).write(target) };
        self.count += 1;
    }
}

/// Adds a target that `target` makes of a query and memory.
///
/// # Safety
/// See the header.
unsafe fn add<T: Number + 'static>(
    receiver: *mut Receiver,
    request: *const Request,
    values: *mut T,
    len: usize,
    target: impl FnOnce(Query<'static>, &'static mut [T]) -> Target,
) -> Result<(), Cause> {
    let [this, asked, aim] = [memory(receiver, 1), memory(request, 1), memory(values, len)];
    let add = |state: &mut State| -> Result<(), Cause> {
        check_all(&[this, asked, aim, memory(state.targets, state.capacity)])?;
        // SAFETY: the header's rules: what is lent lives as long as the receiver is used.
        let query = unsafe { (*request).query()? };
        state.check(aim)?;
        // SAFETY: as above.
        state.add(target(query, unsafe { array_mut(values, len) }));
        Ok(())
    };
    // SAFETY: the header's rules.
    unsafe { Object::with(receiver, add) }
}

macro_rules! targets {
    ($($name:ident: $type:ty;)+) => { functions! { $(
        unsafe fn $name(receiver: *mut Receiver, request: *const Request, values: *mut $type, count: usize) {
            add(receiver, request, values, count, Target::values)
        }
    )+ } };
}

targets! {
    sft_receiver_add_f32: f32;
    sft_receiver_add_f64: f64;
    sft_receiver_add_i8: i8;
    sft_receiver_add_u8: u8;
    sft_receiver_add_i16: i16;
    sft_receiver_add_u16: u16;
    sft_receiver_add_i32: i32;
    sft_receiver_add_u32: u32;
    sft_receiver_add_i64: i64;
    sft_receiver_add_u64: u64;
}

functions! {
    unsafe fn sft_receiver_begin(receiver: *mut Receiver, targets: *mut Target, capacity: usize) {
        Object::open(receiver, || {
            check_all(&[memory(receiver, 1), memory(targets, capacity)])?;
            Ok(State { targets, count: 0, capacity, receiving: None })
        })
    }

    unsafe fn sft_receiver_add_bytes(
        receiver: *mut Receiver,
        request: *const Request,
        bytes: *mut c_void,
        len: usize,
    ) {
        add(receiver, request, bytes.cast::<u8>(), len, Target::new)
    }

    unsafe fn sft_receiver_push(receiver: *mut Receiver, bytes: *const c_void, len: usize) {
        let push = |it: &mut State, bytes: &[u8]| Ok(it.receiving().push(bytes).map(drop)?);
        Object::with_array(receiver, bytes.cast(), len, push)
    }

    unsafe fn sft_receiver_end(receiver: *mut Receiver) {
        Object::with(receiver, |it| Ok(it.receiving().end_of_input()?))
    }

    unsafe fn sft_receiver_tensor(receiver: *mut Receiver, target: usize, tensor: *mut Tensor) {
        Object::with(receiver, |it| {
            check_all(&[memory(receiver, 1), memory(tensor, 1)])?;
            if target >= it.count {
                return Err(Misuse::Full.into());
            }
            let info = it.receiving.as_ref().and_then(|receiver| receiver.targets().get(target)?.info());
            let summary = it.receiving.as_ref().and_then(Receiving::summary);
            let home = Home { data_start: summary.map_or(0, |summary| summary.data_start), header: 0 };
            let mut found = Tensor::MISSING;
            if let Some(info) = info {
                found.fill(info.shape().dims(), info.dtype(), info.begin()..info.end(), home);
            }
            tensor.write(found);
            Ok(())
        })
    }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_receiver_remaining(receiver: *mut Receiver) -> u64 {
    // Before the first piece, that is the length of the header.
    let remaining =
        |state: &mut State| Ok::<u64, Misuse>(state.receiving.as_ref().map_or(8, Receiving::remaining));
    // SAFETY: the header's rules.
    unsafe { Object::with(receiver, remaining) }.unwrap_or(0)
}
