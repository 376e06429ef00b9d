//! An open checkpoint.

use super::path::{index_of, with_suffix};
use super::scan::{Data, Scan};
use super::stored::{Joined, Place};
use crate::error::unsound;
use crate::numpy::swapped;
use crate::source::{InTensor, at, no_tensor};
use crate::text::quoted;
use crate::{Tensor, TensorSource};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A checkpoint of TensorFlow.
pub struct Checkpoint {
    scan: Scan,
    is_big_endian: bool,
    /// The data files that have bytes, by their numbers.
    shards: BTreeMap<u32, File>,
}

impl Checkpoint {
    /// Opens the checkpoint that a path names, as [`index_of`] finds it. `open` opens its files: first the
    /// index, then the data files beside it that have bytes. Their names contain nothing from the index but
    /// numbers.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if it is unsound or not supported; [`io::ErrorKind::QuotaExceeded`] if
    /// it exceeds a limit; and those of the system and of `open`.
    pub fn open(path: &Path, mut open: impl FnMut(&Path) -> io::Result<File>) -> io::Result<Self> {
        let path = index_of(path)?;
        let scan = Scan::of(&open(&path)?)?;
        let header = scan.header.as_ref().map(|header| (header.shards, header.is_big_endian));
        let (count, is_big_endian) = header.unwrap_or_default();
        // The index may be named `.index`, which has no extension.
        let base = match path.extension() {
            Some(_) => path.with_extension(""),
            None => path.with_file_name(""),
        };
        let used: BTreeSet<u32> =
            scan.places.iter().filter(|place| place.size > 0).map(|place| place.shard).collect();
        let mut shards = BTreeMap::new();
        for number in used {
            let path = with_suffix(&base, format!(".data-{number:05}-of-{count:05}"));
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let file = open(&path).map_err(|error| {
                io::Error::new(error.kind(), format!("data file {} cannot be opened: {error}", quoted(&name)))
            })?;
            shards.insert(number, file);
        }
        check_places(&scan, &shards)?;
        Ok(Self { scan, is_big_endian, shards })
    }

    /// Returns the places of pieces that have bytes. The file of no bytes is perhaps not open.
    fn pieces(&self, first: u32, count: u32) -> impl Iterator<Item = (&File, Place)> {
        let (first, count) = (usize::try_from(first), usize::try_from(count));
        let pieces = self.scan.pieces.iter().skip(first.unwrap_or(usize::MAX)).take(count.unwrap_or(0));
        let places = pieces.filter_map(|index| at(&self.scan.places, *index)).filter(|place| place.size > 0);
        places.filter_map(|place| Some((self.shards.get(&place.shard)?, *place)))
    }
}

impl TensorSource for Checkpoint {
    fn tensors(&self) -> &[Tensor] {
        &self.scan.tensors
    }

    fn left_out(&self) -> &[(String, &'static str)] {
        &self.scan.strings
    }

    fn read(&self, index: usize) -> io::Result<Box<dyn Read + Send + '_>> {
        let (Some(tensor), Some(data)) = (self.scan.tensors.get(index), self.scan.data.get(index)) else {
            return Err(no_tensor());
        };
        let Data { axis, first, count } = *data;
        let before = tensor.dims.iter().zip(0..axis).map(|(dim, _)| *dim);
        // Validated to fit, but for a tensor without elements.
        let source = Joined::new(self.pieces(first, count), before.fold(1, u64::saturating_mul));
        let source = InTensor { source, name: &tensor.name };
        Ok(match self.is_big_endian {
            true => Box::new(swapped(tensor.dtype, source)),
            false => Box::new(source),
        })
    }
}

/// Checks that all bytes are in their files, and that no two tensors share some.
fn check_places(scan: &Scan, shards: &BTreeMap<u32, File>) -> io::Result<()> {
    let lens = shards.iter().map(|(number, file)| Ok((number, file.metadata()?.len())));
    let lens: BTreeMap<&u32, u64> = lens.collect::<io::Result<_>>()?;
    let places = scan.places.iter().zip(0_u32..).filter(|(place, _)| place.size > 0);
    let mut sorted: Vec<u32> = places.map(|(_, index)| index).collect();
    let place = |index: u32| at(&scan.places, index);
    sorted.sort_unstable_by_key(|index| place(*index).map(|place| (place.shard, place.at)));
    let mut before: Option<(u32, Place)> = None;
    for index in sorted {
        let Some(&place) = place(index) else { continue };
        let Place { shard, at, size, .. } = place;
        let len = lens.get(&shard).copied().unwrap_or_default();
        if at.checked_add(size).is_none_or(|end| end > len) {
            let owner = scan.owner(index);
            return Err(unsound(format!(
                "{owner}: its {size} bytes at byte {at} go beyond the {len} bytes of data file {shard}"
            )));
        }
        if let Some((other, before)) = before
            && before.shard == shard
            && before.at + before.size > at
        {
            let (first, second) = (scan.owner(other), scan.owner(index));
            return Err(unsound(format!("{first} and {second} share bytes of data file {shard}")));
        }
        before = Some((index, place));
    }
    Ok(())
}
