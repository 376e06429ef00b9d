//! Shards: files that have a part of a model each, by their names and by the indexes beside them.

use crate::complaint::Complaint;
use crate::model::is_sharded;
use crate::text::{quoted, shown_text};
use embedded_safetensors::{Blame, ShardIndex, ShardLimits};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What the names of indexes end with.
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
        let (rest, count) = name.strip_suffix(".safetensors")?.rsplit_once("-of-")?;
        let (stem, number) = rest.rsplit_once('-')?;
        Some(Self { stem, number: number_of(number)?, count: number_of(count)? })
    }

    fn siblings(self) -> impl Iterator<Item = String> {
        let Self { stem, count, .. } = self;
        (1..=count).map(move |number| format!("{stem}-{number:05}-of-{count:05}.safetensors"))
    }
}

/// Padded to five digits, as `huggingface_hub` writes it: `fold-1-of-5` is not a shard.
fn number_of(digits: &str) -> Option<u64> {
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    (format!("{number:05}") == digits).then_some(number)
}

/// Checks that the inputs are whole models: what is made of a part of a model would be taken for the whole. Shards are fine if all
/// shards of their model are among the inputs. One shard is fine, too, if the output has the name of the same shard.
///
/// # Errors
/// A shard is missing among the inputs, by their names or by an index beside them. The sentence names the index.
pub fn must_be_whole(inputs: &[PathBuf], output: Option<&Path>) -> Result<(), Complaint> {
    let given: HashSet<PathBuf> = inputs.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let (mut folders, mut whole) = (HashMap::new(), HashSet::new());
    for path in inputs.iter().filter(|path| path.as_os_str() != "-" && !is_sharded(path)) {
        let name = name_of(path);
        let shard = ShardName::parse(&name).filter(|shard| shard.count > 1);
        if shard.is_some() && output.is_some_and(|output| ShardName::parse(&name_of(output)) == shard) {
            continue;
        }
        let folder = folder_of(path);
        let indexes = folders.entry(folder.to_path_buf()).or_insert_with(|| indexes_in(folder));
        let index = indexes.iter().find(|index| index.shards.contains(&name));
        let group = match (index, shard) {
            (Some(index), _) => index.path.clone(),
            (None, Some(ShardName { stem, count, .. })) => folder.join(format!("{stem}-of-{count}")),
            (None, None) => continue,
        };
        let is_given =
            |sibling: &String| folder.join(sibling).canonicalize().is_ok_and(|path| given.contains(&path));
        let all_given = match (index, shard) {
            _ if whole.contains(&group) => true,
            (Some(index), _) => index.shards.iter().all(is_given),
            (None, shard) => shard.is_none_or(|shard| shard.siblings().all(|sibling| is_given(&sibling))),
        };
        if !all_given {
            return Err(Complaint::about(path, part_of(shard, index)));
        }
        whole.insert(group);
    }
    Ok(())
}

fn part_of(shard: Option<ShardName<'_>>, index: Option<&Index>) -> String {
    let part = match shard {
        Some(ShardName { number, count, .. }) => format!("shard {number} of {count}"),
        None => "one of several shards".to_owned(),
    };
    match (index, shard) {
        (Some(Index { path, .. }), _) => {
            format!("{part} of the model {}: give that, or all shards", shown_text(&path.to_string_lossy()))
        }
        (None, Some(ShardName { stem, .. })) => {
            let index = quoted(&format!("{stem}{INDEX_END}"));
            format!("{part} of a model: give all shards, or the index, but there is no {index} beside it")
        }
        (None, None) => part,
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// An index, and the shards that it names.
struct Index {
    path: PathBuf,
    shards: HashSet<String>,
}

/// The indexes of several shards in a folder. One that cannot be read, or a folder that cannot, says nothing of a file there: then only the
/// name of the file tells whether it is a shard.
fn indexes_in(folder: &Path) -> Vec<Index> {
    let named = |path: PathBuf| {
        let index = ShardIndex::open(&path, &ShardLimits::USUAL).ok()?;
        let path = if folder == Path::new(".") { path.file_name()?.into() } else { path };
        Some(Index { path, shards: index.shards().map(str::to_owned).collect() })
    };
    let paths = index_files(folder).unwrap_or_default();
    paths.into_iter().filter_map(named).filter(|index| index.shards.len() > 1).collect()
}

/// The files in a folder that are indexes by their names, sorted.
///
/// # Errors
/// Those of the system.
pub fn index_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths: io::Result<Vec<PathBuf>> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| name_of(path).ends_with(INDEX_END));
    paths.sort();
    Ok(paths)
}

/// The index at this path, if there is one. One that is not sound leads to no model, and names nothing.
///
/// # Errors
/// It cannot be read, or goes beyond a limit.
pub fn read_index(path: &Path) -> Result<Option<ShardIndex>, Complaint> {
    match path.try_exists() {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(Complaint::not_read(path, error)),
    }
    match ShardIndex::open(path, &ShardLimits::USUAL) {
        Ok(index) => Ok(Some(index)),
        Err(error) if error.fault().blame() == Some(Blame::File) => Ok(Some(ShardIndex::new())),
        Err(error) => Err(error.into()),
    }
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
