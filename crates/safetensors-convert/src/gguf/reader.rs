//! Opens files.

use super::elements::{Blocks, Stored};
use super::input::{Input, Place};
use super::raw::{list_tensors, push_types};
use super::split::{Split, Values};
use super::value::{self, Text, Type};
use super::{
    ALIGNMENT, DEFAULT_ALIGNMENT, KEYS, Kind, MAGIC, MOST_DIMS, MOST_TENSORS, MOST_TEXT, PREFIX, TENSORS,
    TYPES, aligned, check_alignment,
};
use crate::error::{beyond_limit, unsound};
use crate::numpy::Swapped;
use crate::source::{InTensor, Tensor, TensorSource, no_tensor};
use crate::text::quoted;
use crate::zip::Exact;
use embedded_safetensors::Dtype;
use std::fs::File;
use std::io::{self, Read};

/// The bytes that a pair takes in addition to its texts.
const PAIR: usize = 64;

/// What becomes of quantised tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quantised {
    /// They become F32.
    #[default]
    F32,
    /// They become F16: the F32 are rounded to the nearest, ties to even; large ones become infinite.
    F16,
    /// They become BF16: the F32 are rounded to the nearest, ties to even.
    BF16,
    /// Their blocks become U8.
    Raw,
}

/// How a file is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What becomes of quantised tensors.
    pub quantised: Quantised,
    /// Whether the metadata of the file is left out. It is validated, except for duplicate keys.
    pub without_metadata: bool,
}

/// An open file.
#[derive(Debug)]
pub struct Gguf {
    file: File,
    quantised: Quantised,
    is_big: bool,
    tensors: Vec<Tensor>,
    stored: Vec<Stored>,
    metadata: Vec<(String, String)>,
    split: Option<Split>,
}

impl Quantised {
    pub(super) fn dtype(self) -> Dtype {
        match self {
            Self::F32 => Dtype::F32,
            Self::F16 => Dtype::F16,
            Self::BF16 => Dtype::BF16,
            Self::Raw => Dtype::U8,
        }
    }
}

impl Gguf {
    /// Reads and validates the structure of a file.
    ///
    /// # Errors
    /// Those of [`TensorSource`].
    pub fn open(file: File, options: &Options) -> io::Result<Self> {
        let mut input = Input::new(&file)?;
        let [tensors, pairs] = read_header(&mut input)?;
        let mut metadata = Metadata::new(options);
        metadata.read(&mut input, pairs)?;
        let mut list = List::new(&input, tensors, options.quantised)?;
        for index in 0..tensors {
            input.place = Place::Index(index);
            list.read(&mut input)?;
        }
        let alignment = metadata.alignment.unwrap_or(DEFAULT_ALIGNMENT);
        input.place = Place::Header;
        list.place(&input, alignment)?;
        let is_big = input.is_big;
        let List { tensors, stored, .. } = list;
        let split = metadata.split.split()?;
        check_tensors(&tensors, &stored)?;
        let metadata = metadata.finish(&tensors, &stored, options.quantised)?;
        Ok(Self { file, quantised: options.quantised, is_big, tensors, stored, metadata, split })
    }

    /// Returns which file of a model it is, if the model has several.
    pub fn split(&self) -> Option<Split> {
        self.split
    }

    /// Returns the type of a tensor in the file.
    pub fn kind(&self, index: usize) -> Option<Kind> {
        self.stored.get(index).map(|stored| stored.kind)
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
        self.kind(index).filter(|kind| kind.dtype().is_none()).map(Kind::name)
    }

    fn read(&self, index: usize) -> io::Result<Box<dyn Read + '_>> {
        let found = self.tensors.get(index).zip(self.stored.get(index));
        let (tensor, stored) = found.ok_or_else(no_tensor)?;
        let source = Exact::new(&self.file, stored.at, stored.len);
        let source: Box<dyn Read> = match (stored.kind.dtype(), self.is_big) {
            (Some(dtype), true) => Box::new(Swapped::of(dtype, source)),
            (Some(_), false) => Box::new(source),
            (None, false) if self.quantised == Quantised::Raw => Box::new(source),
            (None, _) => Box::new(Blocks::new(source, stored.kind, self.is_big, self.quantised)),
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
            return Err(input
                .place
                .unsound(format!("version {little} is not supported; versions 2 and 3 are")));
        }
    };
    let (tensors, pairs) = (input.u64()?, input.u64()?);
    // A key has a length, a type and a value; a tensor has two lengths, a type and an offset.
    for (count, least, what) in [(pairs, 13, "keys"), (tensors, 24, "tensors")] {
        let left = input.left();
        if count > left / least {
            let sentence = format!("it claims {count} {what}, which do not fit the {left} bytes left");
            return Err(input.place.unsound(sentence));
        }
    }
    if tensors > MOST_TENSORS {
        return Err(input.place.beyond(format!("{tensors} tensors, at most {MOST_TENSORS} are supported")));
    }
    Ok([tensors, pairs])
}

