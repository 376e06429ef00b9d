//! Reads tensors on all cores, and summarises their values.

use crate::error::Error;
use crate::input::model::{Tensor, in_sequence, threads_for};
use crate::input::remote;
use crate::tensor::stats::buckets::Buckets;
use crate::tensor::stats::moments::Moments;
use crate::tensor::stats::part::Part;
use crate::tensor::stats::patterns::Patterns;
use crate::tensor::stats::spread::Spread;
use crate::threads::in_order;
use crate::work::Work;
use embedded_safetensors::Dtype;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::slice;
use std::sync::{Mutex, PoisonError};

/// Bytes read at a time: whole elements, and whole blocks, of every dtype.
const PIECE: usize = 3 << 16;
/// Bytes that one thread takes at a time. The moments of each are merged in the order of the data.
const SPAN: u64 = 16 * PIECE as u64;
/// The most values of a tensor that are sorted.
const FEW: u64 = 4096;
/// The memory of all threads together, and that of one beside its counters.
const MEMORY: usize = 40 << 20;
const BUFFERS: usize = 1 << 18;

/// A tensor and its statistics.
pub struct Row<'m> {
    pub tensor: Tensor<'m>,
    pub part: Part,
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
    remote::expect(tensors.iter().copied());
    let dtypes: BTreeSet<Dtype> = tensors.iter().map(|tensor| tensor.dtype()).collect();
    let scales: BTreeMap<Dtype, _> = dtypes.into_iter().map(|dtype| (dtype, scale_of(dtype))).collect();
    if in_sequence(tensors) {
        return tensors.iter().map(|tensor| row(*tensor, &*scales[&tensor.dtype()], 1, work)).collect();
    }
    let mut rows = BTreeMap::new();
    for (dtype, scale) in &scales {
        let most = MEMORY / (scale.counters() * size_of::<u64>() + BUFFERS);
        let threads = threads_for(tensors).get().min(most).max(1);
        let of_dtype = tensors.iter().enumerate().filter(|(_, tensor)| tensor.dtype() == *dtype);
        let (small, large): (Vec<_>, Vec<_>) = of_dtype.partition(|(_, tensor)| tensor.byte_len() <= SPAN);
        let alone = |(at, tensor): (usize, &Tensor<'m>)| (at, row(*tensor, &**scale, 1, work));
        in_order(small, threads, alone, |(at, row)| {
            rows.insert(at, row?);
            Ok::<_, Error>(())
        })?;
        for (at, tensor) in large {
            rows.insert(at, row(*tensor, &**scale, threads, work)?);
        }
    }
    Ok(rows.into_values().collect())
}

/// The same for any number of threads.
pub fn spans(len: u64) -> impl Iterator<Item = Range<u64>> {
    (0..len.div_ceil(SPAN)).map(move |number| number * SPAN..(number + 1).saturating_mul(SPAN).min(len))
}

/// Reads a span of a tensor's bytes through a buffer, until `take` returns something. It gets each piece and
/// its offset.
///
/// # Errors
/// The file cannot be read, or has changed; the user has interrupted the work.
pub fn each_piece<R>(
    tensor: &Tensor<'_>,
    span: Range<u64>,
    work: &Work,
    buffer: &mut Vec<u8>,
    mut take: impl FnMut(u64, &[u8]) -> Option<R>,
) -> Result<Option<R>, Error> {
    let begin = tensor.model().index().summary().data_start + tensor.begin();
    let in_file = begin + span.start..begin + span.end;
    let mut reader = tensor.reader_within(slice::from_ref(&in_file));
    for at in span.clone().step_by(PIECE) {
        let len = usize::try_from(span.end - at).unwrap_or(PIECE).min(PIECE);
        buffer.resize(len, 0);
        reader.read_at(at, buffer).map_err(|error| Error::not_read(tensor.model().path(), error))?;
        if let Some(found) = take(at, buffer) {
            return Ok(Some(found));
        }
        work.advance(len as u64)?;
    }
    Ok(None)
}

/// What the elements of a dtype are counted by.
pub trait Scale: Sync {
    fn counters(&self) -> usize;

    /// Counts whole elements. `values` is memory; `part` gets what the counters do not tell.
    fn count(&self, bytes: &[u8], counts: &mut [u64], values: &mut Vec<f64>, part: &mut Part);

    /// Completes a part, and returns the distribution of its finite values, if there are any.
    fn finish(&self, counts: Vec<u64>, part: &mut Part) -> Option<Spread>;
}

fn scale_of(dtype: Dtype) -> Box<dyn Scale> {
    match dtype.bits() {
        ..=16 => Box::new(Patterns::new(dtype)),
        _ => Box::new(Buckets::new(dtype)),
    }
}

/// The statistics of a tensor. A C64 is two values.
fn row<'m>(tensor: Tensor<'m>, scale: &dyn Scale, threads: usize, work: &Work) -> Result<Row<'m>, Error> {
    match tensor.elements() * if tensor.dtype() == Dtype::C64 { 2 } else { 1 } {
        ..=FEW => row_of_few(tensor, work),
        _ => row_of_many(tensor, scale, threads, work),
    }
}

/// Threads count the spans of a tensor, which are merged in the order of the data.
fn row_of_many<'m>(
    tensor: Tensor<'m>,
    scale: &dyn Scale,
    threads: usize,
    work: &Work,
) -> Result<Row<'m>, Error> {
    let (mut part, free) = (Part::default(), Mutex::new(Vec::new()));
    let lock = || free.lock().unwrap_or_else(PoisonError::into_inner);
    let count = |span| {
        let (mut part, known) = (Part::default(), lock().pop());
        // What a thread works with.
        let (mut bytes, mut values, mut counts) =
            known.unwrap_or_else(|| (Vec::new(), Vec::new(), vec![0; scale.counters()]));
        each_piece(&tensor, span, work, &mut bytes, |_, bytes| {
            scale.count(bytes, &mut counts, &mut values, &mut part);
            None::<()>
        })?;
        lock().push((bytes, values, counts));
        Ok(part)
    };
    in_order(spans(tensor.byte_len()), threads, count, |span: Result<Part, Error>| {
        part.merge(&span?);
        Ok::<_, Error>(())
    })?;
    let counts = std::mem::take(&mut *lock()).into_iter().map(|(_, _, counts)| counts);
    let counts = counts.reduce(|mut all, other| {
        all.iter_mut().zip(other).for_each(|(count, other)| *count += other);
        all
    });
    let spread = scale.finish(counts.unwrap_or_default(), &mut part);
    Ok(Row { tensor, part, spread, exact: tensor.dtype().bits() <= 16 })
}

/// The values are sorted and not counted: the quantiles of wide ones are exact, too.
fn row_of_few<'m>(tensor: Tensor<'m>, work: &Work) -> Result<Row<'m>, Error> {
    let (mut bytes, mut values) = (Vec::new(), Vec::new());
    each_piece(&tensor, 0..tensor.byte_len(), work, &mut bytes, |_, _| None::<()>)?;
    let mut part = Part::of(tensor.dtype(), &bytes, &mut values);
    // Without the signs of zeros.
    values.iter_mut().for_each(|value| *value += 0.0);
    values.sort_unstable_by(f64::total_cmp);
    if tensor.dtype().bits() <= 16 {
        // As if they had been counted.
        let equal = values.chunk_by(|one, other| one == other);
        part.moments = Moments::of_counted(equal.map(|equal| (equal[0], equal.len() as u64)));
    }
    let spread = Spread::of(vec![1; values.len()], |index| [values[index]; 2]);
    Ok(Row { tensor, part, spread, exact: true })
}
