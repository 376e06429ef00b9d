//! Finds models in directories, and shards by their names and by the indexes beside them.

use crate::args::remote::is_remote;
use crate::error::Error;
use crate::input::foreign::Readable;
use crate::input::model::{file_of, is_index};
use crate::input::walk::{NO_MODEL, is_model};
use crate::text::{counted, quoted, shell_word, shown_path};
use embedded_safetensors::error::Class;
use safetensors_files::shards::{ShardIndex, ShardLimits};
use safetensors_remote::CANDIDATES;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The suffix of index files.
pub const INDEX_END: &str = ".safetensors.index.json";

/// The name of a shard: `STEM-00001-of-00004.safetensors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardName<'n> {
    pub stem: &'n str,
    /// Counted from 1.
    pub number: u64,
    pub count: u64,
}

impl<'n> ShardName<'n> {
    pub fn parse(name: &'n str) -> Option<Self> {
        Self::of_stem(name.strip_suffix(".safetensors")?)
    }

    /// The name of a shard without its suffix.
    pub fn of_stem(name: &'n str) -> Option<Self> {
        let (rest, count) = name.rsplit_once("-of-")?;
        let (stem, number) = rest.rsplit_once('-')?;
        Some(Self { stem, number: number_of(number)?, count: number_of(count)? })
    }

    /// The name of the index that lists it.
    fn index_name(self) -> String {
        format!("{}{INDEX_END}", self.stem)
    }

    fn siblings(self) -> impl Iterator<Item = String> {
        (1..=self.count).map(move |number| self.name(number, "safetensors"))
    }

    /// The name of the shard of this number, with this suffix.
    pub fn name(self, number: u64, suffix: &str) -> String {
        let Self { stem, count, .. } = self;
        format!("{stem}-{number:05}-of-{count:05}.{suffix}")
    }
}

/// Exactly five digits, as `huggingface_hub` writes it: `fold-1-of-5` is not a shard.
fn number_of(digits: &str) -> Option<u64> {
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    (format!("{number:05}") == digits).then_some(number)
}

/// Checks that the inputs are complete models: the result of a partial one would look complete. Shards are
/// allowed if all shards of their model are inputs. One shard is also allowed if the output has the name of
/// the same shard.
///
/// # Errors
/// A shard is missing among the inputs, by their names or by an index beside them. The sentence names the
/// index. Or an index cannot be read.
pub fn reject_partial_models(inputs: &[PathBuf], output: Option<&Path>) -> Result<(), Error> {
    let given: HashSet<PathBuf> = inputs.iter().filter_map(|path| identity(path)).collect();
    let (mut folders, mut whole) = (Folders::default(), HashSet::new());
    for path in inputs.iter().flat_map(|path| ends_of(path)) {
        let name = name_of(&path);
        let shard = ShardName::parse(&name).filter(|shard| shard.count > 1);
        if shard.is_some() && output.is_some_and(|output| ShardName::parse(&name_of(output)) == shard) {
            continue;
        }
        let folder = folder_of(&path);
        let indexes = folders.beside(&path)?;
        let is_given = |shard: &str| identity(&folder.join(shard)).is_some_and(|path| given.contains(&path));
        let mut is_whole = |group: PathBuf, mut shards: Box<dyn Iterator<Item = String> + '_>| {
            whole.contains(&group) || (shards.all(|shard| is_given(&shard)) && whole.insert(group))
        };
        let all_given = match (&indexes[..], shard) {
            ([], None) => true,
            ([], Some(shard)) => is_whole(folder.join(shard.name(0, "")), Box::new(shard.siblings())),
            (indexes, _) => indexes
                .iter()
                .any(|index| is_whole(index.path.clone(), Box::new(index.shards.iter().cloned()))),
        };
        if !all_given {
            return Err(Error::about(&path, part_of(&path, shard, indexes.first().map(Rc::as_ref))));
        }
    }
    Ok(())
}