/// The metadata that is being read.
struct Metadata {
    pairs: Vec<(String, String)>,
    is_kept: bool,
    /// How many more bytes the texts may have.
    left: usize,
    alignment: Option<u32>,
    split: Values,
}

impl Metadata {
    fn new(options: &Options) -> Self {
        let is_kept = !options.without_metadata;
        Self { pairs: Vec::new(), is_kept, left: MOST_TEXT, alignment: None, split: Values::default() }
    }

    fn read(&mut self, input: &mut Input<'_>, count: u64) -> io::Result<()> {
        for index in 0..count {
            input.place = Place::Key(index);
            let key = input.name("text")?;
            input.place = Place::Value(key);
            self.read_value(input)?;
        }
        self.check_duplicates()
    }

    fn read_value(&mut self, input: &mut Input<'_>) -> io::Result<()> {
        let Place::Value(key) = input.place.clone() else { return Ok(()) };
        if key == ALIGNMENT {
            return self.read_alignment(input, key);
        }
        let is_split = Values::have(&key);
        let is_kept = self.is_kept || is_split;
        let room = self.left.checked_sub(PREFIX.len() + key.len() + PAIR).filter(|_| is_kept);
        let mut text = match room {
            Some(room) => Text::new(room),
            None if is_kept => return Err(value::too_long(&input.place)),
            None => Text::without(),
        };
        value::read(input, &mut text)?;
        let text = text.into_string();
        if is_split {
            self.split.set(&key, &text)?;
        }
        self.push(key, text);
        Ok(())
    }

    fn read_alignment(&mut self, input: &mut Input<'_>, key: String) -> io::Result<()> {
        let kind = Type::read(input)?;
        if kind != Type::Uint32 {
            return Err(input.place.unsound(format!("its type is {}, not uint32", kind.name())));
        }
        let alignment = input.u32()?;
        if !alignment.is_power_of_two() {
            return Err(input.place.unsound(format!("{alignment} is not a power of two")));
        }
        check_alignment(alignment).map_err(|reason| input.place.beyond(reason))?;
        if self.alignment.replace(alignment).is_some() {
            return Err(input.place.unsound("the key is duplicate"));
        }
        self.push(key, format!("uint32:{alignment}"));
        Ok(())
    }

    fn push(&mut self, key: String, text: String) {
        if self.is_kept {
            self.left = self.left.saturating_sub(PREFIX.len() + key.len() + PAIR + text.len());
            self.pairs.push((PREFIX.to_owned() + &key, text));
        }
    }

    fn check_duplicates(&self) -> io::Result<()> {
        let mut keys: Vec<&str> = self.pairs.iter().map(|(key, _)| key.as_str()).collect();
        keys.sort_unstable();
        match keys.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                let key = pair[0].strip_prefix(PREFIX).unwrap_or(pair[0]);
                Err(Place::Value(key.to_owned()).unsound("the key is duplicate"))
            }
            None => Ok(()),
        }
    }

    /// Returns the pairs, and with them the order of the keys, and the types of raw tensors.
    fn finish(
        mut self,
        tensors: &[Tensor],
        stored: &[Stored],
        quantised: Quantised,
    ) -> io::Result<Vec<(String, String)>> {
        let too_long = |_| beyond_limit("the lists of keys and of types of raw tensors are too long");
        if self.split.split()?.is_some() {
            self.pairs.retain(|(key, _)| !Values::have_prefixed(key));
        }
        let mut text = Text::new(self.left);
        let keys = self.pairs.iter().filter_map(|(key, _)| key.strip_prefix(PREFIX));
        text.push_list(['[', ']'], keys, |text, key| text.push_quoted(key)).map_err(too_long)?;
        if !self.pairs.is_empty() {
            self.pairs.push((KEYS.to_owned(), text.into_string()));
        }
        let names = tensors.iter().filter(|_| self.is_kept).map(|tensor| tensor.name.as_str());
        self.pairs.extend(list_tensors(names).map(|list| (TENSORS.to_owned(), list)));
        let all = tensors.iter().zip(stored).filter(|(_, stored)| stored.kind.dtype().is_none());
        let raw = all.filter(|_| quantised == Quantised::Raw);
        let mut raw = raw.map(|(tensor, stored)| (tensor.name.as_str(), stored.kind)).peekable();
        if raw.peek().is_some() {
            let mut text = Text::new(self.left);
            push_types(&mut text, raw).map_err(too_long)?;
            self.pairs.push((TYPES.to_owned(), text.into_string()));
        }
        Ok(self.pairs)
    }
}

/// The list of tensors that is being read.
struct List {
    tensors: Vec<Tensor>,
    stored: Vec<Stored>,
    quantised: Quantised,
}

