//! Files on a card that cannot seek beyond their end, whose file system buffers writes until a flush.

use std::convert::Infallible;

use embedded_io::{Error as _, ErrorKind as IoErrorKind, ErrorType, Read, Seek, SeekFrom, Write};
use embedded_safetensors::{
    ErrorKind, Model, ReadAt, WriteError,
    io::{FileLen, Seekable},
    write::Writer,
};
use support::mock::Fault;
use support::random::Random;
use support::share;
use support::verdict::full_verdict;

use crate::recording::sample::Sample;

/// A file of a file system.
#[derive(Clone, Default)]
pub struct Card {
    /// The content that the program sees.
    pub file: Vec<u8>,
    /// The content on the card.
    durable: Vec<u8>,
    /// Writes that are not on the card yet, in order.
    pending: Vec<(usize, Vec<u8>)>,
    position: usize,
    /// How many bytes a call takes at most; `None`: all.
    most: Option<usize>,
    /// The bytes of the card.
    capacity: Option<usize>,
    calls: usize,
    accident: Option<Accident>,
}

/// A fault, and the call at which it happens.
#[derive(Clone, Copy, Debug)]
enum Accident {
    Fails(usize),
    /// After part of it is done.
    FailsLate(usize),
    PowerCut(usize),
    /// Every call but each third.
    Interrupts,
}

impl Card {
    pub fn holding(file: Vec<u8>) -> Self {
        Self { durable: file.clone(), file, ..Self::default() }
    }

    fn with(&self, accident: Accident) -> Self {
        Self { accident: Some(accident), calls: 0, ..self.clone() }
    }

    /// Returns whether a call is done, or an error even if it is.
    fn admit(&mut self) -> Result<bool, Fault> {
        let call = self.calls;
        self.calls += 1;
        match self.accident {
            Some(Accident::Fails(at)) if call == at => Err(Fault::Broken),
            Some(Accident::PowerCut(at)) if call >= at => Err(Fault::Broken),
            Some(Accident::FailsLate(at)) => Ok(call == at),
            Some(Accident::Interrupts) if call % 3 != 2 => Err(Fault::Interrupted),
            _ => Ok(false),
        }
    }

    /// Returns what may be on the card after a power cut: of the writes since the last flush, any subset, and
    /// any bytes of them.
    fn content_after_power_cut(&self, seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed);
        let mut file = self.durable.clone();
        for (at, bytes) in &self.pending {
            let (from, to) = (random.below(bytes.len()), random.below(bytes.len() + 1));
            let arrives = [0..0, 0..bytes.len(), from..bytes.len(), 0..to, from..to][random.below(5)].clone();
            let percent = random.pick(&[50, 100, 100]);
            for (index, (at, byte)) in (*at..).zip(bytes).enumerate() {
                file.resize(file.len().max(at + 1), 0);
                let arrives = arrives.contains(&index) && random.percent(percent);
                file[at] = if arrives { *byte } else { file[at] };
            }
        }
        file
    }

    /// Returns whether a reader finds no file after a power cut, the old one, or the new one.
    fn end(&self, seed: u64, old: &Self, new: &Sample) -> usize {
        match found(&self.content_after_power_cut(seed)) {
            None => 0,
            Some(file) if file == old.file => 1,
            Some(file) if file == new.file() => 2,
            Some(_) => panic!("{:?}, seed {seed}: an incomplete file", self.accident),
        }
    }
}

fn overwrite(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    file.resize(file.len().max(at + bytes.len()), 0);
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

impl ErrorType for Card {
    type Error = Fault;
}

impl Read for Card {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        let len = (&self.file[self.position..]).read(buffer).expect("slices have no faults");
        self.position += len;
        Ok(len)
    }
}

