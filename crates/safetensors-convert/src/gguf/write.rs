//! Writes files of version 3, little-endian, as gguf-py lays them out.

use super::input::Place;
use super::{
    ALIGNMENT, DEFAULT_ALIGNMENT, KEYS, Kind, MAGIC, MOST_DIMS, MOST_TENSORS, PREFIX, RawTypes, TENSORS,
    TYPES, aligned, check_alignment, lists::ranks, parse,
};
use crate::counted::Counted;
use crate::error::{beyond_limit, unsound};
use crate::pages::LONGEST_NAME;
use crate::source::{Tensor, TensorSource};
use crate::text::quoted;
use embedded_safetensors::Dtype;
use embedded_safetensors::write::TensorSpec;
use std::io::{self, Read, Write};

/// A validated file that has not been written: tensors in the given order, and metadata from
/// `__metadata__`.
///
/// The dtypes are F32, F16, BF16, F64, I8, I16, I32 and I64; and U8 for raw tensors, whose types
/// [`TYPES`](super::TYPES) lists. All others are rejected.
///
/// Keys without the prefix `gguf.` are not typed, and are [`left_out`](Self::left_out). llama.cpp loads a
/// file only if it has `general.architecture`, and the keys and tensors of that architecture; gguf-py needs
/// none of them.
#[derive(Debug)]
pub struct Plan<'a> {
    tensors: Vec<TensorSpec<'a>>,
    /// The type of each tensor and its number of bytes.
    stored: Vec<(Kind, u64)>,
    metadata: &'a [(String, String)],
    /// The keys of the file and their texts, in its order.
    pairs: Vec<(&'a str, &'a str)>,
    alignment: u32,
    header_len: u64,
    data_len: u64,
}

impl<'a> Plan<'a> {
    /// Validates tensors and metadata.
    ///
    /// # Errors
    /// [`InvalidData`](io::ErrorKind::InvalidData) if a dtype, a name, a shape or a value of the metadata
    /// cannot be written; [`QuotaExceeded`](io::ErrorKind::QuotaExceeded) if a limit of this module is
    /// exceeded.
    pub fn new(tensors: &'a [Tensor], metadata: &'a [(String, String)]) -> io::Result<Self> {
        Self::of(tensors.iter().map(Tensor::spec).collect(), metadata)
    }

