//! Converts one tensor, chunk by chunk.

use super::input::Tensor;
use super::plan::{Change, Plan, Planned, row_of, rows_of};
use crate::context::Context;
use crate::error::Error;
use crate::error::not_read::temporary;
use crate::output::writer::Take;
use crate::text::{grouped, quoted};
use crate::threads::{cores, in_order_within};
use crate::work::Work;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::{Caster, Decoder, Largest, Quantizer, Report, Scales};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::iter;

/// The code of the error that numbers would become 0.
pub const ZEROED: &str = "zeroed";

/// Threads are not worth it for a tensor of up to this many bytes.
const SHORT: u64 = 1 << 20;

/// More would not be faster, because one thread writes the output, and each takes up to 9 MiB for its chunks.
const THREADS: usize = 4;

/// Converts one tensor after another.
pub struct Changer<'i> {
    plan: &'i Plan<'i>,
    work: Work,
    /// The scales of the tensor that was quantised before, in row order.
    scales: Option<File>,
    /// The number of tensors that were made.
    made: usize,
    /// The changes in the numbers of each that was cast, with its index.
    pub reports: Vec<(usize, Report)>,
    /// The SHA-256 of the bytes of each tensor that was made, if they are wanted.
    pub sums: Option<Vec<[u8; 32]>>,
}

impl<'i> Changer<'i> {
    /// `sums`: whether the bytes of each tensor are summed.
    pub fn new(context: &Context, plan: &'i Plan<'i>, sums: bool) -> Self {
        plan.input.expect(plan.tensors.iter().map(|planned| planned.tensor));
        let work = context.work("converting", plan.tensors.iter().map(bytes_read).sum());
        let is_cast = |planned: &&Planned<'_>| !matches!(planned.change, Change::Keep | Change::Scales);
        let reports = Vec::with_capacity(plan.tensors.iter().filter(is_cast).count());
        Self { plan, work, scales: None, made: 0, reports, sums: sums.then(Vec::new) }
    }

