//! Errors of slots.

use crate::state::Phase;
use core::fmt;
use embedded_safetensors::io::NorError;
use embedded_safetensors::{Error, ReadError};

/// An error of slots. The model that is confirmed stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotError<E> {
    /// The driver of the flash fails. Call `start` again.
    Flash(E),
    /// The flash has other bytes than were written, at this address, also after other places were tried.
    NotWritten(u32),
    /// The layout needs two slots, three sectors of a journal and the start of a sector, all in the flash; or
    /// it is not that of the models that are there.
    Layout,
    /// The page has so many bytes, and fewer than these.
    Page(usize, usize),
    /// The model has so many bytes, more than a slot.
    TooLong(u32, u32),
    /// The slots were not started.
    NotStarted,
    /// The call is not possible in this phase of the next model, or without one.
    Phase(Option<Phase>),
    /// No slot is free until a reset: the model that was abandoned still runs.
    NoSlot,
    /// More bytes than the offer says.
    Surplus,
    /// This is not the model that arrives. Abandon that one first.
    OtherModel,
    /// The delta is not one from the confirmed model.
    OtherBase,
    /// The delta copies from outside of the confirmed model, or copies nothing: the piece before this byte.
    Delta(u32),
    /// No key of the device signed the offer.
    Signature,
    /// The offer is for another class of devices.
    Device,
    /// The counter is lower than that of the confirmed model.
    Rollback(u32, u32),
}

impl<E: fmt::Debug> fmt::Display for SlotError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Phase::{Arriving, Trial, Verified};
        match self {
            Self::Flash(error) => write!(f, "the flash fails: {error:?}"),
            Self::NotWritten(at) => write!(f, "address {at:#x} of the flash does not keep what is written"),
            Self::Layout => f.write_str("the layout does not fit the flash, or a model that is there"),
            Self::Page(len, least) => write!(f, "the page has {len} bytes, but {least} are needed"),
            Self::TooLong(len, slot) => write!(f, "the model has {len} bytes, but the slot {slot}"),
            Self::NotStarted => f.write_str("the slots were not started"),
            Self::Phase(None) => f.write_str("there is no next model"),
            Self::Phase(Some(Arriving(at))) => {
                write!(f, "the next model is not verified: {at} bytes of it are in the flash")
            }
            Self::Phase(Some(Verified)) => f.write_str("the next model is verified: its trial comes first"),
            Self::Phase(Some(Trial(_))) => f.write_str("confirm the next model once it runs, or abandon it"),
            Self::NoSlot => f.write_str("no slot is free until the next reset"),
            Self::Surplus => f.write_str("more bytes than the offer says"),
            Self::OtherModel => f.write_str("this is not the model that arrives: abandon that one first"),
            Self::OtherBase => f.write_str("the delta is not one from the confirmed model"),
            Self::Delta(at) => write!(f, "before byte {at} the delta has no piece of the confirmed model"),
            Self::Signature => f.write_str("no key of this device signed the offer"),
            Self::Device => f.write_str("the offer is for another class of devices"),
            Self::Rollback(counter, least) => write!(f, "counter {counter} is lower than {least}"),
        }
    }
}

impl<E: fmt::Debug> core::error::Error for SlotError<E> {}

/// Why the next model is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyError<E> {
    /// The offer, the phase or the flash.
    Slots(SlotError<E>),
    /// The file is no model that the device can use, or has another sum.
    Model(Error),
}

impl<E> From<SlotError<E>> for VerifyError<E> {
    fn from(error: SlotError<E>) -> Self {
        Self::Slots(error)
    }
}

impl<E> From<Error> for VerifyError<E> {
    fn from(error: Error) -> Self {
        Self::Model(error)
    }
}

impl<E> From<ReadError<NorError<E>>> for VerifyError<E> {
    fn from(error: ReadError<NorError<E>>) -> Self {
        match error {
            ReadError::Format(error) => Self::Model(error),
            ReadError::Source(NorError(error)) => Self::Slots(SlotError::Flash(error)),
            ReadError::UnexpectedEof { .. } => Self::Slots(SlotError::Layout),
        }
    }
}

impl<E: fmt::Debug> fmt::Display for VerifyError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slots(error) => error.fmt(f),
            Self::Model(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug> core::error::Error for VerifyError<E> {}
