//! An open input: a model in safetensors, or a file of another format.

use super::find::Found;
use super::input::{Reading, Tensor};
use crate::args::remote::is_remote;
use crate::context::Context;
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::foreign::{Readable, graph_format};
use crate::input::model::{self, Model, Padding, Part};
use crate::input::open::stdin_file;
use crate::input::remote::check_local;
use crate::input::source::{Data, Stamp};
use crate::output::overwrite::{check_not_in_model, check_not_input};
use crate::output::writer::{planned, put_header};
use crate::pack::Renames;
use crate::tensor::sums::{FileSum, sum_of_file, sum_of_index, sums_of_part};
use crate::text::{counted, listed, quoted, shown_text};
use crate::work::Work;
use embedded_safetensors::FileModel;
use embedded_safetensors::write::{FileSpec, PlannedContent};
use safetensors_convert::error::within;
use safetensors_convert::gguf::{self, Gguf, Split};
use safetensors_convert::numpy::Arrays;
use safetensors_convert::onnx::Onnx;
use safetensors_convert::tflite::Tflite;
use safetensors_convert::torch::{self, Ties};
use safetensors_convert::zip::read_full;
use safetensors_convert::{TensorSource, tensorflow};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::num::NonZero;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes read at a time: complete elements of every dtype.
const CHUNK: usize = 3 << 15;

/// The keys of lists that are made again for each output.
const LISTS: [&str; 2] = [gguf::TYPES, gguf::TENSORS];

/// Reads the next bytes into the front of a buffer, as many as there are or fit, and returns their number.
type Fill<'s> = Box<dyn FnMut(&mut [u8]) -> io::Result<usize> + 's>;

/// An open file, or a model of several.
pub struct Source {
    pub path: PathBuf,
    /// The indexes of its tensors.
    pub tensors: Range<usize>,
    /// The names of its tensors begin with it.
    prefix: String,
    /// The metadata, if there is some, but not the types of blocks and the order of tensors of GGUF.
    pairs: Option<Vec<Pair>>,
    /// Whether the tensors are in the order of a GGUF.
    pub is_ordered: bool,
    contents: Contents,
}

/// A pair of the metadata.
struct Pair {
    key: String,
    value: String,
    /// Whether it says that one tensor is left out because it is tied to another one, as
    /// `safetensors.torch.save_model` notes it.
    is_note: bool,
}

enum Contents {
    Model(Model),
    Foreign(Foreign),
}

/// An open input of another format.
pub struct Foreign {
    pub format: Readable,
    pub left_out: LeftOut,
    /// Its part of a model in GGUF, if it is one of several.
    pub split: Option<Split>,
    /// Whether tied tensors are kept.
    pub has_copies: bool,
    /// The names of tied tensors of PyTorch, and the names of the tensors that they are tied to.
    pub ties: Vec<(String, String)>,
    /// All files that are read.
    files: Vec<Opened>,
    source: Box<dyn TensorSource>,
}

