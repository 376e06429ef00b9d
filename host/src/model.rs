//! A model as most commands want it: proven, listed, and read where they like.

use crate::complaint::Complaint;
use crate::failure::Failure;
use crate::judge::judge;
use crate::open::open;
use crate::report::Report;
use crate::siblings::index_files;
use crate::source::{Data, Source};
use crate::text::{counted, quoted};
use embedded_safetensors::{FileModel, file::FileTensor, validate::Summary};
use safetensors_files::{
    padding_of,
    shards::{ShardFault, ShardedModel},
};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// What a model is called that is alone in its folder.
const WHOLE: &str = "model.safetensors";

/// A model in one file, or in several.
pub struct Model {
    /// As it was asked for.
    path: PathBuf,
    parts: Vec<FileModel>,
    /// Of several files the one that each tensor is in, by its name.
    places: HashMap<String, usize>,
    /// The index that names them, if there is one.
    index: Option<PathBuf>,
    metadata: BTreeMap<String, String>,
}

impl Model {
    /// Opens and proves a file, or standard input for `-`; or all files that an index names, also by the folder that it is in. Of
    /// files the headers are read, standard input to its end.
    ///
    /// # Errors
    /// It is not sound, with the report that `check` gives; it cannot be read.
    pub fn open(path: &Path) -> Result<Self, Complaint> {
        let (parts, index) =
            if is_sharded(path) { open_shards(path)? } else { (vec![open_part(path)?], None) };
        let pairs = parts.iter().rev().filter_map(FileModel::metadata).flatten();
        let metadata = pairs.map(|(key, value)| (key.clone(), value.clone())).collect();
        let places = if parts.len() > 1 { places_of(&parts) } else { HashMap::new() };
        Ok(Self { path: path.to_path_buf(), parts, places, index, metadata })
    }

    /// As it was asked for.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files that it is in.
    pub fn parts(&self) -> &[FileModel] {
        &self.parts
    }

    /// The index that names them, if there is one.
    pub fn index(&self) -> Option<&Path> {
        self.index.as_deref()
    }

    /// All tensors: file by file, by their offsets; those that have the same, which are empty, by their names.
    pub fn tensors(&self) -> impl Iterator<Item = Tensor<'_>> {
        let parts = self.parts.iter().enumerate();
        parts.flat_map(|(part, file)| in_order(file).into_iter().map(move |tensor| Tensor { part, tensor }))
    }

    /// The same without padding, and how much padding there is. The bytes of tensors that may be padding are read: only zeros are.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn without_padding(&self) -> Result<(Vec<Tensor<'_>>, Padding), Complaint> {
        let (mut tensors, mut padding) = (Vec::new(), Padding::default());
        for (part, file) in self.parts.iter().enumerate() {
            let names = padding_of(file)?;
            for tensor in in_order(file) {
                match names.contains(tensor.name()) {
                    true => padding.count(tensor.byte_len()),
                    false => tensors.push(Tensor { part, tensor }),
                }
            }
        }
        Ok((tensors, padding))
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// There is none; the sentence has the name that is most like it.
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>, Complaint> {
        self.find(name).ok_or_else(|| Complaint::about(&self.path, self.no_tensor(name)))
    }

    /// The tensor of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<Tensor<'_>> {
        let part = if self.parts.len() > 1 { *self.places.get(name)? } else { 0 };
        Some(Tensor { part, tensor: self.parts.get(part)?.find(name).ok()?? })
    }

    fn no_tensor(&self, name: &str) -> String {
        let alike = |tensor: &Tensor<'_>| strsim::jaro_winkler(name, tensor.name());
        let nearest = self.tensors().max_by(|a, b| alike(a).total_cmp(&alike(b)));
        let hint = nearest.filter(|tensor| alike(tensor) > 0.7).map(|tensor| quoted(tensor.name()));
        let hint = hint.map_or(String::new(), |name| format!("; is {name} meant?"));
        format!("there is no tensor {}{hint}", quoted(name))
    }

    /// What stands in `__metadata__`; of several files what the first says counts.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// The same as pairs, for writing; nothing where there is no `__metadata__`.
    pub fn pairs(&self) -> Option<Vec<(&str, &str)>> {
        let has_any = self.parts.iter().any(|part| part.metadata().is_some());
        has_any.then(|| self.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect())
    }

    /// How long all files are together, without an index.
    pub fn file_lens(&self) -> u64 {
        let lens = self.parts.iter().map(FileModel::summary);
        lens.map(|summary| summary.data_start + summary.data_len).sum()
    }

    /// To be asked when all has been read: whether the files are still those that were proven.
    ///
    /// # Errors
    /// One is not.
    pub fn check_unchanged(&self) -> Result<(), Complaint> {
        self.parts.iter().try_for_each(|part| Ok(part.check_unchanged()?))
    }
}

