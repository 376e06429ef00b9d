//! The events, with a line of text for each, and their sinks.

use crate::digits::Digit;
use crate::network::CLASSES;
#[cfg(feature = "vectors")]
use crate::vectors::{Outcome, Totals};
use core::fmt;
#[cfg(feature = "wrong-models")]
use embedded_safetensors::ErrorKind;

/// Something to report.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The program has started.
    Board {
        /// The board's name.
        name: &'a str,
        /// Its processor.
        cpu: &'a str,
        /// The board's bytes of flash.
        flash: u32,
        /// The board's bytes of RAM.
        ram: u32,
    },
    /// A model is open.
    Model {
        /// The name of the model or of its storage.
        name: &'a str,
        /// The length of the file in bytes.
        bytes: u64,
        /// The number of tensors.
        tensors: u64,
        /// The board's bytes of RAM.
        ram: u32,
    },
    /// An image has been read.
    Digit {
        /// The image and the right digit.
        digit: Digit,
        /// The digit that it was read as.
        guess: u8,
        /// The network's scores, as bits.
        logits: [u32; CLASSES],
    },
    /// All images have been read.
    Score {
        /// The number of images read right.
        right: u32,
        /// The number of images.
        of: u32,
    },
    /// The total reads of the storage.
    Storage {
        /// The bytes read.
        bytes: u64,
        /// The number of calls.
        reads: u32,
    },
    /// The recording is complete.
    Recorded {
        /// The length of the file in bytes.
        bytes: u64,
        /// The number of images.
        images: u32,
        /// The number of outputs for each image.
        values: u32,
    },
    /// A row of a quantised matrix has been multiplied by a vector.
    Product {
        /// The name of the matrix.
        matrix: &'a str,
        /// The row, counted from 0.
        row: u64,
        /// The product with its values as floats, as bits.
        of_values: u32,
        /// The product with its integers, as bits.
        of_integers: u32,
    },
    /// A regression has predicted the target of a sample.
    Prediction {
        /// The sample, counted from 0.
        sample: u32,
        /// The prediction, as bits.
        bits: u32,
    },
    /// How many instructions a prediction takes.
    Instructions {
        /// The largest number of all predictions.
        instructions: u32,
    },
    /// The verdict about a conformance vector.
    #[cfg(feature = "vectors")]
    Vector {
        /// The vector's id.
        id: &'a str,
        /// The outcome.
        outcome: Outcome<'a>,
    },
    /// All vectors have their verdicts.
    #[cfg(feature = "vectors")]
    Vectors(Totals),
    /// A wrong model has been rejected by all APIs that can detect it.
    #[cfg(feature = "wrong-models")]
    Rejected {
        /// What is wrong with it.
        what: &'a str,
        /// The tensor that the error is about.
        tensor: &'a str,
        /// The error.
        kind: ErrorKind,
    },
    /// The RAM that the program has used.
    Ram {
        /// The bytes of statics.
        statics: u32,
        /// The largest number of bytes of stack.
        stack: u32,
        /// The bytes that the program may use.
        limit: u32,
    },
}

sentences! {
    Event<'_>:
    Self::Board { name, cpu, flash, ram } =>
        "board: {}, {}, {} bytes of flash, {} bytes of RAM", name, cpu, flash, ram;
    Self::Model { name, bytes, tensors, ram } =>
        "model: {}, {} bytes, {} tensors, {} times the RAM", name, bytes, tensors, Ratio::of(*bytes, *ram);
    Self::Digit { digit: Digit { number, label, .. }, guess, logits } =>
        "digit {}: a {}, read as {}, logits{}", number, label, guess, Bits(logits);
    Self::Score { right, of } => "score: {} of {} digits read right", right, of;
    Self::Storage { bytes, reads } => "storage: {} bytes in {} reads", bytes, reads;
    Self::Recorded { bytes, images, values } =>
        "recorded: {} bytes, {} guesses and {} activations for each", bytes, images, values;
    Self::Product { matrix, row, of_values, of_integers } =>
        "product of {}, row {}: {:08x} of values, {:08x} of integers", matrix, row, of_values, of_integers;
    Self::Prediction { sample, bits } => "prediction {}: {:08x}", sample, bits;
    Self::Instructions { instructions } => "instructions: {} for a prediction", instructions;
    #[cfg(feature = "vectors")]
    Self::Vector { id, outcome } => "vector {}: {}", id, outcome;
    #[cfg(feature = "vectors")]
    Self::Vectors(totals) => "vectors: {}", totals;
    #[cfg(feature = "wrong-models")]
    Self::Rejected { what, tensor, kind } => "rejected: {}: {}: error[{}]: {}", what, tensor, kind.code(), kind;
    Self::Ram { statics, stack, limit } =>
        "RAM: {} of {} bytes, {} static and {} of stack", statics + stack, limit, statics, stack;
}

/// A ratio with one decimal.
struct Ratio(u64, u64);

impl Ratio {
    fn of(bytes: u64, ram: u32) -> Self {
        let tenths = (bytes * 10).checked_div(ram.into()).unwrap_or(0);
        Self(tenths / 10, tenths % 10)
    }
}

sentences! {
    Ratio:
    Self(times, tenths) => "{}.{}", times, tenths;
}

/// Words in hexadecimal.
struct Bits<'l>(&'l [u32; CLASSES]);

impl fmt::Display for Bits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|bits| write!(f, " {bits:08x}"))
    }
}

#[cfg(feature = "log")]
impl defmt::Format for Bits<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        self.0.iter().for_each(|bits| defmt::write!(f, " {:08x}", bits));
    }
}

/// Receives events: a console, a wire, a debugger.
pub trait Sink {
    /// Prints or sends an event.
    fn event(&mut self, event: &Event<'_>);
}

/// A sink for failures of type `T`, which each kind of sink formats in its own way.
pub trait FailureSink<T>: Sink {
    /// Prints or sends the sentence of a [`Failure`](crate::Failure).
    fn failure(&mut self, sentence: &T);
}

/// Prints lines of text.
#[derive(Debug)]
pub struct Text<W>(pub W);

impl<W: fmt::Write> Sink for Text<W> {
    fn event(&mut self, event: &Event<'_>) {
        self.failure(event);
    }
}

impl<W: fmt::Write, T: fmt::Display> FailureSink<T> for Text<W> {
    fn failure(&mut self, sentence: &T) {
        // An error cannot be reported if the output itself fails.
        let _ = writeln!(self.0, "{sentence}");
    }
}

/// Sends to defmt's log.
#[cfg(feature = "log")]
#[derive(Debug)]
pub struct Defmt;

#[cfg(feature = "log")]
impl Sink for Defmt {
    fn event(&mut self, event: &Event<'_>) {
        defmt::info!("{}", event);
    }
}

#[cfg(feature = "log")]
impl<T: defmt::Format> FailureSink<T> for Defmt {
    fn failure(&mut self, sentence: &T) {
        defmt::error!("{}", sentence);
    }
}