/// Values of an input that safetensors cannot hold.
#[derive(Default)]
pub struct LeftOut {
    /// All, or the first of them: the keys on the way, and the type.
    pub values: Vec<(String, Cow<'static, str>)>,
    pub count: u64,
    /// Tensors, and objects of unknown classes, that are left out on request: what they are.
    pub skipped: Vec<(String, Cow<'static, str>)>,
}

impl LeftOut {
    /// Prints the values, `of` a file, if there are some.
    pub fn print(&self, of: &str, out: &mut impl Write) -> io::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let one = |(path, kind): &(String, Cow<'_, str>)| format!("{} ({})", quoted(path), shown_text(kind));
        let names = listed(self.values.iter().map(one), 8, self.count);
        let values = counted(self.count, "value");
        writeln!(out, "  left out: {values}{of} that safetensors cannot store: {names}")
    }
}

impl Source {
    /// Opens a file, and adds its tensors, whose names begin with the prefix and which have this number as
    /// their file.
    ///
    /// # Errors
    /// It cannot be read, is invalid or not allowed, or has contents that safetensors cannot hold.
    pub fn open(
        context: &Context,
        (Found { path, format }, prefix): (&Found, &str),
        options: (&Reading, Ties),
        (file, tensors): (u32, &mut Vec<Tensor>),
    ) -> Result<(Self, Padding), Error> {
        let first = tensors.len();
        let new = |name: &str, dtype, dims: &[u64], at: usize, is_raw| {
            let (name, dims) = (format!("{prefix}{name}").into(), dims.into());
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            Tensor { name, dtype, dims, is_raw, from_bits: false, blocks: None, file, at }
        };
        let (contents, padding) = if let Some(format) = *format {
            let foreign = Foreign::open(path, format, options)?;
            let (all, source) = (foreign.source.tensors().iter().enumerate(), &foreign.source);
            tensors.extend(all.map(|(at, one)| new(&one.name, one.dtype, &one.dims, at, source.is_raw(at))));
            (Contents::Foreign(foreign), Padding::default())
        } else {
            let model = Model::open(context, path).map_err(|error| not_streamed(path, error))?;
            let (all, padding) = model.without_padding()?;
            let part = |tensor| model.part_of(tensor);
            tensors.extend(all.iter().map(|one| new(one.name(), one.dtype(), one.dims(), part(one), false)));
            (Contents::Model(model), padding)
        };
        let pairs = contents.pairs();
        contents.set_blocks(prefix, &mut tensors[first..]).map_err(|reason| {
            Error::about(path, format!("metadata value {}: {reason}", quoted(gguf::TYPES)))
        })?;
        let is_ordered = contents.sort(prefix, &mut tensors[first..]).map_err(|reason| {
            Error::about(path, format!("metadata value {}: {reason}", quoted(gguf::TENSORS)))
        })?;
        let (path, prefix) = (path.clone(), prefix.to_owned());
        Ok((Self { path, tensors: first..tensors.len(), prefix, pairs, is_ordered, contents }, padding))
    }

    /// The input, unless it is a model in safetensors.
    pub fn foreign(&self) -> Option<&Foreign> {
        if let Contents::Foreign(foreign) = &self.contents { Some(foreign) } else { None }
    }

    /// The number of its part, if it is one of several of GGUF.
    pub fn part(&self) -> u64 {
        self.foreign().and_then(|foreign| foreign.split).map_or(0, |split| split.number)
    }

    /// The name of a tensor in this file.
    pub fn own_name<'t>(&self, tensor: &'t Tensor) -> &'t str {
        &tensor.name[self.prefix.len()..]
    }

