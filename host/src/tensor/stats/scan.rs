//! Reads tensors on all cores, and summarises their values.

use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::model::{Tensor, in_sequence, threads_for};
use crate::tensor::stats::aggregate::Aggregate;
use crate::tensor::stats::buckets::Buckets;
use crate::tensor::stats::codes::{Codes, Counters, WIDEST};
use crate::tensor::stats::spread::{Cell, Spread};
use crate::tensor::stats::wide::{self, BLOCK};
use crate::threads::in_order;
use crate::work::Work;
use embedded_safetensors::{Dtype, ReadAt};
use safetensors_convert::numbers::{Number, is_float};
use std::io::{self, ErrorKind};
use std::num::NonZero;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Bytes read at a time: whole elements, and whole blocks, of every dtype.
pub const PIECE: usize = 3 << 16;
/// Bytes that one thread takes at a time. The moments of each are merged in the order of the data.
pub const SPAN: u64 = 16 * PIECE as u64;
/// With fewer values, the quantiles of wide elements are exact, too.
const FEW: usize = 4096;
/// The memory of all threads together.
const MEMORY: usize = 40 << 20;

/// A tensor and its statistics.
pub struct Row<'m> {
    pub tensor: Tensor<'m>,
    pub statistics: Statistics,
}

/// The statistics of a tensor.
#[derive(Default)]
pub struct Statistics {
    pub part: Aggregate,
    /// None if no value is finite.
    pub spread: Option<Spread>,
    /// Whether the quantiles are exact.
    pub exact: bool,
}

/// The statistics of each tensor. Reads every byte once; from a server without ranges, in order.
///
/// # Errors
/// A file cannot be read; the user has interrupted the work.
pub fn measure<'m>(tensors: &[Tensor<'m>], work: &Work) -> Result<Vec<Row<'m>>, Error> {
    let in_sequence = in_sequence(tensors);
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    if !in_sequence {
        order.sort_by_key(|&index| tensors[index].dtype());
    }
    let empty = |tensor: &Tensor<'m>| Row { tensor: *tensor, statistics: Statistics::default() };
    let mut all: Vec<Row<'m>> = tensors.iter().map(empty).collect();
    for group in order.chunk_by(|&one, &other| tensors[one].dtype() == tensors[other].dtype()) {
        let is_small = |index: &usize| tensors[*index].byte_len() <= SPAN;
        let side_by_side = |index: &usize| !in_sequence && is_small(index);
        let (small, rest): (Vec<usize>, Vec<usize>) = group.iter().partition(|index| side_by_side(index));
        let most = rest.iter().map(|&index| values(&tensors[index])).max();
        let workers = Workers::new(tensors[group[0]].dtype(), most, threads_for(tensors));
        let mut done = small.iter();
        in_order(
            &small,
            workers.threads,
            |&index| whole(&tensors[index], &workers, work),
            |statistics| {
                if let Some(&index) = done.next() {
                    all[index].statistics = statistics?;
                }
                Ok::<_, Error>(())
            },
        )?;
        for index in rest {
            let read = if is_small(&index) { whole } else { in_spans };
            all[index].statistics = read(&tensors[index], &workers, work)?;
        }
    }
    Ok(all)
}

/// A C64 is two values.
pub fn values(tensor: &Tensor<'_>) -> u64 {
    tensor.elements() * if tensor.dtype() == Dtype::C64 { 2 } else { 1 }
}

/// A small tensor, by one thread.
fn whole(tensor: &Tensor<'_>, workers: &Workers, work: &Work) -> Result<Statistics, Error> {
    let mut worker = workers.take();
    let codes = workers.codes.as_ref();
    let few = values(tensor) <= FEW as u64 && codes.is_none_or(Codes::are_many);
    let statistics = if few {
        worker.read_few(tensor, codes, work)?
    } else {
        let part = worker.read(tensor, 0..tensor.byte_len(), work)?;
        worker.finish(&part, codes)
    };
    worker.counts.clear();
    workers.put(worker);
    Ok(statistics)
}

