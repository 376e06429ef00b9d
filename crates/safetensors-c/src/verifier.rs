//! Sums of files that arrive once.

use crate::error::{Cause, ErrorOut, Status, end};
use crate::object::Object;
use core::ffi::c_void;
use embedded_safetensors::integrity::{Sha256, Verifier as Verifying};

/// `sft_verifier`.
pub type Verifier = Object<Verifying<Sha256>, 0x5645_5249>;

crate::abi::fits!(Verifier, crate::abi::words("SFT_VERIFIER_WORDS"));

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_verifier_begin(verifier: *mut Verifier, error: *mut ErrorOut) -> Status {
    let begin = || Ok::<_, Cause>(Verifying::new(Sha256::new()));
    // SAFETY: the header's rules.
    unsafe { end(Object::open(verifier, begin), error) }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_verifier_update(
    verifier: *mut Verifier,
    bytes: *const c_void,
    len: usize,
    error: *mut ErrorOut,
) -> Status {
    let update = |verifier: &mut Verifying<Sha256>, bytes: &[u8]| {
        verifier.update(bytes);
        Ok(())
    };
    // SAFETY: the header's rules.
    unsafe { end(Object::with_array(verifier, bytes.cast(), len, update), error) }
}

/// # Safety
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sft_verifier_verify(verifier: *mut Verifier, error: *mut ErrorOut) -> Status {
    let verify = |verifier: Verifying<Sha256>| -> Result<(), Cause> { Ok(verifier.verify()?) };
    // SAFETY: the header's rules.
    unsafe { end(Object::finish(verifier, verify), error) }
}
