//! The inputs of a conversion: models in safetensors, and files of other formats.

use super::find::{Found, check_splits, find, reject_parts};
use super::source::{Source, stem_of};
use crate::args::kind::Kind;
use crate::context::Context;
use crate::error::Error;
use crate::input::discover::reject_partial_models;
use crate::input::foreign::Readable;
use crate::input::model::Padding;
use crate::input::remote;
use crate::pack::Renames;
use crate::tensor::sums::{FileSum, sum_at};
use crate::text::{quoted, shown_path};
use embedded_safetensors::Dtype;
use safetensors_convert::gguf;
use safetensors_convert::torch::Ties;
use safetensors_files::shards::ShardIndex;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// How inputs are read.
#[derive(Default, clap::Args)]
pub struct Reading {
    /// Tensor name for a .npy input [default: the file name without .npy]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Put the name of its input, without suffix, and a dot before each tensor name
    #[arg(long, conflicts_with = "name")]
    file_prefix: bool,

    #[command(flatten)]
    pub renames: Renames,

    /// PyTorch: what becomes of tensors that share all their memory [default: note; copy if the output has
    /// no metadata]
    #[arg(long, value_name = "WHAT")]
    ties: Option<Tied>,

    /// PyTorch: leave out tensors that safetensors cannot hold, and objects of unknown classes
    #[arg(long)]
    pub skip_unsupported: bool,

    /// GGUF: keep the blocks of quantised tensors as U8, instead of their numbers as F32
    #[arg(long)]
    pub keep_blocks: bool,

    /// Leave out the metadata of all inputs
    #[arg(long)]
    pub no_metadata: bool,
}

/// What becomes of tied tensors.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Tied {
    /// Keep one, and note the names of the others in the metadata of a .safetensors
    Note,
    /// Keep each
    Copy,
    /// Reject the file
    Reject,
}

impl Reading {
    /// Whether an output of this kind has the notes of tied tensors.
    pub fn has_notes(&self, output: Kind) -> bool {
        output == Kind::Model && !self.no_metadata
    }

    /// What becomes of tied tensors. Where a note would be lost, the tensors would be lost with it.
    ///
    /// # Errors
    /// The output has no notes of tied tensors, but these are wanted.
    fn ties(&self, output: Kind) -> Result<Ties, Error> {
        match self.ties {
            Some(Tied::Note) if !self.has_notes(output) => {
                let sentence = "--ties note needs a .safetensors output with metadata; use --ties copy";
                Err(Error::usage(sentence))
            }
            Some(Tied::Reject) => Ok(Ties::Reject),
            None | Some(Tied::Note) if self.has_notes(output) => Ok(Ties::Note),
            _ => Ok(Ties::Copy),
        }
    }

    /// # Errors
    /// `--name` is given, but not for one `.npy`.
    fn check_name(&self, files: &[&Found]) -> Result<(), Error> {
        match files.iter().find(|file| file.format != Some(Readable::Array)) {
            _ if self.name.is_none() => Ok(()),
            Some(file) => {
                let sentence = "--name works with .npy only: all other inputs have tensor names";
                Err(Error::about(&file.path, sentence))
            }
            None if files.len() > 1 => Err(Error::usage("--name works with one input only; use --rename")),
            None => Ok(()),
        }
    }

    /// # Errors
    /// An option is for a format that no input has.
    pub fn check_formats(&self, input: &Input) -> Result<(), Error> {
        let options = [
            (self.ties.is_some(), "--ties", Readable::PyTorch),
            (self.skip_unsupported, "--skip-unsupported", Readable::PyTorch),
            (self.keep_blocks, "--keep-blocks", Readable::Gguf),
        ];
        let has = |format| input.files.iter().filter_map(Source::foreign).any(|file| file.format == format);
        let unused = options.into_iter().find(|(is_given, _, format)| *is_given && !has(*format));
        unused.map_or(Ok(()), |(_, option, format)| {
            let name = format.name();
            Err(input.about(format!("{option} works with {name} only, and no input has this format")))
        })
    }
}

