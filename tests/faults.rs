//! Injects storage faults at each call, during every operation. The outcome is an error or correct, and a
//! failed call can be repeated.

use std::cell::Cell;

use embedded_io::{ErrorType, Read, Seek, SeekFrom};
use embedded_safetensors::{
    ErrorKind, ReadAt,
    error::Class,
    io::{FileLen, Seekable},
};
use support::context::Context;
#[cfg(feature = "std")]
use support::disk::DISK;
use support::file::with_header;
use support::mock::{Counts, Failure, Fault, Plan, Reads, Replacement, Since, Storage};
use support::operations::{
    AnyReadError, Form, OPENING, Operation, Outcome, QUERYING, READING, SLICING, Setup, TENSOR,
};
use support::random::Random;
use support::share;
use support::sources::{CUSTOM, STREAM, nor};
use support::waiting;

/// Tests of one kind of source, each named after its fault.
macro_rules! tests {
    ($form:expr; $($fault:ident)+) => { $(#[test] fn $fault() { super::$fault($form); })+ };
}

/// The faults that a kind of source can have; those that are missing cannot occur. Only streams are
/// interrupted, and they always report their exact length. Flash returns all bytes requested, and its end
/// does not move. Memory has no faults and is not tested here.
macro_rules! faults {
    (any $form:expr) => {
        tests! {
            $form;
            early_end
            io_error_at_every_call
            io_error_from_every_call_on
            length_too_long
            length_too_short
            replaced_by_another_model_at_every_call
            replaced_by_garbage_at_every_call
            replaced_between_passes
            one_byte_replaced
            two_faults
        }
    };
    (file $form:expr) => {
        faults! { any $form }
        tests! { $form; short_reads cut_at_every_call length_bounded_or_unknown }
    };
    (stream $form:expr) => {
        faults! { any $form }
        tests! { $form; short_reads cut_at_every_call interrupted_at_every_call }
    };
    (flash $form:expr) => {
        faults! { any $form }
        tests! { $form; length_bounded_or_unknown }
    };
    (awaited_file $form:expr) => {
        faults! { file $form }
        tests! { $form; dropped_at_every_wait calls_match_blocking }
    };
    (awaited_stream $form:expr) => {
        faults! { stream $form }
        tests! { $form; dropped_at_every_wait calls_match_blocking }
    };
}

/// A module of tests for each kind of source.
macro_rules! sources {
    ($($(#[$where:meta])? $name:ident: $faults:ident $form:expr;)+) => {
        $($(#[$where])? mod $name {
            use super::*;
            faults! { $faults $form }
        })+
    };
}

sources! {
    custom: file Form::Blocking(CUSTOM);
    seekable: stream Form::Blocking(STREAM);
    nor_1: flash Form::Blocking(nor::<1, 0>());
    nor_4: flash Form::Blocking(nor::<4, 1>());
    nor_16: flash Form::Blocking(nor::<16, 16>());
    nor_64: flash Form::Blocking(nor::<64, 4095>());
    awaited_custom: awaited_file Form::Asynch(waiting::SourceKind::Custom);
    awaited_seekable: awaited_stream Form::Asynch(waiting::SourceKind::Seekable);
    #[cfg(feature = "std")] file: file Form::Blocking(DISK);
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

/// Returns a model of these tensors, one after another. The header lists them in this order for
/// [`Operation::Open`], which needs that, and reversed otherwise. The seed distinguishes models.
fn model(operation: Operation, rows: &[Row], seed: u64) -> Vec<u8> {
    let mut end = 0;
    let entries = rows.iter().map(|(name, dtype, shape, len)| {
        end += len;
        format!(r#","{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{},{end}]}}"#, end - len)
    });
    let mut entries: Vec<String> = entries.collect();
    if operation != Operation::Open {
        entries.reverse();
    }
    let header =
        format!(r#"{{"__metadata__":{{"unit":"seed {seed}","seed":"{seed}"}}{}}}"#, entries.concat());
    let mut file = with_header(&header, 0);
    file.extend(Random::new(seed).bytes(end));
    file
}

/// Returns models that differ: one with a header of the same length but two tensors exchanged, one with a
/// longer header and one with a shorter.
fn other_models(operation: Operation) -> [Vec<u8>; 3] {
    let mut exchanged = ROWS;
    (exchanged[0].0, exchanged[2].0) = (ROWS[2].0, ROWS[0].0);
    let longer = [&ROWS[..], &[("new", "BOOL", &[30], 30)]].concat();
    [model(operation, &exchanged, 2), model(operation, &longer, 3), model(operation, &ROWS[..4], 4)]
}

/// An operation, and its outcome without faults.
struct Baseline {
    form: Form,
    setup: Setup,
    reads: Reads,
    file: Vec<u8>,
    expected: Vec<u8>,
    counts: Counts,
}

/// Returns setups with small and large windows, and with each of the usual kinds of reads.
fn baselines(form: Form, operations: &[Operation]) -> Vec<Baseline> {
    let setup = |operation, window| Setup { operation, window, retries: 0, dropped_at: None };
    let setups = operations.iter().flat_map(|&operation| [setup(operation, 16), setup(operation, 1000)]);
    setups
        .flat_map(|setup| form.reads().iter().map(move |&reads| Baseline::new(form, setup, reads)))
        .collect()
}

fn all_operations() -> Vec<Operation> {
    [OPENING, QUERYING, READING, SLICING].concat()
}

impl Baseline {
    fn new(form: Form, setup: Setup, reads: Reads) -> Self {
        let file = model(setup.operation, &ROWS, 1);
        let storage = Storage::new(&file, Plan::default());
        let expected = setup.run(form, &storage, Plan { reads, ..Plan::default() }).expect("no faults");
        let counts = storage.counts();
        assert!(counts.calls > 0, "{setup:?} makes no calls");
        Self { form, setup, reads, file, expected, counts }
    }

    fn run(&self, plan: Plan) -> Outcome {
        self.run_with_retries(0, plan)
    }

    fn run_with_retries(&self, retries: usize, plan: Plan) -> Outcome {
        let plan = Plan { reads: self.reads, ..plan };
        Setup { retries, ..self.setup }.run(self.form, &Storage::new(&self.file, Plan::default()), plan)
    }

    fn header_end(&self) -> usize {
        8 + usize::from(self.file[0]) + 256 * usize::from(self.file[1])
    }

    /// Returns the length from which a file is long enough, if its length is not asked for.
    fn needed(&self) -> usize {
        self.header_end() + if self.setup.operation.reads_data() { ROWS[0].3 } else { 0 }
    }

    /// Calls `attempt` for each call index, or for a share of them.
    fn at_every_call(&self, attempt: impl Fn(u64)) {
        for call in share::part(0..self.counts.calls, self.file.len()) {
            let _context = Context(|| format!("{:?}, {:?}, call {call}", self.setup, self.reads));
            attempt(call);
        }
    }
}

fn replaced_since(since: Since, file: Vec<u8>) -> Plan {
    Plan { replacement: Some(Replacement { since, file }), ..Plan::default() }
}

fn short_reads(form: Form) {
    for baseline in baselines(form, &all_operations()) {
        for reads in [Reads::AtMost(1), Reads::AtMost(3), Reads::Random(7)] {
            let short = Baseline::new(form, baseline.setup, reads);
            assert_eq!(short.expected, baseline.expected, "{:?}, {reads:?}", baseline.setup);
        }
    }
}

fn interrupted_at_every_call(form: Form) {
    for baseline in baselines(form, &all_operations()) {
        for every in 1..4 {
            let storage = Storage::new(&baseline.file, Plan::default());
            let plan = Plan { interrupted_every: Some(every), reads: baseline.reads, ..Plan::default() };
            let outcome = baseline.setup.run(baseline.form, &storage, plan);
            assert_eq!(outcome.as_ref(), Ok(&baseline.expected), "{:?}, {every}", baseline.setup);
            assert_eq!(storage.counts().interruptions, baseline.counts.calls.div_ceil(every));
        }
    }
}

fn early_end(form: Form) {
    for baseline in baselines(form, &all_operations()) {
        let reported_len =
            Plan { reported_len: Some(FileLen::Exactly(baseline.file.len() as u64)), ..Plan::default() };
        for cut in share::part(0..=baseline.file.len(), baseline.file.len()) {
            let _context = Context(|| format!("{:?}, cut at {cut}", baseline.setup));
            let storage = Storage::new(&baseline.file[..cut], reported_len.clone());
            match baseline.setup.run(
                baseline.form,
                &storage,
                Plan { reads: baseline.reads, ..reported_len.clone() },
            ) {
                Ok(outcome) => assert!(cut >= baseline.needed() && outcome == baseline.expected),
                Err(error) => assert!(cut < baseline.needed() && reports_end_at(error, cut as u64)),
            }
        }
    }
}

/// Whether the error reports the end of the file, as an error of its header or as an unexpected end.
fn reports_end_at(error: AnyReadError, cut: u64) -> bool {
    match error {
        AnyReadError::Format(error) => error.kind.code().starts_with("container.") && error.at == cut,
        AnyReadError::Eof(at) => at >= cut,
        AnyReadError::Source => false,
    }
}

fn io_error_at_every_call(form: Form) {
    for baseline in baselines(form, &all_operations()) {
        let plan = |call| Plan { failure: Some(Failure::Once(call)), ..Plan::default() };
        baseline.at_every_call(|call| {
            assert_eq!(baseline.run(plan(call)), Err(AnyReadError::Source));
            assert_eq!(baseline.run_with_retries(1, plan(call)).as_ref(), Ok(&baseline.expected), "repeated");
        });
        assert_eq!(
            baseline.run(plan(baseline.counts.calls)).as_ref(),
            Ok(&baseline.expected),
            "no more calls"
        );
    }
}

fn io_error_from_every_call_on(form: Form) {
    for baseline in baselines(form, &all_operations()) {
        baseline.at_every_call(|call| {
            let plan = Plan { failure: Some(Failure::Since(call)), ..Plan::default() };
            assert_eq!(baseline.run_with_retries(2, plan), Err(AnyReadError::Source));
        });
    }
}

/// Returns the outcome where the storage reports this length from the start.
fn run_with_reported_len(baseline: &Baseline, reported_len: FileLen) -> Outcome {
    let plan = Plan { reported_len: Some(reported_len), reads: baseline.reads, ..Plan::default() };
    baseline.setup.run(baseline.form, &Storage::new(&baseline.file, plan.clone()), plan)
}

fn length_too_long(form: Form) {
    for baseline in baselines(form, OPENING) {
        let len = baseline.file.len() as u64;
        let needed = len - baseline.header_end() as u64;
        for more in [1, 1000, u64::MAX - len] {
            let trailing = ErrorKind::DataTrailing { needed }.at(len);
            assert_eq!(
                run_with_reported_len(&baseline, FileLen::Exactly(len + more)),
                Err(AnyReadError::Format(trailing))
            );
        }
    }
}

fn length_too_short(form: Form) {
    for baseline in baselines(form, OPENING) {
        for reported_len in share::part(0..baseline.file.len() as u64, baseline.file.len()) {
            let _code = end_error_code(
                reported_len,
                run_with_reported_len(&baseline, FileLen::Exactly(reported_len)),
            );
        }
    }
}

/// Returns the code of the file error that reports this end.
fn end_error_code(len: u64, outcome: Outcome) -> &'static str {
    let Err(AnyReadError::Format(error)) = outcome else { panic!("{len} bytes: {outcome:?}") };
    assert_eq!((error.kind.class(), error.at), (Class::File, len), "{error}");
    error.kind.code()
}

fn length_bounded_or_unknown(form: Form) {
    for baseline in baselines(form, OPENING) {
        let len = baseline.file.len() as u64;
        for reported_len in [FileLen::AtMost(len), FileLen::AtMost(u64::MAX), FileLen::Unknown] {
            assert_eq!(
                run_with_reported_len(&baseline, reported_len).as_ref(),
                Ok(&baseline.expected),
                "{reported_len:?}"
            );
        }
        for bound in share::part(0..len, baseline.file.len()) {
            let code = end_error_code(bound, run_with_reported_len(&baseline, FileLen::AtMost(bound)));
            // Some do not read beyond the bound, and so not the entire header.
            let in_header = bound < baseline.header_end() as u64 && code.starts_with("container.");
            assert!(code == "data.short" || in_header, "at most {bound}: {code}");
        }
    }
}

fn cut_at_every_call(form: Form) {
    for baseline in baselines(form, &all_operations()) {
        let end = baseline.header_end();
        for len in [0, 7, 8, 50, end - 1, end, end + 5] {
            baseline.at_every_call(|call| {
                let outcome = baseline.run(replaced_since(Since::Call(call), baseline.file[..len].to_vec()));
                assert_ne!(outcome, Err(AnyReadError::Source));
                assert!(
                    outcome.is_err() || outcome.as_ref() == Ok(&baseline.expected),
                    "cut to {len}: {outcome:?}"
                );
            });
        }
    }
}

fn replaced_by_another_model_at_every_call(form: Form) {
    for baseline in baselines(form, &all_operations()) {
        for other in other_models(baseline.setup.operation) {
            let of_other = baseline.setup.run(form, &Storage::new(&other, Plan::default()), Plan::default());
            baseline.at_every_call(|call| {
                let outcome = baseline.run(replaced_since(Since::Call(call), other.clone()));
                let opened = OPENING.contains(&baseline.setup.operation) && outcome == of_other;
                assert!(opened || is_expected_or_error(&baseline, &other, &outcome), "{outcome:?}");
            });
        }
    }
}

fn replaced_by_garbage_at_every_call(form: Form) {
    for baseline in baselines(form, &all_operations()) {
        for other in garbage(baseline.file.len()) {
            baseline.at_every_call(|call| {
                let outcome = baseline.run(replaced_since(Since::Call(call), other.clone()));
                assert!(is_expected_or_error(&baseline, &other, &outcome), "{outcome:?}");
            });
        }
    }
}

/// About how many pairs of calls of an operation have faults; others for each seed.
const PAIRS: usize = 400;

/// While a call is repeated after an error, there is another error, or the file is replaced or cut.
fn two_faults(form: Form) {
    for baseline in baselines(form, &all_operations()) {
        let (operation, calls) = (baseline.setup.operation, baseline.counts.calls);
        let [other, ..] = other_models(operation);
        let cut = baseline.file[..baseline.header_end() - 1].to_vec();
        let of_other = baseline.setup.run(form, &Storage::new(&other, Plan::default()), Plan::default());
        let pairs = (0..calls * calls).map(|pair| (pair / calls, pair / calls + 1 + pair % calls));
        let step = usize::try_from(calls * calls).expect("fits in usize") / PAIRS + 1;
        let some = pairs.skip(share::offset() % step).step_by(step);
        for (first, second) in share::part(some, baseline.file.len()) {
            let _context =
                Context(|| format!("{:?}, {:?}, calls {first} and {second}", baseline.setup, baseline.reads));
            let both = Plan { failure: Some(Failure::Both(first, second)), ..Plan::default() };
            assert_eq!(baseline.run_with_retries(2, both).as_ref(), Ok(&baseline.expected));
            for file in [&other, &cut] {
                let replacement = Some(Replacement { since: Since::Call(second), file: file.clone() });
                let failure = Some(Failure::Once(first));
                let outcome = baseline.run_with_retries(1, Plan { failure, replacement, ..Plan::default() });
                let opened = OPENING.contains(&operation) && outcome == of_other;
                assert!(opened || is_expected_or_error(&baseline, file, &outcome), "{outcome:?}");
            }
        }
    }
}

/// Returns an erased chip, a file of zeros, noise, text, and a valid length followed by noise.
fn garbage(len: usize) -> [Vec<u8>; 5] {
    let noise = Random::new(5).bytes(len);
    let half = with_header("{\"fc1.weight\":{", 0).into_iter().chain(noise.clone()).take(len).collect();
    [vec![0xFF; len], vec![0; len], noise, vec![b'{'; len], half]
}

/// Changed data cannot be detected, but every byte was in the storage at some time.
fn is_expected_or_error(baseline: &Baseline, other: &[u8], outcome: &Outcome) -> bool {
    match outcome {
        Ok(bytes) if baseline.setup.operation.reads_data() => {
            let start = baseline.header_end();
            let other = other.get(start..).unwrap_or(&[]).iter().chain(std::iter::repeat(&0xFF));
            bytes
                .iter()
                .zip(&baseline.expected)
                .zip(other)
                .all(|((byte, first), other)| byte == first || byte == other)
        }
        Ok(answer) => *answer == baseline.expected,
        Err(AnyReadError::Format(error)) => {
            error.kind.class() != Class::Usage || error.kind == ErrorKind::Changed
        }
        Err(AnyReadError::Eof(_)) => true,
        Err(AnyReadError::Source) => false,
    }
}

/// A complete pass over another header always detects it.
fn replaced_between_passes(form: Form) {
    for baseline in baselines(form, &[OPENING, QUERYING].concat()) {
        let first = u64::from(OPENING.contains(&baseline.setup.operation));
        assert!(first < baseline.counts.passes, "{:?} reads no header that was replaced", baseline.setup);
        let invalid = garbage(baseline.file.len());
        for other in other_models(baseline.setup.operation).into_iter().chain(invalid) {
            for pass in first..baseline.counts.passes {
                let _context = Context(|| format!("{:?}, pass {pass}", baseline.setup));
                let outcome = baseline.run(replaced_since(Since::Pass(pass), other.clone()));
                let Err(AnyReadError::Format(error)) = outcome else { panic!("{outcome:?}") };
                assert_eq!(error.kind, ErrorKind::Changed);
            }
        }
    }
}

fn one_byte_replaced(form: Form) {
    for baseline in baselines(form, QUERYING).iter().filter(|baseline| baseline.setup.window == 16) {
        for offset in share::part(0..baseline.header_end(), baseline.file.len()) {
            let _context = Context(|| format!("{:?}, byte {offset}", baseline.setup));
            let mut other = baseline.file.clone();
            other[offset] ^= 1;
            let outcome = baseline.run(replaced_since(Since::Call(0), other.clone()));
            assert!(outcome.is_err() && is_expected_or_error(baseline, &other, &outcome), "{outcome:?}");
        }
    }
}

/// Drops the future of each call at its first wait, its second, …, and repeats it twice.
fn dropped_at_every_wait(form: Form) {
    for baseline in baselines(form, &all_operations()) {
        // Each call of the storage waits twice.
        for wait in share::part(0..2 * baseline.counts.calls, baseline.file.len()) {
            let _context = Context(|| format!("{:?}, {:?}, wait {wait}", baseline.setup, baseline.reads));
            let dropped_at = Some(usize::try_from(wait).expect("fits in usize"));
            let storage = Storage::new(&baseline.file, Plan::default());
            let plan = Plan { reads: baseline.reads, ..Plan::default() };
            let setup = Setup { dropped_at, retries: 2, ..baseline.setup };
            assert_eq!(setup.run(form, &storage, plan).as_ref(), Ok(&baseline.expected));
            assert!(wait != 1 || storage.counts().calls >= 2 + baseline.counts.calls, "no call was repeated");
        }
    }
}

/// Also where a call of the storage waits before and after it.
fn calls_match_blocking(form: Form) {
    let kind = if let Form::Asynch(waiting::SourceKind::Custom) = form { CUSTOM } else { STREAM };
    for baseline in baselines(form, &all_operations()) {
        let blocking = Baseline::new(Form::Blocking(kind), baseline.setup, baseline.reads);
        let outcomes = [(baseline.expected, baseline.counts), (blocking.expected, blocking.counts)];
        assert_eq!(outcomes[0], outcomes[1], "{:?}", baseline.setup);
    }
}

/// A storage that breaks its contract: once told to, it reports more bytes read than requested.
struct OverReporting {
    file: Vec<u8>,
    more: usize,
    overreports: Cell<bool>,
}

impl OverReporting {
    fn copy(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let len = Storage::new(&self.file, Plan::default()).copy(offset, buffer);
        if self.overreports.get() { buffer.len().saturating_add(self.more) } else { len }
    }
}

impl ReadAt for &OverReporting {
    type Error = Fault;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Fault> {
        Ok(self.copy(offset, buffer))
    }

    fn file_len(&mut self) -> Result<FileLen, Fault> {
        Ok(FileLen::Exactly(self.file.len() as u64))
    }
}

struct OverReportingStream<'l> {
    liar: &'l OverReporting,
    position: u64,
}

impl ErrorType for OverReportingStream<'_> {
    type Error = Fault;
}

impl Read for OverReportingStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        let len = self.liar.copy(self.position, buffer);
        self.position = self.position.wrapping_add(len as u64);
        Ok(len)
    }
}

impl Seek for OverReportingStream<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64, Fault> {
        self.position = match to {
            SeekFrom::Start(offset) => offset,
            _ => self.liar.file.len() as u64,
        };
        Ok(self.position)
    }
}

/// Where no count is too large, the outcome may be wrong, but there is no panic and no endless loop.
#[test]
fn count_beyond_the_buffer_is_an_error() {
    for operation in all_operations() {
        for more in [0, 1, 1000, usize::MAX] {
            let _context = Context(|| format!("{operation:?}, {more} more"));
            let liar =
                OverReporting { file: model(operation, &ROWS, 1), more, overreports: Cell::new(false) };
            for window in [1, 16, 1000] {
                let setup = Setup { operation, window, retries: 1, dropped_at: None };
                liar.overreports.set(false);
                let custom = setup.run_with(&liar, || liar.overreports.set(true));
                liar.overreports.set(false);
                let stream = Seekable::new(OverReportingStream { liar: &liar, position: 0 });
                let stream = setup.run_with(stream, || liar.overreports.set(true));
                for outcome in [custom, stream] {
                    let Err(AnyReadError::Format(embedded_safetensors::Error { kind, .. })) = outcome else {
                        assert!(more == 0 && outcome != Err(AnyReadError::Source), "{outcome:?}");
                        continue;
                    };
                    assert_eq!(matches!(kind, ErrorKind::Count { .. }), more > 0, "{kind:?}");
                }
            }
        }
    }
}