    /// The type of a tensor in this file: its dtype, or the type of its blocks.
    pub fn own_type(&self, tensor: &Tensor) -> &'static str {
        let stored = self.foreign().and_then(|foreign| foreign.source.stored_type(tensor.at as usize));
        stored.unwrap_or_else(|| tensor.dtype.name())
    }

    /// The name in the output of a tensor with this name in this file.
    pub fn new_name(&self, own: &str, renames: &Renames) -> String {
        renames.new_name(&format!("{}{own}", self.prefix))
    }

    /// The metadata, if there is some, with the new names of tensors.
    pub fn metadata(&self, renames: &Renames) -> Option<Vec<(String, String)>> {
        let new = |Pair { key, value, is_note }: &Pair| match is_note {
            true => (self.new_name(key, renames), self.new_name(value, renames)),
            false => (key.clone(), value.clone()),
        };
        Some(self.pairs.as_ref()?.iter().map(new).collect())
    }

    /// The names that the metadata notes for tensors that are left out because they are tied to others.
    pub fn tied_names(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().flatten().filter(|pair| pair.is_note).map(|pair| &*pair.key)
    }

    /// Reads a tensor from front to end: each call makes `bytes` the next bytes, complete elements, and
    /// returns false at the end.
    ///
    /// # Errors
    /// It cannot be read or is invalid; interruption by the user.
    pub fn read(
        &self,
        tensor: &Tensor,
    ) -> Result<impl FnMut(&mut Vec<u8>, &Work) -> Result<bool, Error> + use<'_>, Error> {
        let mut fill: Fill<'_> = match &self.contents {
            Contents::Foreign(foreign) => {
                let bytes = foreign.source.read(tensor.at as usize);
                let mut bytes = bytes.map_err(|error| self.failed(error))?;
                Box::new(move |buffer| read_full(&mut *bytes, buffer))
            }
            Contents::Model(_) => {
                let mut reader = self.stored(tensor).map(|tensor| tensor.reader());
                Box::new(move |buffer| {
                    let chunk = reader.as_mut().map(|reader| reader.next_chunk(buffer)).transpose()?;
                    Ok(chunk.flatten().map_or(0, <[u8]>::len))
                })
            }
        };
        // Most tensors of some models are far smaller, and new bytes are zeroed.
        let room = usize::try_from(tensor.byte_len()).map_or(CHUNK, |len| len.clamp(1, CHUNK));
        Ok(move |bytes: &mut Vec<u8>, work: &Work| {
            bytes.resize(room, 0);
            let len = fill(bytes).map_err(|error| self.failed(error))?;
            bytes.truncate(len);
            work.advance(len as u64)?;
            Ok(len > 0)
        })
    }

    /// The tensor of a model in safetensors.
    pub fn stored(&self, tensor: &Tensor) -> Option<model::Tensor<'_>> {
        let Contents::Model(model) = &self.contents else { return None };
        model.parts().get(tensor.at as usize)?.find(self.own_name(tensor))
    }

    /// The error for a failed read.
    pub fn failed(&self, error: io::Error) -> Error {
        match &self.contents {
            Contents::Model(_) => Error::not_read(&self.path, error),
            Contents::Foreign(foreign) => foreign_error(&self.path, foreign.format, error),
        }
    }

    /// # Errors
    /// The file has changed since it was opened.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        match &self.contents {
            Contents::Model(model) => model.check_unchanged(),
            Contents::Foreign(foreign) => foreign.files.iter().try_for_each(Opened::check_unchanged),
        }
    }

    /// # Errors
    /// The output is one of its files.
    pub fn must_not_be(&self, output: &Path) -> Result<(), Error> {
        match &self.contents {
            Contents::Model(model) => check_not_in_model(model, output),
            Contents::Foreign(foreign) => {
                foreign.files.iter().try_for_each(|file| check_not_input(&file.path, output))
            }
        }
    }

    /// Sums each of its files.
    pub fn sums(&self, context: &Context, work: &Work) -> Result<Vec<FileSum>, Error> {
        let model = match &self.contents {
            Contents::Foreign(foreign) => {
                let sum = |file: &Opened| sum_of_file(&file.path, &file.file, file.stamp.len, work);
                return foreign.files.iter().map(sum).collect();
            }
            Contents::Model(model) => model,
        };
        let mut sums = Vec::from_iter(sum_of_index(context, model, work)?);
        for part in model.parts() {
            let len = part.index().summary().file_len();
            work.expect(len);
            let (sum, _) = sums_of_part(part, false, NonZero::<usize>::MIN, work)?;
            sums.push(FileSum::new(part.path(), len, &sum));
        }
        Ok(sums)
    }

    /// The index of the file that has a tensor among those of [`Source::sums`].
    pub fn number_of(&self, tensor: &Tensor) -> usize {
        match &self.contents {
            Contents::Model(model) => tensor.at as usize + usize::from(model.index().is_some()),
            Contents::Foreign(_) => 0,
        }
    }
}

impl Contents {
    /// Sets the types of the blocks that tensors with this prefix have.
    fn set_blocks(&self, prefix: &str, tensors: &mut [Tensor]) -> Result<(), String> {
        let types = match self {
            Self::Model(model) => model.metadata().and_then(|pairs| pairs.get(gguf::TYPES)),
            Self::Foreign(foreign) => {
                // Keys of PyTorch are names of tensors.
                let mut pairs = foreign.source.metadata().iter();
                let is_types = |key: &str| key == gguf::TYPES && foreign.format != Readable::PyTorch;
                pairs.find(|(key, _)| is_types(key)).map(|(_, types)| types)
            }
        };
        let Some(types) = types else { return Ok(()) };
        // Names of tensors that are no longer in the model do no harm.
        let name = |index: usize| &tensors[index].name[prefix.len()..];
        let read = gguf::RawTypes::read(types, tensors.len(), name)?;
        tensors.iter_mut().zip(read.kinds).for_each(|(tensor, kind)| tensor.blocks = kind);
        Ok(())
    }

    /// Gives tensors with this prefix the order of the GGUF that they are from, and returns whether there is
    /// one.
    fn sort(&self, prefix: &str, tensors: &mut [Tensor]) -> Result<bool, String> {
        let Self::Model(model) = self else {
            return Ok(matches!(self, Self::Foreign(one) if one.format == Readable::Gguf));
        };
        let list = model.metadata().and_then(|pairs| pairs.get(gguf::TENSORS));
        let sorted =
            list.map(|list| gguf::sort_tensors(list, tensors, |tensor| &tensor.name[prefix.len()..]));
        Ok(sorted.transpose()?.is_some())
    }