impl Write for Card {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        let fails_late = self.admit()?;
        let capacity = self.capacity.unwrap_or(usize::MAX) - self.position;
        let len = bytes.len().min(self.most.unwrap_or(usize::MAX)).min(capacity);
        let bytes = &bytes[..if fails_late { len / 2 } else { len }];
        overwrite(&mut self.file, self.position, bytes);
        self.pending.push((self.position, bytes.to_vec()));
        self.position += bytes.len();
        if fails_late { Err(Fault::Broken) } else { Ok(len) }
    }

    fn flush(&mut self) -> Result<(), Fault> {
        let fails_late = self.admit()?;
        for (at, bytes) in self.pending.drain(..) {
            overwrite(&mut self.durable, at, &bytes);
        }
        if fails_late { Err(Fault::Broken) } else { Ok(()) }
    }
}

impl Seek for Card {
    fn seek(&mut self, to: SeekFrom) -> Result<u64, Fault> {
        let fails_late = self.admit()?;
        let place = match to {
            SeekFrom::Start(place) => usize::try_from(place).unwrap(),
            SeekFrom::End(0) => self.file.len(),
            _ => panic!("unexpected seek"),
        };
        assert!(place <= self.file.len(), "seek beyond the end: {place}");
        self.position = place;
        if fails_late { Err(Fault::Broken) } else { Ok(place as u64) }
    }
}

fn record(card: &mut Card, sample: &Sample) -> Result<(), WriteError<Fault>> {
    sample.record(Seekable::new(card), 64, 50).map(drop)
}

fn receive(card: &mut Card, sample: &Sample) -> Result<(), WriteError<Fault>> {
    sample.receive(Seekable::new(card), 64, 50).map(drop)
}

type Way = fn(&mut Card, &Sample) -> Result<(), WriteError<Fault>>;

/// Each card, each sample, and each way of the sample onto the card.
fn ways() -> impl Iterator<Item = (Card, Sample, Way)> {
    let all = cards().into_iter().flat_map(|card| samples().map(|sample| (card.clone(), sample)));
    all.flat_map(|(card, sample)| [record as Way, receive].map(|way| (card.clone(), sample.clone(), way)))
}

/// Cards that are empty, with part of a file, and with an old file.
fn cards() -> [Card; 5] {
    let old = Sample::short().with_seed(7).file();
    let files =
        [vec![], vec![3; 5], old[..30].to_vec(), old, Sample::short().with_seed(7).with_blank_data().file()];
    files.map(Card::holding)
}

fn samples() -> [Sample; 3] {
    [Sample::short(), Sample::long(), Sample::short().with_blank_data()]
}

#[test]
fn recording_never_seeks_beyond_the_end() {
    for (card, sample) in cards().iter().flat_map(|card| samples().map(|sample| (card, sample))) {
        for most in [None, Some(1), Some(5)] {
            for accident in [None, Some(Accident::Interrupts)] {
                let mut card = Card { most, accident, ..card.clone() };
                record(&mut card, &sample).expect("succeeds");
                assert!(
                    card.file == sample.file() && card.durable == sample.file() && card.pending.is_empty()
                );
            }
        }
    }
}

#[test]
fn longer_file_is_rejected_and_unchanged() {
    let sample = Sample::short();
    let mut card = Card::holding(vec![1; sample.file().len() + 1]);
    let outcome = record(&mut card, &sample);
    assert_eq!(outcome, Err(ErrorKind::Longer { len: 406, file_len: 405 }.at(405).into()));
    let message = "error[usage.longer] at byte 405: the storage holds 406 bytes, but the file has 405: \
        truncate the storage first";
    assert_eq!(outcome.unwrap_err().to_string(), message);
    assert_eq!(card.file, vec![1; 406]);
    let mut card = Card::holding(vec![1; 405]);
    record(&mut card, &sample).expect("same length");
    assert_eq!(card.file, sample.file());
}

#[test]
fn full_card_is_an_error_and_leaves_no_file() {
    for (card, sample) in cards().iter().flat_map(|card| samples().map(|sample| (card, sample))) {
        for capacity in [0, 5, 8, 20, 71, 72, 100, sample.file().len() - 1] {
            let mut card = Card { capacity: Some(capacity.max(card.file.len())), ..card.clone() };
            if let Err(error) = record(&mut card, &sample) {
                assert_eq!(error, WriteError::Full { at: capacity.max(card.file.len()) as u64 });
                assert_eq!(error.kind(), IoErrorKind::WriteZero);
            }
            assert!(full_verdict(&card.file).is_err() || card.file == sample.file());
        }
    }
}

