//! The elements of a tensor, as safetensors stores them.

use super::input::Place;
use super::quants::dequantise;
use super::{Kind, Quantised};
use crate::numbers::Caster;
use crate::zip::{Part, read_full};
use embedded_safetensors::Dtype;
use std::fs::File;
use std::io::{self, Read};

/// Elements that are quantised are converted as many at a time: complete blocks of all types.
const BATCH: u64 = 1 << 14;

/// A tensor in a file.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    pub kind: Kind,
    /// The offset of its first byte.
    pub at: u64,
    pub len: u64,
}

/// Bytes of a tensor as they are in the file. The file must have them all.
pub struct Exact<'f> {
    part: Part<'f>,
    left: u64,
    name: &'f str,
}

impl<'f> Exact<'f> {
    pub fn new(file: &'f File, stored: &Stored, name: &'f str) -> Self {
        Self { part: Part::new(file, stored.at, stored.len), left: stored.len, name }
    }
}

impl Read for Exact<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.part.read(buffer)?;
        if len == 0 && self.left > 0 && !buffer.is_empty() {
            let place = Place::Tensor(self.name.to_owned());
            return Err(place.unsound(format!("the file has become shorter, and lacks {} bytes", self.left)));
        }
        self.left -= len as u64;
        Ok(len)
    }
}

/// Blocks, converted while they are read.
pub struct Blocks<'f> {
    source: Exact<'f>,
    kind: Kind,
    /// The offsets of numbers in each block whose byte order is reversed.
    reversed: &'static [usize],
    form: Form,
    /// The bytes of a batch.
    raw: Vec<u8>,
    floats: Vec<f32>,
    singles: Vec<u8>,
    /// What the batch became, and how many bytes of it the caller has.
    ready: Vec<u8>,
    given: usize,
}

enum Form {
    Raw,
    Singles,
    /// Floats of 16 bits.
    Cast(Box<Caster>),
}

impl<'f> Blocks<'f> {
    /// Creates a reader; its numbers are reversed if the file is big-endian.
    ///
    /// # Errors
    /// The cast is not supported.
    pub fn new(source: Exact<'f>, kind: Kind, is_big: bool, quantised: Quantised) -> io::Result<Self> {
        let reversed = if is_big { kind.scales().unwrap_or_default() } else { &[] };
        let form = match quantised {
            Quantised::Raw => Form::Raw,
            Quantised::F32 => Form::Singles,
            Quantised::F16 | Quantised::BF16 => {
                let caster = Caster::new(Dtype::F32, quantised.dtype(), false);
                Form::Cast(Box::new(caster.ok_or_else(|| io::Error::other("this cast is not supported"))?))
            }
        };
        let (raw, floats, singles, ready) = Default::default();
        Ok(Self { source, kind, reversed, form, raw, floats, singles, ready, given: 0 })
    }

    /// Converts the next batch; nothing is ready at the end of the tensor.
    fn convert(&mut self) -> io::Result<()> {
        let blocks = BATCH / self.kind.block_elements();
        let bytes = (blocks * self.kind.block_bytes()).min(self.source.left);
        self.raw.resize(usize::try_from(bytes).unwrap_or(usize::MAX), 0);
        read_full(&mut self.source, &mut self.raw)?;
        let [elements, block] = [self.kind.block_elements(), self.kind.block_bytes()]
            .map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        for block in self.raw.chunks_exact_mut(block) {
            self.reversed.iter().for_each(|&at| block[at..at + 2].reverse());
        }
        self.given = 0;
        if let Form::Raw = self.form {
            std::mem::swap(&mut self.raw, &mut self.ready);
            return Ok(());
        }
        self.floats.resize(self.raw.len() / block * elements, 0.0);
        dequantise(self.kind, &self.raw, &mut self.floats);
        match &mut self.form {
            Form::Raw => Ok(()),
            Form::Singles => {
                copy(&self.floats, &mut self.ready);
                Ok(())
            }
            Form::Cast(caster) => {
                copy(&self.floats, &mut self.singles);
                caster.cast(&self.singles, &mut self.ready).map(drop)
            }
        }
    }
}

/// Makes `bytes` those of the floats.
fn copy(floats: &[f32], bytes: &mut Vec<u8>) {
    bytes.resize(floats.len() * 4, 0);
    bytes.as_chunks_mut().0.iter_mut().zip(floats).for_each(|(bytes, float)| *bytes = float.to_le_bytes());
}

impl Read for Blocks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.ready.len() {
            self.convert()?;
        }
        let ready = self.ready.get(self.given..).unwrap_or_default();
        let len = ready.len().min(buffer.len());
        buffer[..len].copy_from_slice(&ready[..len]);
        self.given += len;
        Ok(len)
    }
}