impl List {
    /// Creates a list of a number of tensors that has been compared with the length of the file.
    fn new(input: &Input<'_>, count: u64, quantised: Quantised) -> io::Result<Self> {
        let too_many = |_| input.place.beyond("more tensors than fit into memory");
        let count = usize::try_from(count).map_err(too_many)?;
        Ok(Self { tensors: Vec::with_capacity(count), stored: Vec::with_capacity(count), quantised })
    }

    fn read(&mut self, input: &mut Input<'_>) -> io::Result<()> {
        let name = input.name("name")?;
        if name == "__metadata__" {
            return Err(input.place.unsound("safetensors reserves the name \"__metadata__\""));
        }
        input.place = Place::Tensor(name);
        let rank = input.u32()?;
        if rank > MOST_DIMS {
            return Err(input.place.beyond(format!("{rank} dims, at most {MOST_DIMS} are supported")));
        }
        let mut dims = (0..rank).map(|_| input.u64()).collect::<io::Result<Vec<u64>>>()?;
        let (number, at) = (input.u32()?, input.u64()?);
        let reject = |reason: String| input.place.unsound(reason);
        let kind = Kind::of_number(number).map_err(reject)?;
        let len = kind.byte_len(&dims).map_err(reject)?;
        let dtype = self.dtype(kind, input)?;
        if kind.dtype().is_none() && self.quantised == Quantised::Raw {
            dims[0] = dims[0] / kind.block_elements() * kind.block_bytes();
        }
        dims.reverse();
        let Place::Tensor(name) = std::mem::replace(&mut input.place, Place::Header) else { return Ok(()) };
        self.tensors.push(Tensor { name, dtype, dims });
        self.stored.push(Stored { kind, at, len });
        Ok(())
    }

    /// Returns the dtype of a tensor in the output.
    fn dtype(&self, kind: Kind, input: &Input<'_>) -> io::Result<Dtype> {
        if let Some(dtype) = kind.dtype() {
            return Ok(dtype);
        }
        if self.quantised != Quantised::Raw && !super::quants::is_supported(kind) {
            let reason = format!("type {kind} cannot be made floats; its blocks can be kept (--keep-blocks)");
            return Err(input.place.unsound(reason));
        }
        if input.is_big && kind.scales().is_none() {
            return Err(input
                .place
                .unsound(format!("the byte order of type {kind} in big-endian files is unknown")));
        }
        Ok(self.quantised.dtype())
    }

    /// Makes the offsets of tensors those in the file, and checks that the file has them all.
    fn place(&mut self, input: &Input<'_>, alignment: u32) -> io::Result<()> {
        let Some(begin) = aligned(input.at, alignment) else {
            return Err(input.place.unsound("the alignment is too large"));
        };
        for (tensor, stored) in self.tensors.iter().zip(&mut self.stored) {
            let at = begin.checked_add(stored.at);
            let end = at.and_then(|at| at.checked_add(stored.len));
            let (len, offset) = (stored.len, stored.at);
            let aligned = offset.is_multiple_of(u64::from(alignment));
            match at.filter(|_| aligned && end.is_some_and(|end| end <= input.len)) {
                Some(at) => stored.at = at,
                None if !aligned => {
                    let name = quoted(&tensor.name);
                    return Err(unsound(format!(
                        "tensor {name}: its offset {offset} is not a multiple of {alignment}"
                    )));
                }
                None => {
                    let (name, left) = (quoted(&tensor.name), input.len.saturating_sub(begin));
                    return Err(unsound(format!(
                        "tensor {name}: its {len} bytes at offset {offset} exceed the {left} bytes of data"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Checks that no two tensors have the same name, or share bytes.
fn check_tensors(tensors: &[Tensor], stored: &[Stored]) -> io::Result<()> {
    let name = |index: u32| tensors.get(index as usize).map_or("", |tensor| tensor.name.as_str());
    // Fits: the number of tensors is limited.
    let count = u32::try_from(tensors.len()).unwrap_or(u32::MAX);
    let mut order: Vec<u32> = (0..count).collect();
    order.sort_unstable_by_key(|&index| name(index));
    if let Some(&[first, _]) = pairs(&order).find(|&&[first, second]| name(first) == name(second)) {
        return Err(unsound(format!("tensor {}: the name is duplicate", quoted(name(first)))));
    }
    let range = |index: u32| {
        stored.get(index as usize).map_or((0, 0), |stored| (stored.at, stored.at.saturating_add(stored.len)))
    };
    order.retain(|&index| range(index).0 < range(index).1);
    order.sort_unstable_by_key(|&index| range(index));
    match pairs(&order).find(|&&[first, second]| range(second).0 < range(first).1) {
        Some(&[first, second]) => {
            let [first, second] = [first, second].map(|index| quoted(name(index)));
            Err(unsound(format!("tensors {first} and {second} share bytes")))
        }
        None => Ok(()),
    }
}

/// Returns all neighbours.
fn pairs(order: &[u32]) -> impl Iterator<Item = &[u32; 2]> {
    order.windows(2).filter_map(|pair| pair.first_chunk())
}
