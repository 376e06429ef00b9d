//! Objects in memory that C owns: what they are is written into their first word, and checked at each call.

use crate::error::{Cause, Misuse};
use crate::pointers::{array, check, check_disjoint, range};
use core::mem::MaybeUninit;

/// What an object is. Memory that C has not initialised has one of these by chance only.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Tag(u64);

impl Tag {
    pub const ERROR: Self = Self(0x7366_745F_4552_524F);
    pub const NONE: Self = Self(0);
    const OPENING: Self = Self(0x7366_745F_4F50_454E);
    const BUSY: Self = Self(0x7366_745F_4255_5359);
}

/// An object with a value of a type. `KIND` distinguishes types.
#[repr(C)]
pub struct Object<T, const KIND: u64> {
    tag: Tag,
    /// Its own address, so that one that was moved is noticed.
    address: usize,
    value: MaybeUninit<T>,
}

impl<T, const KIND: u64> Object<T, KIND> {
    const OPEN: Tag = Tag(KIND);

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
        check(this)?;
        // SAFETY: not null and aligned. Memory that is not initialised has some value: it comes from C.
        let (tag, address) = unsafe { (&raw mut (*this).tag, &raw mut (*this).address) };
        // SAFETY: as above.
        if let (Tag::OPENING | Tag::BUSY, true) = unsafe { (tag.read(), address.read() == this.addr()) } {
            return Err(Misuse::Reentered.into());
        }
        // SAFETY: as above.
        unsafe { (tag.write(Tag::OPENING), address.write(this.addr())) };
        let opened = open();
        // SAFETY: as above.
        unsafe { tag.write(Tag::NONE) };
        let value = opened?;
        // SAFETY: as above.
        unsafe {
            (&raw mut (*this).value).write(MaybeUninit::new(value));
            tag.write(Self::OPEN);
        }
        Ok(())
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
        check(this)?;
        // SAFETY: not null and aligned.
        let (tag, address) = unsafe { (&raw mut (*this).tag, &raw const (*this).address) };
        // SAFETY: as above.
        match unsafe { (tag.read(), address.read() == this.addr()) } {
            (Tag::BUSY | Tag::OPENING, true) => return Err(Misuse::Reentered.into()),
            (open, true) if open == Self::OPEN => {}
            _ => return Err(Misuse::NotOpen.into()),
        }
        // SAFETY: as above.
        unsafe { tag.write(Tag::BUSY) };
        // SAFETY: an open object has a value. Nobody else has a reference to it: it would be busy.
        let value = unsafe { &mut (*this).value };
        // SAFETY: as above.
        let outcome = use_it(unsafe { value.assume_init_mut() });
        // SAFETY: as above.
        unsafe { tag.write(Self::OPEN) };
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
            check_disjoint(&[range(this, 1), range(values, count)])?;
            // SAFETY: the caller's promise.
            use_it(value, unsafe { array(values, count)? })
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
        let mut finished = false;
        // SAFETY: the caller's promise. The value is not used again: the tag is erased below.
        let outcome = unsafe {
            Self::with(this, |value| {
                finished = true;
                use_it(core::ptr::read(value))
            })
        };
        if finished {
            // SAFETY: not null and aligned, or it would not have been used.
            unsafe { (&raw mut (*this).tag).write(Tag::NONE) };
        }
        outcome
    }
}