/// Returns the number of calls.
fn calls(card: &Card, sample: &Sample, way: Way) -> usize {
    let mut rehearsal = card.clone();
    way(&mut rehearsal, sample).expect("succeeds");
    rehearsal.calls
}

/// Returns the file that a reader finds on a device that does not report the end of files, and is blank after
/// this one.
pub fn found(content_after_power_cut: &[u8]) -> Option<Vec<u8>> {
    let mut device = content_after_power_cut.to_vec();
    device.resize(device.len() + 1000, b' ');
    let summary = Model::open(Device(&device), &mut [0; 64]).ok()?.summary();
    device.truncate(usize::try_from(summary.data_start + summary.data_len).unwrap());
    full_verdict(&device).ok().map(|_| device)
}

struct Device<'d>(&'d [u8]);

impl ReadAt for Device<'_> {
    type Error = Infallible;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        self.0.read_at(offset, buffer)
    }

    fn file_len(&mut self) -> Result<FileLen, Infallible> {
        Ok(FileLen::AtMost(self.0.len() as u64))
    }
}

#[test]
fn power_cut_leaves_complete_file_or_none() {
    let mut ends = [0; 3];
    for (card, sample, way) in ways() {
        for call in 0..calls(&card, &sample, way) {
            let mut cut = card.with(Accident::PowerCut(call));
            way(&mut cut, &sample).expect_err("power is cut");
            (0..50).for_each(|seed| ends[cut.end(seed, &card, &sample)] += 1);
        }
    }
    assert!(ends.iter().all(|times| *times > 0), "each outcome occurs: {ends:?}");
}

#[test]
fn failed_call_leaves_complete_file_or_none() {
    let mut ends = [0; 3];
    for (old, sample, way) in ways() {
        let calls = calls(&old, &sample, way);
        for accident in (0..calls).flat_map(|call| [Accident::Fails(call), Accident::FailsLate(call)]) {
            let mut card = old.with(accident);
            assert_eq!(way(&mut card, &sample), Err(WriteError::Sink(Fault::Broken)), "{accident:?}");
            let is_complete = [&old.file, &sample.file()].contains(&&card.file);
            assert!(full_verdict(&card.file).is_err() || is_complete, "{accident:?}");
            // The power is cut while it is repeated: at the first and the last call in any share.
            for call in [0, calls - 1].into_iter().chain(share::part(1..calls - 1, calls)) {
                let mut cut = card.with(Accident::PowerCut(call));
                // A second recording may need fewer calls.
                let _ = way(&mut cut, &sample);
                (0..8).for_each(|seed| ends[cut.end(seed, &old, &sample)] += 1);
            }
            way(&mut card, &sample).expect("succeeds when repeated");
            assert_eq!(card.file, sample.file());
        }
    }
    assert!(ends.iter().all(|times| *times > 0), "each outcome occurs: {ends:?}");
}

/// [`Writer::finish`] can be called only once.
#[test]
fn recording_continues_after_a_failed_call() {
    let sample = Sample::long();
    let all: Vec<u8> = sample.with_plan(|plan| sample.pieces(&plan, 1).flatten().copied().collect());
    let mut failures = 0;
    for call in 0..calls(&Card::default(), &sample, record) {
        let mut card = Card::default().with(Accident::FailsLate(call));
        sample.with_plan(|plan| {
            let mut buffer = [0; 32];
            let Ok(mut recorder) = Writer::record(Seekable::new(&mut card), plan, &mut buffer) else {
                return;
            };
            while recorder.position() < plan.file_len() {
                let done = usize::try_from(recorder.position() - plan.data_start()).unwrap();
                let left = recorder.next_tensor().map_or(50, |next| next.remaining.min(50));
                let piece = done + usize::try_from(left).unwrap();
                failures += u32::from(recorder.write_bytes(&all[done..piece]).is_err());
            }
            if recorder.finish().is_ok() {
                assert!(card.file == sample.file() && card.durable == card.file);
            }
        });
    }
    assert!(failures > 10, "{failures}");
}
