//! The inputs of a conversion: models in safetensors, and files of other formats.

use super::find::{Found, find};
use super::foreign::{Foreign, LeftOut, Reading};
use super::parts::{check_splits, reject_parts};
use crate::args::remote::is_remote;
use crate::context::Context;
use crate::error::Error;
use crate::input::discover::reject_partial_models;
use crate::input::foreign::Readable;
use crate::input::model::{Model, Padding};
use crate::input::remote::Reader;
use crate::output::overwrite::check_not_in_model;
use crate::pack::Renames;
use crate::tensor::sums::{sum_at, sum_of_part};
use crate::text::{quoted, shown_text};
use crate::work::Work;
use embedded_safetensors::{Dtype, TensorReader};
use safetensors_convert::{Tensor, gguf, zip::read_full};
use safetensors_files::shards::ShardIndex;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet, btree_map};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes read at a time: complete elements of every dtype.
const CHUNK: usize = 3 << 15;

/// A tensor of an input, or of an output.
#[derive(Clone, Copy, Debug)]
pub struct Array<'i> {
    pub name: &'i str,
    pub dtype: Dtype,
    pub dims: &'i [u64],
    /// Whether the elements are bits of an unknown dtype.
    pub is_raw: bool,
    /// The type of blocks of GGUF, whose bytes are not numbers of this dtype.
    pub blocks: Option<gguf::Kind>,
}

impl Array<'_> {
    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    /// Validated to be complete and to fit into 64 bits.
    pub fn byte_len(&self) -> u64 {
        self.elements() * u64::from(self.dtype.bits()) / 8
    }
}

/// The path, the length and the SHA-256 of a file.
type Sum = (PathBuf, u64, String);

/// How inputs are opened.
#[derive(Clone, Copy, Default)]
pub struct Opening<'o> {
    /// The name of the array of the only input, a `.npy`.
    pub name: Option<&'o str>,
    /// Whether names begin with the name of their input.
    pub by_file: bool,
    /// How other formats are read; the name is set for each.
    pub reading: Reading<'o>,
}

/// The open inputs and their tensors, one after another.
pub struct Input {
    files: Vec<InputFile>,
    /// The indexes that name files of other formats.
    indexes: Vec<PathBuf>,
    /// The only path as given, if there is only one.
    path: Option<PathBuf>,
    len: usize,
    /// The dtypes that integers are read as; empty if there are none.
    bits: Vec<Option<Dtype>>,
    /// The padding that models have in addition.
    pub padding: Padding,
    /// The indexes of all tensors by name.
    by_name: OnceCell<Vec<u32>>,
}

/// An open file, or a model of several.
pub struct InputFile {
    path: PathBuf,
    /// The index of its first tensor.
    first: usize,
    /// What precedes the names.
    prefix: String,
    /// Names other than those in the file.
    names: Option<Vec<String>>,
    /// The type of each tensor's blocks of GGUF; empty if none has some.
    blocks: Vec<Option<gguf::Kind>>,
    source: Source,
}

enum Source {
    /// A model, and its tensors without padding.
    Model(Model, Vec<Tensor>),
    Foreign(Foreign),
}

impl Input {
    /// Opens all inputs.
    ///
    /// # Errors
    /// An input cannot be read, is invalid, or is a part of a model.
    pub fn open(
        context: &Context,
        paths: &[PathBuf],
        opening: Opening<'_>,
        output: &Path,
    ) -> Result<Self, Error> {
        raise_open_files();
        let mut input = Self::empty(paths);
        let groups = paths.iter().map(|path| find(context, path)).collect::<Result<Vec<_>, _>>()?;
        let files = || groups.iter().flat_map(|group| &group.files);
        let models = files().filter(|file| file.format.is_none()).map(|file| file.path.clone());
        reject_partial_models(&models.collect::<Vec<_>>(), Some(output))?;
        reject_parts(&groups, output)?;
        if let (Some(_), Some(file)) = (opening.name, files().find(|file| !is_array(file))) {
            let sentence = "--name works with .npy only: all other inputs have tensor names";
            return Err(Error::about(&file.path, sentence));
        }
        if opening.name.is_some() && files().count() > 1 {
            return Err(Error::usage("--name works with one input only; use --rename"));
        }
        for (path, group) in paths.iter().zip(&groups) {
            let begin = input.files.len();
            for file in &group.files {
                input.push(context, file, opening, &prefix(path, opening)?)?;
            }
            if let Some((path, index)) = &group.index {
                check_index(path, index, &input.files[begin..])?;
                input.indexes.push(path.clone());
            }
        }
        check_splits(&input, output)?;
        Ok(input)
    }

