//! Files that are only a part of a model, by their names and by the indexes beside them.

use crate::complaint::Complaint;
use crate::model::is_sharded;
use crate::text::{quoted, shown_text};
use embedded_safetensors::{Blame, ShardIndex, ShardLimits};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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
        let digits =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
        Some(Self { stem, number: digits(number)?, count: digits(count)? })
    }

    /// The names of all shards, but no more than can be given.
    fn siblings(self) -> Vec<String> {
        let Self { stem, count, .. } = self;
        let count = count.min(100_000);
        (1..=count).map(|number| format!("{stem}-{number:05}-of-{count:05}.safetensors")).collect()
    }
}

/// Refuses files that are some of several of a model, unless all of them are given: what is made of a part of a model would be taken for
/// the whole. An output that is called as the shard is, such as in another folder, is a shard again.
///
/// # Errors
/// A shard is not there, by the names or by an index beside them. The sentence names the index. Or an index cannot be read.
pub fn must_be_whole(inputs: &[PathBuf], output: Option<&Path>) -> Result<(), Complaint> {
    for path in inputs.iter().filter(|path| path.as_os_str() != "-" && !is_sharded(path)) {
        let name = name_of(path);
        let shard = ShardName::parse(&name).filter(|shard| shard.count > 1);
        if shard.is_some() && output.is_some_and(|output| ShardName::parse(&name_of(output)) == shard) {
            continue;
        }
        let index = index_naming(path, &name)?;
        let siblings = match (shard, &index) {
            (None, None) => continue,
            (_, Some((_, names))) => names.clone(),
            (Some(shard), None) => shard.siblings(),
        };
        let is_given = |sibling: &String| inputs.iter().any(|input| *input == path.with_file_name(sibling));
        if !siblings.iter().all(is_given) {
            return Err(Complaint::about(path, part_of(shard, index.as_ref().map(|(path, _)| path))));
        }
    }
    Ok(())
}

fn part_of(shard: Option<ShardName<'_>>, index: Option<&PathBuf>) -> String {
    match (shard, index.map(|index| shown_text(&index.to_string_lossy()))) {
        (Some(ShardName { number, count, .. }), Some(index)) => {
            format!("is shard {number} of {count}; the whole model is {index}")
        }
        (Some(ShardName { stem, number, count }), None) => {
            let index = quoted(&format!("{stem}.safetensors.index.json"));
            format!(
                "is shard {number} of {count}; the others are not all given, and their index {index} is not beside it"
            )
        }
        (None, index) => {
            format!("is one of several shards; the whole model is {}", index.unwrap_or_default())
        }
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The index in the same folder that names this file and others, and all that it names.
fn index_naming(path: &Path, name: &str) -> Result<Option<(PathBuf, Vec<String>)>, Complaint> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Opening the file says what is wrong with its folder.
    let Ok(entries) = fs::read_dir(folder) else { return Ok(None) };
    for entry in entries {
        let entry = entry.map_err(|error| Complaint::not_read(folder, error))?;
        let is_index = entry.file_name().to_string_lossy().ends_with(".safetensors.index.json");
        let index = path.with_file_name(entry.file_name());
        if is_index && index.is_file() {
            let shards = read_index(&index)?.unwrap_or_default();
            let names: Vec<String> = shards.shards().map(str::to_owned).collect();
            if names.len() > 1 && names.iter().any(|shard| shard == name) {
                return Ok(Some((index, names)));
            }
        }
    }
    Ok(None)
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
            ("a-b-2-of-3.safetensors", name("a-b", 2, 3)),
            ("model-00001-of-00004.bin", None),
            ("model-1-of-.safetensors", None),
            ("model--of-4.safetensors", None),
            ("model-+1-of-4.safetensors", None),
            ("model-1-of-99999999999999999999.safetensors", None),
            ("one-of-many.safetensors", None),
            ("model.safetensors", None),
        ] {
            assert_eq!(ShardName::parse(text), expected, "{text}");
        }
    }
}
