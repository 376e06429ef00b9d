//! Storage that does no more than the documentation of `WriteAt` requires, and power cuts at each call.

use embedded_safetensors::{
    Dtype::U8,
    ErrorKind, WriteAt, WriteError,
    stream::FileReceiver,
    write::{FilePlan, Placement, TensorSpec, Writer},
};
use support::context::Context;
use support::dictionary::{Dictionary, Kinds};
use support::headers;
use support::mock::Fault;
use support::random::Random;
use support::share;
use support::verdict::full_verdict;
use support::writing::{Description, write_planned};

use crate::recording::cards::found;
use crate::recording::sample::Sample;

/// The order in which the bytes of an interrupted write arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    FromTheFront,
    Any,
}

/// Storage with old bytes wherever [`prepare`](WriteAt::prepare) need not change them. It asserts at each
/// call that a power cut leaves the new file or none.
struct Weakest<'n> {
    unit: usize,
    order: Order,
    /// The bytes that survive a power cut.
    memory: Vec<u8>,
    /// The writes since the last flush.
    pending: Vec<(usize, Vec<u8>)>,
    new: &'n [u8],
    /// How often there was no file, and the new one.
    ends: [usize; 2],
    /// The most power cuts at a call.
    cuts: u64,
    /// The next calls, in the order of the bits: one whose bit is set fails, maybe after part of it is done.
    failures: u64,
}

impl<'n> Weakest<'n> {
    fn holding(old: &[u8], new: &'n [u8], unit: usize, order: Order) -> Self {
        let mut memory = old.to_vec();
        memory.resize(old.len().max(new.len()).next_multiple_of(unit) + unit, b' ');
        Self { unit, order, memory, pending: vec![], new, ends: [0; 2], cuts: 1000, failures: 0 }
    }

    /// Returns whether the next call fails.
    fn fails(&mut self) -> bool {
        let fails = self.failures & 1 == 1;
        self.failures >>= 1;
        fails
    }

    /// Returns what a power cut leaves now: any subset of the writes since the last flush, and any part of
    /// each.
    fn after_power_cut(&self, seed: u64) -> Vec<u8> {
        let (mut random, mut memory) = (Random::new(seed), self.memory.clone());
        for (at, bytes) in &self.pending {
            let (from, to) = (random.below(bytes.len()), random.below(bytes.len() + 1));
            let to = random.pick(&[to, bytes.len()]);
            let (from, percent) = match self.order {
                Order::FromTheFront => (0, 100),
                Order::Any => (random.pick(&[0, from]), random.pick(&[50, 90, 100])),
            };
            for (index, byte) in bytes.iter().enumerate() {
                let place = &mut memory[at + index];
                if (from..to).contains(&index) && random.percent(percent) {
                    *place = *byte;
                } else if self.unit <= 4 && random.percent(30) {
                    *place = random.pick(&[0, 0xFF, b' ', seed.to_le_bytes()[0]]);
                }
            }
        }
        memory
    }

    fn cut_power(&mut self) {
        let is_end = self.pending.iter().any(|(at, _)| *at < 8);
        for seed in 0..if is_end { self.cuts } else { self.cuts.min(8) } {
            let end = match found(&self.after_power_cut(seed)) {
                None => 0,
                Some(file) if file == self.new => 1,
                Some(file) => panic!("unit {}, seed {seed}: {}", self.unit, file.escape_ascii()),
            };
            self.ends[end] += 1;
        }
    }
}

