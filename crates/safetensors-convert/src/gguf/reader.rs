//! Opens files.

use super::elements::{Stored, blocks};
use super::input::{Input, Place};
use super::lists::{list_tensors, push_strings, push_types};
use super::split::{Split, Values};
use super::value::{self, TOO_LONG, Text, Type, UINT32};
use super::{
    ALIGNMENT, DEFAULT_ALIGNMENT, KEYS, Kind, MAGIC, MOST_DIMS, MOST_TENSORS, MOST_TEXT, PREFIX, TENSORS,
    TYPES, aligned, check_alignment,
};
use crate::error::{beyond_limit, unsound};
use crate::numpy::swapped;
use crate::source::{InTensor, Tensor, TensorSource, no_tensor};
use crate::text::quoted;
use crate::zip::Exact;
use embedded_safetensors::Dtype;
use std::fs::File;
use std::io::{self, Read};

/// The bytes that a pair takes in addition to its texts.
const PAIR: usize = 64;

/// How a file is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether quantised tensors are raw: their blocks become U8. Otherwise they become F32.
    pub keep_blocks: bool,
    /// Whether the metadata of the file is left out. It is validated, except for duplicate keys.
    pub without_metadata: bool,
}

/// An open file.
#[derive(Debug)]
pub struct Gguf {
    file: File,
    is_raw: bool,
    is_big: bool,
    tensors: Vec<Tensor>,
    stored: Vec<Stored>,
    metadata: Vec<(String, String)>,
    split: Option<Split>,
}

impl Gguf {
    /// Reads and validates the structure of a file.
    ///
    /// # Errors
    /// Those of [`TensorSource`].
    pub fn open(file: File, options: &Options) -> io::Result<Self> {
        let Options { keep_blocks: is_raw, without_metadata } = *options;
        let mut input = Input::new(&file)?;
        let [count, pairs] = read_header(&mut input)?;
        let mut metadata = Metadata { is_kept: !without_metadata, left: MOST_TEXT, ..Metadata::default() };
        metadata.read(&mut input, pairs)?;
        let capacity =
            usize::try_from(count).map_err(|_| input.place.beyond("more tensors than fit into memory"))?;
        let (mut tensors, mut stored) = (Vec::with_capacity(capacity), Vec::with_capacity(capacity));
        for index in 0..count {
            input.place = Place::Index(index);
            let (tensor, own) = read_tensor(&mut input, is_raw)?;
            tensors.push(tensor);
            stored.push(own);
        }
        input.place = Place::Header;
        place(&tensors, &mut stored, &input, metadata.alignment.unwrap_or(DEFAULT_ALIGNMENT))?;
        let (is_big, split) = (input.is_big, metadata.split.split()?);
        check_tensors(&tensors, &stored)?;
        let metadata = metadata.finish(split.is_some(), &tensors, &stored, is_raw)?;
        Ok(Self { file, is_raw, is_big, tensors, stored, metadata, split })
    }

    /// Returns which file of a model it is, if the model has several.
    pub fn split(&self) -> Option<Split> {
        self.split
    }
}

impl TensorSource for Gguf {
    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    fn stored_type(&self, index: usize) -> Option<&'static str> {
        let stored = self.stored.get(index)?;
        stored.kind.dtype().is_none().then(|| stored.kind.name())
    }

    fn read(&self, index: usize) -> io::Result<Box<dyn Read + Send + '_>> {
        let found = self.tensors.get(index).zip(self.stored.get(index));
        let (tensor, stored) = found.ok_or_else(no_tensor)?;
        let source = Exact::new(&self.file, stored.at, stored.len);
        let source: Box<dyn Read + Send> = match (stored.kind.dtype(), self.is_big) {
            (Some(dtype), true) => Box::new(swapped(dtype, source)),
            (Some(_), false) => Box::new(source),
            (None, false) if self.is_raw => Box::new(source),
            (None, _) => Box::new(blocks(source, stored.kind, self.is_big, self.is_raw)),
        };
        Ok(Box::new(InTensor { source, name: &tensor.name }))
    }
}

