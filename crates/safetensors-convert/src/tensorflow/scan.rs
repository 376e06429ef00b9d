//! Reads a checkpoint's index into lists of tensors and of the places of their bytes.

use super::entry::{Entry, Header};
use super::slices::{Extent, MARK, key};
use super::stored::{MOST_PIECES, Place};
use super::table;
use crate::Tensor;
use crate::error::{ensure, ensure_within, unsound};
use crate::proto::Reason;
use crate::text::quoted;
use embedded_safetensors::Dtype;
use embedded_safetensors::header::MAX_HEADER_LEN;
use embedded_safetensors::tensor::MAX_RANK;
use std::fs::File;
use std::io;

/// The most entries of an index; fewer in tests, which would take long.
const MOST: usize = if cfg!(test) { 5000 } else { 2_000_000 };
/// The most bytes of a key. Keys share what they begin with, so that a short index can have many long ones.
const LONGEST_KEY: usize = 65_535;
/// The most bytes of all keys: no header of safetensors has more. Fewer in tests.
const MOST_KEY_BYTES: u64 = if cfg!(test) { 200_000 } else { MAX_HEADER_LEN };

/// What an index says.
#[derive(Default)]
pub struct Scan {
    pub header: Option<Header>,
    /// The tensors in the order of their names.
    pub tensors: Vec<Tensor>,
    pub data: Vec<Data>,
    /// The names of the tensors of texts.
    pub strings: Vec<(String, &'static str)>,
    /// The places of all bytes, also of those that are left out.
    pub places: Vec<Place>,
    /// The places of the pieces of all tensors; of one that is not partitioned, its only place.
    pub pieces: Vec<u32>,
    /// The slices of all partitioned variables, in the order of their keys.
    slices: Vec<Slice>,
    /// The bytes of all keys.
    key_bytes: u64,
}

/// The pieces of a tensor: the axis along which they are joined, the index of the first, and their number.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    pub axis: u32,
    pub first: u32,
    pub count: u32,
}

/// A slice of a partitioned variable.
struct Slice {
    key: Box<[u8]>,
    dims: Box<[u64]>,
    dtype: Option<Dtype>,
    place: u32,
    /// Whether a variable lists it.
    is_used: bool,
}

// A slice takes at most 256 bytes besides its key: vectors that grow have room for two times as many, and
// each of its two boxes takes some bytes more.
const _: () =
    assert!(2 * (size_of::<Slice>() + size_of::<Place>() + size_of::<u32>()) + 8 * MAX_RANK <= 256 - 2 * 16);

impl Scan {
    /// Reads an index.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if it is not an index, if it contradicts itself, or if it has dtypes
    /// that safetensors does not have; [`io::ErrorKind::QuotaExceeded`] if it exceeds a limit.
    pub fn of(index: &File) -> io::Result<Self> {
        let mut scan = Self::default();
        table::for_each(index, |key, value| scan.add(key, value))?;
        ensure(scan.header.is_some(), || "the index has no entries")?;
        if let Some(slice) = scan.slices.iter().find(|slice| !slice.is_used) {
            let key = quoted(&String::from_utf8_lossy(&slice.key));
            return Err(unsound(format!("no variable lists the slice with the key {key}")));
        }
        scan.slices = Vec::new();
        Ok(scan)
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        let Some(header) = &self.header else {
            // Keys are sorted, so the empty one is the first.
            ensure(key.is_empty(), || "the index has no header")?;
            let in_header = |reason| unsound(format!("the header of the index: {reason}"));
            self.header = Some(Header::read(value).map_err(in_header)?);
            return Ok(());
        };
        let shards = header.shards;
        self.count(key)?;
        let shown = || quoted(&String::from_utf8_lossy(key));
        let in_tensor = |reason: Reason| unsound(format!("tensor {}: {reason}", shown()));
        let entry = Entry::read(value).map_err(in_tensor)?;
        let (is_slice, rank) = (key.first() == Some(&MARK), entry.dims.len());
        // Of texts, the shapes of slices are kept.
        let is_kept = is_slice || entry.dtype.is_some();
        ensure_within(!is_kept || rank <= MAX_RANK, || {
            format!("tensor {}: its rank is {rank}, at most {MAX_RANK} is supported", shown())
        })?;
        entry.check(shards).map_err(in_tensor)?;
        if is_slice {
            return self.add_slice(key, entry).map_err(in_tensor);
        }
        let name = str::from_utf8(key).map_err(|_| in_tensor("its name is not UTF-8".into()))?.to_owned();
        let data = match entry.is_sliced {
            true => self.join(key, &entry).map_err(in_tensor)?,
            false => {
                let place = self.place(&entry);
                self.data(0, std::iter::once(place))
            }
        };
        self.add_tensor(name, entry, data)
    }

    /// Counts an entry and the bytes of its key.
    fn count(&mut self, key: &[u8]) -> io::Result<()> {
        ensure_within(self.places.len() < MOST, || {
            format!("the index has more than {MOST} tensors and slices")
        })?;
        let len = key.len();
        ensure_within(len <= LONGEST_KEY, || {
            let shown = quoted(&String::from_utf8_lossy(key));
            format!("tensor {shown}: its key has {len} bytes, at most {LONGEST_KEY} are allowed")
        })?;
        self.key_bytes += len as u64;
        ensure_within(self.key_bytes <= MOST_KEY_BYTES, || {
            format!("the keys of the index have more than {MOST_KEY_BYTES} bytes together")
        })
    }

