//! What can go wrong with a storage, at each call that reaches it, whatever is being done: it ends in an
//! error or in what is right, and what failed can be tried again.

use std::cell::Cell;

use embedded_io::{ErrorType, Read, Seek, SeekFrom};
use embedded_safetensors::{
    ErrorKind, ReadAt,
    error::Class,
    io::{FileLen, Seekable},
};
use support::context::Context;
#[cfg(feature = "std")]
use support::disk::MeddledDisk;
use support::file::with_header;
use support::mock::{Failure, Fault, Plan, Reads, Replacement, Since, Storage};
use support::operations::{Deed, LOOKING, OPENING, Outcome, READING, Scene, TENSOR, Trouble};
use support::random::Random;
use support::share;
use support::sources::{Door, Nor, Own, SeekableStream};

/// Tests at one door, each named by its fault.
macro_rules! tests {
    ($door:ty: $($fault:ident)+) => { $(#[test] fn $fault() { super::$fault::<$door>(); })+ };
}

/// The faults that a kind of door can have; one that is missing cannot occur there. Only streams are
/// interrupted, and they always say exactly how long they are. Flash gives all that it is asked for, and has
/// no end that moves. Memory is no door here, for it has no faults.
macro_rules! faults {
    (any $door:ty) => {
        tests! {
            $door:
            early_end
            io_error_at_every_call
            io_error_from_every_call_on
            length_too_long
            length_too_short
            replaced_by_another_model_at_every_call
            replaced_by_garbage_at_every_call
            replaced_between_passes
            one_byte_replaced
        }
    };
    (file $door:ty) => {
        faults! { any $door }
        tests! { $door: short_reads cut_at_every_call length_bounded_or_unknown }
    };
    (stream $door:ty) => {
        faults! { any $door }
        tests! { $door: short_reads cut_at_every_call interrupted_at_every_call }
    };
    (flash $door:ty) => {
        faults! { any $door }
        tests! { $door: length_bounded_or_unknown }
    };
}

/// A module of tests for each door.
macro_rules! doors {
    ($($name:ident: $kind:ident $door:ty;)+) => {
        $(mod $name {
            use super::*;
            faults! { $kind $door }
        })+
    };
}

doors! {
    own: file Own;
    seekable: stream SeekableStream;
    nor_1: flash Nor<1, 0>;
    nor_4: flash Nor<4, 1>;
    nor_16: flash Nor<16, 16>;
    nor_64: flash Nor<64, 4095>;
}

#[cfg(feature = "std")]
doors! {
    file: file MeddledDisk;
}

/// A tensor of a file: name, dtype, shape, bytes.
type Row = (&'static str, &'static str, &'static [u64], usize);

const ROWS: [Row; 5] = [
    (TENSOR, "F32", &[5, 2], 40),
    ("fc1.bias", "U8", &[3], 3),
    ("fc2.weight", "I16", &[2, 3, 2], 24),
    ("none.bias", "F64", &[0], 0),
    ("x", "F64", &[], 8),
];

/// A model of these tensors, which lie one behind the other and are listed from the first to the last where
/// that is all that the deed can do, else from the last to the first. The seed tells it from others.
fn model(deed: Deed, rows: &[Row], seed: u64) -> Vec<u8> {
    let mut end = 0;
    let entries = rows.iter().map(|(name, dtype, shape, len)| {
        end += len;
        format!(r#","{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{},{end}]}}"#, end - len)
    });
    let mut entries: Vec<String> = entries.collect();
    if deed != Deed::Open {
        entries.reverse();
    }
    let header =
        format!(r#"{{"__metadata__":{{"unit":"seed {seed}","seed":"{seed}"}}{}}}"#, entries.concat());
    let mut file = with_header(&header, 0);
    let mut random = Random::new(seed);
    file.extend((0..end).map(|_| random.number().to_le_bytes()[0]));
    file
}

/// One whose header has the same length, but two tensors exchanged; one with a longer header and one with a
/// shorter.
fn other_models(deed: Deed) -> [Vec<u8>; 3] {
    let mut exchanged = ROWS;
    (exchanged[0].0, exchanged[2].0) = (ROWS[2].0, ROWS[0].0);
    let longer = [&ROWS[..], &[("new", "BOOL", &[30], 30)]].concat();
    [model(deed, &exchanged, 2), model(deed, &longer, 3), model(deed, &ROWS[..4], 4)]
}

/// A deed, and what becomes of it when nothing goes wrong.
struct Play {
    scene: Scene,
    reads: Reads,
    file: Vec<u8>,
    right: Vec<u8>,
    /// How many calls of the storage it takes.
    calls: u64,
    /// How many times it reads the header.
    passes: u64,
}

/// With small and large windows, and reads as the door gives them.
fn plays<D: Door>(deeds: &[Deed]) -> Vec<Play> {
    let scene = |deed, window| Scene { deed, window, again: 0 };
    let scenes = deeds.iter().flat_map(|&deed| [scene(deed, 16), scene(deed, 1000)]);
    scenes.flat_map(|scene| D::READS.iter().map(move |&reads| Play::new::<D>(scene, reads))).collect()
}

fn all_deeds() -> Vec<Deed> {
    [&OPENING[..], &LOOKING, &READING].concat()
}

impl Play {
    fn new<D: Door>(scene: Scene, reads: Reads) -> Self {
        let file = model(scene.deed, &ROWS, 1);
        let storage = Storage::new(&file, Plan::default());
        let right = scene.play::<D>(&storage, Plan { reads, ..Plan::default() }).expect("nothing goes wrong");
        let counts = storage.counts();
        assert!(counts.calls > 0, "{scene:?} asks for nothing");
        Self { scene, reads, file, right, calls: counts.calls, passes: counts.passes }
    }

    fn run<D: Door>(&self, plan: Plan) -> Outcome {
        self.run_again::<D>(0, plan)
    }

    fn run_again<D: Door>(&self, again: usize, plan: Plan) -> Outcome {
        let plan = Plan { reads: self.reads, ..plan };
        Scene { again, ..self.scene }.play::<D>(&Storage::new(&self.file, Plan::default()), plan)
    }

    fn header_end(&self) -> usize {
        8 + usize::from(self.file[0]) + 256 * usize::from(self.file[1])
    }

    /// Where the file may end for this to succeed, if nobody is asked how long it is.
    fn needed(&self) -> usize {
        self.header_end() + if READING.contains(&self.scene.deed) { ROWS[0].3 } else { 0 }
    }

    /// Tries something at each call; a quick run takes a part of them.
    fn at_every_call(&self, attempt: impl Fn(u64)) {
        for call in share::part(0..self.calls, self.file.len()) {
            let _context = Context(|| format!("{:?}, {:?}, call {call}", self.scene, self.reads));
            attempt(call);
        }
    }
}

fn replaced(since: Since, file: Vec<u8>) -> Plan {
    Plan { replacement: Some(Replacement { since, file }), ..Plan::default() }
}

fn short_reads<D: Door>() {
    for play in plays::<D>(&all_deeds()) {
        for reads in [Reads::AtMost(1), Reads::AtMost(3), Reads::Random(7)] {
            let short = Play::new::<D>(play.scene, reads);
            assert_eq!(short.right, play.right, "{:?}, {reads:?}", play.scene);
        }
    }
}

fn interrupted_at_every_call<D: Door>() {
    for play in plays::<D>(&all_deeds()) {
        for every in 1..4 {
            let storage = Storage::new(&play.file, Plan::default());
            let plan = Plan { interrupted_every: Some(every), reads: play.reads, ..Plan::default() };
            let outcome = play.scene.play::<D>(&storage, plan);
            assert_eq!(outcome.as_ref(), Ok(&play.right), "{:?}, {every}", play.scene);
            assert_eq!(storage.counts().interruptions, play.calls.div_ceil(every));
        }
    }
}

fn early_end<D: Door>() {
    for play in plays::<D>(&all_deeds()) {
        let claim = Plan { claim: Some(FileLen::Exactly(play.file.len() as u64)), ..Plan::default() };
        for cut in share::part(0..=play.file.len(), play.file.len()) {
            let _context = Context(|| format!("{:?}, cut at {cut}", play.scene));
            let storage = Storage::new(&play.file[..cut], claim.clone());
            match play.scene.play::<D>(&storage, Plan { reads: play.reads, ..claim.clone() }) {
                Ok(outcome) => assert!(cut >= play.needed() && outcome == play.right),
                Err(trouble) => assert!(cut < play.needed() && says_where_it_ends(trouble, cut as u64)),
            }
        }
    }
}

/// The end of the file as a fault of its header, or as one that was not due.
fn says_where_it_ends(trouble: Trouble, cut: u64) -> bool {
    match trouble {
        Trouble::Format(error) => error.kind.code().starts_with("container.") && error.at == cut,
        Trouble::Eof(at) => at >= cut,
        Trouble::Source => false,
    }
}

fn io_error_at_every_call<D: Door>() {
    for play in plays::<D>(&all_deeds()) {
        let plan = |call| Plan { failure: Some(Failure::Once(call)), ..Plan::default() };
        play.at_every_call(|call| {
            assert_eq!(play.run::<D>(plan(call)), Err(Trouble::Source));
            assert_eq!(play.run_again::<D>(1, plan(call)).as_ref(), Ok(&play.right), "made again");
        });
        assert_eq!(play.run::<D>(plan(play.calls)).as_ref(), Ok(&play.right), "there are no more calls");
    }
}

fn io_error_from_every_call_on<D: Door>() {
    for play in plays::<D>(&all_deeds()) {
        play.at_every_call(|call| {
            let plan = Plan { failure: Some(Failure::Since(call)), ..Plan::default() };
            assert_eq!(play.run_again::<D>(2, plan), Err(Trouble::Source));
        });
    }
}

/// The outcome where the storage claims this length from the beginning.
fn with_claim<D: Door>(play: &Play, claim: FileLen) -> Outcome {
    let plan = Plan { claim: Some(claim), reads: play.reads, ..Plan::default() };
    play.scene.play::<D>(&Storage::new(&play.file, plan.clone()), plan)
}

fn length_too_long<D: Door>() {
    for play in plays::<D>(&OPENING) {
        let len = play.file.len() as u64;
        let needed = len - play.header_end() as u64;
        for more in [1, 1000, u64::MAX - len] {
            let trailing = ErrorKind::DataTrailing { needed }.at(len);
            assert_eq!(with_claim::<D>(&play, FileLen::Exactly(len + more)), Err(Trouble::Format(trailing)));
        }
    }
}

fn length_too_short<D: Door>() {
    for play in plays::<D>(&OPENING) {
        for claim in share::part(0..play.file.len() as u64, play.file.len()) {
            let _of_its_kind = code_of_an_end_at(claim, with_claim::<D>(&play, FileLen::Exactly(claim)));
        }
    }
}

/// Which fault of the file it is that it ends there.
fn code_of_an_end_at(len: u64, outcome: Outcome) -> &'static str {
    let Err(Trouble::Format(error)) = outcome else { panic!("{len} bytes: {outcome:?}") };
    assert_eq!((error.kind.class(), error.at), (Class::File, len), "{error}");
    error.kind.code()
}

fn length_bounded_or_unknown<D: Door>() {
    for play in plays::<D>(&OPENING) {
        let len = play.file.len() as u64;
        for claim in [FileLen::AtMost(len), FileLen::AtMost(u64::MAX), FileLen::Unknown] {
            assert_eq!(with_claim::<D>(&play, claim).as_ref(), Ok(&play.right), "{claim:?}");
        }
        for bound in share::part(0..len, play.file.len()) {
            let code = code_of_an_end_at(bound, with_claim::<D>(&play, FileLen::AtMost(bound)));
            // Some do not read beyond the bound, and so not all of the header.
            let in_header = bound < play.header_end() as u64 && code.starts_with("container.");
            assert!(code == "data.short" || in_header, "at most {bound}: {code}");
        }
    }
}

fn cut_at_every_call<D: Door>() {
    for play in plays::<D>(&all_deeds()) {
        let end = play.header_end();
        for len in [0, 7, 8, 50, end - 1, end, end + 5] {
            play.at_every_call(|call| {
                let outcome = play.run::<D>(replaced(Since::Call(call), play.file[..len].to_vec()));
                assert_ne!(outcome, Err(Trouble::Source));
                assert!(outcome.is_err() || outcome.as_ref() == Ok(&play.right), "cut to {len}: {outcome:?}");
            });
        }
    }
}

fn replaced_by_another_model_at_every_call<D: Door>() {
    for play in plays::<D>(&all_deeds()) {
        for other in other_models(play.scene.deed) {
            let of_other = play.scene.play::<D>(&Storage::new(&other, Plan::default()), Plan::default());
            play.at_every_call(|call| {
                let outcome = play.run::<D>(replaced(Since::Call(call), other.clone()));
                let opened = OPENING.contains(&play.scene.deed) && outcome == of_other;
                assert!(opened || is_right_or_says_so(&play, &other, &outcome), "{outcome:?}");
            });
        }
    }
}

fn replaced_by_garbage_at_every_call<D: Door>() {
    for play in plays::<D>(&all_deeds()) {
        for other in garbage(play.file.len()) {
            play.at_every_call(|call| {
                let outcome = play.run::<D>(replaced(Since::Call(call), other.clone()));
                assert!(is_right_or_says_so(&play, &other, &outcome), "{outcome:?}");
            });
        }
    }
}

/// An erased chip, a file of zeros, noise, text, and a length with noise behind it.
fn garbage(len: usize) -> [Vec<u8>; 5] {
    let mut random = Random::new(5);
    let noise: Vec<u8> = (0..len).map(|_| random.number().to_le_bytes()[0]).collect();
    let half = with_header("{\"fc1.weight\":{", 0).into_iter().chain(noise.clone()).take(len).collect();
    [vec![0xFF; len], vec![0; len], noise, vec![b'{'; len], half]
}

/// Nobody can know whether data have changed; but they are those that lay there at one time.
fn is_right_or_says_so(play: &Play, other: &[u8], outcome: &Outcome) -> bool {
    match outcome {
        Ok(bytes) if READING.contains(&play.scene.deed) => {
            let start = play.header_end();
            let other = other.get(start..).unwrap_or(&[]).iter().chain(std::iter::repeat(&0xFF));
            bytes
                .iter()
                .zip(&play.right)
                .zip(other)
                .all(|((byte, first), other)| byte == first || byte == other)
        }
        Ok(answer) => *answer == play.right,
        Err(Trouble::Format(error)) => error.kind.class() != Class::Usage || error.kind == ErrorKind::Changed,
        Err(Trouble::Eof(_)) => true,
        Err(Trouble::Source) => false,
    }
}

/// A whole pass over another header is always noticed.
fn replaced_between_passes<D: Door>() {
    for play in plays::<D>(&[&OPENING[..], &LOOKING].concat()) {
        let first = u64::from(OPENING.contains(&play.scene.deed));
        assert!(first < play.passes, "{:?} reads no header that was replaced", play.scene);
        for other in other_models(play.scene.deed) {
            for pass in first..play.passes {
                let _context = Context(|| format!("{:?}, pass {pass}", play.scene));
                let outcome = play.run::<D>(replaced(Since::Pass(pass), other.clone()));
                let Err(Trouble::Format(error)) = outcome else { panic!("{outcome:?}") };
                assert_eq!(error.kind, ErrorKind::Changed);
            }
        }
    }
}

fn one_byte_replaced<D: Door>() {
    for play in plays::<D>(&LOOKING).iter().filter(|play| play.scene.window == 16) {
        for place in share::part(0..play.header_end(), play.file.len()) {
            let _context = Context(|| format!("{:?}, byte {place}", play.scene));
            let mut other = play.file.clone();
            other[place] ^= 1;
            let outcome = play.run::<D>(replaced(Since::Call(0), other.clone()));
            assert!(outcome.is_err() && is_right_or_says_so(play, &other, &outcome), "{outcome:?}");
        }
    }
}

/// A storage that breaks its word: once it is told to, it says that it has read more than it was asked for.
struct Liar {
    file: Vec<u8>,
    more: usize,
    lies: Cell<bool>,
}

impl Liar {
    fn copy(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let len = Storage::new(&self.file, Plan::default()).copy(offset, buffer);
        if self.lies.get() { buffer.len().saturating_add(self.more) } else { len }
    }
}

impl ReadAt for &Liar {
    type Error = Fault;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Fault> {
        Ok(self.copy(offset, buffer))
    }

    fn file_len(&mut self) -> Result<FileLen, Fault> {
        Ok(FileLen::Exactly(self.file.len() as u64))
    }
}

struct LyingStream<'l> {
    liar: &'l Liar,
    position: u64,
}

impl ErrorType for LyingStream<'_> {
    type Error = Fault;
}

impl Read for LyingStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        let len = self.liar.copy(self.position, buffer);
        self.position = self.position.wrapping_add(len as u64);
        Ok(len)
    }
}

impl Seek for LyingStream<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64, Fault> {
        self.position = match to {
            SeekFrom::Start(offset) => offset,
            _ => self.liar.file.len() as u64,
        };
        Ok(self.position)
    }
}

/// Nothing good can come of it, but no panic and no endless loop either, and no length beyond a buffer.
#[test]
fn a_storage_that_breaks_its_word_does_no_harm() {
    for deed in all_deeds() {
        for more in [0, 1, 1000, usize::MAX] {
            let _context = Context(|| format!("{deed:?}, {more} more"));
            let liar = Liar { file: model(deed, &ROWS, 1), more, lies: Cell::new(false) };
            for window in [1, 16, 1000] {
                let scene = Scene { deed, window, again: 1 };
                liar.lies.set(false);
                let own = scene.play_with(&liar, || liar.lies.set(true));
                liar.lies.set(false);
                let stream = Seekable::new(LyingStream { liar: &liar, position: 0 });
                let stream = scene.play_with(stream, || liar.lies.set(true));
                assert!(own != Err(Trouble::Source) && stream != Err(Trouble::Source), "it never says so");
            }
        }
    }
}
