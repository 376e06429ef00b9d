//! What the plan chooses, and the memory, pointers and errors of calls.

use crate::error::{ErrorOut, OK, STORAGE, Status, USAGE, sft_error_code, sft_error_sentence};
use std::alloc::{Layout, alloc, dealloc};
use std::cell::{Cell, RefCell};
use std::ffi::c_char;
use std::ptr::{null_mut, without_provenance_mut};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Checks what must hold whatever the plan says.
macro_rules! check {
    ($condition:expr) => {
        assert!($condition, "not as expected; the last error: {}", crate::plan::sentence())
    };
}
pub(crate) use check;

/// Calls a function that reports an error, with a wrong pointer if the plan says so. Returns whether it has
/// succeeded; it was told about `requests` requests, tensors or pairs.
macro_rules! call {
    ($requests:expr, $name:path, $($argument:expr),*) => {{
        crate::plan::choose_wrong_pointer();
        let status = $name($(crate::plan::Argument::pass($argument)),*, crate::plan::report());
        crate::plan::succeeded(status, $requests)
    }};
}
pub(crate) use call;

thread_local! {
    static PLAN: RefCell<std::vec::IntoIter<u8>> = RefCell::default();
    static BLOCKS: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
    /// The pointer that is wrong in the next call, counted from 0; whether it is null; whether it was passed.
    static WRONG: Cell<(Option<usize>, bool, bool)> = const { Cell::new((None, false, false)) };
    /// What the last call returned, and whether it had a wrong pointer.
    static LAST: Cell<(Status, bool)> = const { Cell::new((OK, false)) };
    /// Where calls write their error, and what was passed for it.
    pub static ERROR: Cell<*mut ErrorOut> = const { Cell::new(null_mut()) };
    static PASSED: Cell<*mut ErrorOut> = const { Cell::new(null_mut()) };
}

pub fn begin(plan: &[u8]) {
    PLAN.set(Vec::from(plan).into_iter());
    WRONG.set((None, false, false));
    ERROR.set(lend(1));
}

/// Whether the plan has more for this input.
pub fn continues() -> bool {
    PLAN.with_borrow(|plan| plan.len() > 0) && block_count() < MOST_BLOCKS / 2
}

/// Returns the next byte of the plan; 0 after its end.
pub fn next() -> u8 {
    PLAN.with_borrow_mut(|plan| plan.next().unwrap_or(0))
}

pub fn below(count: usize) -> usize {
    usize::from(next()) % count
}

pub fn seldom() -> bool {
    next() >= 0xF0
}

pub fn sometimes() -> bool {
    next() & 1 != 0
}

/// Returns a number, often a small one or one at a limit.
pub fn number() -> u64 {
    match next() & 15 {
        0 => u64::MAX - u64::from(next()),
        1 => (1 << below(64)) - u64::from(next() & 1),
        2 => u64::from_be_bytes([(); 8].map(|()| next())),
        3 => u64::from(next()) << 8 | u64::from(next()),
        4..=6 => next().into(),
        _ => (next() & 7).into(),
    }
}

pub const MOST_BLOCKS: usize = 8192;
const GUARD: usize = 16;
const GUARD_BYTE: u8 = 0xA5;
/// The byte that memory has before a call writes to it.
pub const FILL: u8 = 0xC3;

/// What is lent until the end of an input, in its exact size: the sanitizer finds every byte after it.
struct Block {
    allocated: *mut u8,
    layout: Layout,
    /// The bytes before it.
    before: usize,
}

pub fn block_count() -> usize {
    BLOCKS.with_borrow(Vec::len)
}

/// Returns memory that begins `shift` bytes after an aligned address.
fn lend_at(shift: usize, len: usize) -> *mut u8 {
    let before = GUARD + shift;
    let layout = Layout::from_size_align(before + len, GUARD).unwrap();
    // SAFETY: the guard has bytes. All bytes of the allocation are written.
    let allocated = unsafe { alloc(layout) };
    assert!(!allocated.is_null() && block_count() < MOST_BLOCKS);
    // SAFETY: as above.
    unsafe {
        allocated.write_bytes(GUARD_BYTE, before);
        allocated.add(before).write_bytes(FILL, len);
    }
    BLOCKS.with_borrow_mut(|blocks| blocks.push(Block { allocated, layout, before }));
    // SAFETY: inside the allocation, or its end.
    unsafe { allocated.add(before) }
}

/// The highest address of memory without bytes.
const NOTHING: usize = 64;

/// Returns memory for values: for bytes, at any address; for none, sometimes a null pointer.
pub fn lend<T>(count: usize) -> *mut T {
    match count {
        0 if block_count() & 1 != 0 => null_mut(),
        0 => without_provenance_mut(NOTHING),
        _ if align_of::<T>() == 1 => lend_at(block_count() % 8, count).cast(),
        _ => lend_at(0, count * size_of::<T>()).cast(),
    }
}

/// Returns memory with this value.
pub fn keep<T>(value: T) -> *mut T {
    let to = lend::<T>(1);
    // SAFETY: it is aligned, and large enough.
    unsafe { to.write(value) };
    to
}

/// Returns memory that is filled with any byte, for an object that was never opened.
pub fn garbage<T>() -> *mut T {
    let to = lend::<T>(1);
    // SAFETY: it is large enough.
    unsafe { to.write_bytes(next(), 1) };
    to
}

pub fn copy<T>(bytes: &[u8]) -> *mut T {
    let to = lend::<u8>(bytes.len());
    memory(to, bytes.len()).copy_from_slice(bytes);
    to.cast()
}

