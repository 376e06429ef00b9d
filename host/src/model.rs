//! A validated model with random access, for most commands.

use crate::complaint::Complaint;
use crate::open::open;
use crate::siblings::index_files;
use crate::source::Data;
use crate::text::{counted, did_you_mean, quoted};
use crate::validation::{SHORT, validate_or_report, validate_source};
use embedded_safetensors::{FileModel, integrity::KEY};
use safetensors_files::{
    padding_of,
    shards::{ShardErrorKind, ShardedModel},
};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file name of a model that has its directory to itself.
const WHOLE: &str = "model.safetensors";

/// One tensor of a model.
pub use embedded_safetensors::file::FileTensor as Tensor;

/// A model in one file, or in several.
pub struct Model {
    /// The requested path.
    path: PathBuf,
    files: Files,
}

enum Files {
    One(FileModel),
    Several(ShardedModel),
}

impl Model {
    /// Opens and validates a file, standard input for `-`, or all files of an index, which may be given by
    /// its directory. Reads the headers of files, and standard input to its end.
    ///
    /// # Errors
    /// The model is invalid (reported as `check` does), or cannot be read.
    pub fn open(path: &Path) -> Result<Self, Complaint> {
        let files = if is_sharded(path) { open_shards(path)? } else { Files::One(open_part(path)?) };
        Ok(Self { path: path.to_path_buf(), files })
    }

    /// The requested path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files of the model.
    pub fn parts(&self) -> &[FileModel] {
        match &self.files {
            Files::One(file) => std::slice::from_ref(file),
            Files::Several(model) => model.shards(),
        }
    }

    /// The index of the file that contains a tensor.
    pub fn part_of(&self, tensor: &Tensor<'_>) -> usize {
        self.parts().iter().position(|part| std::ptr::eq(part, tensor.model())).unwrap_or(0)
    }

    /// The index file, if there is one.
    pub fn index(&self) -> Option<&Path> {
        match &self.files {
            Files::One(_) => None,
            Files::Several(model) => Some(model.path()),
        }
    }

    /// All tensors, file by file, by offset. Empty tensors at the same offset are sorted by name.
    pub fn tensors(&self) -> impl Iterator<Item = Tensor<'_>> {
        self.parts().iter().flat_map(in_order)
    }

    /// All tensors without padding, and the amount of padding. Reads the bytes of possible padding tensors:
    /// only zeros are padding.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn without_padding(&self) -> Result<(Vec<Tensor<'_>>, Padding), Complaint> {
        let (mut tensors, mut padding) = (Vec::new(), Padding::default());
        for file in self.parts() {
            let names = padding_of(file)?;
            for tensor in in_order(file) {
                match names.contains(tensor.name()) {
                    true => padding.count(tensor.byte_len()),
                    false => tensors.push(tensor),
                }
            }
        }
        Ok((tensors, padding))
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// There is none; the sentence suggests the most similar name.
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>, Complaint> {
        self.find(name).ok_or_else(|| {
            let hint = did_you_mean(name, self.tensors().map(|tensor| tensor.name()));
            Complaint::about(&self.path, format!("no tensor {}{hint}", quoted(name)))
        })
    }

    /// The tensor of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<Tensor<'_>> {
        match &self.files {
            Files::One(file) => file.find(name),
            Files::Several(model) => model.find(name),
        }
        .ok()?
    }

    /// The contents of `__metadata__`, if any; of several files the first with a key counts.
    pub fn metadata(&self) -> Option<&BTreeMap<String, String>> {
        match &self.files {
            Files::One(file) => file.metadata(),
            Files::Several(model) => model.metadata(),
        }
    }

    /// The metadata as pairs, for another file: without the sum of this one.
    pub fn pairs(&self) -> Option<Vec<(&str, &str)>> {
        let all = self.metadata()?;
        let pairs = all.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let pairs: Vec<_> = pairs.filter(|(key, _)| *key != KEY).collect();
        (pairs.len() == all.len() || !pairs.is_empty()).then_some(pairs)
    }

    /// The total length of all files, without an index.
    pub fn file_lens(&self) -> u64 {
        self.parts().iter().map(|part| part.index().summary().file_len()).sum()
    }

    /// Call when everything has been read: checks that the files are still those that were validated.
    ///
    /// # Errors
    /// A file has changed.
    pub fn check_unchanged(&self) -> Result<(), Complaint> {
        self.parts().iter().try_for_each(|part| Ok(part.check_unchanged()?))
    }
}

/// In the order in which other programs list them, independent of the header's order.
fn in_order(file: &FileModel) -> Vec<Tensor<'_>> {
    let mut tensors: Vec<Tensor<'_>> = file.tensors().collect();
    tensors.sort_by_key(|tensor| (tensor.begin(), tensor.end(), tensor.name()));
    tensors
}

/// Padding that a command leaves out of its output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Padding {
    pub tensors: u64,
    pub bytes: u64,
}

impl Padding {
    fn count(&mut self, bytes: u64) {
        self.add(Self { tensors: 1, bytes });
    }

    pub fn add(&mut self, other: Self) {
        self.tensors += other.tensors;
        self.bytes += other.bytes;
    }

    /// Prints a line about the padding left out, if any.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print(self, out: &mut impl Write) -> io::Result<()> {
        let Self { tensors, bytes } = self;
        if tensors == 0 {
            return Ok(());
        }
        writeln!(
            out,
            "  left out: {} of padding, {}",
            counted(tensors, "tensor"),
            counted(bytes, "zero byte")
        )
    }
}

/// By name: a file with such a name is opened as an index.
pub fn is_sharded(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(".index.json")
}

/// The file `model.safetensors` in a directory without an index.
///
/// # Errors
/// The directory cannot be read.
pub fn file_alone_in(path: &Path) -> io::Result<Option<PathBuf>> {
    let whole = path.join(WHOLE);
    Ok((path.is_dir() && whole.is_file() && index_files(path)?.is_empty()).then_some(whole))
}

fn open_shards(path: &Path) -> Result<Files, Complaint> {
    ShardedModel::open(path).map(Files::Several).or_else(|error| match error.kind() {
        // Reports an invalid shard as `check` does.
        ShardErrorKind::File(shard) if !is_sharded(shard.path()) => {
            Err(open_part(shard.path()).err().unwrap_or_else(|| error.into()))
        }
        // A single-file model under its common name.
        ShardErrorKind::NoIndex if path.join(WHOLE).is_file() => {
            Ok(Files::One(open_part(&path.join(WHOLE))?))
        }
        _ => Err(error.into()),
    })
}

fn open_part(path: &Path) -> Result<FileModel, Complaint> {
    let not_read = |reason| Complaint::not_read(path, reason);
    let mut source = open(path).map_err(not_read)?;
    if source.is_stream() {
        // The data is kept while it is validated.
        validate_or_report(&mut source, path, SHORT, Data::Keep)?;
    }
    let (mut source, file) = source.share().map_err(not_read)?;
    FileModel::from_file(file, path).map_err(|error| match validate_source(&mut source, SHORT, Data::Keep) {
        Ok(_) => error.into(),
        Err(failure) => Complaint::of(path, &mut source, failure),
    })
}
