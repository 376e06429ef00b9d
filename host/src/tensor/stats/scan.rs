//! Reads tensors on all cores, and summarises their values.

use crate::error::Error;
use crate::input::model::{Tensor, threads_for};
use crate::input::remote;
use crate::tensor::stats::counts::{Counts, FEW};
use crate::tensor::stats::part::Part;
use crate::tensor::stats::spread::Spread;
use crate::threads::in_order_within;
use crate::work::Work;
use embedded_safetensors::Dtype;
use std::ops::Range;
use std::slice;

/// Bytes read at a time: whole elements, and whole blocks, of every dtype.
const PIECE: usize = 3 << 16;
/// Bytes that one thread takes at a time. The moments of each are merged in the order of the data.
const SPAN: u64 = 16 * PIECE as u64;
/// The most spans that are counted or wait at a time: their counters take up to 16 MiB each for doubles, and
/// 2 MiB for others. The counters of the whole tensor take as much.
const DOUBLES: usize = 2;
const OTHERS: usize = 16;

/// A tensor and its statistics.
pub struct Row<'m> {
    pub tensor: Tensor<'m>,
    pub part: Part,
    /// None if no value is finite.
    pub spread: Option<Spread>,
}

impl Row<'_> {
    /// Whether the quantiles are exact.
    pub fn is_exact(&self) -> bool {
        self.tensor.dtype().bits() <= 16 || self.part.values <= FEW
    }
}

/// The statistics of each tensor. Reads every byte once; from a server without ranges, in order.
///
/// # Errors
/// A file cannot be read; the user has interrupted the work.
pub fn measure<'m>(tensors: &[Tensor<'m>], work: &Work) -> Result<Vec<Row<'m>>, Error> {
    remote::expect(tensors.iter().copied());
    let parts = tensors.iter().flat_map(|tensor| spans(tensor.byte_len()).map(move |span| (*tensor, span)));
    let count = |(tensor, span): (Tensor<'m>, Range<u64>)| {
        let (end, mut counts) = (span.end, Counts::new(tensor.dtype()));
        each_piece(&tensor, span, work, |_, bytes| {
            counts.count(bytes);
            None::<()>
        })?;
        Ok::<_, Error>((tensor, end, counts))
    };
    let (mut rows, mut before) = (Vec::with_capacity(tensors.len()), None::<Counts>);
    let has_doubles = tensors.iter().any(|tensor| tensor.dtype() == Dtype::F64);
    let most = if has_doubles { DOUBLES } else { OTHERS };
    in_order_within(most, parts, threads_for(tensors), count, |counted| {
        let (tensor, end, mut counts) = counted?;
        if let Some(mut all) = before.take() {
            all.merge(counts);
            counts = all;
        }
        if end < tensor.byte_len() {
            before = Some(counts);
        } else {
            let (part, spread) = counts.finish();
            rows.push(Row { tensor, part, spread });
        }
        Ok::<_, Error>(())
    })?;
    Ok(rows)
}

/// The same for any number of threads; one of no bytes.
pub fn spans(len: u64) -> impl Iterator<Item = Range<u64>> {
    let span = move |number: u64| number * SPAN..(number + 1).saturating_mul(SPAN).min(len);
    (0..len.div_ceil(SPAN).max(1)).map(span)
}

/// Reads a span of a tensor's bytes, until `take` returns something. It gets each piece and
/// its offset.
///
/// # Errors
/// The file cannot be read, or has changed; the user has interrupted the work.
pub fn each_piece<R>(
    tensor: &Tensor<'_>,
    span: Range<u64>,
    work: &Work,
    mut take: impl FnMut(u64, &[u8]) -> Option<R>,
) -> Result<Option<R>, Error> {
    let begin = tensor.model().index().summary().data_start + tensor.begin();
    let in_file = begin + span.start..begin + span.end;
    let (mut reader, mut buffer) = (tensor.reader_within(slice::from_ref(&in_file)), Vec::new());
    for at in span.clone().step_by(PIECE) {
        let len = usize::try_from(span.end - at).unwrap_or(PIECE).min(PIECE);
        buffer.resize(len, 0);
        reader.read_at(at, &mut buffer).map_err(|error| Error::not_read(tensor.model().path(), error))?;
        if let Some(found) = take(at, &buffer) {
            return Ok(Some(found));
        }
        work.advance(len as u64)?;
    }
    Ok(None)
}