    /// The metadata, if there is some, but not the types of blocks and the order of tensors of GGUF.
    fn pairs(&self) -> Option<Vec<Pair>> {
        let pair = |key: &str, value: &str, is_note| Pair { key: key.into(), value: value.into(), is_note };
        match self {
            Self::Model(model) => {
                let all = model.pairs()?.into_iter().filter(|(key, _)| !LISTS.contains(key));
                // `format` is the key of the framework.
                let is_note =
                    |key, value| key != "format" && model.find(value).is_some() && model.find(key).is_none();
                Some(all.map(|(key, value)| pair(key, value, is_note(key, value))).collect())
            }
            Self::Foreign(foreign) => {
                let has_names = foreign.format == Readable::PyTorch;
                let all = foreign.source.metadata().iter();
                let all = all.filter(|(key, _)| has_names || !LISTS.contains(&key.as_str()));
                let all: Vec<_> = all.map(|(key, value)| pair(key, value, has_names)).collect();
                (!all.is_empty()).then_some(all)
            }
        }
    }
}

impl Foreign {
    fn open(path: &Path, format: Readable, (reading, ties): (&Reading, Ties)) -> Result<Self, Error> {
        check_local(path).map_err(|reason| Error::not_read(path, reason))?;
        let name = match &reading.name {
            None if format == Readable::Array => stem_of(path)?,
            name => name.clone().unwrap_or_default(),
        };
        let (mut files, mut copies, mut split, mut left_out) = (vec![], vec![], None, LeftOut::default());
        let mut open = |path: &Path| {
            let opened = Opened::open(path)?;
            let file = opened.file.try_clone();
            files.push(opened);
            file
        };
        let mut source = || -> io::Result<Box<dyn TensorSource>> {
            Ok(match format {
                Readable::Array => Box::new(Arrays::open_one(open(path)?, &name)?),
                Readable::Archive => Box::new(Arrays::open_many(open(path)?)?),
                Readable::PyTorch => {
                    let options = torch::Options { ties, skip_unsupported: reading.skip_unsupported };
                    let checkpoint = open_pytorch(open(path)?, options)?;
                    let listed = |values: &[torch::LeftOut]| {
                        values.iter().map(|value| (value.path.clone(), value.kind.clone())).collect()
                    };
                    let [values, skipped] = [checkpoint.left_out(), checkpoint.skipped()].map(listed);
                    left_out = LeftOut { values, count: checkpoint.left_out_count(), skipped };
                    copies = checkpoint.copies().to_vec();
                    Box::new(checkpoint)
                }
                Readable::Gguf => {
                    let Reading { keep_blocks, no_metadata: without_metadata, .. } = *reading;
                    let options = gguf::Options { keep_blocks, without_metadata };
                    let gguf = Gguf::open(open(path)?, &options)?;
                    split = gguf.split();
                    Box::new(gguf)
                }
                Readable::TensorFlow if path.as_os_str() == "-" => {
                    return Err(io::Error::other("its data is in other files; give its path"));
                }
                Readable::TensorFlow => Box::new(tensorflow::Checkpoint::open(path, &mut open)?),
                Readable::Onnx => Box::new(Onnx::open(path, &mut open)?),
                Readable::TfLite => Box::new(Tflite::open(open(path)?)?),
            })
        };
        let source = source().map_err(|error| foreign_error(path, format, error))?;
        let values = source.left_out().iter();
        left_out.values.extend(values.map(|(name, what)| (name.clone(), (*what).into())));
        left_out.count += source.left_out().len() as u64;
        let name = |index: u32| Some(source.tensors().get(index as usize)?.name.clone());
        let ties = copies.iter().filter_map(|(one, other)| Some((name(*one)?, name(*other)?)));
        let notes = source.metadata().iter().filter(|_| format == Readable::PyTorch).cloned();
        let (ties, has_copies) = (notes.chain(ties).collect(), !copies.is_empty());
        Ok(Self { format, left_out, split, has_copies, ties, files, source })
    }
}