    fn add_tensor(&mut self, name: String, entry: Entry<'_>, data: Data) -> io::Result<()> {
        match entry.dtype {
            None => self.strings.push((name, "string")),
            Some(dtype) => {
                let Data { axis, count, .. } = data;
                let is_one_run = entry.dims.iter().zip(0..axis).all(|(dim, _)| *dim == 1);
                let is_many = usize::try_from(count).is_ok_and(|count| count > MOST_PIECES);
                ensure_within(is_one_run || !is_many, || {
                    let slices = format!("tensor {}: it has {count} slices along axis {axis}", quoted(&name));
                    format!("{slices}, at most {MOST_PIECES} are supported")
                })?;
                self.tensors.push(Tensor { name, dtype, dims: entry.dims });
                self.data.push(data);
            }
        }
        Ok(())
    }

    /// Adds the place of an entry's bytes.
    fn place(&mut self, entry: &Entry<'_>) -> u32 {
        self.places.push(entry.place);
        as_u32(self.places.len() - 1)
    }

    fn add_slice(&mut self, key: &[u8], entry: Entry<'_>) -> Result<(), Reason> {
        if entry.is_sliced {
            return Err("it is a slice that has slices".into());
        }
        let place = self.place(&entry);
        let (key, dims, dtype) = (key.into(), entry.dims.into_boxed_slice(), entry.dtype);
        self.slices.push(Slice { key, dims, dtype, place, is_used: false });
        Ok(())
    }

    /// Finds the slices of a variable.
    fn join(&mut self, name: &[u8], entry: &Entry<'_>) -> Result<Data, Reason> {
        if entry.place.size > 0 {
            return Err("it has bytes of its own, and slices".into());
        }
        // The starts, lengths and places along one axis.
        let (mut axis, mut spans) = (None, Vec::new());
        for message in entry.slices() {
            let extents = Extent::read_all(message?, entry.dims.len())?;
            let place = self.take_slice(name, &extents, entry)?;
            let mut span = None;
            for (number, (extent, dim)) in extents.iter().zip(&entry.dims).enumerate() {
                let (start, len) = extent.on(*dim)?;
                if (start, len) == (0, *dim) {
                    continue;
                }
                if span.is_some() || axis.is_some_and(|axis| axis != number) {
                    return Err("it is partitioned along several axes, only one is supported".into());
                }
                (span, axis) = (Some((start, len, place)), Some(number));
            }
            let whole = entry.dims.get(axis.unwrap_or_default()).copied().unwrap_or(1);
            spans.push(span.unwrap_or((0, whole, place)));
        }
        let axis = axis.unwrap_or_default();
        check_spans(&mut spans, entry.dims.get(axis).copied().unwrap_or(1))?;
        Ok(self.data(axis, spans.into_iter().map(|(.., place)| place)))
    }

    /// Adds the pieces of a tensor.
    fn data(&mut self, axis: usize, places: impl Iterator<Item = u32>) -> Data {
        let first = self.pieces.len();
        self.pieces.extend(places);
        Data { axis: as_u32(axis), first: as_u32(first), count: as_u32(self.pieces.len() - first) }
    }

    /// Returns the place of a slice, and marks that a variable lists it.
    fn take_slice(&mut self, name: &[u8], extents: &[Extent], entry: &Entry<'_>) -> Result<u32, Reason> {
        let key = key(name, extents);
        let found = self.slices.binary_search_by(|slice| (*slice.key).cmp(&key));
        let slice = found.ok().and_then(|index| self.slices.get_mut(index));
        let slice = slice.ok_or("one of its slices has no entry")?;
        if slice.is_used {
            return Err("it lists a duplicate slice".into());
        }
        slice.is_used = true;
        if slice.dtype != entry.dtype {
            return Err("one of its slices has another dtype".into());
        }
        for (number, (extent, dim)) in extents.iter().zip(&entry.dims).enumerate() {
            let (_, len) = extent.on(*dim)?;
            if slice.dims.len() != entry.dims.len() || slice.dims.get(number) != Some(&len) {
                return Err("one of its slices has another shape than listed".into());
            }
        }
        Ok(slice.place)
    }

    /// Returns the name of what is in a place, for an error.
    pub fn owner(&self, place: u32) -> String {
        let piece = self.pieces.iter().zip(0_u32..).find(|(own, _)| **own == place);
        let has = |data: &Data| piece.is_some_and(|(_, at)| at >= data.first && at - data.first < data.count);
        let owner = self.data.iter().zip(&self.tensors).find(|(data, _)| has(data));
        let tensor = |(_, tensor): (_, &Tensor)| format!("tensor {}", quoted(&tensor.name));
        owner.map_or_else(|| "a tensor of texts".to_owned(), tensor)
    }
}

/// Sorts slices along an axis, and checks that they are the whole axis.
fn check_spans(spans: &mut [(u64, u64, u32)], dim: u64) -> Result<(), Reason> {
    spans.sort_unstable();
    let mut end = 0;
    for (start, len, _) in spans {
        if *start != end {
            return Err(match *start < end {
                true => format!("its slices overlap at {start}"),
                false => format!("its slices lack what is from {end} to {start}"),
            });
        }
        end += *len;
    }
    if end == dim { Ok(()) } else { Err(format!("its slices end at {end}, but its axis at {dim}")) }
}

/// Returns an index, of which there are at most [`MOST`].
fn as_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