/// As other programs list them, in whatever order the header does.
fn in_order(file: &FileModel) -> Vec<FileTensor<'_>> {
    let mut tensors: Vec<FileTensor<'_>> = file.tensors().collect();
    tensors.sort_by_key(|tensor| (tensor.begin(), tensor.end(), tensor.name()));
    tensors
}

/// Padding that a command leaves out of what it writes.
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

    /// A line that says what was left out, if anything was.
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

fn places_of(parts: &[FileModel]) -> HashMap<String, usize> {
    let names = |(part, file)| FileModel::tensors(file).map(move |tensor| (tensor.name().to_owned(), part));
    parts.iter().enumerate().flat_map(names).collect()
}

/// One tensor of a model, and what [`FileTensor`] knows of it.
#[derive(Clone, Copy)]
pub struct Tensor<'m> {
    part: usize,
    tensor: FileTensor<'m>,
}

impl Tensor<'_> {
    /// Which of the model's files it is in.
    pub fn part(&self) -> usize {
        self.part
    }

    /// How many elements it has.
    pub fn elements(&self) -> u64 {
        // Proven: the product of the dimensions fits.
        self.dims().iter().product()
    }
}

impl<'m> Deref for Tensor<'m> {
    type Target = FileTensor<'m>;

    fn deref(&self) -> &FileTensor<'m> {
        &self.tensor
    }
}

/// By its name: what is in a file that is called so is judged as an index.
pub fn is_sharded(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(".index.json")
}

/// The file of a model that is alone in its folder: it has no index, and its name is the usual one.
///
/// # Errors
/// The folder cannot be read.
pub fn file_alone_in(path: &Path) -> io::Result<Option<PathBuf>> {
    let whole = path.join(WHOLE);
    Ok((path.is_dir() && whole.is_file() && index_files(path)?.is_empty()).then_some(whole))
}

fn open_shards(path: &Path) -> Result<(Vec<FileModel>, Option<PathBuf>), Complaint> {
    match ShardedModel::open(path) {
        Ok(model) => {
            let index = model.path().to_path_buf();
            Ok((model.into_shards(), Some(index)))
        }
        Err(error) => Err(match error.fault() {
            // Of a shard the report is shown that `check` gives.
            ShardFault::File(shard) if !is_sharded(shard.path()) => {
                open_part(shard.path()).err().unwrap_or_else(|| error.into())
            }
            // The whole model is in one file, as others name it.
            ShardFault::NoIndex if path.join(WHOLE).is_file() => {
                return Ok((vec![open_part(&path.join(WHOLE))?], None));
            }
            _ => error.into(),
        }),
    }
}

fn open_part(path: &Path) -> Result<FileModel, Complaint> {
    let (source, _) = open_sound(path)?;
    let file = source.into_file().map_err(|reason| Complaint::not_read(path, reason))?;
    Ok(FileModel::from_file(file, path)?)
}

/// A file, or standard input for `-`, that is proven to be sound; of a stream all is kept.
///
/// # Errors
/// It is not sound, or cannot be read.
pub fn open_sound(path: &Path) -> Result<(Source, Summary), Complaint> {
    let mut source = open(path).map_err(|reason| Complaint::not_read(path, reason))?;
    match judge(&mut source, Data::Keep) {
        Ok(summary) => Ok((source, summary)),
        Err(failure) => Err(complaint(path, &mut source, failure)),
    }
}

fn complaint(path: &Path, source: &mut Source, failure: Failure) -> Complaint {
    match failure {
        Failure::NotRead(reason) => Complaint::not_read(path, reason),
        Failure::Unsound(error) => match Report::new(source, error) {
            Ok(report) => Complaint::unsound(path, report),
            Err(reason) => Complaint::not_read(path, reason),
        },
    }
}