/// Opens a model, or a file of ONNX or TFLite as the model that `convert` would make of it, and what that
/// would leave out. That model becomes an unnamed file, which has zeros if its data is only counted.
///
/// # Errors
/// It cannot be read, is invalid, or has contents that safetensors cannot hold.
pub fn open_model(context: &Context, path: &Path, data: Data) -> Result<(Model, Option<LeftOut>), Error> {
    let Some(format) = graph_format(path) else {
        return Ok((Model::open_with(context, path, data)?, None));
    };
    #[cfg(unix)]
    super::input::raise_open_files();
    let foreign = Foreign::open(path, format, (&Reading::default(), Ties::Note))?;
    let specs: Vec<_> = foreign.source.tensors().iter().map(safetensors_convert::Tensor::spec).collect();
    let part = planned(FileSpec::new(&specs), true, path, |plan| {
        let not_buffered = |error| Error::not_read(path, NotRead::not_buffered(&error, None));
        let mut file = tempfile::tempfile().map_err(not_buffered)?;
        put_header(plan, |piece| file.write_all(piece)).map_err(not_buffered)?;
        file.set_len(plan.file_len()).map_err(not_buffered)?;
        for planned in plan.tensors() {
            if let (PlannedContent::Tensor { index, .. }, Data::Keep) = (planned.content, data) {
                let copied = foreign.source.read(index).and_then(|mut data| io::copy(&mut data, &mut file));
                copied.map_err(|error| foreign_error(path, format, error))?;
            }
        }
        Ok(Part::File(FileModel::from_file(file, path)?))
    })?;
    foreign.files.iter().try_for_each(Opened::check_unchanged)?;
    Ok((Model::of(path, vec![part], None), Some(foreign.left_out)))
}

/// A file as it was when it was opened.
struct Opened {
    path: PathBuf,
    file: File,
    stamp: Stamp,
}

impl Opened {
    fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str() == "-" {
            let (file, metadata) = stdin_file()?;
            let stamp = metadata.as_ref().map(Stamp::of).ok_or(io::ErrorKind::NotSeekable)?;
            return Ok(Self { path: path.to_path_buf(), file, stamp });
        }
        // Opening a pipe without a writer would block.
        let metadata = std::fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() {
            return Err(io::Error::other("not a regular file; this format needs random access"));
        }
        let file = File::open(path)?;
        let stamp = Stamp::of(&file.metadata()?);
        Ok(Self { path: path.to_path_buf(), file, stamp })
    }

    fn check_unchanged(&self) -> Result<(), Error> {
        let now = self.file.metadata().map_err(|error| Error::not_read(&self.path, error))?;
        match Stamp::of(&now) == self.stamp {
            true => Ok(()),
            false => Err(Error::not_read(&self.path, NotRead::changed())),
        }
    }
}

/// Opens a file of PyTorch. An error advises `--skip-unsupported` only if nothing else is wrong.
fn open_pytorch(file: File, options: torch::Options) -> io::Result<torch::Checkpoint> {
    let again = file.try_clone()?;
    torch::Checkpoint::open_with(file, options).map_err(|error| {
        let text = error.to_string();
        let Some(text) = text.strip_suffix("--skip-unsupported leaves it out") else { return error };
        let options = torch::Options { skip_unsupported: true, ..options };
        match torch::Checkpoint::open_with(again, options) {
            Ok(_) => error,
            Err(_) => io::Error::new(error.kind(), text.trim_end_matches("; ").trim_end_matches(", or ")),
        }
    })
}

/// The error of a reader, with the name of the format.
pub fn foreign_error(path: &Path, format: Readable, error: io::Error) -> Error {
    Error::of_contents(path, format.code(), within(format.name(), error))
}

/// The error of a model; for a file of another format that is not a regular one, what it needs.
fn not_streamed(path: &Path, error: Error) -> Error {
    match error.seen_format() {
        Some(name) if !is_remote(path) && !path.is_file() => {
            let sentence = format!(
                "files of {name} are not read from a pipe, because they need random access; give a file"
            );
            Error::about(path, sentence)
        }
        _ => error,
    }
}

/// The name of an input without its suffix.
///
/// # Errors
/// It is not UTF-8, so that no name can be made of it.
pub fn stem_of(path: &Path) -> Result<String, Error> {
    let name =
        if path.as_os_str() == "-" { Some("stdin") } else { path.file_name().unwrap_or_default().to_str() };
    let name = name.ok_or_else(|| Error::about(path, "the name of the file is not UTF-8; rename it"))?;
    let name = name.strip_suffix(".index.json").unwrap_or(name);
    let stem = Path::new(name).file_stem().unwrap_or_default();
    Ok(if path.is_dir() { name.to_owned() } else { stem.to_string_lossy().into_owned() })
}