    /// Passes the converted bytes of a tensor to `take`.
    ///
    /// # Errors
    /// Those of `take` and of the input; a number does not fit the dtype, or becomes 0; interruption by the
    /// user.
    pub fn make(&mut self, planned: &'i Planned<'i>, take: Take<'_>) -> Result<(), Error> {
        let mut made = 0;
        let mut sum = self.sums.is_some().then(Sha256::new);
        let counted: Take<'_> = &mut |bytes| {
            made += bytes.len() as u64;
            sum.iter_mut().for_each(|sum| sum.update(bytes));
            take(bytes)
        };
        let tensor = planned.tensor;
        let report = match planned.change {
            Change::Keep => self.keep(tensor, counted).map(|()| None),
            Change::Cast(to) => self.cast(tensor, to, counted).map(Some),
            Change::Quantize(scale) => self.quantize(tensor, rows_of(tensor, scale), counted).map(Some),
            Change::Scales => self.give_scales(counted).map(|()| None),
            Change::Unscale { to, scales } => self.unscale(tensor, to, scales, counted).map(Some),
        }?;
        self.reports.extend(report.map(|report| (self.made, report)));
        self.made += 1;
        if let (Some(sums), Some(sum)) = (&mut self.sums, sum) {
            sums.push(sum.finalize().into());
        }
        // The header is already written: fewer bytes would make the output invalid.
        let due = planned.byte_len();
        match made == due {
            true => Ok(()),
            false => Err(self.about(tensor, &format!("internal error: {made} of {due} bytes produced"))),
        }
    }

    fn keep(&self, tensor: &Tensor, take: Take<'_>) -> Result<(), Error> {
        let (mut chunks, mut bytes) = (self.plan.input.file_of(tensor).read(tensor)?, Vec::new());
        while chunks(&mut bytes, &self.work)? {
            take(&bytes)?;
        }
        Ok(())
    }

    fn cast(&self, tensor: &Tensor, to: Dtype, take: Take<'_>) -> Result<Report, Error> {
        let cast = |piece: &mut Piece<Caster>| piece.tool.cast(&piece.bytes, &mut piece.out);
        let report = self.report_chunks(tensor, &self.caster(tensor, to)?, None, cast, take)?;
        if report.zeroed == 0 || !self.plan.casts.rejects_zeros() {
            return Ok(report);
        }
        let sentence = format!(
            "tensor {}: {} of {} numbers would become 0 in {to}; scale them with --to I8 --scale per-row, or \
             allow it with --allow-zeros",
            quoted(&tensor.name),
            grouped(report.zeroed),
            grouped(report.values)
        );
        Err(Error::bad(&self.plan.input.file_of(tensor).path, ZEROED, sentence))
    }

    fn caster(&self, tensor: &Tensor, to: Dtype) -> Result<Caster, Error> {
        let caster = Caster::new(tensor.dtype, to, self.plan.casts.saturate);
        caster.ok_or_else(|| self.about(tensor, "this cast is not supported"))
    }

    fn quantize(&mut self, tensor: &Tensor, rows: (u64, u64), take: Take<'_>) -> Result<Report, Error> {
        let file = self.find_scales(tensor, rows)?;
        let mut scales = BufReader::new(file.try_clone().map_err(spool)?);
        let next = || {
            let mut bytes = [0; 4];
            scales.read_exact(&mut bytes).map_err(spool)?;
            Ok(f32::from_le_bytes(bytes))
        };
        let rows = &mut row_scales(rows.0, next);
        let quantize =
            |piece: &mut Piece<Quantizer>| piece.tool.quantize(&piece.bytes, &piece.scales, &mut piece.out);
        let report = self.report_chunks(tensor, &Quantizer::new(tensor.dtype), Some(rows), quantize, take)?;
        self.scales = Some(file);
        Ok(report)
    }

    fn give_scales(&mut self, take: Take<'_>) -> Result<(), Error> {
        let mut scales = self.scales.take().ok_or_else(|| spool(io::ErrorKind::NotFound.into()))?;
        scales.rewind().map_err(spool)?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            match scales.read(&mut buffer).map_err(spool)? {
                0 => return Ok(()),
                len => take(&buffer[..len])?,
            }
        }
    }

    /// Writes the scales to an unnamed file, and rewinds it. A tensor without elements has a scale as well.
    fn find_scales(&self, tensor: &Tensor, (len, mut missing): (u64, u64)) -> Result<File, Error> {
        let mut out = BufWriter::new(tempfile::tempfile().map_err(spool)?);
        let (mut largest, mut left) = (Largest::default(), len);
        // Only the lengths of rows are needed.
        let rows = &mut row_scales(len, || Ok(1.0));
        let work = |piece: &mut Piece<Quantizer>| piece.tool.largest(&piece.bytes, &piece.scales);
        self.chunks(tensor, &Quantizer::new(tensor.dtype), Some(rows), work, |parts, _| {
            for (count, part) in parts {
                if !part.is_finite() {
                    let sentence = "has a NaN or an infinity, which cannot be scaled to I8";
                    return Err(self.about(tensor, sentence));
                }
                largest.add(part);
                left -= count;
                if left == 0 {
                    self.put_scale(tensor, largest, &mut out)?;
                    (largest, left, missing) = (Largest::default(), len, missing - 1);
                }
            }
            Ok(())
        })?;
        for _ in 0..missing {
            self.work.advance(0)?;
            self.put_scale(tensor, Largest::default(), &mut out)?;
        }
        let mut file = out.into_inner().map_err(|error| spool(error.into_error()))?;
        file.rewind().map_err(spool)?;
        Ok(file)
    }

    fn put_scale(&self, tensor: &Tensor, largest: Largest, out: &mut impl Write) -> Result<(), Error> {
        let clamped = self.plan.casts.saturate.then_some(f32::MAX);
        let scale = largest.scale().or(clamped).ok_or_else(|| {
            let (largest, most) = (largest.value(), f64::from(f32::MAX) * 127.0);
            let sentence = format!(
                "{largest:e} is too large for I8 with an F32 scale, which goes to {most:.6e}; exclude it \
                 with --except, or clamp with --saturate"
            );
            self.about(tensor, &sentence)
        })?;
        out.write_all(&scale.to_le_bytes()).map_err(spool)
    }

    fn unscale(&self, tensor: &Tensor, to: Dtype, scales: &Tensor, take: Take<'_>) -> Result<Report, Error> {
        let len = row_of(tensor, scales).unwrap_or(1);
        let rows = &mut row_scales(len, self.read_scales(scales)?);
        let unscale =
            |piece: &mut Piece<Caster>| piece.tool.unscale(&piece.bytes, &piece.scales, &mut piece.out);
        self.report_chunks(tensor, &self.caster(tensor, to)?, Some(rows), unscale, take)
    }

    /// Reads the scales in a tensor, one after another.
    fn read_scales(&self, scales: &Tensor) -> Result<impl FnMut() -> Result<f32, Error>, Error> {
        let file = self.plan.input.file_of(scales);
        let (mut decoder, mut chunks) = (Decoder::new(scales.dtype), file.read(scales)?);
        let (mut bytes, mut values, mut at) = (Vec::new(), Vec::new(), 0);
        Ok(move || {
            if at == values.len() {
                chunks(&mut bytes, &self.work)?;
                decoder.decode_doubles(&bytes, &mut values).map_err(|error| file.failed(error))?;
                at = 0;
            }
            at += 1;
            let scale = values.get(at - 1).copied();
            let scale = scale.ok_or_else(|| file.failed(io::ErrorKind::UnexpectedEof.into()))?;
            single(scale).ok_or_else(|| {
                let name = quoted(&scales.name);
                let sentence = format!("the scale {scale:?} is not an F32; first use --to F32 --only {name}");
                self.about(scales, &sentence)
            })
        })
    }

    /// Does `work` with all chunks of a tensor, which makes their output, and passes that to `take`.
    fn report_chunks<T: Clone + Send>(
        &self,
        tensor: &Tensor,
        tool: &T,
        rows: Option<Rows<'_>>,
        work: impl Fn(&mut Piece<T>) -> io::Result<Report> + Sync,
        take: Take<'_>,
    ) -> Result<Report, Error> {
        let mut sum = Report::default();
        self.chunks(tensor, tool, rows, work, |report, out| {
            sum.add(&report);
            take(out)
        })?;
        Ok(sum)
    }

    /// Reads all chunks of a tensor, does `work` with several at a time, and passes the results and the
    /// output to `take` in order.
    fn chunks<T: Clone + Send, R: Send>(
        &self,
        tensor: &Tensor,
        tool: &T,
        mut rows: Option<Rows<'_>>,
        work: impl Fn(&mut Piece<T>) -> io::Result<R> + Sync,
        mut take: impl FnMut(R, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let bits = u64::from(tensor.dtype.bits());
        let mut chunks = self.plan.input.file_of(tensor).read(tensor)?;
        let threads = if tensor.byte_len() > SHORT { cores().get().min(THREADS) } else { 1 };
        let unused = RefCell::new(Vec::new());
        let new = || Piece { tool: tool.clone(), bytes: vec![], scales: Scales::default(), out: vec![] };
        let mut next = || {
            let mut piece = unused.borrow_mut().pop().unwrap_or_else(new);
            let is_full = chunks(&mut piece.bytes, &self.work)?;
            if let Some(rows) = &mut rows {
                rows(&mut piece.scales, piece.bytes.len() as u64 * 8 / bits)?;
            }
            Ok(is_full.then_some(piece))
        };
        let done = |piece: Result<Piece<T>, Error>| piece.map(|mut piece| (work(&mut piece), piece));
        let taken = |done: Result<(io::Result<R>, Piece<T>), Error>| {
            let (result, piece) = done?;
            let result = result.map_err(|error| self.about(tensor, &error.to_string()))?;
            take(result, &piece.out)?;
            unused.borrow_mut().push(piece);
            Ok(())
        };
        in_order_within(2 * threads, iter::from_fn(|| next().transpose()), threads, done, taken)
    }

    fn about(&self, tensor: &Tensor, sentence: &str) -> Error {
        self.plan.input.about_tensor(tensor, sentence)
    }
}