    fn empty(paths: &[PathBuf]) -> Self {
        let path = if let [only] = paths { Some(only.clone()) } else { None };
        let (files, indexes, bits, padding) = (Vec::new(), Vec::new(), Vec::new(), Padding::default());
        Self { files, indexes, path, len: 0, bits, padding, by_name: OnceCell::new() }
    }

    fn push(
        &mut self,
        context: &Context,
        found: &Found,
        opening: Opening<'_>,
        prefix: &str,
    ) -> Result<(), Error> {
        let path = &found.path;
        let source = match found.format {
            Some(format) => {
                let stem =
                    if is_array(found) && opening.name.is_none() { stem_of(path)? } else { String::new() };
                let reading = Reading { name: opening.name.unwrap_or(&stem), ..opening.reading };
                Source::Foreign(Foreign::open(path, format, reading)?)
            }
            None => {
                let model = Model::open(context, path).map_err(|complaint| not_streamed(path, complaint))?;
                let (tensors, padding) = model.without_padding()?;
                self.padding.add(padding);
                let tensors = tensors.iter().map(|tensor| Tensor {
                    name: tensor.name().to_owned(),
                    dtype: tensor.dtype(),
                    dims: tensor.dims().to_vec(),
                });
                let tensors = tensors.collect();
                Source::Model(model, tensors)
            }
        };
        let invalid = |reason| format!("metadata value {}: {reason}", quoted(gguf::TYPES));
        let blocks = source.blocks().map_err(|reason| Error::about(path, invalid(reason)))?;
        let new = |tensor: &Tensor| format!("{prefix}{}", tensor.name);
        let names = (!prefix.is_empty()).then(|| source.tensors().iter().map(new).collect());
        let first = self.len;
        self.len += source.tensors().len();
        if u32::try_from(self.len).is_err() {
            return Err(Error::limit(path, "the inputs have more than 4294967295 tensors"));
        }
        let (path, prefix) = (path.clone(), prefix.to_owned());
        self.files.push(InputFile { path, first, prefix, names, blocks, source });
        Ok(())
    }

    /// The number of tensors.
    pub fn len(&self) -> usize {
        self.len
    }

