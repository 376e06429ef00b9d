//! Converts one tensor, chunk by chunk.

use super::input::{Array, Chunks, Input};
use super::plan::{Change, Planned, Rows};
use crate::complaint::Complaint;
use crate::failure::temporary;
use crate::text::quoted;
use crate::work::Work;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::{Cast, Decoder, Largest, Number, Quantizer, Report};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

/// Receives the bytes of an output.
pub type Take<'t> = &'t mut dyn FnMut(&[u8]) -> Result<(), Complaint>;

/// Converts one tensor after another.
pub struct Changer<'i> {
    input: &'i Input,
    saturates: bool,
    work: Work,
    /// The scales of the last quantised tensor, in row order.
    scales: Option<(usize, File)>,
}

impl<'i> Changer<'i> {
    pub fn new(input: &'i Input, saturates: bool, tensors: &[Planned]) -> Self {
        let work = Work::new("converting", tensors.iter().map(|tensor| bytes_read(input, tensor)).sum());
        Self { input, saturates, work, scales: None }
    }

    /// Passes the converted bytes of a tensor to `take`, and reports the changes in its numbers.
    ///
    /// # Errors
    /// Those of `take` and of the input; a number does not fit the dtype; interruption by the user.
    pub fn make(&mut self, planned: &Planned, take: Take<'_>) -> Result<Option<Report>, Complaint> {
        let mut made = 0;
        let counted: Take<'_> = &mut |bytes| {
            made += bytes.len() as u64;
            take(bytes)
        };
        let report = match planned.change {
            Change::Keep => self.keep(planned, counted).map(|()| None),
            Change::Cast(to) => self.cast(planned, to, counted).map(Some),
            Change::Quantize(rows) => self.quantize(planned, rows, counted).map(Some),
            Change::Scales(rows) => self.give_scales(planned, rows, counted).map(|()| None),
            Change::Unscale { to, row, scales } => {
                self.unscale(planned, to, (row, scales), counted).map(Some)
            }
        }?;
        // The header is already written: fewer bytes would make the output invalid.
        let due = planned.array.byte_len();
        match made == due {
            true => Ok(report),
            false => {
                Err(self.about(&planned.array, &format!("internal error: {made} of {due} bytes produced")))
            }
        }
    }

    fn keep(&self, planned: &Planned, take: Take<'_>) -> Result<(), Complaint> {
        let mut chunks = self.input.read(planned.source)?;
        loop {
            match chunks.next(&self.work)? {
                [] => return Ok(()),
                chunk => take(chunk)?,
            }
        }
    }

    fn cast(&self, planned: &Planned, to: Dtype, take: Take<'_>) -> Result<Report, Complaint> {
        let mut cast = self.to(&planned.array, to)?;
        let mut bytes = Vec::new();
        self.numbers(planned.source, &mut |numbers| {
            bytes.clear();
            numbers
                .iter()
                .try_for_each(|&number| cast.push(number, &mut bytes))
                .map_err(|error| self.about(&planned.array, &error.to_string()))?;
            take(&bytes)
        })?;
        Ok(cast.report)
    }

    fn to(&self, array: &Array, dtype: Dtype) -> Result<Cast, Complaint> {
        let cast = Cast::new(dtype, self.saturates);
        cast.ok_or_else(|| self.about(array, "this cast is not supported"))
    }

    fn quantize(&mut self, planned: &Planned, rows: Rows, take: Take<'_>) -> Result<Report, Complaint> {
        let mut scales = BufReader::new(self.scales_of(planned, rows)?);
        let (mut quantizer, mut bytes, mut left, mut scale) = (Quantizer::default(), Vec::new(), 0, 1.0);
        self.numbers(planned.source, &mut |numbers| {
            bytes.clear();
            for &number in numbers {
                if left == 0 {
                    (left, scale) = (rows.len, next_scale(&mut scales).map_err(|error| spool(&error))?);
                }
                left -= 1;
                quantizer.push(number, scale, &mut bytes);
            }
            take(&bytes)
        })?;
        Ok(quantizer.report)
    }

    fn give_scales(&mut self, planned: &Planned, rows: Rows, take: Take<'_>) -> Result<(), Complaint> {
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
    fn scales_of(&mut self, planned: &Planned, rows: Rows) -> Result<File, Complaint> {
        let (of, file) = match self.scales.take() {
            Some((of, file)) if of == planned.source => (of, file),
            _ => (planned.source, self.find_scales(planned, rows)?),
        };
        let mut reader = file.try_clone().map_err(|error| spool(&error))?;
        reader.seek(SeekFrom::Start(0)).map_err(|error| spool(&error))?;
        self.scales = Some((of, file));
        Ok(reader)
    }

    /// A tensor without elements has a scale too.
    fn find_scales(&self, planned: &Planned, rows: Rows) -> Result<File, Complaint> {
        let mut out = BufWriter::new(tempfile::tempfile().map_err(|error| spool(&error))?);
        let (mut largest, mut left, mut missing) = (Largest::default(), rows.len, rows.count);
        self.numbers(planned.source, &mut |numbers| {
            for &number in numbers {
                if !largest.see(number) {
                    let sentence = "has a NaN or an infinity, which cannot be scaled to I8";
                    return Err(self.about(&planned.array, sentence));
                }
                left -= 1;
                if left == 0 {
                    put_scale(largest, &mut out)?;
                    (largest, left, missing) = (Largest::default(), rows.len, missing - 1);
                }
            }
            Ok(())
        })?;
        for _ in 0..missing {
            self.work.advance(0)?;
            put_scale(Largest::default(), &mut out)?;
        }
        out.into_inner().map_err(|error| spool(error.error()))
    }

    fn unscale(
        &self,
        planned: &Planned,
        to: Dtype,
        (row, scales): (u64, usize),
        take: Take<'_>,
    ) -> Result<Report, Complaint> {
        let mut scales = Numbers::of(self.input, scales)?;
        let (mut cast, mut bytes, mut left, mut scale) = (self.to(&planned.array, to)?, Vec::new(), 0, 1.0);
        self.numbers(planned.source, &mut |numbers| {
            bytes.clear();
            for &number in numbers {
                if left == 0 {
                    (left, scale) = (row, scales.next(&self.work)?.map_or(1.0, Number::nearest));
                }
                left -= 1;
                // Exact: 8 bits times 24.
                let product = Number::Float(number.nearest() * scale);
                cast.push(product, &mut bytes)
                    .map_err(|error| self.about(&planned.array, &error.to_string()))?;
            }
            take(&bytes)
        })?;
        Ok(cast.report)
    }

    /// Passes all numbers of a tensor to `each`, chunk by chunk.
    fn numbers(
        &self,
        source: usize,
        each: &mut dyn FnMut(&[Number]) -> Result<(), Complaint>,
    ) -> Result<(), Complaint> {
        let mut numbers = Numbers::of(self.input, source)?;
        while numbers.fill(&self.work)? {
            each(&numbers.numbers)?;
        }
        Ok(())
    }

    fn about(&self, array: &Array, sentence: &str) -> Complaint {
        Complaint::about(self.input.path(), format!("tensor {}: {sentence}", quoted(&array.name)))
    }
}

