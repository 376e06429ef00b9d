//! The reason why no digits were read: a sentence for people, and an exit code for programs.

use crate::report::FailureSink;
use embedded_safetensors::{Dtype, Error, ErrorKind, ReadError, Shape, WriteError, error::Class};

/// A failure, classified by its cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure<E> {
    /// The model's file is invalid.
    Invalid(Error),
    /// There is no storage, or no model on it.
    NoModel(E),
    /// The memory can be read, but was never written where the model should be.
    Erased,
    /// The storage failed while this byte of the file, or a later one, was read.
    Storage {
        /// The byte.
        at: u64,
        /// The storage's error.
        error: E,
    },
    /// The storage reports that the file ends here, though it was validated to be longer.
    Ends {
        /// The first missing byte.
        at: u64,
    },
    /// The file is valid, but it is the model of another network.
    OtherModel(Difference),
    /// The file is valid, but a value that steers the computation is out of its range.
    OtherValue {
        /// The tensor with the value.
        name: &'static str,
        /// The byte of the file where the value begins.
        at: u64,
        /// The value in the model.
        value: i32,
        /// The smallest and the largest valid value.
        range: [usize; 2],
    },
    /// The device has too little memory for the model.
    TooSmall(Error),
    /// A mistake of this program.
    Mistake(Error),
    /// The recording failed.
    NotRecorded(WriteError<E>),
}

impl<E> Failure<E> {
    /// Returns the exit code of the program. Success is 0.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Invalid(_) => 1,
            Self::NoModel(_) | Self::Erased | Self::Storage { .. } | Self::Ends { .. } => 2,
            Self::OtherModel(_) | Self::OtherValue { .. } => 3,
            Self::TooSmall(_) => 4,
            Self::Mistake(_) => 5,
            Self::NotRecorded(WriteError::Sink(_) | WriteError::Full { .. }) => 2,
            Self::NotRecorded(WriteError::Format(error)) if matches!(error.kind.class(), Class::Limit) => 4,
            Self::NotRecorded(_) => 5,
        }
    }

    /// Reports the sentence, and returns the exit code.
    pub fn report(&self, sink: &mut impl FailureSink<Self>) -> u8 {
        sink.failure(self);
        self.exit_code()
    }

    /// Converts the storage's error.
    pub fn map<F>(self, words: impl FnOnce(E) -> F) -> Failure<F> {
        match self {
            Self::Invalid(error) => Failure::Invalid(error),
            Self::NoModel(error) => Failure::NoModel(words(error)),
            Self::Erased => Failure::Erased,
            Self::Storage { at, error } => Failure::Storage { at, error: words(error) },
            Self::Ends { at } => Failure::Ends { at },
            Self::OtherModel(difference) => Failure::OtherModel(difference),
            Self::OtherValue { name, at, value, range } => Failure::OtherValue { name, at, value, range },
            Self::TooSmall(error) => Failure::TooSmall(error),
            Self::Mistake(error) => Failure::Mistake(error),
            Self::NotRecorded(error) => Failure::NotRecorded(match error {
                WriteError::Sink(error) => WriteError::Sink(words(error)),
                WriteError::Full { at } => WriteError::Full { at },
                WriteError::Format(error) => WriteError::Format(error),
                WriteError::Spec(error) => WriteError::Spec(error),
            }),
        }
    }

    /// Converts the error of a read that began at this byte.
    pub fn of_read(error: ReadError<E>, at: u64) -> Self {
        match error {
            ReadError::Format(error) => error.into(),
            ReadError::Source(error) => Self::Storage { at, error },
            ReadError::UnexpectedEof { at } => Self::Ends { at },
        }
    }

    /// Converts an error of raw memory, which, unlike a file, may never have been written.
    pub fn of_memory(error: Error) -> Self {
        if is_erased(&error) { Self::Erased } else { error.into() }
    }
}

impl<E> From<Error> for Failure<E> {
    fn from(error: Error) -> Self {
        match error.kind.class() {
            Class::File => Self::Invalid(error),
            Class::Limit => Self::TooSmall(error),
            Class::Usage => Self::Mistake(error),
        }
    }
}

/// Whether the length of the header is all ones or all zeros, as in memory that was never written.
fn is_erased(error: &Error) -> bool {
    let empty = Error { kind: ErrorKind::UnexpectedEnd, at: size_of::<u64>() as u64 };
    *error == empty || matches!(error.kind, ErrorKind::HeaderTooLarge { length: u64::MAX })
}

impl<E> From<WriteError<E>> for Failure<E> {
    fn from(error: WriteError<E>) -> Self {
        Self::NotRecorded(error)
    }
}

impl<E> From<Difference> for Failure<E> {
    fn from(difference: Difference) -> Self {
        Self::OtherModel(difference)
    }
}

sentences! {
    Failure<E>:
    Self::Invalid(error) | Self::TooSmall(error) | Self::Mistake(error) => "{}", error;
    Self::NoModel(error) => "error: {}", error;
    Self::Erased => "error at byte 0: there is no model, for the storage is erased";
    Self::Storage { at, error } => "error at byte {}: the storage cannot be read: {}", at, error;
    Self::Ends { at } => "error at byte {}: the file ends here, before its end was due", at;
    Self::OtherModel(difference) => "{}", difference;
    Self::OtherValue { name, at, value, range: [low, high] } =>
        "error at byte {}: the tensor \"{}\" has {} here, but {} to {} is expected", at, name, value, low, high;
    Self::NotRecorded(error @ (WriteError::Format(_) | WriteError::Spec(_))) => "{}", error;
    Self::NotRecorded(error) => "error: {}", error;
}

/// A tensor's dtype and shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    dtype: Dtype,
    shape: Shape,
}

impl Form {
    /// Creates a form with this dtype and shape.
    pub const fn new(dtype: Dtype, shape: Shape) -> Self {
        Self { dtype, shape }
    }

    /// Whether it has this shape, with any dtype.
    pub fn has_shape(&self, shape: &Shape) -> bool {
        self.shape == *shape
    }
}

sentences! {
    Form:
    Self { dtype, shape } => "{} {:?}", dtype, shape;
}

/// A difference between a model and the network's expectation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The tensor that differs or is missing.
    pub name: &'static str,
    /// The byte of the file where the tensor begins; the end of the header if it is missing.
    pub at: u64,
    /// The form in the file.
    pub found: Option<Form>,
    /// The form that the network expects.
    pub expected: &'static Form,
}

sentences! {
    Difference:
    Self { name, at, found: None, expected } =>
        "error[usage.missing] at byte {}: the model has no tensor \"{}\", but {} is expected",
        at, name, expected;
    Self { name, at, found: Some(found), expected } =>
        "error[usage.shape] at byte {}: the tensor \"{}\" is {} in the model, but {} is expected",
        at, name, found, expected;
}
