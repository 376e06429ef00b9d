//! Objects in memory that C owns: what they are is written into their first word, and checked at each call.

use crate::error::{Cause, Misuse};
use crate::pointers::{Memory, array, check_all, memory};
use core::mem::MaybeUninit;

/// What an object is. Memory that C has not initialised has one of these, and its address, by chance only.
type Tag = u32;

const NONE: Tag = 0;
/// An object that is being opened or used.
const BUSY: Tag = 0x4255_5359;

/// How an object begins. Not generic, so that all calls share what they check.
#[repr(C)]
struct Head {
    tag: Tag,
    /// Its own address, so that one that was moved is noticed.
    address: usize,
}

impl Head {
    /// Marks an object as in use. It must be open, as `open` says, or may be any memory if that is
    /// [`NONE`].
    ///
    /// # Errors
    /// It is null or misaligned; in use by the call that runs this callback; not open.
    ///
    /// # Safety
    /// Otherwise `this` points to an object. No reference into it exists.
    #[inline(never)] // every function calls it
    unsafe fn take(this: *mut Self, memory: Memory, open: Tag) -> Result<(), Misuse> {
        memory.check()?;
        // SAFETY: not null and aligned. Memory that is not initialised has some value: it comes from C.
        let (tag, address) =
            unsafe { ((&raw const (*this).tag).read(), (&raw const (*this).address).read()) };
        let tag = if address == this.addr() { tag } else { NONE };
        if tag == BUSY {
            return Err(Misuse::Reentered);
        }
        if open != NONE && tag != open {
            return Err(Misuse::NotOpen);
        }
        // SAFETY: as above.
        unsafe { this.write(Self { tag: BUSY, address: this.addr() }) };
        Ok(())
    }
}

/// An object with a value of a type. `KIND` distinguishes types.
#[repr(C)]
pub struct Object<T, const KIND: u32> {
    head: Head,
    value: MaybeUninit<T>,
}

impl<T, const KIND: u32> Object<T, KIND> {
    /// # Errors
    /// As [`Head::take`].
    ///
    /// # Safety
    /// As [`Head::take`].
    unsafe fn take(this: *mut Self, open: Tag) -> Result<(), Misuse> {
        // SAFETY: the caller's promise.
        unsafe { Head::take(this.cast(), memory(this, 1), open) }
    }

    /// Marks an object that was taken as open, or not.
    ///
    /// # Safety
    /// `this` points to an object. No reference into it exists.
    unsafe fn leave(this: *mut Self, tag: Tag) {
        // SAFETY: the caller's promise.
        unsafe { (&raw mut (*this).head.tag).write(tag) };
    }

    /// Initialises an object with what `open` returns. Meanwhile, and after an error, it is not open.
    ///
    /// # Errors
    /// It is being opened or in use, by the call that runs this callback; those of `open`.
    ///
    /// # Safety
    /// `this` is null, misaligned, or points to memory of this type. No reference into it exists.
    pub unsafe fn open<E: From<Misuse>>(
        this: *mut Self,
        open: impl FnOnce() -> Result<T, E>,
    ) -> Result<(), E> {
        // SAFETY: the caller's promise.
        unsafe { Self::take(this, NONE)? };
        match open() {
            Ok(value) => {
                // SAFETY: it was taken.
                unsafe {
                    (&raw mut (*this).value).write(MaybeUninit::new(value));
                    Self::leave(this, KIND);
                }
                Ok(())
            }
            Err(error) => {
                // SAFETY: it was taken.
                unsafe { Self::leave(this, NONE) };
                Err(error)
            }
        }
    }

    /// Uses an open object. Until `use_it` returns, it cannot be used again.
    ///
    /// # Errors
    /// It is not open, or in use by the call that runs this callback; those of `use_it`.
    ///
    /// # Safety
    /// As [`open`](Self::open).
    pub unsafe fn with<R, E: From<Misuse>>(
        this: *mut Self,
        use_it: impl FnOnce(&mut T) -> Result<R, E>,
    ) -> Result<R, E> {
        // SAFETY: the caller's promise.
        unsafe { Self::take(this, KIND)? };
        // SAFETY: an open object has a value. Nobody else has a reference to it: it would be busy.
        let value = unsafe { &mut (*this).value };
        // SAFETY: as above.
        let outcome = use_it(unsafe { value.assume_init_mut() });
        // SAFETY: it was taken.
        unsafe { Self::leave(this, KIND) };
        outcome
    }

    /// Uses an open object with an array of C, which does not overlap it.
    ///
    /// # Errors
    /// Those of [`with`](Self::with); the array overlaps the object, or its pointer or length is wrong.
    ///
    /// # Safety
    /// As [`open`](Self::open) and [`array`].
    pub unsafe fn with_array<V>(
        this: *mut Self,
        values: *const V,
        count: usize,
        use_it: impl FnOnce(&mut T, &[V]) -> Result<(), Cause>,
    ) -> Result<(), Cause> {
        let use_it = |value: &mut T| {
            check_all(&[memory(this, 1), memory(values, count)])?;
            // SAFETY: checked; the rest is the caller's promise.
            use_it(value, unsafe { array(values, count) })
        };
        // SAFETY: the caller's promise.
        unsafe { Self::with(this, use_it) }
    }

    /// Uses up an open object: it is in use until `use_it` returns, and then not open any more.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    ///
    /// # Safety
    /// As [`open`](Self::open).
    pub unsafe fn finish<R, E: From<Misuse>>(
        this: *mut Self,
        use_it: impl FnOnce(T) -> Result<R, E>,
    ) -> Result<R, E> {
        // SAFETY: the caller's promise.
        unsafe { Self::take(this, KIND)? };
        // SAFETY: an open object has a value, which is not used again.
        let outcome = use_it(unsafe { (&raw const (*this).value).read().assume_init() });
        // SAFETY: it was taken.
        unsafe { Self::leave(this, NONE) };
        outcome
    }
}