/// The numbers of an input tensor.
struct Numbers<'i> {
    chunks: Chunks<'i>,
    decoder: Decoder,
    /// The last chunk.
    numbers: Vec<Number>,
    given: usize,
}

impl<'i> Numbers<'i> {
    fn of(input: &'i Input, source: usize) -> Result<Self, Complaint> {
        let dtype = input.arrays.get(source).map(|array| array.dtype);
        let decoder = Decoder::new(dtype.unwrap_or(Dtype::U8));
        Ok(Self { chunks: input.read(source)?, decoder, numbers: Vec::new(), given: 0 })
    }

    /// Reads the next chunk, if there is one.
    fn fill(&mut self, work: &Work) -> Result<bool, Complaint> {
        let Self { chunks, decoder, numbers, given } = self;
        numbers.clear();
        *given = 0;
        let chunk = chunks.next(work)?;
        decoder.decode(chunk, numbers).map_err(|error| Complaint::usage(error.to_string()))?;
        Ok(!numbers.is_empty())
    }

    fn next(&mut self, work: &Work) -> Result<Option<Number>, Complaint> {
        if self.given == self.numbers.len() {
            self.fill(work)?;
        }
        self.given += 1;
        Ok(self.numbers.get(self.given - 1).copied())
    }
}

fn put_scale(largest: Largest, out: &mut impl Write) -> Result<(), Complaint> {
    out.write_all(&largest.scale().to_le_bytes()).map_err(|error| spool(&error))
}

fn next_scale(scales: &mut impl Read) -> io::Result<f32> {
    let mut bytes = [0; 4];
    scales.read_exact(&mut bytes)?;
    Ok(f32::from_le_bytes(bytes))
}

fn spool(error: &io::Error) -> Complaint {
    Complaint::usage(format!("the scales cannot be buffered in {}", temporary(error)))
}

/// The number of bytes read for this output.
fn bytes_read(input: &Input, planned: &Planned) -> u64 {
    let len = input.arrays.get(planned.source).map_or(0, Array::byte_len);
    match planned.change {
        Change::Quantize(_) => 2 * len,
        Change::Scales(_) => 0,
        _ => len,
    }
}