    /// All tensors.
    pub fn arrays(&self) -> impl Iterator<Item = Array<'_>> + Clone {
        (0..self.len).map(|index| self.array(index))
    }

    /// The names of all tensors.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.arrays().map(|array| array.name)
    }

    /// The tensor at this index, which must be less than the number of tensors.
    pub fn array(&self, index: usize) -> Array<'_> {
        let (file, at) = self.place(index);
        let tensor = &file.source.tensors()[at];
        let name = file.names.as_ref().and_then(|names| names.get(at)).unwrap_or(&tensor.name);
        let (bits, dims) = (self.bits.get(index).copied().flatten(), &*tensor.dims);
        let is_raw = bits.is_none() && file.source.is_raw(at);
        let blocks = file.blocks.get(at).copied().flatten();
        Array { name, dtype: bits.unwrap_or(tensor.dtype), dims, is_raw, blocks }
    }

    /// The file of a tensor, and its index in there.
    fn place(&self, index: usize) -> (&InputFile, usize) {
        let after = self.files.partition_point(|file| file.first <= index);
        let file = &self.files[after.saturating_sub(1)];
        (file, index - file.first)
    }

    /// The file of a tensor.
    pub fn file_of(&self, index: usize) -> &InputFile {
        self.place(index).0
    }

    /// The index of a tensor's file.
    pub fn number_of_file(&self, index: usize) -> usize {
        self.files.partition_point(|file| file.first <= index).saturating_sub(1)
    }

    /// The index of the file that has a tensor among those of [`InputFile::sums`].
    pub fn number_in_file(&self, index: usize) -> usize {
        let (file, at) = self.place(index);
        let Source::Model(model, tensors) = &file.source else { return 0 };
        let tensor = tensors.get(at).and_then(|tensor| model.find(&tensor.name));
        tensor.map_or(0, |tensor| model.part_of(&tensor)) + usize::from(model.index().is_some())
    }

    /// The name of a tensor in its file.
    pub fn own_name(&self, index: usize) -> &str {
        let (file, at) = self.place(index);
        &file.source.tensors()[at].name
    }

    /// The type of a tensor in its file: its dtype, or that of its blocks.
    pub fn own_type(&self, index: usize) -> &'static str {
        let (file, at) = self.place(index);
        let stored = file.foreign().and_then(|foreign| foreign.source().stored_type(at));
        stored.unwrap_or_else(|| self.array(index).dtype.name())
    }

    /// The tensor and its file, for messages.
    pub fn origin(&self, index: usize) -> String {
        let file = shown_text(&self.file_of(index).path.to_string_lossy());
        format!("{} of {file}", quoted(self.own_name(index)))
    }

    /// The index of the array of this name; of several, any.
    pub fn find(&self, name: &str) -> Option<usize> {
        let by_name = self.by_name.get_or_init(|| {
            let mut indexes: Vec<u32> = (0..self.len).map_while(|index| u32::try_from(index).ok()).collect();
            indexes.sort_unstable_by_key(|index| self.array(*index as usize).name);
            indexes
        });
        let found = by_name.binary_search_by_key(&name, |index| self.array(*index as usize).name);
        found.ok().and_then(|at| by_name.get(at)).map(|index| *index as usize)
    }

    /// Reads integers as these dtypes, one for each tensor.
    pub fn read_as(&mut self, bits: Vec<Option<Dtype>>) {
        self.bits = bits;
    }

    /// The dtypes that integers are read as.
    pub fn read_as_bits(&self) -> &[Option<Dtype>] {
        &self.bits
    }

    /// The path, the length and the SHA-256 of each file of each input, and of all indexes after them.
    ///
    /// # Errors
    /// A file cannot be read; interruption by the user.
    pub fn sums(&self, context: &Context, work: &Work) -> Result<Vec<Vec<Sum>>, Error> {
        let mut sums =
            self.files.iter().map(|file| file.sums(context, work)).collect::<Result<Vec<_>, _>>()?;
        sums.push(self.indexes.iter().map(|index| sum_of(context, index, work)).collect::<Result<_, _>>()?);
        Ok(sums)
    }

    /// The files, models of several as one.
    pub fn files(&self) -> &[InputFile] {
        &self.files
    }

    /// An error about all inputs.
    pub fn about(&self, sentence: String) -> Error {
        match &self.path {
            Some(only) => Error::about(only, sentence),
            None => Error::usage(sentence),
        }
    }

    /// An error about a tensor.
    pub fn about_tensor(&self, index: usize, sentence: &str) -> Error {
        let (path, name) = (&self.file_of(index).path, quoted(self.array(index).name));
        Error::about(path, format!("tensor {name}: {sentence}"))
    }

    /// # Errors
    /// The output is a file of an input.
    pub fn must_not_be(&self, output: &Path) -> Result<(), Error> {
        self.files.iter().try_for_each(|file| match &file.source {
            Source::Model(model, _) => check_not_in_model(model, output),
            Source::Foreign(foreign) => foreign.must_not_be(output),
        })
    }

    /// The contents of `__metadata__` of all inputs together, if any has some, but not the types of blocks.
    /// Names of tensors in it are renamed.
    ///
    /// # Errors
    /// Two inputs have different values for a key.
    pub fn metadata(&self, renames: &Renames) -> Result<Option<Vec<(String, String)>>, Error> {
        let (mut all, mut has_any) = (BTreeMap::new(), false);
        for file in &self.files {
            let Some(pairs) = file.metadata(renames) else { continue };
            has_any = true;
            for (key, value) in pairs {
                match all.entry(key) {
                    btree_map::Entry::Vacant(free) => drop(free.insert(value)),
                    btree_map::Entry::Occupied(old) if *old.get() == value => {}
                    btree_map::Entry::Occupied(old) => {
                        let (key, old, value) = (quoted(old.key()), quoted(old.get()), quoted(&value));
                        let sentence = format!(
                            "has the value {value} for metadata key {key}, and an earlier input {old}; \
                             convert them one by one, and merge them with `safetensors pack --prefer`"
                        );
                        return Err(Error::about(&file.path, sentence));
                    }
                }
            }
        }
        Ok(has_any.then(|| all.into_iter().collect()))
    }

    /// The values that are left out, for each input that has some.
    pub fn left_out(&self) -> impl Iterator<Item = (&InputFile, &LeftOut)> {
        self.files.iter().filter_map(|file| match &file.source {
            Source::Foreign(foreign) => Some((file, foreign.left_out())).filter(|(_, left)| left.count > 0),
            Source::Model(..) => None,
        })
    }

    /// The file, the name and the other name of each tied tensor of PyTorch, as they are in the output.
    pub fn ties<'i>(&'i self, renames: &'i Renames) -> impl Iterator<Item = (&'i InputFile, [String; 2])> {
        self.files.iter().flat_map(move |file| {
            let ties = file.foreign().into_iter().flat_map(Foreign::ties);
            ties.map(move |(name, other)| (file, [name, other].map(|name| file.new_name(name, renames))))
        })
    }

    /// Whether an input is of this format.
    pub fn has(&self, format: Readable) -> bool {
        self.files.iter().filter_map(InputFile::foreign).any(|foreign| foreign.format() == format)
    }

    /// # Errors
    /// An input has changed since it was opened.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.files.iter().try_for_each(|file| match &file.source {
            Source::Model(model, _) => model.check_unchanged(),
            Source::Foreign(foreign) => foreign.check_unchanged(),
        })
    }

    /// Reads the array at this index from front to end.
    ///
    /// # Errors
    /// The input cannot be read or is invalid.
    pub fn read(&self, index: usize) -> Result<Chunks<'_>, Error> {
        Ok(Chunks { file: self.file_of(index), source: self.bytes(index)? })
    }

    /// The bytes of the array at this index. [`InputFile::complaint`] explains their errors.
    ///
    /// # Errors
    /// The input cannot be read or is invalid.
    pub fn bytes(&self, index: usize) -> Result<Box<dyn Read + '_>, Error> {
        let (file, at) = self.place(index);
        match &file.source {
            Source::Foreign(foreign) => foreign.source().read(at).map_err(|error| foreign.complaint(error)),
            Source::Model(model, tensors) => {
                match tensors.get(at).and_then(|tensor| model.find(&tensor.name)) {
                    Some(tensor) => Ok(Box::new(Bytes { reader: tensor.reader(), at: 0 })),
                    None => Ok(Box::new(io::empty())),
                }
            }
        }
    }
}