/// A large tensor, by all threads. Its spans are merged in the order of the data.
fn in_spans(tensor: &Tensor<'_>, workers: &Workers, work: &Work) -> Result<Statistics, Error> {
    let mut part = Aggregate::default();
    in_order(
        spans(tensor.byte_len()),
        workers.threads,
        |span: Range<u64>| {
            let mut worker = workers.take();
            let part = worker.read(tensor, span, work);
            workers.put(worker);
            part
        },
        |span| {
            part.merge(&span?);
            Ok::<_, Error>(())
        },
    )?;
    let mut all = workers.all();
    let mut first = all.pop().unwrap_or_else(|| workers.take());
    for other in &mut all {
        first.counts.merge(&other.counts);
        other.counts.clear();
    }
    let statistics = first.finish(&part, workers.codes.as_ref());
    first.counts.clear();
    all.push(first);
    all.into_iter().for_each(|worker| workers.put(worker));
    Ok(statistics)
}

/// The same for any number of threads.
pub fn spans(len: u64) -> impl Iterator<Item = Range<u64>> {
    (0..len.div_ceil(SPAN)).map(move |number| number * SPAN..((number + 1).saturating_mul(SPAN)).min(len))
}

/// Reads a range of a tensor's bytes into the front of a buffer.
///
/// # Errors
/// Those of the file, which has changed if it is shorter now.
pub fn read_piece<'b>(
    tensor: &Tensor<'_>,
    from: u64,
    wanted: usize,
    buffer: &'b mut [u8],
) -> Result<&'b [u8], Error> {
    let file = tensor.model();
    let start = file.index().summary().data_start + tensor.begin() + from;
    let span_end = (from / SPAN + 1) * SPAN;
    let mut reader = file.reader().until((start + span_end - from).min(start - from + tensor.byte_len()));
    let mut len = 0;
    while len < wanted {
        match reader.read_at(start + len as u64, &mut buffer[len..wanted]) {
            Ok(0) => return Err(Error::not_read(file.path(), NotRead::changed())),
            Ok(read) => len += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(not_read(tensor, error)),
        }
    }
    Ok(&buffer[..wanted])
}

fn not_read(tensor: &Tensor<'_>, error: io::Error) -> Error {
    Error::not_read(tensor.model().path(), error)
}

/// What the threads work with, for one dtype.
struct Workers {
    dtype: Dtype,
    codes: Option<Codes>,
    threads: NonZero<usize>,
    free: Mutex<Vec<Worker>>,
}

impl Workers {
    /// For tensors of so many values at most.
    fn new(dtype: Dtype, most: Option<u64>, threads: NonZero<usize>) -> Self {
        let codes = (dtype.bits() <= WIDEST).then(|| Codes::new(dtype));
        let counts = if codes.is_some() { 0 } else { Buckets::memory(dtype, most.unwrap_or(0)) };
        let worker = PIECE + BLOCK * size_of::<f64>() + counts.max(2 << 20);
        let most = NonZero::new(MEMORY / worker).unwrap_or(NonZero::<usize>::MIN);
        Self { dtype, codes, threads: threads.min(most), free: Mutex::default() }
    }

    fn take(&self) -> Worker {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| {
            let counts = match &self.codes {
                Some(codes) => Counts::Codes(codes.counters()),
                None => Counts::Buckets(Buckets::new(self.dtype)),
            };
            Worker { dtype: self.dtype, bytes: vec![0; PIECE], values: Vec::with_capacity(BLOCK), counts }
        })
    }

    fn put(&self, worker: Worker) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }

    fn all(&self) -> Vec<Worker> {
        std::mem::take(&mut *self.free.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The memory of one thread.
struct Worker {
    dtype: Dtype,
    bytes: Vec<u8>,
    /// The finite values of the last block.
    values: Vec<f64>,
    counts: Counts,
}

enum Counts {
    Codes(Counters),
    Buckets(Buckets),
}

impl Counts {
    fn clear(&mut self) {
        match self {
            Self::Codes(counters) => counters.clear(),
            Self::Buckets(buckets) => buckets.clear(),
        }
    }

    /// Adds the counts of another thread, which are of the same dtype.
    fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Codes(counters), Self::Codes(other)) => counters.merge(other),
            (Self::Buckets(buckets), Self::Buckets(other)) => buckets.merge(other),
            _ => {}
        }
    }
}

