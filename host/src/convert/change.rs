//! Converts one tensor, chunk by chunk.

use super::input::{Array, Input};
use super::plan::{Change, Planned, Rows, Scale, row_of};
use crate::context::Context;
use crate::error::Error;
use crate::error::not_read::temporary;
use crate::text::quoted;
use crate::threads::{cores, in_order_within};
use crate::work::Work;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::{Caster, Decoder, Largest, Quantizer, Report, Scales};
use safetensors_convert::zip::read_full;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::iter;

/// Threads are not worth it for a tensor of up to this many bytes.
const SHORT: u64 = 1 << 20;

/// More would not be faster, because one thread writes the output, and each takes up to 9 MiB for its chunks.
const THREADS: usize = 4;

/// The bytes of scales read at a time: complete elements.
const SCALES: usize = 1 << 13;

/// Receives the bytes of an output.
pub type Take<'t> = &'t mut dyn FnMut(&[u8]) -> Result<(), Error>;

/// Converts one tensor after another.
pub struct Changer<'i> {
    input: &'i Input,
    saturates: bool,
    work: Work,
    /// The scales of the last quantised tensor, in row order.
    scales: Option<(usize, File)>,
    /// The SHA-256 of the bytes of each tensor that was made, if they are wanted.
    sums: Option<Vec<[u8; 32]>>,
}

impl<'i> Changer<'i> {
    /// `sums`: whether the bytes of each tensor are summed.
    pub fn new(
        context: &Context,
        input: &'i Input,
        saturates: bool,
        tensors: &[Planned],
        sums: bool,
    ) -> Self {
        let work = context.work("converting", tensors.iter().map(|tensor| bytes_read(input, tensor)).sum());
        Self { input, saturates, work, scales: None, sums: sums.then(Vec::new) }
    }

