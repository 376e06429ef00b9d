//! Storage that does no more than the documentation of `WriteAt` requires, and power cuts at each call.

use std::convert::Infallible;

use embedded_safetensors::{Dtype::U8, ErrorKind, WriteAt, WriteError, write::TensorSpec};
use support::random::Random;

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
}

impl<'n> Weakest<'n> {
    fn holding(old: &[u8], new: &'n [u8], unit: usize, order: Order) -> Self {
        let mut memory = old.to_vec();
        memory.resize(old.len().max(new.len()).next_multiple_of(unit) + unit, b' ');
        Self { unit, order, memory, pending: vec![], new, ends: [0; 2] }
    }

    /// Returns what a power cut leaves now: any subset of the writes since the last flush, and any part of
    /// each.
    fn after_power_cut(&self, seed: u64) -> Vec<u8> {
        let (mut random, mut memory) = (Random::new(seed), self.memory.clone());
        for (at, bytes) in &self.pending {
            let (from, to) = (random.below(bytes.len()), random.below(bytes.len() + 1));
            let (arrives, percent) = match self.order {
                Order::FromTheFront => (0..random.pick(&[to, bytes.len()]), 100),
                Order::Any => (
                    [0..bytes.len(), from..bytes.len(), 0..to, from..to][random.below(4)].clone(),
                    random.pick(&[50, 90, 100]),
                ),
            };
            for (index, byte) in bytes.iter().enumerate() {
                let place = &mut memory[at + index];
                if arrives.contains(&index) && random.percent(percent) {
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
        for seed in 0..if is_end { 1000 } else { 8 } {
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
    type Error = Infallible;

    fn unit(&self) -> usize {
        self.unit
    }

    fn capacity(&mut self) -> Result<Option<u64>, Infallible> {
        Ok(None)
    }

    fn prepare(&mut self, _: u64, _: u64) -> Result<(), WriteError<Infallible>> {
        self.memory[..self.unit.max(8)].fill(0xFF);
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Infallible> {
        let offset = usize::try_from(offset).unwrap();
        assert!(offset.is_multiple_of(self.unit) && bytes.len().is_multiple_of(self.unit));
        self.pending.push((offset, bytes.to_vec()));
        self.cut_power();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
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
