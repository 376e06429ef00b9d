//! The C API, declared and documented in `include/safetensors.h`.
//!
//! Every function checks its pointers and the state of its objects before it uses them, and returns a status.
//! What cannot be checked is stated at the top of the header.
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]

mod abi;
mod error;
mod file_receiver;
mod model;
mod object;
mod pointers;
mod reading;
mod receiver;
mod recorder;
mod slots;
mod storage;
mod tensors;
mod verifier;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    #[cfg(feature = "no-panic")]
    {
        unsafe extern "C" {
            fn safetensors_panic_is_reachable() -> !;
        }
        // SAFETY: it does not exist: a program in which this is reachable does not link.
        unsafe { safetensors_panic_is_reachable() }
    }
    #[cfg(not(feature = "no-panic"))]
    loop {}
}