/// The inputs without the shards that an index among them lists, as for `m/*`.
///
/// # Errors
/// An index beside a shard cannot be read.
pub fn without_listed(inputs: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let given: HashSet<PathBuf> = inputs.iter().filter_map(|path| identity(path)).collect();
    let (mut folders, mut kept) = (Folders::default(), Vec::new());
    for path in inputs {
        let indexes = folders.indexes_of(path)?;
        let mut indexes = indexes.iter().filter_map(|index| identity(&index.path));
        if !indexes.any(|index| given.contains(&index)) {
            kept.push(path.clone());
        }
    }
    Ok(kept)
}

/// The index of shards that are given, all of one model and nothing else.
///
/// # Errors
/// An index beside them cannot be read.
pub fn index_of_all(shards: &[PathBuf]) -> Result<Option<PathBuf>, Error> {
    let given: HashSet<PathBuf> = shards.iter().filter_map(|path| identity(path)).collect();
    let is_all = |index: &&Rc<Index>| {
        let folder = folder_of(&index.path);
        given == index.shards.iter().filter_map(|shard| identity(&folder.join(shard))).collect()
    };
    let indexes = shards.first().map_or(Ok(Vec::new()), |first| Folders::default().indexes_of(first))?;
    Ok(indexes.iter().find(is_all).map(|index| index.path.clone()))
}

/// The indexes in directories, each read once.
#[derive(Default)]
pub struct Folders(HashMap<PathBuf, Vec<Rc<Index>>>);

impl Folders {
    /// The indexes that name this file, or the target of this link, as one of several shards.
    ///
    /// # Errors
    /// An index beside it cannot be read.
    pub fn indexes_of(&mut self, path: &Path) -> Result<Vec<Rc<Index>>, Error> {
        let mut indexes = Vec::new();
        for end in ends_of(path) {
            indexes.extend(self.beside(&end)?);
        }
        Ok(indexes)
    }

    /// The indexes that name the file at exactly this path.
    fn beside(&mut self, path: &Path) -> Result<Vec<Rc<Index>>, Error> {
        let folder = folder_of(path);
        if !self.0.contains_key(folder) {
            let indexes = match fs::read_dir(folder) {
                // Only the name of the file counts then.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Vec::new()),
                _ => indexes_in(folder),
            };
            let mut indexes = indexes.map_err(|why| {
                let sentence =
                    format!("may be a shard, but an index beside it cannot be read: {}", why.line());
                Error::about(path, sentence)
            })?;
            indexes.retain(|index| index.shards.len() > 1);
            self.0.insert(folder.to_path_buf(), indexes.into_iter().map(Rc::new).collect());
        }
        let name = name_of(path);
        let indexes = self.0.get(folder).into_iter().flatten();
        Ok(indexes.filter(|index| index.shards.contains(&name)).cloned().collect())
    }
}

/// A file that may be a shard, and its target if it is a link. Empty if it does not exist.
fn ends_of(path: &Path) -> Vec<PathBuf> {
    let path = match file_of(path) {
        Ok(path) if path.as_os_str() != "-" && !is_index(&path) => path,
        // What is wrong with a directory is reported when it is opened.
        _ => return Vec::new(),
    };
    // By its name: the name of a model of the Hub is not one of a shard.
    if is_remote(&path) {
        return vec![path];
    }
    match path.canonicalize() {
        Ok(place) if path.is_symlink() => vec![path, place],
        Ok(_) => vec![path],
        Err(_) => Vec::new(),
    }
}

/// The same for all paths of a file, if it exists. A server does not list its files.
fn identity(path: &Path) -> Option<PathBuf> {
    if is_remote(path) { Some(path.to_path_buf()) } else { path.canonicalize().ok() }
}