    pub fn input(&self) -> &'i Input {
        self.input
    }

    /// The SHA-256 of each tensor, in the order in which they were made; none if they are not wanted.
    pub fn into_sums(self) -> Vec<[u8; 32]> {
        self.sums.unwrap_or_default()
    }

    /// Passes the converted bytes of a tensor to `take`, and reports the changes in its numbers.
    ///
    /// # Errors
    /// Those of `take` and of the input; a number does not fit the dtype; interruption by the user.
    pub fn make(&mut self, planned: &Planned, take: Take<'_>) -> Result<Option<Report>, Error> {
        let mut made = 0;
        let mut sum = self.sums.is_some().then(Sha256::new);
        let counted: Take<'_> = &mut |bytes| {
            made += bytes.len() as u64;
            sum.iter_mut().for_each(|sum| sum.update(bytes));
            take(bytes)
        };
        let report = match planned.change {
            Change::Keep => self.keep(planned, counted).map(|()| None),
            Change::Cast(to) => self.cast(planned, to, counted).map(Some),
            Change::Quantize(scale) => self.quantize(planned, self.rows(planned, scale), counted).map(Some),
            Change::Scales(scale) => {
                self.give_scales(planned, self.rows(planned, scale), counted).map(|()| None)
            }
            Change::Unscale { to, scales } => self.unscale(planned, to, scales as usize, counted).map(Some),
        }?;
        if let (Some(sums), Some(sum)) = (&mut self.sums, sum) {
            sums.push(sum.finalize().into());
        }
        // The header is already written: fewer bytes would make the output invalid.
        let due = planned.array(self.input).byte_len();
        match made == due {
            true => Ok(report),
            false => Err(self.about(planned, &format!("internal error: {made} of {due} bytes produced"))),
        }
    }

    fn keep(&self, planned: &Planned, take: Take<'_>) -> Result<(), Error> {
        let (mut chunks, mut bytes) = (self.input.read(planned.source())?, Vec::new());
        while chunks.fill(&mut bytes, &self.work)? {
            take(&bytes)?;
        }
        Ok(())
    }

    fn cast(&self, planned: &Planned, to: Dtype, take: Take<'_>) -> Result<Report, Error> {
        let caster = self.caster(planned, to)?;
        let cast = |piece: &mut Piece<Caster>| piece.tool.cast(&piece.bytes, &mut piece.out);
        self.report_chunks(planned, &caster, None, cast, take)
    }

    fn caster(&self, planned: &Planned, to: Dtype) -> Result<Caster, Error> {
        let caster = Caster::new(self.dtype(planned), to, self.saturates);
        caster.ok_or_else(|| self.about(planned, "this cast is not supported"))
    }

    /// The tensor that an output is made of.
    fn array(&self, planned: &Planned) -> Array<'i> {
        self.input.array(planned.source())
    }

    fn dtype(&self, planned: &Planned) -> Dtype {
        self.array(planned).dtype
    }

    fn rows(&self, planned: &Planned, scale: Scale) -> Rows {
        Rows::of(&self.array(planned), scale)
    }

    fn quantize(&mut self, planned: &Planned, rows: Rows, take: Take<'_>) -> Result<Report, Error> {
        let mut scales = BufReader::new(self.scales_of(planned, rows)?);
        let mut next = || next_scale(&mut scales).map_err(|error| spool(&error));
        let rows = RowScales { len: rows.len, left: 0, scale: 1.0, next: &mut next };
        let quantize =
            |piece: &mut Piece<Quantizer>| piece.tool.quantize(&piece.bytes, &piece.scales, &mut piece.out);
        self.report_chunks(planned, &Quantizer::new(self.dtype(planned)), Some(rows), quantize, take)
    }

    fn give_scales(&mut self, planned: &Planned, rows: Rows, take: Take<'_>) -> Result<(), Error> {
        let mut scales = self.scales_of(planned, rows)?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            match scales.read(&mut buffer).map_err(|error| spool(&error))? {
                0 => return Ok(()),
                len => take(&buffer[..len])?,
            }
        }
    }

    /// Rewinds the unnamed file with the scales.
    fn scales_of(&mut self, planned: &Planned, rows: Rows) -> Result<File, Error> {
        let (of, file) = match self.scales.take() {
            Some((of, file)) if of == planned.source() => (of, file),
            _ => (planned.source(), self.find_scales(planned, rows)?),
        };
        let mut reader = file.try_clone().map_err(|error| spool(&error))?;
        reader.seek(SeekFrom::Start(0)).map_err(|error| spool(&error))?;
        self.scales = Some((of, file));
        Ok(reader)
    }

    /// A tensor without elements has a scale too.
    fn find_scales(&self, planned: &Planned, rows: Rows) -> Result<File, Error> {
        let mut out = BufWriter::new(tempfile::tempfile().map_err(|error| spool(&error))?);
        let (mut largest, mut left, mut missing) = (Largest::default(), rows.len, rows.count);
        let mut ahead = rows.len;
        let prepare = |scales: &mut Scales, elements: u64| {
            (scales.first, scales.each) = (ahead, rows.len);
            ahead = rows.len - (elements + rows.len - ahead) % rows.len;
            Ok(())
        };
        let work = |piece: &mut Piece<Quantizer>| piece.tool.largest(&piece.bytes, &piece.scales);
        self.chunks(planned, &Quantizer::new(self.dtype(planned)), prepare, work, |parts, _| {
            for (count, part) in parts {
                if !part.is_finite() {
                    let sentence = "has a NaN or an infinity, which cannot be scaled to I8";
                    return Err(self.about(planned, sentence));
                }
                largest.add(part);
                left -= count;
                if left == 0 {
                    self.put_scale(planned, largest, &mut out)?;
                    (largest, left, missing) = (Largest::default(), rows.len, missing - 1);
                }
            }
            Ok(())
        })?;
        for _ in 0..missing {
            self.work.advance(0)?;
            self.put_scale(planned, Largest::default(), &mut out)?;
        }
        out.into_inner().map_err(|error| spool(error.error()))
    }

    fn put_scale(&self, planned: &Planned, largest: Largest, out: &mut impl Write) -> Result<(), Error> {
        let scale = largest.scale().or(self.saturates.then_some(f32::MAX)).ok_or_else(|| {
            let (largest, most) = (largest.value(), f64::from(f32::MAX) * 127.0);
            let sentence = format!(
                "{largest:e} is too large for I8 with an F32 scale, which goes to {most:.6e}; exclude it \
                 with --except, or clamp with --saturate"
            );
            self.about(planned, &sentence)
        })?;
        out.write_all(&scale.to_le_bytes()).map_err(|error| spool(&error))
    }

    fn unscale(&self, planned: &Planned, to: Dtype, scales: usize, take: Take<'_>) -> Result<Report, Error> {
        let len = row_of(&self.array(planned), &self.input.array(scales)).unwrap_or(1);
        let mut next = self.read_scales(scales)?;
        let rows = RowScales { len, left: 0, scale: 1.0, next: &mut next };
        let caster = self.caster(planned, to)?;
        let unscale =
            |piece: &mut Piece<Caster>| piece.tool.unscale(&piece.bytes, &piece.scales, &mut piece.out);
        self.report_chunks(planned, &caster, Some(rows), unscale, take)
    }

    /// Reads the scales of this index, one after another.
    fn read_scales(&self, index: usize) -> Result<impl FnMut() -> Result<f32, Error>, Error> {
        let (array, file) = (self.input.array(index), self.input.file_of(index));
        let (mut decoder, mut source) = (Decoder::new(array.dtype), self.input.bytes(index)?);
        let (mut bytes, mut values, mut at) = (Vec::new(), Vec::new(), 0);
        let mut next = move || {
            if at == values.len() {
                bytes.resize(SCALES, 0);
                let len = read_full(&mut *source, &mut bytes)?;
                bytes.truncate(len);
                decoder.decode_doubles(&bytes, &mut values)?;
                at = 0;
            }
            at += 1;
            values.get(at - 1).copied().ok_or(io::ErrorKind::UnexpectedEof.into())
        };
        Ok(move || {
            let scale = next().map_err(|error| file.complaint(error))?;
            single(scale).ok_or_else(|| {
                let name = quoted(array.name);
                let sentence = format!("the scale {scale:?} is not an F32; first use --to F32 --only {name}");
                self.input.about_tensor(index, &sentence)
            })
        })
    }

    /// Does `work` with all chunks of a tensor, which makes their output, and passes that to `take`.
    fn report_chunks<T: Clone + Send>(
        &self,
        planned: &Planned,
        tool: &T,
        mut rows: Option<RowScales<'_>>,
        work: impl Fn(&mut Piece<T>) -> io::Result<Report> + Sync,
        take: Take<'_>,
    ) -> Result<Report, Error> {
        let mut sum = Report::default();
        let prepare = |scales: &mut Scales, elements| match &mut rows {
            Some(rows) => rows.fill(scales, elements),
            None => Ok(()),
        };
        self.chunks(planned, tool, prepare, work, |report, out| {
            sum.add(&report);
            take(out)
        })?;
        Ok(sum)
    }

    /// Reads all chunks of a tensor, does `work` with several at a time, and passes the results and the
    /// output to `take` in order. `prepare` is called for each chunk in order, with the number of its
    /// elements.
    fn chunks<T: Clone + Send, R: Send>(
        &self,
        planned: &Planned,
        tool: &T,
        mut prepare: impl FnMut(&mut Scales, u64) -> Result<(), Error>,
        work: impl Fn(&mut Piece<T>) -> io::Result<R> + Sync,
        mut take: impl FnMut(R, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let bits = u64::from(self.dtype(planned).bits());
        let mut chunks = self.input.read(planned.source())?;
        let threads = if bytes_of(self.input, planned) > SHORT { cores().get().min(THREADS) } else { 1 };
        let unused = RefCell::new(Vec::new());
        let mut next = || {
            let mut piece = unused.borrow_mut().pop().unwrap_or_else(|| Piece::new(tool.clone()));
            let is_full = chunks.fill(&mut piece.bytes, &self.work)?;
            prepare(&mut piece.scales, piece.bytes.len() as u64 * 8 / bits)?;
            Ok(is_full.then_some(piece))
        };
        let done = |piece: Result<Piece<T>, Error>| piece.map(|mut piece| (work(&mut piece), piece));
        let taken = |done: Result<(io::Result<R>, Piece<T>), Error>| {
            let (result, piece) = done?;
            let result = result.map_err(|error| self.about(planned, &error.to_string()))?;
            take(result, &piece.out)?;
            unused.borrow_mut().push(piece);
            Ok(())
        };
        in_order_within(2 * threads, iter::from_fn(|| next().transpose()), threads, done, taken)
    }

    fn about(&self, planned: &Planned, sentence: &str) -> Error {
        self.input.about_tensor(planned.source(), sentence)
    }
}