impl WriteAt for Weakest<'_> {
    type Error = Fault;

    fn unit(&self) -> usize {
        self.unit
    }

    fn capacity(&mut self) -> Result<Option<u64>, Fault> {
        Ok(None)
    }

    fn prepare(&mut self, _: u64, _: u64) -> Result<(), WriteError<Fault>> {
        self.memory[..self.unit.max(8)].fill(0xFF);
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Fault> {
        let offset = usize::try_from(offset).unwrap();
        assert!(offset.is_multiple_of(self.unit) && bytes.len().is_multiple_of(self.unit));
        let fails = self.fails();
        let done = if fails { bytes.len() / self.unit / 2 * self.unit } else { bytes.len() };
        if done > 0 {
            self.pending.push((offset, bytes[..done].to_vec()));
            self.cut_power();
        }
        if fails { Err(Fault::Broken) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> Result<(), Fault> {
        if self.fails() {
            return Err(Fault::Broken);
        }
        for (at, bytes) in self.pending.drain(..) {
            self.memory[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        Ok(())
    }
}

/// Records and receives `new` over `old`, also with data that does not begin at a unit.
fn sweep(old: &Sample, new: &Sample, unit: usize, order: Order) {
    let (aligned, least) = (new.clone().with_data_unit(unit), unit.max(8));
    let ways = [(&aligned, 0), (&aligned, 300), (new, 0), (new, 300)];
    for ((sample, buffer), receives) in ways.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let (old, file) = (old.file(), sample.file());
        let data_start = sample.with_plan(|plan| plan.data_start());
        let mut storage = Weakest::holding(&old, &file, unit, order);
        let (outcome, is_accepted, otherwise) = match receives {
            true => (sample.receive(&mut storage, 2 * least + buffer, 50), data_start >= unit as u64, None),
            false => (
                sample.record(&mut storage, least + buffer, 50),
                data_start.is_multiple_of(unit as u64),
                Some(old),
            ),
        };
        let unit = unit as u64;
        let kind = if receives { ErrorKind::FirstUnit { unit } } else { ErrorKind::Unit { unit } };
        let rejected = Err(kind.at(data_start).into());
        assert_eq!(outcome.map(drop), if is_accepted { Ok(()) } else { rejected });
        assert!(!is_accepted || storage.ends.iter().all(|times| *times > 0), "each outcome occurs");
        assert_eq!(found(&storage.memory), if is_accepted { Some(file) } else { otherwise });
    }
}

/// As [`Sample::short`], with another name.
const RENAMED: [TensorSpec<'_>; 1] = [TensorSpec::new("u", U8, &[333])];

#[test]
fn power_cut_leaves_new_file_or_none() {
    let (short, long) = (Sample::short(), Sample::long());
    let renamed = Sample::new(&RENAMED, 9);
    for unit in (0..10).map(|bits| 1 << bits) {
        for (old, new) in [(&renamed, &short), (&short, &long), (&long, &renamed)] {
            sweep(old, new, unit, Order::Any);
        }
        // Such data could continue a header whose length is not complete.
        let order = if unit <= 4 { Order::Any } else { Order::FromTheFront };
        sweep(&renamed, &short.clone().with_blank_data(), unit, order);
    }
}

/// If only 8 of the first 16 bytes arrived over an older header, the new values would have its names.
#[test]
fn header_is_not_mixed_with_an_older_one() {
    const OLD: [TensorSpec<'_>; 2] = [TensorSpec::new("bias", U8, &[1]), TensorSpec::new("gain", U8, &[1])];
    const NEW: [TensorSpec<'_>; 2] = [TensorSpec::new("area", U8, &[1]), TensorSpec::new("gain", U8, &[1])];
    sweep(&Sample::new(&OLD, 4), &Sample::new(&NEW, 5), 16, Order::FromTheFront);
}

type Outcome = Result<(), WriteError<Fault>>;

/// Repeats a call that fails.
fn unless_broken<T>(outcome: Result<T, WriteError<Fault>>) -> Outcome {
    if let Err(WriteError::Sink(_)) = outcome { Ok(()) } else { outcome.map(drop) }
}

/// Receives a file in pieces of at most so many bytes.
fn receive(
    storage: &mut Weakest<'_>,
    file: &[u8],
    buffer: &mut [u8],
    (random, most): (&mut Random, usize),
) -> Outcome {
    let mut receiver = FileReceiver::new(storage, file.len() as u64, &mut [], buffer)?;
    while receiver.position() < file.len() as u64 {
        let (_, left) = file.split_at(usize::try_from(receiver.position()).unwrap());
        unless_broken(receiver.push(&left[..left.len().min(1 + random.below(most))]))?;
    }
    receiver.finish().map(drop)
}

fn record(
    storage: &mut Weakest<'_>,
    (plan, file): (FilePlan<'_>, &[u8]),
    buffer: &mut [u8],
    random: &mut Random,
) -> Outcome {
    let mut writer = Writer::record(storage, plan, buffer)?;
    while let Some(next) = writer.next_tensor() {
        let (_, left) = file.split_at(usize::try_from(writer.position()).unwrap());
        let len = usize::try_from(next.remaining).unwrap().min(1 + random.below(1000));
        unless_broken(writer.write_bytes(&left[..len]))?;
    }
    writer.finish().map(drop)
}

/// A call that the storage has failed is repeated with the bytes that were not taken. Only the first calls
/// fail, because `finish` cannot be repeated.
#[test]
fn failed_calls_can_be_repeated() {
    let file = Sample::short().file();
    for most in 1..=64 {
        let new = Weakest::holding(&[], &file, 1, Order::Any);
        let (mut storage, mut random) = (Weakest { cuts: 0, failures: 0b10101, ..new }, Random::new(0));
        assert_eq!(receive(&mut storage, &file, &mut [0; 16], (&mut random, most)), Ok(()), "{most}");
        assert_eq!((found(&storage.memory), storage.failures), (Some(file.clone()), 0), "{most}");
    }
}

/// Records a model, or receives a file, over an older one, in any pieces, while some calls fail.
pub fn check(random: &mut Random) {
    let (old, unit) = (headers::file(random), 1 << random.below(10));
    let order = if unit <= 4 { Order::Any } else { Order::FromTheFront };
    let failures = random.number() & random.number() & random.number();
    let mut buffer = vec![0; 2 * unit.max(8) + random.below(300)];
    let over = |new| Weakest { cuts: 2, failures, ..Weakest::holding(&old, new, unit, order) };
    if random.percent(50) {
        let dictionary = Dictionary::of(random.below(4), Kinds::All, random);
        let description = Description::new(&dictionary);
        let start = Placement::Start(u32::try_from(unit.max(8)).unwrap());
        let mut memory = description.memory();
        let plan = description.spec().with_placement(start).plan_sorted(&mut memory).expect("valid");
        let file = write_planned(&dictionary, plan);
        let mut storage = over(&file);
        let outcome = record(&mut storage, (plan, &file), &mut buffer, random);
        assert!(outcome.is_ok() || outcome == Err(WriteError::Sink(Fault::Broken)), "{outcome:?}");
        assert!(outcome.is_err() || found(&storage.memory) == Some(file.clone()));
        return;
    }
    let file = headers::file(random);
    let (verdict, mut storage) = (full_verdict(&file), over(&file));
    let outcome = receive(&mut storage, &file, &mut buffer, (random, 1000));
    // Neither equal names nor equal keys are found.
    let overlooked = [ErrorKind::DuplicateName, ErrorKind::DuplicateKey];
    match (outcome, verdict) {
        (Ok(()), Err(error)) => assert!(overlooked.contains(&error.kind), "{error}"),
        (Ok(()), Ok(_)) => assert_eq!(found(&storage.memory).as_ref(), Some(&file)),
        (Err(WriteError::Format(error)), Ok(_)) => {
            let is_limit = matches!(error.kind, ErrorKind::OutOfOrder | ErrorKind::FirstUnit { .. });
            assert!(is_limit, "{error}");
        }
        (Err(WriteError::Full { .. }), _) => panic!("it has space"),
        (Err(_), _) => {}
    }
}

#[test]
fn random_files_are_recorded_and_received_despite_faults() {
    for seed in 0..share::of(400) {
        let _context = Context(|| format!("seed {seed}"));
        check(&mut Random::new(seed));
    }
}
