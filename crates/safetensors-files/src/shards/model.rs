//! A model in several files, read as one.

use super::compare::prove;
use super::error::{ShardError, ShardErrorKind};
use super::index::ShardIndex;
use super::limits::ShardLimits;
use crate::error::EditErrorKind;
use core::fmt;
use embedded_safetensors::Error;
use embedded_safetensors::file::{FileError, FileErrorKind, FileModel, FileTensor};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const INDEX: &str = "model.safetensors.index.json";
const INDEX_END: &str = ".safetensors.index.json";

/// A model in several files, which an index names: all of them opened and proven, and that they are what the index says.
///
/// ```
/// use safetensors_files::shards::ShardedModel;
/// # use embedded_safetensors::Dtype;
/// # use safetensors_files::write_file;
/// # use safetensors_files::shards::ShardPlan;
/// # use embedded_safetensors::write::{FileSpec, TensorSpec};
/// # let folder = std::env::temp_dir().join(format!("sharded-model-{}", std::process::id()));
/// # std::fs::create_dir(&folder)?;
/// # ShardPlan::new("model", [("fc.weight", 4), ("fc.bias", 4)], 5).write(&folder, |shard, path| {
/// #     let tensors = [TensorSpec::new(&shard.tensors()[0], Dtype::F32, &[1])];
/// #     write_file(path, FileSpec::new(&tensors), |file| file.write_tensor(&shard.tensors()[0], &[0; 4]))
/// # })?;
///
/// let model = ShardedModel::open(&folder)?; // or the index in it
/// for tensor in model.tensors() {
///     println!("{} {} {:?}", tensor.name(), tensor.dtype(), tensor.dims());
/// }
/// let bias: Vec<f32> = model.find("fc.bias")?.ok_or("no bias")?.reader().values().read_to_vec()?;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// *Memory*: the index, and for each shard a [`FileModel`], which has its file open.
pub struct ShardedModel {
    /// Of the index.
    path: PathBuf,
    index: ShardIndex,
    /// In the index's order.
    shards: Vec<FileModel>,
    metadata: Option<BTreeMap<String, String>>,
}

impl ShardedModel {
    /// Opens a model by the path of its index or of the folder, in which `model.safetensors.index.json` counts, or another `*.safetensors.index.json` if
    /// there is one only. Of each shard the header is read and proven; then that each tensor is in the shard that the index says, no other is, and
    /// `total_size`, where it is said, is what the tensors have.
    ///
    /// # Errors
    /// Those of [`ShardIndex::open`] and [`FileModel::open`]; [`ShardErrorKind::NoIndex`], [`ShardErrorKind::ManyIndexes`]; [`ShardErrorKind::MissingShard`],
    /// [`ShardErrorKind::TooManyOpen`], [`ShardErrorKind::MissingTensor`], [`ShardErrorKind::ExtraTensor`], [`ShardErrorKind::TensorTwice`], [`ShardErrorKind::WrongShard`], [`ShardErrorKind::TotalSize`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ShardError> {
        Self::open_within(path, &ShardLimits::USUAL)
    }

    /// The same within other limits.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_within(path: impl AsRef<Path>, limits: &ShardLimits) -> Result<Self, ShardError> {
        let given = path.as_ref();
        let path = find_index(given).map_err(|fault| fault.of(given))?;
        let index = ShardIndex::open(&path, limits)?;
        let shards = open_shards(&index, &path).map_err(|fault| fault.of(&path))?;
        prove(&index, &shards).map_err(|fault| fault.of(&path))?;
        let metadata = metadata_of(&shards);
        Ok(Self { path, index, shards, metadata })
    }

    /// The path of the index.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the index says.
    pub fn index(&self) -> &ShardIndex {
        &self.index
    }

    /// The shards, in the order in which the index names them first.
    pub fn shards(&self) -> &[FileModel] {
        &self.shards
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// All tensors: shard by shard, in the order of their offsets.
    pub fn tensors(&self) -> impl Iterator<Item = FileTensor<'_>> {
        self.shards.iter().flat_map(FileModel::tensors)
    }

    /// The tensor of this name. Takes the same time however many there are.
    ///
    /// # Errors
    /// None: the model has been validated.
    pub fn find(&self, name: &str) -> Result<Option<FileTensor<'_>>, Error> {
        self.shard_of(name).map_or(Ok(None), |shard| shard.find(name))
    }

    /// The shard that the tensor of this name is in.
    pub fn shard_of(&self, name: &str) -> Option<&FileModel> {
        self.shards.get(self.index.number_of(name)?)
    }

    /// What stands in `__metadata__` of any shard, if there is any; where two say different things of one key, what the first says.
    pub fn metadata(&self) -> Option<&BTreeMap<String, String>> {
        self.metadata.as_ref()
    }

    /// Asks the system whether all shards are as they were: as [`FileModel::check_unchanged`].
    ///
    /// # Errors
    /// As there, of the first shard that is not.
    pub fn check_unchanged(&self) -> Result<(), FileError> {
        self.shards.iter().try_for_each(FileModel::check_unchanged)
    }
}