/// A chunk, and what is made of it. Its memory is used again.
struct Piece<T> {
    tool: T,
    bytes: Vec<u8>,
    scales: Scales,
    out: Vec<u8>,
}

impl<T> Piece<T> {
    fn new(tool: T) -> Self {
        Self { tool, bytes: Vec::new(), scales: Scales::default(), out: Vec::new() }
    }
}

/// The scales of rows of this length, read in order.
struct RowScales<'s> {
    len: u64,
    /// The elements of the current row that are left, and its scale.
    left: u64,
    scale: f32,
    next: &'s mut dyn FnMut() -> Result<f32, Error>,
}

impl RowScales<'_> {
    /// Sets the scales of the next elements.
    fn fill(&mut self, scales: &mut Scales, elements: u64) -> Result<(), Error> {
        let (mut known, mut left) = (self.left, self.left);
        scales.scales.clear();
        scales.scales.extend((left > 0).then_some(self.scale));
        while known < elements {
            self.scale = (self.next)()?;
            scales.scales.push(self.scale);
            left = if left == 0 { self.len } else { left };
            known += self.len;
        }
        (scales.first, scales.each, self.left) = (left, self.len, known - elements);
        Ok(())
    }
}

/// The `f32` with this value, if there is one.
#[allow(clippy::cast_possible_truncation)]
fn single(value: f64) -> Option<f32> {
    let single = value as f32;
    (value.is_nan() || f64::from(single) == value).then_some(single)
}

fn next_scale(scales: &mut impl Read) -> io::Result<f32> {
    let mut bytes = [0; 4];
    scales.read_exact(&mut bytes)?;
    Ok(f32::from_le_bytes(bytes))
}

fn spool(error: &io::Error) -> Error {
    Error::usage(format!("the scales cannot be buffered in {}", temporary(error)))
}

/// The number of bytes read for this output.
fn bytes_read(input: &Input, planned: &Planned) -> u64 {
    let len = bytes_of(input, planned);
    match planned.change {
        Change::Quantize(_) => 2 * len,
        Change::Scales(_) => 0,
        _ => len,
    }
}

fn bytes_of(input: &Input, planned: &Planned) -> u64 {
    input.array(planned.source()).byte_len()
}