impl Worker {
    /// Counts the values of a range of a tensor's bytes. What is counted by patterns has no part.
    fn read(&mut self, tensor: &Tensor<'_>, range: Range<u64>, work: &Work) -> Result<Aggregate, Error> {
        let (mut part, mut at) = (Aggregate::default(), range.start);
        self.values.clear();
        while at < range.end {
            let wanted = usize::try_from(range.end - at).unwrap_or(PIECE).min(PIECE);
            let bytes = read_piece(tensor, at, wanted, &mut self.bytes)?;
            match &mut self.counts {
                Counts::Codes(counters) => counters.count(bytes),
                Counts::Buckets(buckets) => {
                    for block in bytes.chunks(BLOCK * value_len(self.dtype)) {
                        part.merge(&wide::summary(self.dtype, block, &mut self.values));
                        buckets.count(&self.values);
                    }
                }
            }
            at += wanted as u64;
            work.advance(wanted as u64)?;
        }
        Ok(part)
    }

    /// The statistics of a tensor of a few elements, which are sorted and not counted.
    fn read_few(
        &mut self,
        tensor: &Tensor<'_>,
        codes: Option<&Codes>,
        work: &Work,
    ) -> Result<Statistics, Error> {
        let len = usize::try_from(tensor.byte_len()).unwrap_or(PIECE).min(PIECE);
        let bytes = read_piece(tensor, 0, len, &mut self.bytes)?;
        work.advance(len as u64)?;
        if let Some(counted) = codes.map(|codes| codes.summary_of_few(bytes)) {
            return Ok(self.exactly(counted));
        }
        let part = wide::summary(self.dtype, bytes, &mut self.values);
        self.values.iter_mut().for_each(|value| *value += 0.0);
        self.values.sort_unstable_by(f64::total_cmp);
        Ok(self.exactly((part, self.values.iter().map(|value| Cell::exact(*value, 1)).collect())))
    }

    /// The statistics of a tensor of which everything is counted.
    fn finish(&mut self, part: &Aggregate, codes: Option<&Codes>) -> Statistics {
        match (&self.counts, codes) {
            (Counts::Codes(counters), Some(codes)) => self.exactly(codes.summary(counters)),
            (Counts::Buckets(buckets), _) => self.statistics(*part, buckets.cells(), false),
            (Counts::Codes(_), None) => self.exactly((*part, Vec::new())),
        }
    }

    fn exactly(&self, (part, cells): (Aggregate, Vec<Cell>)) -> Statistics {
        self.statistics(part, cells.into_iter(), true)
    }

    fn statistics(
        &self,
        part: Aggregate,
        cells: impl Iterator<Item = Cell> + Clone,
        exact: bool,
    ) -> Statistics {
        let [least, largest] = [part.least, part.largest].map(|edge| edge.map_or(0.0, Number::nearest));
        let spread = Spread::of(cells, least, largest);
        let is_integer = !is_float(self.dtype) && self.dtype != Dtype::C64;
        let exactly = |edge: Option<Number>| if is_integer { edge.map(integer) } else { edge };
        let part = Aggregate { least: exactly(part.least), largest: exactly(part.largest), ..part };
        Statistics { part, spread, exact }
    }
}

/// A double that is an integer of at most 32 bits; larger ones have never been doubles.
#[expect(clippy::cast_possible_truncation, reason = "it has no fraction")]
fn integer(number: Number) -> Number {
    match number {
        Number::Float(float) => Number::Signed(float as i64),
        exact => exact,
    }
}

/// The bytes of a value: half of a C64.
fn value_len(dtype: Dtype) -> usize {
    if dtype == Dtype::C64 { 4 } else { usize::from(dtype.bits()) / 8 }
}