fn part_of(path: &Path, shard: Option<ShardName<'_>>, index: Option<&Index>) -> String {
    let part = match shard {
        Some(ShardName { number, count, .. }) => format!("is shard {number} of {count}"),
        None => "is one of several shards".to_owned(),
    };
    match (index, shard) {
        (Some(index), _) => format!("{part} of {}; give the index", shown_path(&index.path)),
        (None, Some(shard)) => format!("{part}; {}", advice_in(folder_of(path), shard)),
        (None, None) => part,
    }
}

/// What to do with the shards of a model without an index.
fn advice_in(folder: &Path, shard: ShardName<'_>) -> String {
    let Ok(paths) = files_in(folder) else {
        // A server does not list its files.
        return format!("give the index {}, or join all shards", quoted(&shard.index_name()));
    };
    let names: HashSet<String> = paths.iter().map(|path| name_of(path)).collect();
    let missing = listed(shard.siblings().filter(|name| !names.contains(name)));
    if !missing.is_empty() {
        return format!("missing shards: {missing}");
    }
    let ShardName { stem, count, .. } = shard;
    let all = folder.join(stem);
    let all = shell_word(&all.strip_prefix(".").unwrap_or(&all).to_string_lossy());
    let output = shell_word(&format!("{stem}.safetensors"));
    format!("`safetensors join {all}-*-of-{count:05}.safetensors -o {output}` reads all of them")
}

pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The directory of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The models in a directory, sorted: only the first of [`CANDIDATES`] that is there, as on the Hub;
/// otherwise all indexes, and all files that are no shards of one of them. Hidden files are left out.
///
/// # Errors
/// The directory cannot be listed, or an index cannot be read; there is no model. The sentence names the
/// directories in it that have one.
pub fn models_in(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut candidates = CANDIDATES.iter().map(|name| directory.join(name));
    // A link to nothing is an error of this model, not a reason to take another one.
    if let Some(first) = candidates.find(|path| path.symlink_metadata().is_ok() && !path.is_dir()) {
        return Ok(vec![first]);
    }
    let paths = files_in(directory).map_err(|error| Error::not_read(directory, error))?;
    let indexes = indexes_in(directory)?;
    let is_shard = |name: &str| {
        // An invalid index does not name it.
        let index_name = ShardName::parse(name).map(ShardName::index_name);
        let mut indexes = indexes.iter();
        indexes.any(|index| index.shards.contains(name) || index_name == Some(name_of(&index.path)))
    };
    let is_model = |path: &&PathBuf| is_model(path) && !path.is_dir() && !is_shard(&name_of(path));
    let models: Vec<PathBuf> = paths.iter().filter(is_model).cloned().collect();
    if models.is_empty() { Err(Error::about(directory, no_model_in(directory, &paths))) } else { Ok(models) }
}

/// The model that a directory means to a command that reads only one.
///
/// # Errors
/// Those of [`models_in`]; there are several, or shards without their index. The sentence names them.
pub fn model_in(directory: &Path) -> Result<PathBuf, Error> {
    let mut models = models_in(directory)?;
    let names: Vec<String> = models.iter().map(|path| name_of(path)).collect();
    let shard = |name| ShardName::parse(name).filter(|shard| shard.count > 1);
    let shards: Vec<ShardName<'_>> = names.iter().filter_map(|name| shard(name)).collect();
    let sentence = match &shards[..] {
        [first, ..] if shards.len() == names.len() && shards.iter().all(|shard| shard.stem == first.stem) => {
            let (all, index) = (counted(shards.len() as u64, "shard"), quoted(&first.index_name()));
            let advice = advice_in(directory, *first);
            format!("contains {all} of {}, but not the index {index}; {advice}", first.count)
        }
        _ if names.len() > 1 => {
            let all = counted(names.len() as u64, "model");
            format!("contains {all}: {}; give the path of one", listed(names))
        }
        _ => return Ok(models.swap_remove(0)),
    };
    Err(Error::about(directory, sentence))
}