/// A chunk, and what is made of it. Its memory is used again.
struct Piece<T> {
    tool: T,
    bytes: Vec<u8>,
    scales: Scales,
    out: Vec<u8>,
}

/// Sets the scales of as many elements as come next.
type Rows<'r> = &'r mut dyn FnMut(&mut Scales, u64) -> Result<(), Error>;

/// The scales of rows of this length, which `next` gives in order.
fn row_scales(
    len: u64,
    mut next: impl FnMut() -> Result<f32, Error>,
) -> impl FnMut(&mut Scales, u64) -> Result<(), Error> {
    // The elements of the current row that are left, and its scale.
    let (mut rest, mut scale) = (0, 1.0);
    move |scales, elements| {
        let (mut known, mut left) = (rest, rest);
        scales.scales.clear();
        scales.scales.extend((left > 0).then_some(scale));
        while known < elements {
            scale = next()?;
            scales.scales.push(scale);
            left = if left == 0 { len } else { left };
            known += len;
        }
        (scales.first, scales.each, rest) = (left, len, known - elements);
        Ok(())
    }
}

/// The `f32` with this value, if there is one.
#[allow(clippy::cast_possible_truncation)]
fn single(value: f64) -> Option<f32> {
    let single = value as f32;
    (value.is_nan() || f64::from(single) == value).then_some(single)
}

fn spool(error: io::Error) -> Error {
    Error::usage(format!("the scales cannot be buffered in {}", temporary(&error)))
}

/// The number of bytes read for this output.
fn bytes_read(planned: &Planned<'_>) -> u64 {
    let len = planned.tensor.byte_len();
    match planned.change {
        Change::Quantize(_) => 2 * len,
        Change::Scales => 0,
        Change::Unscale { scales, .. } => len + scales.byte_len(),
        _ => len,
    }
}