/// Reads up to the metadata, and returns the number of tensors and the number of keys.
fn read_header(input: &mut Input<'_>) -> io::Result<[u64; 2]> {
    if input.bytes::<4>()? != MAGIC {
        return Err(input.place.unsound("the file does not begin with \"GGUF\""));
    }
    let bytes = input.bytes()?;
    let (little, big) = (u32::from_le_bytes(bytes), u32::from_be_bytes(bytes));
    input.is_big = match (little, big) {
        (2 | 3, _) => false,
        (_, 3) => true,
        (_, 1 | 2) => return Err(input.place.unsound(format!("version {big} has no big-endian files"))),
        _ => {
            let reason = format!("version {little} is not supported; versions 2 and 3 are");
            return Err(input.place.unsound(reason));
        }
    };
    let (tensors, pairs) = (input.u64()?, input.u64()?);
    // A key has a length, a type and a value; a tensor has two lengths, a type and an offset.
    for (count, least, what) in [(pairs, 13, "keys"), (tensors, 24, "tensors")] {
        let left = input.left();
        if count > left / least {
            let reason = format!("it claims {count} {what}, which do not fit the {left} bytes left");
            return Err(input.place.unsound(reason));
        }
    }
    if tensors > MOST_TENSORS {
        return Err(input.place.beyond(format!("{tensors} tensors, at most {MOST_TENSORS} are supported")));
    }
    Ok([tensors, pairs])
}

/// The metadata that is being read.
#[derive(Default)]
struct Metadata {
    pairs: Vec<(String, String)>,
    is_kept: bool,
    /// How many more bytes the texts may have.
    left: usize,
    alignment: Option<u32>,
    split: Values,
}

impl Metadata {
    fn read(&mut self, input: &mut Input<'_>, count: u64) -> io::Result<()> {
        for index in 0..count {
            input.place = Place::Key(index);
            let key = input.name()?;
            input.place = Place::Value(key.clone());
            let text = match key == ALIGNMENT {
                true => self.read_alignment(input)?,
                false => self.read_text(input, &key)?,
            };
            if self.is_kept {
                self.left = self.left.saturating_sub(PREFIX.len() + key.len() + PAIR + text.len());
                self.pairs.push((PREFIX.to_owned() + &key, text));
            }
        }
        match duplicate(self.pairs.iter().map(|(key, _)| &key[PREFIX.len()..])) {
            Some(key) => Err(Place::Value(key.to_owned()).unsound("the key is duplicate")),
            None => Ok(()),
        }
    }

    fn read_text(&mut self, input: &mut Input<'_>, key: &str) -> io::Result<String> {
        let too_long = |input: &Input<'_>| {
            input.place.beyond(
                "with it, the texts of the metadata are longer than 24 MiB; the metadata can be left out \
                 (--no-metadata)",
            )
        };
        let is_split = Values::have(key);
        let room = self.left.checked_sub(PREFIX.len() + key.len() + PAIR);
        let mut text = match self.is_kept || is_split {
            true => Text::new(room.ok_or_else(|| too_long(input))?),
            false => Text::without(),
        };
        value::read(input, &mut text)
            .map_err(|error| if error.kind() == TOO_LONG { too_long(input) } else { error })?;
        let text = text.into_string();
        if is_split {
            self.split.set(key, &text)?;
        }
        Ok(text)
    }

    fn read_alignment(&mut self, input: &mut Input<'_>) -> io::Result<String> {
        let kind = Type::read(input)?;
        if kind.number != UINT32.number {
            return Err(input.place.unsound(format!("its type is {}, not uint32", kind.name)));
        }
        let alignment = input.u32()?;
        if !alignment.is_power_of_two() {
            return Err(input.place.unsound(format!("{alignment} is not a power of two")));
        }
        check_alignment(alignment, &input.place)?;
        if self.alignment.replace(alignment).is_some() {
            return Err(input.place.unsound("the key is duplicate"));
        }
        Ok(format!("uint32:{alignment}"))
    }

    fn list(&self, push: impl FnOnce(&mut Text) -> io::Result<()>) -> io::Result<String> {
        let mut text = Text::new(self.left);
        let too_long = |_| beyond_limit("the lists of keys and of types of raw tensors are too long");
        push(&mut text).map_err(too_long).map(|()| text.into_string())
    }

    /// Returns the pairs, and with them the order of the keys and tensors, and the types of raw tensors.
    fn finish(
        mut self,
        is_split: bool,
        tensors: &[Tensor],
        stored: &[Stored],
        is_raw: bool,
    ) -> io::Result<Vec<(String, String)>> {
        self.pairs.retain(|(key, _)| !is_split || !Values::have(&key[PREFIX.len()..]));
        let keys = self.pairs.iter().map(|(key, _)| &key[PREFIX.len()..]);
        let keys = self.list(|text| push_strings(text, keys))?;
        let raw = tensors.iter().zip(stored).map(|(tensor, stored)| (&*tensor.name, stored.kind));
        let raw = raw.filter(|(_, kind)| is_raw && kind.dtype().is_none());
        let types = self.list(|text| push_types(text, raw))?;
        let names = tensors.iter().filter(|_| self.is_kept).map(|tensor| tensor.name.as_str());
        let tensors = list_tensors(names);
        let lists = [(KEYS, Some(keys)), (TENSORS, tensors), (TYPES, Some(types))];
        let lists = lists.into_iter().filter_map(|(key, list)| Some((key.to_owned(), list?)));
        self.pairs.extend(lists.filter(|(_, list)| !["[]", "{}"].contains(&list.as_str())));
        Ok(self.pairs)
    }
}