impl InputFile {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is in safetensors.
    pub fn is_model(&self) -> bool {
        matches!(self.source, Source::Model(..))
    }

    fn foreign(&self) -> Option<&Foreign> {
        match &self.source {
            Source::Foreign(foreign) => Some(foreign),
            Source::Model(..) => None,
        }
    }

    /// Which file of a GGUF of several it is.
    pub fn split(&self) -> Option<gguf::Split> {
        self.foreign()?.split()
    }

    /// The number of its tensors.
    pub fn len(&self) -> usize {
        self.source.tensors().len()
    }

    /// Whether tied tensors are kept.
    pub fn has_copies(&self) -> bool {
        self.foreign().is_some_and(Foreign::has_copies)
    }

    /// The names that the metadata notes for tensors that are left out because they are tied to others.
    pub fn tied_names(&self) -> impl Iterator<Item = &str> {
        let (pairs, notes) = match &self.source {
            Source::Model(model, _) => (model.pairs(), &[][..]),
            Source::Foreign(foreign) if foreign.has_names_in_metadata() => {
                (None, foreign.source().metadata())
            }
            Source::Foreign(_) => (None, &[][..]),
        };
        let pairs = pairs.into_iter().flatten().filter(|(key, value)| self.is_note(key, value));
        pairs.map(|(name, _)| name).chain(notes.iter().map(|(name, _)| &**name))
    }