pub struct Tensor {
    /// Its name, with the prefix of its file.
    pub name: Box<str>,
    pub dtype: Dtype,
    pub dims: Box<[u64]>,
    /// Whether the elements are bits of an unknown dtype.
    pub is_raw: bool,
    /// Whether the dtype is one of `--from-bits`.
    pub from_bits: bool,
    /// The type of blocks of GGUF, whose bytes are not numbers of this dtype.
    pub blocks: Option<gguf::Kind>,
    /// The index of its file.
    pub file: u32,
    /// Its index in a file of another format; of a model of several files, the index of the one that has it.
    pub at: u32,
}

impl Tensor {
    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    /// Validated to be complete and to fit into 64 bits.
    pub fn byte_len(&self) -> u64 {
        self.elements() * u64::from(self.dtype.bits()) / 8
    }
}

/// The open inputs and their tensors, one file after another.
#[derive(Default)]
pub struct Input {
    /// The files, models of several as one.
    pub files: Vec<Source>,
    pub tensors: Vec<Tensor>,
    /// The padding that models have in addition.
    pub padding: Padding,
    /// The indexes that name files of other formats.
    indexes: Vec<PathBuf>,
    /// The only path as given, if there is only one.
    path: Option<PathBuf>,
}

impl Input {
    /// Opens all inputs.
    ///
    /// # Errors
    /// An input cannot be read, is invalid, or is a part of a model.
    pub fn open(
        context: &Context,
        paths: &[PathBuf],
        reading: &Reading,
        (output, kind): (&Path, Kind),
    ) -> Result<Self, Error> {
        #[cfg(unix)]
        raise_open_files();
        let ties = reading.ties(kind)?;
        let groups = paths.iter().map(|path| find(path)).collect::<Result<Vec<_>, _>>()?;
        let files: Vec<&Found> = groups.iter().flat_map(|group| &group.files).collect();
        // A numpy file does not look like a complete model.
        if !kind.is_numpy() {
            let models = files.iter().filter(|file| file.format.is_none());
            let models: Vec<PathBuf> = models.map(|file| file.path.clone()).collect();
            reject_partial_models(&models, Some(output))?;
            reject_parts(&groups, output)?;
        }
        reading.check_name(&files)?;
        let path = if let [only] = paths { Some(only.clone()) } else { None };
        let mut input = Self { path, ..Self::default() };
        for (path, group) in paths.iter().zip(&groups) {
            let begin = input.files.len();
            let prefix = if reading.file_prefix { format!("{}.", stem_of(path)?) } else { String::new() };
            for file in &group.files {
                let number = u32::try_from(input.files.len()).unwrap_or(u32::MAX);
                let target = (number, &mut input.tensors);
                let (file, padding) = Source::open(context, (file, &prefix), (reading, ties), target)?;
                input.padding.add(padding);
                input.files.push(file);
            }
            if let Some((path, index)) = &group.index {
                input.check_index(path, index, begin)?;
                input.indexes.push(path.clone());
            }
        }
        check_splits(&input, (output, kind))?;
        Ok(input)
    }