/// The sentence about a directory without models that contains these paths.
fn no_model_in(directory: &Path, paths: &[PathBuf]) -> String {
    let has_model = |path: &Path| files_in(path).is_ok_and(|paths| paths.iter().any(|path| is_model(path)));
    let names: Vec<String> = paths.iter().filter(|path| has_model(path)).map(|path| name_of(path)).collect();
    match names.is_empty() {
        true => without_models(directory),
        false => format!("{NO_MODEL}, but its directories do: {}; give the path of one", listed(names)),
    }
}

/// The predicate of a directory without models, which may have a file of another format. Only suffixes count.
pub fn without_models(directory: &Path) -> String {
    let paths = files_in(directory).unwrap_or_default();
    match paths.iter().find(|path| Readable::by_name(path).is_some() && path.is_file()) {
        Some(path) => {
            format!("{NO_MODEL}, but {}, which `safetensors convert` reads", quoted(&name_of(path)))
        }
        None => NO_MODEL.to_owned(),
    }
}

/// The first names.
fn listed(names: impl IntoIterator<Item = String>) -> String {
    const NAMED: usize = 8;
    let mut names = names.into_iter().map(|name| quoted(&name));
    let mut shown: Vec<String> = names.by_ref().take(NAMED).collect();
    shown.extend(names.next().map(|_| "…".to_owned()));
    shown.join(", ")
}

/// An index, and the names of its shards.
pub struct Index {
    pub path: PathBuf,
    pub shards: BTreeSet<String>,
}

/// The indexes in a directory, none if it does not exist. An invalid index names nothing.
///
/// # Errors
/// The directory cannot be listed, or an index cannot be read or exceeds a limit: its names are unknown
/// then.
pub fn indexes_in(folder: &Path) -> Result<Vec<Index>, Error> {
    let paths = match files_in(folder) {
        Err(error) if is_absent(&error) => Vec::new(),
        paths => paths.map_err(|error| Error::not_read(folder, error))?,
    };
    let mut indexes = Vec::new();
    for path in paths.into_iter().filter(|path| name_of(path).ends_with(INDEX_END)) {
        match fs::metadata(&path) {
            Ok(there) if there.is_file() => {}
            Err(error) if !is_absent(&error) => return Err(Error::not_read(&path, error)),
            _ => continue,
        }
        let path = if folder == Path::new(".") { name_of(&path).into() } else { path };
        let shards = match ShardIndex::open(&path, &ShardLimits::USUAL) {
            Ok(index) => index.shards().map(str::to_owned).collect(),
            Err(error) if error.kind().class() == Some(Class::File) => BTreeSet::new(),
            Err(error) => return Err(error.into()),
        };
        indexes.push(Index { path, shards });
    }
    Ok(indexes)
}

/// The paths of everything in a directory, sorted.
pub fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths: io::Result<Vec<PathBuf>> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.sort();
    Ok(paths)
}

/// Whether the error means that no file exists.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::ShardName;

    #[test]
    fn names_of_shards() {
        let name = |stem, number, count| Some(ShardName { stem, number, count });
        for (text, expected) in [
            ("model-00001-of-00004.safetensors", name("model", 1, 4)),
            ("a-b-00002-of-00003.safetensors", name("a-b", 2, 3)),
            ("m-99999-of-100000.safetensors", name("m", 99_999, 100_000)),
            ("fold-1-of-5.safetensors", None),
            ("model-000001-of-00004.safetensors", None),
            ("model-00001-of-00004.bin", None),
            ("model-00001-of-.safetensors", None),
            ("model--of-00004.safetensors", None),
            ("model-+0001-of-00004.safetensors", None),
            ("model-00001-of-99999999999999999999.safetensors", None),
            ("one-of-many.safetensors", None),
            ("model.safetensors", None),
        ] {
            assert_eq!(ShardName::parse(text), expected, "{text}");
        }
    }
}