/// Reads the description of a tensor; its offset is the one in the data.
fn read_tensor(input: &mut Input<'_>, is_raw: bool) -> io::Result<(Tensor, Stored)> {
    let name = input.name()?;
    if name == "__metadata__" {
        return Err(input.place.unsound("safetensors reserves the name \"__metadata__\""));
    }
    input.place = Place::Tensor(name.clone());
    let rank = input.u32()?;
    if rank > MOST_DIMS {
        return Err(input.place.beyond(format!("{rank} dims, at most {MOST_DIMS} are supported")));
    }
    let mut dims = (0..rank).map(|_| input.u64()).collect::<io::Result<Vec<u64>>>()?;
    let (number, at) = (input.u32()?, input.u64()?);
    let reject = |reason: String| input.place.unsound(reason);
    let kind = Kind::of_number(number).map_err(reject)?;
    let len = kind.byte_len(&dims).map_err(reject)?;
    let dtype = match kind.dtype() {
        Some(dtype) => dtype,
        None if !is_raw && !super::quants::is_supported(kind) => {
            let reason = format!("type {kind} cannot be made floats; its blocks can be kept (--keep-blocks)");
            return Err(reject(reason));
        }
        None if input.is_big && kind.scales().is_none() => {
            return Err(reject(format!("the byte order of type {kind} in big-endian files is unknown")));
        }
        None if is_raw => Dtype::U8,
        None => Dtype::F32,
    };
    if kind.dtype().is_none() && is_raw {
        dims[0] = dims[0] / kind.block_elements() * kind.block_bytes();
    }
    dims.reverse();
    Ok((Tensor { name, dtype, dims }, Stored { kind, at, len }))
}

/// Makes the offsets of tensors those in the file, and checks that the file has them all.
fn place(tensors: &[Tensor], stored: &mut [Stored], input: &Input<'_>, alignment: u32) -> io::Result<()> {
    let begin =
        aligned(input.at, alignment).ok_or_else(|| input.place.unsound("the alignment is too large"))?;
    for (tensor, stored) in tensors.iter().zip(stored) {
        let (at, len) = (stored.at, stored.len);
        let reject = |reason| Err(Place::Tensor(tensor.name.clone()).unsound(reason));
        if !at.is_multiple_of(u64::from(alignment)) {
            return reject(format!("its offset {at} is not a multiple of {alignment}"));
        }
        let end = begin.checked_add(at).and_then(|begin| begin.checked_add(len));
        if end.is_none_or(|end| end > input.len) {
            let left = input.len.saturating_sub(begin);
            return reject(format!("its {len} bytes at offset {at} exceed the {left} bytes of data"));
        }
        stored.at += begin;
    }
    Ok(())
}

/// Checks that no two tensors have the same name, or share bytes.
fn check_tensors(tensors: &[Tensor], stored: &[Stored]) -> io::Result<()> {
    let names = tensors.iter().map(|tensor| tensor.name.as_str());
    if let Some(name) = duplicate(names) {
        return Err(Place::Tensor(name.to_owned()).unsound("the name is duplicate"));
    }
    let mut ranges: Vec<_> = stored.iter().zip(tensors).filter(|(stored, _)| stored.len > 0).collect();
    ranges.sort_unstable_by_key(|&(stored, tensor)| (stored.at, stored.len, &*tensor.name));
    match ranges.windows(2).find(|pair| pair[1].0.at < pair[0].0.at.saturating_add(pair[0].0.len)) {
        Some(pair) => {
            let (first, second) = (quoted(&pair[0].1.name), quoted(&pair[1].1.name));
            Err(unsound(format!("tensors {first} and {second} share bytes")))
        }
        None => Ok(()),
    }
}

/// Returns a name that is there several times: the first one in alphabetical order.
fn duplicate<'n>(names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}