    /// # Errors
    /// A file does not have exactly the tensors that the index says are in it.
    fn check_index(&self, path: &Path, index: &ShardIndex, begin: usize) -> Result<(), Error> {
        let bad = |sentence: String| Err(Error::bad(path, "shards", sentence));
        for (shard, file) in index.shards().zip(&self.files[begin..]) {
            let listed = index.tensors().filter(|(_, of)| *of == shard);
            let listed: HashSet<&str> = listed.map(|(name, _)| name).collect();
            // The index also lists tied tensors that are left out.
            let own = self.tensors[file.tensors.clone()].iter().map(|tensor| file.own_name(tensor));
            let names: HashSet<&str> = own
                .chain(file.foreign().into_iter().flat_map(|file| &file.ties).map(|(name, _)| &**name))
                .collect();
            let skipped = file.foreign().into_iter().flat_map(|file| &file.left_out.skipped);
            let skipped: HashSet<&str> = skipped.map(|(path, _)| &**path).collect();
            let shard = quoted(shard);
            if let Some(missing) = listed.difference(&names).filter(|name| !skipped.contains(*name)).min() {
                return bad(format!("tensor {} is not in {shard}", quoted(missing)));
            }
            if let Some(more) = names.difference(&listed).min() {
                let more = quoted(more);
                return bad(format!("{shard} has tensor {more}, which the index does not list there"));
            }
        }
        Ok(())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.tensors.iter().map(|tensor| &*tensor.name)
    }

    pub fn file_of(&self, tensor: &Tensor) -> &Source {
        &self.files[tensor.file as usize]
    }

    /// Announces that these tensors are read next, if they are on a server.
    pub fn expect<'t>(&'t self, tensors: impl Iterator<Item = &'t Tensor>) {
        remote::expect(tensors.filter_map(|tensor| self.file_of(tensor).stored(tensor)));
    }

    /// The tensor and its file, for messages.
    pub fn origin(&self, tensor: &Tensor) -> String {
        let file = self.file_of(tensor);
        format!("{} of {}", quoted(file.own_name(tensor)), shown_path(&file.path))
    }

    /// An error about all inputs.
    pub fn about(&self, sentence: impl Into<String>) -> Error {
        match &self.path {
            Some(only) => Error::about(only, sentence),
            None => Error::usage(sentence),
        }
    }

    pub fn about_tensor(&self, tensor: &Tensor, sentence: &str) -> Error {
        Error::about(&self.file_of(tensor).path, format!("tensor {}: {sentence}", quoted(&tensor.name)))
    }

    /// The contents of `__metadata__` of all inputs together, if any has some, but not the types of blocks.
    /// Names of tensors in it are renamed.
    ///
    /// # Errors
    /// Two inputs have different values for a key.
    pub fn metadata(&self, renames: &Renames) -> Result<Option<Vec<(String, String)>>, Error> {
        let mut all: Option<BTreeMap<_, _>> = None;
        for file in &self.files {
            let Some(pairs) = file.metadata(renames) else { continue };
            let all = all.get_or_insert_default();
            for (key, value) in pairs {
                if let Some(old) = all.get(&key).filter(|old| **old != value) {
                    let [key, old, value] = [&key, old, &value].map(|text| quoted(text));
                    let sentence = format!(
                        "has the value {value} for metadata key {key}, and an earlier input {old}; convert \
                         them one by one, and merge them with `safetensors pack --prefer`"
                    );
                    return Err(Error::about(&file.path, sentence));
                }
                all.insert(key, value);
            }
        }
        Ok(all.map(|all| all.into_iter().collect()))
    }

    /// # Errors
    /// The output is a file of an input.
    pub fn must_not_be(&self, output: &Path) -> Result<(), Error> {
        self.files.iter().try_for_each(|file| file.must_not_be(output))
    }

    /// # Errors
    /// An input has changed since it was opened.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.files.iter().try_for_each(Source::check_unchanged)
    }

    /// Sums each file of each input, and all indexes after them.
    pub fn sums(&self, context: &Context) -> Result<Vec<Vec<FileSum>>, Error> {
        let work = context.work("summing", 0);
        let files = self.files.iter().map(|file| file.sums(context, &work));
        let indexes = || self.indexes.iter().map(|index| sum_at(context, index, &work)).collect();
        files.chain(std::iter::once_with(indexes)).collect()
    }
}

/// Allows as many open files as the system does: all inputs are open at once.
#[cfg(unix)]
pub fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Without it, opening may fail with the system's reason.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
