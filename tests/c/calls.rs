//! Calls of functions for C, and what they return.

use crate::error::{ErrorOut, OK, Status, sft_error_code, sft_error_sentence};
use crate::storage::{EXACT, StorageIn};
use crate::tensors::Request;
use core::ffi::{CStr, c_char, c_void};
use core::mem::MaybeUninit;

/// Calls a function, whose last argument is the error.
macro_rules! call {
    ($function:path, $($argument:expr),* $(,)?) => {{
        let mut error = core::mem::MaybeUninit::uninit();
        // SAFETY: the arguments are memory that is in use by this call only, as the header demands.
        let status = unsafe { $function($($argument),*, error.as_mut_ptr()) };
        crate::calls::ended(status, error)
    }};
}
pub(crate) use call;

/// An error, as C sees it.
pub struct Failure {
    pub status: Status,
    pub error: ErrorOut,
}

/// Returns what a call has said.
pub fn ended(status: Status, error: MaybeUninit<ErrorOut>) -> Result<(), Failure> {
    // SAFETY: every function fills it in.
    let failure = Failure { status, error: unsafe { error.assume_init() } };
    if status == OK { Ok(()) } else { Err(failure) }
}

impl Failure {
    pub fn code(&self) -> String {
        self.text(sft_error_code)
    }

    pub fn sentence(&self) -> String {
        self.text(sft_error_sentence)
    }

    fn text(&self, write: unsafe extern "C" fn(*const ErrorOut, *mut c_char, usize) -> usize) -> String {
        let mut text = [0_u8; 512];
        // SAFETY: the memory has this length.
        let len = unsafe { write(&raw const self.error, text.as_mut_ptr().cast(), text.len()) };
        let text = CStr::from_bytes_until_nul(&text).expect("a final 0");
        assert_eq!(text.count_bytes(), len);
        text.to_str().expect("UTF-8").to_owned()
    }
}

/// A file that is read through a callback.
pub fn storage(file: &&[u8]) -> StorageIn {
    let context = core::ptr::from_ref(file).cast_mut().cast();
    StorageIn { read: Some(read), context, len: file.len() as u64, len_is: EXACT }
}

unsafe extern "C" fn read(context: *mut c_void, offset: u64, to: *mut c_void, len: usize) -> i32 {
    // SAFETY: the file of `storage`, and the memory that the library passes.
    let (file, to) =
        unsafe { (*context.cast::<&[u8]>(), core::slice::from_raw_parts_mut(to.cast::<u8>(), len)) };
    let rest = usize::try_from(offset).ok().and_then(|offset| file.get(offset..)).unwrap_or_default();
    let len = len.min(rest.len());
    to[..len].copy_from_slice(&rest[..len]);
    i32::try_from(len).expect("not above 2^30")
}

/// A request of a tensor with these dtypes and these dimensions.
pub fn request(name: &CStr, dtypes: u32, dims: &[u64]) -> Request {
    let mut shape = [0; 8];
    shape[..dims.len()].copy_from_slice(dims);
    let rank = dims.len().try_into().expect("at most 8");
    Request { name: name.as_ptr(), dtypes, rank, optional: 0, shape }
}