    /// Whether a pair of the metadata of a model says that one tensor is left out because it is tied to
    /// another one, as `safetensors.torch.save_model` notes it. `format` is the key of the framework.
    fn is_note(&self, key: &str, value: &str) -> bool {
        match &self.source {
            Source::Model(model, _) => {
                key != "format" && model.find(value).is_some() && model.find(key).is_none()
            }
            Source::Foreign(foreign) => foreign.has_names_in_metadata(),
        }
    }

    /// The names of all tensors, also of those of PyTorch that are left out because they are tied to others.
    fn listed_names(&self) -> impl Iterator<Item = &str> {
        let tied = self.foreign().into_iter().flat_map(Foreign::ties).map(|(name, _)| name);
        self.source.tensors().iter().map(|tensor| &*tensor.name).chain(tied)
    }

    /// The name of a tensor in the output.
    pub fn new_name(&self, name: &str, renames: &Renames) -> String {
        renames.new_name(&format!("{}{name}", self.prefix))
    }

    /// The metadata, if there is some, with the new names of tensors.
    fn metadata(&self, renames: &Renames) -> Option<Vec<(String, String)>> {
        let new = |(key, value): (&str, &str)| match self.is_note(key, value) {
            true => (self.new_name(key, renames), self.new_name(value, renames)),
            false => (key.to_owned(), value.to_owned()),
        };
        let foreign = match &self.source {
            Source::Model(model, _) => {
                let pairs = model.pairs()?.into_iter().filter(|(key, _)| *key != gguf::TYPES);
                return Some(pairs.map(new).collect());
            }
            Source::Foreign(foreign) => foreign,
        };
        let pairs = foreign.source().metadata().iter().map(|(key, value)| (&**key, &**value));
        let pairs = pairs.filter(|(key, _)| foreign.has_names_in_metadata() || *key != gguf::TYPES);
        let pairs: Vec<_> = pairs.map(new).collect();
        (!pairs.is_empty()).then_some(pairs)
    }

    /// The error for a failed read.
    pub fn complaint(&self, error: io::Error) -> Error {
        match &self.source {
            Source::Model(model, _) => Error::not_read(model.path(), error),
            Source::Foreign(foreign) => foreign.complaint(error),
        }
    }

    /// The path, the length and the SHA-256 of each file that was read.
    ///
    /// # Errors
    /// A file cannot be read; interruption by the user.
    fn sums(&self, context: &Context, work: &Work) -> Result<Vec<Sum>, Error> {
        let model = match &self.source {
            Source::Foreign(foreign) => return foreign.sums(work),
            Source::Model(model, _) => model,
        };
        let mut sums = Vec::new();
        if let Some(index) = model.index() {
            sums.push(sum_of(context, index, work)?);
        }
        for part in model.parts() {
            let sum = sum_of_part(part, work)?;
            sums.push((part.path().to_path_buf(), part.index().summary().file_len(), sum));
        }
        Ok(sums)
    }
}

impl Source {
    fn tensors(&self) -> &[Tensor] {
        match self {
            Self::Model(_, tensors) => tensors,
            Self::Foreign(foreign) => foreign.source().tensors(),
        }
    }

    fn is_raw(&self, index: usize) -> bool {
        match self {
            Self::Model(..) => false,
            Self::Foreign(foreign) => foreign.source().is_raw(index),
        }
    }