/// Returns memory that was lent. Without values, the pointer may be null.
pub fn memory<T>(pointer: *const T, count: usize) -> &'static mut [T] {
    match count {
        0 => &mut [],
        // SAFETY: nothing keeps a reference into lent memory while the library uses it.
        count => unsafe { from_raw_parts_mut(pointer.cast_mut(), count) },
    }
}

pub fn bytes_of<T>(pointer: *const T, count: usize) -> &'static [u8] {
    match count * size_of::<T>() {
        0 => &[],
        // SAFETY: it is lent until the end of the input.
        len => unsafe { from_raw_parts(pointer.cast(), len) },
    }
}

pub fn is_filled<T>(pointer: *const T) -> bool {
    bytes_of(pointer, 1).iter().all(|byte| *byte == FILL)
}

pub fn take_back_all() {
    for block in BLOCKS.take() {
        // SAFETY: it was allocated with this layout, and is used no more.
        unsafe {
            let before = from_raw_parts(block.allocated, block.before);
            check!(before.iter().all(|byte| *byte == GUARD_BYTE));
            dealloc(block.allocated, block.layout);
        }
    }
}

/// Returns what the last call returned.
pub fn status() -> Status {
    LAST.get().0
}

pub fn choose_wrong_pointer() {
    let chosen = next();
    WRONG.set(((chosen >= 0xE0).then_some(usize::from(chosen >> 1 & 7)), chosen & 1 != 0, false));
}

/// Whether the last call had a wrong pointer.
pub fn was_wrong() -> bool {
    LAST.get().1
}

/// What is passed to a function of C.
pub trait Argument: Sized {
    /// Returns it, or the wrong pointer.
    fn pass(self) -> Self {
        self
    }
}

impl Argument for u32 {}
impl Argument for u64 {}
impl Argument for usize {}
impl<T> Argument for Option<T> {}

impl<T> Argument for *mut T {
    fn pass(self) -> Self {
        let (place, is_null, was_wrong) = WRONG.get();
        let Some(place) = place.filter(|_| self.addr() > NOTHING) else { return self };
        WRONG.set((place.checked_sub(1), is_null, was_wrong || place == 0));
        match place {
            0 if is_null || align_of::<T>() == 1 => null_mut(),
            0 => self.map_addr(|address| address | 1),
            _ => self,
        }
    }
}

impl<T> Argument for *const T {
    fn pass(self) -> Self {
        self.cast_mut().pass()
    }
}

/// Returns where the next call writes its error.
pub fn report() -> *mut ErrorOut {
    let error = ERROR.get();
    // SAFETY: it is lent.
    unsafe { error.write_bytes(FILL, 1) };
    PASSED.set(match next() {
        0xFE => null_mut(),
        0xFF => error.map_addr(|at| at | 1),
        _ => error,
    });
    PASSED.get()
}

/// Whether the last call could write its error.
pub fn has_error() -> bool {
    PASSED.get() == ERROR.get()
}

type TextFunction = unsafe extern "C" fn(*const ErrorOut, *mut c_char, usize) -> usize;

/// Returns a text of an error in full, with its final 0.
fn text(function: TextFunction, about: *const ErrorOut) -> Vec<u8> {
    let mut whole = [FILL; 1024];
    // SAFETY: the memory has this length.
    let len = unsafe { function(about, whole.as_mut_ptr().cast(), whole.len()) };
    assert!(len > 0 && whole.iter().position(|byte| *byte == 0) == Some(len));
    whole[..=len].to_vec()
}

pub fn sentence() -> String {
    String::from_utf8_lossy(&text(sft_error_sentence, ERROR.get())).into_owned()
}

/// Returns the code of the error of the last call.
pub fn code() -> String {
    code_of(ERROR.get())
}

pub fn code_of(error: *const ErrorOut) -> String {
    String::from_utf8(text(sft_error_code, error)).unwrap().trim_end_matches('\0').to_owned()
}

/// Checks that a text is the beginning of the whole one.
fn check_text(function: TextFunction, about: *const ErrorOut) {
    let (whole, len) = (text(function, about), below(80));
    let (full, cut) = (whole.len() - 1, lend::<u8>(len));
    // SAFETY: the memory has this length.
    let lengths = unsafe {
        [function(about, cut.cast(), len), function(about, null_mut(), 0), function(about, null_mut(), 8)]
    };
    check!(lengths == [full, full, 0]);
    if let Some((end, shown)) = memory(cut, len.min(full + 1)).split_last() {
        check!(*shown == whole[..shown.len()] && *end == 0);
    }
}

/// Checks what a function returned that was told about `requests` requests, tensors or pairs.
pub fn succeeded(status: Status, requests: usize) -> bool {
    let (.., was_wrong) = WRONG.replace((None, false, false));
    LAST.set((status, was_wrong));
    check!((OK..=STORAGE).contains(&status) && (!was_wrong || status == USAGE));
    if !has_error() {
        check!(is_filled(ERROR.get()));
        return status == OK;
    }
    if status == OK {
        check!(code() == "no error");
        return true;
    }
    // SAFETY: it is lent.
    let error = unsafe { &*ERROR.get() };
    check!(error.request == -1 || usize::try_from(error.request).is_ok_and(|index| index < requests));
    check!(status == STORAGE || error.storage == 0);
    check!(status != STORAGE || code().starts_with("storage."));
    check!(!was_wrong || code().starts_with("c."));
    check!(code().len() < crate::abi::CODE_LEN);
    check_text(sft_error_code, error);
    if sometimes() {
        check_text(sft_error_sentence, error);
    }
    false
}

/// Checks that a call from within a callback is an error.
pub fn was_reentered(status: Status, error: *const ErrorOut) {
    check!(status == USAGE && code_of(error) == "c.reentered");
    check_text(sft_error_sentence, error);
}
