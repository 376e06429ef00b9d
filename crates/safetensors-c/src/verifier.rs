//! Sums of files that arrive once.

use crate::error::functions;
use crate::object::Object;
use core::ffi::c_void;
use embedded_safetensors::integrity::{Sha256, Verifier as Verifying};

/// `sft_verifier`.
pub type Verifier = Object<Verifying<Sha256>, 0x5645_5249>;

crate::abi::fits!(Verifier, crate::abi::words("SFT_VERIFIER_WORDS"));

functions! {
    unsafe fn sft_verifier_begin(verifier: *mut Verifier) {
        Object::open(verifier, || Ok(Verifying::new(Sha256::new())))
    }

    unsafe fn sft_verifier_update(verifier: *mut Verifier, bytes: *const c_void, len: usize) {
        Object::with_array(verifier, bytes.cast(), len, |it, bytes| {
            it.update(bytes);
            Ok(())
        })
    }

    unsafe fn sft_verifier_verify(verifier: *mut Verifier) {
        Object::finish(verifier, |it| Ok(it.verify()?))
    }
}