/// The index that the path means.
fn find_index(path: &Path) -> Result<PathBuf, ShardErrorKind> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let usual = path.join(INDEX);
    // A link that leads nowhere is an error of this index, and no reason to open another.
    match fs::symlink_metadata(&usual) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        _ => return Ok(usual),
    }
    let mut names = indexes_in(path).map_err(|error| ShardErrorKind::system("list", path, error))?;
    names.sort();
    match names.as_slice() {
        [] => Err(ShardErrorKind::NoIndex),
        [name] => Ok(path.join(name)),
        [one, other, ..] => Err(ShardErrorKind::ManyIndexes { names: [one.clone(), other.clone()] }),
    }
}

fn indexes_in(folder: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
    let names: io::Result<Vec<Option<String>>> = entries.collect();
    Ok(names?.into_iter().flatten().filter(|name| name.ends_with(INDEX_END)).collect())
}

fn open_shards(index: &ShardIndex, path: &Path) -> Result<Vec<FileModel>, ShardErrorKind> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut open = Vec::with_capacity(index.shards().len());
    for name in index.shards() {
        let shard = open_shard(index, name, &folder.join(name));
        open.push(shard.map_err(|fault| of_limit(fault, open.len(), index.shards().len()))?);
    }
    Ok(open)
}

/// Too many open files are too many shards.
fn of_limit(fault: ShardErrorKind, open: usize, shards: usize) -> ShardErrorKind {
    match fault {
        ShardErrorKind::File(error) if is_of_limit(error.kind()) => {
            ShardErrorKind::TooManyOpen { open, shards, error: error.into() }
        }
        fault => fault,
    }
}

/// EMFILE and ENFILE, or what Windows has for them; the standard library has no kind of error for it.
fn is_of_limit(fault: &EditErrorKind) -> bool {
    let codes: &[i32] = if cfg!(windows) { &[4] } else { &[23, 24] };
    let code = |error: &io::Error| error.raw_os_error().is_some_and(|code| codes.contains(&code));
    matches!(fault, EditErrorKind::File(FileErrorKind::System { error, .. }) if code(error))
}

fn open_shard(index: &ShardIndex, name: &str, path: &Path) -> Result<FileModel, ShardErrorKind> {
    FileModel::open(path).map_err(|error| match error.kind() {
        FileErrorKind::System { error, .. } if error.kind() == io::ErrorKind::NotFound => {
            let tensors = index.tensors().filter(|(_, shard)| *shard == name).count();
            ShardErrorKind::MissingShard { shard: name.into(), tensors }
        }
        _ => ShardErrorKind::File(error.into()),
    })
}

fn metadata_of(shards: &[FileModel]) -> Option<BTreeMap<String, String>> {
    let all: Vec<_> = shards.iter().filter_map(FileModel::metadata).collect();
    let pairs = all.iter().rev().flat_map(|pairs| pairs.iter());
    let pairs = pairs.map(|(key, value)| (key.clone(), value.clone())).collect();
    (!all.is_empty()).then_some(pairs)
}

impl fmt::Debug for ShardedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardedModel")
            .field("path", &self.path)
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
