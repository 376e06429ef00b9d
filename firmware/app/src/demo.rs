//! Reads all images and reports the results.

use crate::digits::{Digit, digits};
use crate::failure::Failure;
use crate::integer::Integer;
use crate::network::{CLASSES, Memory, Network};
use crate::report::{Event, Sink};
use crate::storage::Reads;
use embedded_safetensors::{ReadAt, validate::Summary};

/// Observes a running network.
pub trait Observer {
    /// Called with the outputs of each layer.
    fn layer(&mut self, outputs: &[f32]);

    /// Called with the digit that an image was read as.
    fn guess(&mut self, guess: u8);
}

/// Ignores everything.
impl Observer for () {
    fn layer(&mut self, _: &[f32]) {}

    fn guess(&mut self, _: u8) {}
}

/// The model, as it is reported.
#[derive(Clone, Copy, Debug)]
pub struct ModelLocation<'a> {
    /// The name of the model or of its storage.
    pub name: &'a str,
    /// The board's bytes of RAM, for comparison.
    pub ram: u32,
}

impl ModelLocation<'_> {
    fn event(&self, summary: Summary) -> Event<'_> {
        let Summary { tensors, data_start, data_len } = summary;
        Event::Model { name: self.name, bytes: data_start + data_len, tensors, ram: self.ram }
    }
}

/// Reads all images with the network of floats in this storage.
///
/// # Errors
/// Errors of the storage or the model. Events reported before the error remain valid.
///
/// *Memory*: all that the network needs is on the stack.
#[inline(never)] // its stack is free again when it returns
pub fn read_digits<S: ReadAt>(
    location: &ModelLocation<'_>,
    storage: S,
    sink: &mut impl Sink,
    observer: &mut impl Observer,
) -> Result<(), Failure<S::Error>> {
    let reads = Reads::new();
    let mut opened = Network::open(storage, &reads);
    // Used in place: moved out, it would be on the stack twice.
    let Ok(network) = &mut opened else { return opened.map(drop) };
    sink.event(&location.event(network.summary()));
    read_to_end(network, sink, observer)?.end(sink);
    sink.event(&Event::Storage { bytes: reads.bytes(), reads: reads.calls() });
    Ok(())
}

#[inline(never)] // its stack is not in use while the network is opened
fn read_to_end<S: ReadAt>(
    network: &mut Network<'_, S>,
    sink: &mut impl Sink,
    observer: &mut impl Observer,
) -> Result<Tally, Failure<S::Error>> {
    let (mut memory, mut tally) = (const { Memory::new() }, Tally::default());
    for digit in digits() {
        let logits = network.logits(digit.image, &mut memory, &mut |outputs| observer.layer(outputs))?;
        observer.guess(tally.report(sink, digit, logits, f32::to_bits));
    }
    Ok(tally)
}

/// Reads all images with a network of integers; `summary` is its model's.
#[inline(never)]
pub fn read_digits_in_integers(
    location: &ModelLocation<'_>,
    summary: Summary,
    network: &Integer<'_>,
    sink: &mut impl Sink,
) {
    sink.event(&location.event(summary));
    let mut tally = Tally::default();
    for digit in digits() {
        tally.report(sink, digit, network.logits(digit.image), i32::cast_unsigned);
    }
    tally.end(sink);
}

/// The number of images read, and how many of them right.
#[derive(Default)]
struct Tally {
    right: u32,
    of: u32,
}

impl Tally {
    /// Reports an image, and returns the digit that it is read as.
    fn report<T: Copy + PartialOrd>(
        &mut self,
        sink: &mut impl Sink,
        digit: Digit,
        logits: [T; CLASSES],
        bits: fn(T) -> u32,
    ) -> u8 {
        let guess = highest(&logits);
        sink.event(&Event::Digit { digit, guess, logits: logits.map(bits) });
        self.right += u32::from(guess == digit.label);
        self.of += 1;
        guess
    }

    fn end(self, sink: &mut impl Sink) {
        sink.event(&Event::Score { right: self.right, of: self.of });
    }
}

/// Returns the digit with the highest value, the first if there are several.
pub fn highest<T: PartialOrd>(logits: &[T; CLASSES]) -> u8 {
    let mut best = None;
    for (digit, logit) in (0..).zip(logits) {
        if best.is_none_or(|(_, highest)| logit > highest) {
            best = Some((digit, logit));
        }
    }
    best.map_or(0, |(digit, _)| digit)
}