    /// Validates tensors that may be borrowed from anywhere, and metadata.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn of(tensors: Vec<TensorSpec<'a>>, metadata: &'a [(String, String)]) -> io::Result<Self> {
        let types = metadata.iter().find(|(key, _)| key == TYPES).map_or("{}", |(_, value)| value);
        let types =
            RawTypes::read(types, tensors.len(), |index| tensors.get(index).map_or("", TensorSpec::name));
        let invalid = |reason: String| Place::Value(TYPES.to_owned()).unsound(reason);
        let types = types.map_err(invalid)?;
        let stored = tensors.iter().zip(types.kinds).map(|(tensor, raw)| stored(tensor, raw));
        let stored = stored.collect::<io::Result<Vec<_>>>()?;
        if let Some(name) = types.unknown {
            return Err(invalid(format!("no tensor has the name {}", quoted(&name))));
        }
        check_names(&tensors)?;
        let alignment = alignment(metadata)?;
        let pairs = ordered(metadata)?;
        let mut plan = Self { tensors, stored, metadata, pairs, alignment, header_len: 0, data_len: 0 };
        let mut counted = Counted::new(io::sink());
        plan.write_header(&mut counted)?;
        plan.header_len = counted.count;
        plan.data_len = plan.offsets().last().unwrap_or(Ok(0))?;
        Ok(plan)
    }

    /// Returns the keys of the metadata that the file does not have.
    pub fn left_out(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let keys = self.metadata.iter().map(|(key, _)| key.as_str());
        keys.filter(|key| ![TYPES, KEYS, TENSORS].contains(key) && !key.starts_with(PREFIX))
    }

    /// Returns the length of the file.
    pub fn file_len(&self) -> u64 {
        self.header_len.saturating_add(self.data_len)
    }

    /// Begins the file.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn begin<W: Write>(self, mut sink: W) -> io::Result<Writer<'a, W>> {
        self.write_header(&mut sink)?;
        Ok(Writer { plan: self, next: 0, sink })
    }

    /// Writes the file, with all tensors of a source, whose tensors must be those of the plan.
    ///
    /// # Errors
    /// Those of the source and the sink.
    pub fn write<W: Write>(self, source: &dyn TensorSource, sink: W) -> io::Result<W> {
        let count = self.tensors.len();
        let mut writer = self.begin(sink)?;
        for index in 0..count {
            writer.write_with(|out| io::copy(&mut source.read(index)?, out).map(drop))?;
        }
        writer.finish()
    }

    /// Returns the offset of the end of each tensor with its padding.
    fn offsets(&self) -> impl Iterator<Item = io::Result<u64>> {
        let mut end = Some(0u64);
        self.stored.iter().map(move |(_, len)| {
            end = end.and_then(|end| aligned(end.checked_add(*len)?, self.alignment));
            end.ok_or_else(|| unsound("the tensors have more bytes than fit into 64 bits"))
        })
    }

    /// Writes everything before the data of the first tensor.
    fn write_header(&self, sink: &mut impl Write) -> io::Result<()> {
        let mut sink = Counted::new(sink);
        let counts = [self.tensors.len(), self.pairs.len()].map(|count| (count as u64).to_le_bytes());
        let mut bytes = [&MAGIC[..], &3u32.to_le_bytes(), counts.as_flattened()].concat();
        for (key, text) in &self.pairs {
            parse::string(key.as_bytes(), &mut bytes);
            let invalid = |reason: String| Place::Value(format!("{PREFIX}{key}")).unsound(reason);
            parse::value(text, &mut bytes).map_err(invalid)?;
            sink.write_all(&bytes)?;
            bytes.clear();
        }
        let mut at = 0u64;
        for ((tensor, (kind, _)), end) in self.tensors.iter().zip(&self.stored).zip(self.offsets()) {
            parse::string(tensor.name().as_bytes(), &mut bytes);
            // Fits: the number of dims is limited.
            bytes.extend(u32::try_from(tensor.dims().len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend(dims(tensor, *kind).flat_map(u64::to_le_bytes));
            bytes.extend(kind.number().to_le_bytes());
            bytes.extend(at.to_le_bytes());
            sink.write_all(&bytes)?;
            bytes.clear();
            at = end?;
        }
        sink.write_all(&bytes)?;
        pad(sink.count, self.alignment, &mut sink)
    }
}

/// Returns the type of a tensor and its number of bytes.
fn stored(tensor: &TensorSpec<'_>, raw: Option<Kind>) -> io::Result<(Kind, u64)> {
    let (dtype, rank) = (tensor.dtype(), tensor.dims().len());
    let place = || Place::Tensor(tensor.name().to_owned());
    let reject = |reason: String| place().unsound(reason);
    let kind = match raw {
        Some(kind) if dtype == Dtype::U8 => kind,
        Some(kind) => return Err(reject(format!("its dtype is {dtype}, but blocks of {kind} are U8"))),
        None => Kind::of_dtype(dtype)
            .ok_or_else(|| reject(format!("GGUF has no type for elements of dtype {dtype}")))?,
    };
    if rank > MOST_DIMS as usize {
        return Err(place().beyond(format!("{rank} dims, at most {MOST_DIMS} are supported")));
    }
    let (row, bytes) = (tensor.dims().last().copied().unwrap_or_default(), kind.block_bytes());
    if raw.is_some() && (rank == 0 || !row.is_multiple_of(bytes)) {
        return Err(reject(format!("its rows have {row} bytes, but blocks of {kind} have {bytes}")));
    }
    let dims: Vec<u64> = dims(tensor, kind).collect();
    let len = kind.byte_len(&dims).map_err(reject)?;
    Ok((kind, len))
}

/// Returns the dims of a tensor as GGUF has them.
fn dims(tensor: &TensorSpec<'_>, kind: Kind) -> impl Iterator<Item = u64> {
    let (elements, bytes) = (kind.block_elements(), kind.block_bytes());
    let is_raw = kind.dtype().is_none();
    tensor.dims().iter().rev().enumerate().map(move |(axis, &dim)| match axis {
        // The product can overflow only if the length of the tensor does, which is rejected.
        0 if is_raw => (dim / bytes).saturating_mul(elements),
        _ => dim,
    })
}

/// Returns the keys of the file and their texts: first those that the list of keys has, in its order.
fn ordered(metadata: &[(String, String)]) -> io::Result<Vec<(&str, &str)>> {
    let list = metadata.iter().find(|(key, _)| key == KEYS).map_or("[]", |(_, value)| value);
    let ranks = ranks(list).map_err(|reason| Place::Value(KEYS.to_owned()).unsound(reason))?;
    let pairs = metadata.iter().filter_map(|(key, text)| Some((key.strip_prefix(PREFIX)?, text.as_str())));
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_by_key(|(key, _)| ranks.get(*key).copied().unwrap_or(usize::MAX));
    match pairs.iter().find(|(key, _)| key.len() as u64 > LONGEST_NAME) {
        Some((key, _)) => {
            let (key, len) = (quoted(key), key.len());
            let sentence = format!("metadata key {key} has {len} bytes, at most {LONGEST_NAME} are allowed");
            Err(beyond_limit(sentence))
        }
        None => Ok(pairs),
    }
}

fn check_names(tensors: &[TensorSpec<'_>]) -> io::Result<()> {
    if tensors.len() as u64 > MOST_TENSORS {
        let count = tensors.len();
        return Err(beyond_limit(format!("{count} tensors, at most {MOST_TENSORS} are supported")));
    }
    match tensors.iter().map(TensorSpec::name).find(|name| name.len() as u64 > LONGEST_NAME) {
        Some(name) => {
            let reason = format!("its name has {} bytes, at most {LONGEST_NAME} are allowed", name.len());
            Err(Place::Tensor(name.to_owned()).beyond(reason))
        }
        None => Ok(()),
    }
}

/// Returns the alignment that the metadata has, or the default one.
fn alignment(metadata: &[(String, String)]) -> io::Result<u32> {
    let found = metadata.iter().find(|(key, _)| key.strip_prefix(PREFIX) == Some(ALIGNMENT));
    let Some((key, text)) = found else { return Ok(DEFAULT_ALIGNMENT) };
    let place = Place::Value(key.clone());
    let number = text.strip_prefix("uint32:").and_then(|digits| digits.parse().ok());
    let number = number.filter(|alignment: &u32| alignment.is_power_of_two());
    let number = number
        .ok_or_else(|| place.unsound(format!("{} is not a uint32 that is a power of two", quoted(text))))?;
    check_alignment(number, &place).map(|()| number)
}

/// Writes the padding after this many bytes.
fn pad(len: u64, alignment: u32, sink: &mut impl Write) -> io::Result<()> {
    let padding = aligned(len, alignment).map_or(0, |end| end - len);
    io::copy(&mut io::repeat(0).take(padding), sink).map(drop)
}

/// A file that is being written, tensor by tensor.
#[derive(Debug)]
pub struct Writer<'a, W> {
    plan: Plan<'a>,
    next: usize,
    sink: W,
}

impl<W: Write> Writer<'_, W> {
    /// Writes the next tensor, whose bytes `fill` writes as safetensors has them.
    ///
    /// # Errors
    /// Those of `fill` and the sink; `fill` writes more or fewer bytes than the tensor has; there is no next
    /// tensor.
    pub fn write_with<E: From<io::Error>>(
        &mut self,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let found = self.plan.tensors.get(self.next).zip(self.plan.stored.get(self.next));
        let (tensor, (_, len)) = found.ok_or_else(|| io::Error::other("all tensors have been written"))?;
        let mut counted = Counted::new(&mut self.sink);
        fill(&mut counted)?;
        if counted.count != *len {
            let (name, count) = (quoted(tensor.name()), counted.count);
            return Err(unsound(format!("tensor {name}: {count} bytes are given, but it has {len}")).into());
        }
        self.next += 1;
        Ok(pad(*len, self.plan.alignment, &mut self.sink)?)
    }

    /// Completes the file, and returns the sink.
    ///
    /// # Errors
    /// Not all tensors have been written; those of the sink.
    pub fn finish(mut self) -> io::Result<W> {
        if self.next < self.plan.tensors.len() {
            return Err(io::Error::other("not all tensors have been written"));
        }
        self.sink.flush()?;
        Ok(self.sink)
    }
}
