//! Why no digits were read: one sentence for people, one exit code for machines.

use crate::report::Hears;
use embedded_safetensors::{Dtype, Error, ErrorKind, ReadError, Shape, WriteError, error::Class};

/// What can go wrong, by who is to blame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure<E> {
    /// The model's file is unsound.
    Unsound(Error),
    /// There is no storage, or no model on it.
    NoModel(E),
    /// The memory is there, but was never written where the model should be.
    Erased,
    /// The storage failed while this byte of the file, or one behind it, was read.
    Storage {
        /// The byte.
        at: u64,
        /// What the storage says.
        error: E,
    },
    /// The storage says that the file ends here, though more of it was proven to be there.
    Ends {
        /// The first byte that is not there.
        at: u64,
    },
    /// The file is sound, but the model of another network.
    OtherModel(Difference),
    /// The file is sound, but the shift of a layer is not from 0 to 30.
    OtherShift {
        /// The tensor that has the shift.
        name: &'static str,
        /// What it has.
        bits: i32,
    },
    /// The device has too little memory for it.
    TooSmall(Error),
    /// This program has asked for what cannot be.
    Mistake(Error),
    /// What was to be recorded is not.
    Unrecorded(WriteError<E>),
}

impl<E> Failure<E> {
    /// The code that the program ends with. A program that is done ends with 0.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Unsound(_) => 1,
            Self::NoModel(_) | Self::Erased | Self::Storage { .. } | Self::Ends { .. } => 2,
            Self::OtherModel(_) | Self::OtherShift { .. } => 3,
            Self::TooSmall(_) => 4,
            Self::Mistake(_) => 5,
            Self::Unrecorded(WriteError::Sink(_) | WriteError::Full { .. }) => 2,
            Self::Unrecorded(WriteError::Format(error)) if matches!(error.kind.class(), Class::Limit) => 4,
            Self::Unrecorded(_) => 5,
        }
    }

    /// Tells the sentence, and gives the code that the program ends with.
    pub fn tell(&self, sink: &mut impl Hears<Self>) -> u8 {
        sink.failure(self);
        self.exit_code()
    }

    /// The same, with what the storage says in other words.
    pub fn map<F>(self, words: impl FnOnce(E) -> F) -> Failure<F> {
        match self {
            Self::Unsound(error) => Failure::Unsound(error),
            Self::NoModel(error) => Failure::NoModel(words(error)),
            Self::Erased => Failure::Erased,
            Self::Storage { at, error } => Failure::Storage { at, error: words(error) },
            Self::Ends { at } => Failure::Ends { at },
            Self::OtherModel(difference) => Failure::OtherModel(difference),
            Self::OtherShift { name, bits } => Failure::OtherShift { name, bits },
            Self::TooSmall(error) => Failure::TooSmall(error),
            Self::Mistake(error) => Failure::Mistake(error),
            Self::Unrecorded(error) => Failure::Unrecorded(match error {
                WriteError::Sink(error) => WriteError::Sink(words(error)),
                WriteError::Full { at } => WriteError::Full { at },
                WriteError::Format(error) => WriteError::Format(error),
                WriteError::Spec(error) => WriteError::Spec(error),
            }),
        }
    }

    /// What a read has failed with that began at this byte.
    pub fn of_read(error: ReadError<E>, at: u64) -> Self {
        match error {
            ReadError::Format(error) => error.into(),
            ReadError::Source(error) => Self::Storage { at, error },
            ReadError::UnexpectedEof { at } => Self::Ends { at },
        }
    }

    /// What raw memory fails with. It may never have been written, while a file always was.
    pub fn of_memory(error: Error) -> Self {
        if is_erased(&error) { Self::Erased } else { error.into() }
    }
}

impl<E> From<Error> for Failure<E> {
    fn from(error: Error) -> Self {
        match error.kind.class() {
            Class::File => Self::Unsound(error),
            Class::Limit => Self::TooSmall(error),
            Class::Usage => Self::Mistake(error),
        }
    }
}

/// Whether the length of the header has only ones, or only zeros: how memory looks that was never written.
fn is_erased(error: &Error) -> bool {
    let empty = Error { kind: ErrorKind::UnexpectedEnd, at: size_of::<u64>() as u64 };
    *error == empty || matches!(error.kind, ErrorKind::HeaderTooLarge { length: u64::MAX })
}

impl<E> From<WriteError<E>> for Failure<E> {
    fn from(error: WriteError<E>) -> Self {
        Self::Unrecorded(error)
    }
}

impl<E> From<Difference> for Failure<E> {
    fn from(difference: Difference) -> Self {
        Self::OtherModel(difference)
    }
}

sentences! {
    Failure<E>:
    Self::Unsound(error) | Self::TooSmall(error) | Self::Mistake(error) => "{}", error;
    Self::NoModel(error) => "error: {}", error;
    Self::Erased => "error at byte 0: there is no model, for the storage is erased";
    Self::Storage { at, error } => "error at byte {}: the storage cannot be read: {}", at, error;
    Self::Ends { at } => "error at byte {}: the file ends here, before its end was due", at;
    Self::OtherModel(difference) => "{}", difference;
    Self::OtherShift { name, bits } =>
        "error: the tensor \"{}\" is {} in the model, but 0 to 30 is expected", name, bits;
    Self::Unrecorded(error @ (WriteError::Format(_) | WriteError::Spec(_))) => "{}", error;
    Self::Unrecorded(error) => "error: {}", error;
}

/// What a tensor is: the type of its elements, and its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    dtype: Dtype,
    shape: Shape,
}

impl Form {
    /// Elements of this type in this shape.
    pub const fn new(dtype: Dtype, shape: Shape) -> Self {
        Self { dtype, shape }
    }
}

sentences! {
    Form:
    Self { dtype, shape } => "{} {:?}", dtype, shape;
}

/// Where a model is not the one that the network is made for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The tensor that is another one, or is missing.
    pub name: &'static str,
    /// The byte of the file where it begins; the end of the header where it is missing.
    pub at: u64,
    /// What the file has.
    pub found: Option<Form>,
    /// What the network has.
    pub expected: &'static Form,
}

sentences! {
    Difference:
    Self { name, at, found: None, expected } =>
        "error[usage.missing] at byte {}: the model has no tensor \"{}\", but {} is expected", at, name, expected;
    Self { name, at, found: Some(found), expected } =>
        "error[usage.shape] at byte {}: the tensor \"{}\" is {} in the model, but {} is expected",
        at, name, found, expected;
}