    /// The type of each tensor's blocks of GGUF; empty if none has some.
    ///
    /// # Errors
    /// The list of such tensors in the metadata is invalid.
    fn blocks(&self) -> Result<Vec<Option<gguf::Kind>>, String> {
        let types = match self {
            Self::Model(model, _) => {
                model.metadata().and_then(|all| all.get(gguf::TYPES)).map(|types| &**types)
            }
            Self::Foreign(foreign) if foreign.has_names_in_metadata() => None,
            Self::Foreign(foreign) => {
                let mut pairs = foreign.source().metadata().iter();
                pairs.find(|(key, _)| key == gguf::TYPES).map(|(_, value)| &**value)
            }
        };
        let Some(types) = types else { return Ok(Vec::new()) };
        let tensors = self.tensors();
        // Names of tensors that are no longer in the model do no harm.
        Ok(gguf::RawTypes::read(types, tensors.len(), |index| &tensors[index].name)?.kinds)
    }
}

/// The error of a model, or that of a file of another format that is not a regular one.
fn not_streamed(path: &Path, complaint: Error) -> Error {
    match complaint.seen_format() {
        Some(name) if !is_remote(path) && !path.is_file() => {
            let sentence = format!(
                "files of {name} are not read from a pipe or standard input, because they need random access"
            );
            Error::about(path, format!("{sentence}; give a file"))
        }
        _ => complaint,
    }
}

fn sum_of(context: &Context, index: &Path, work: &Work) -> Result<Sum, Error> {
    let (len, sum) = sum_at(context, index, work)?;
    Ok((index.to_path_buf(), len, sum))
}

fn is_array(file: &Found) -> bool {
    file.format == Some(Readable::Array)
}

/// Allows as many open files as the system does: all inputs are open at once.
fn raise_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // Without it, opening may fail with the system's reason.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// What precedes the names of an input.
fn prefix(path: &Path, opening: Opening<'_>) -> Result<String, Error> {
    if opening.by_file { Ok(format!("{}.", stem_of(path)?)) } else { Ok(String::new()) }
}

/// The name of an input without its suffix.
///
/// # Errors
/// It is not UTF-8, so that no name can be made of it.
pub fn stem_of(path: &Path) -> Result<String, Error> {
    let name = path.file_name().unwrap_or_default().to_str();
    let name = name.ok_or_else(|| Error::about(path, "the name of the file is not UTF-8; rename it"))?;
    let name = name.strip_suffix(".index.json").unwrap_or(name);
    let stem = Path::new(name).file_stem().unwrap_or_default();
    Ok(if path.is_dir() { name.to_owned() } else { stem.to_string_lossy().into_owned() })
}

/// # Errors
/// A file does not have exactly the tensors that the index says are in it.
fn check_index(path: &Path, index: &ShardIndex, files: &[InputFile]) -> Result<(), Error> {
    let bad = |sentence: String| Err(Error::bad(path, "shards", sentence));
    for (shard, file) in index.shards().zip(files) {
        let listed = index.tensors().filter(|(_, of)| *of == shard);
        let listed: HashSet<&str> = listed.map(|(name, _)| name).collect();
        let names: HashSet<&str> = file.listed_names().collect();
        let shard = quoted(shard);
        if let Some(missing) = listed.iter().filter(|name| !names.contains(*name)).min() {
            return bad(format!("tensor {} is not in {shard}", quoted(missing)));
        }
        if let Some(more) = names.iter().filter(|name| !listed.contains(*name)).min() {
            return bad(format!("{shard} has tensor {}, which the index does not list there", quoted(more)));
        }
    }
    Ok(())
}

/// The bytes of an array, chunk by chunk.
pub struct Chunks<'i> {
    file: &'i InputFile,
    source: Box<dyn Read + 'i>,
}

impl Chunks<'_> {
    /// Makes `bytes` the next bytes, complete elements. Returns false at the end.
    ///
    /// # Errors
    /// The bytes cannot be read or are invalid; interruption by the user.
    pub fn fill(&mut self, bytes: &mut Vec<u8>, work: &Work) -> Result<bool, Error> {
        bytes.resize(CHUNK, 0);
        let len = read_full(&mut *self.source, bytes).map_err(|error| self.file.complaint(error))?;
        bytes.truncate(len);
        work.advance(len as u64)?;
        Ok(len > 0)
    }
}

struct Bytes<'m> {
    reader: TensorReader<'m, Reader<'m>>,
    at: u64,
}

impl Read for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.reader.read_at(self.at, buffer)?;
        self.at += len as u64;
        Ok(len)
    }
}
