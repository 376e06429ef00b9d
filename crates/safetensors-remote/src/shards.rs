//! Files of a model in several files.

use crate::error::RemoteErrorKind;
use crate::url::Url;
use embedded_safetensors::index::OwnedIndex;
use safetensors_files::shards::ShardIndex;

/// Whether a URL is that of an index.
pub(crate) fn is_index(url: &Url) -> bool {
    url.path().ends_with(".index.json")
}

/// The last segment of the path.
pub(crate) fn name_of(url: &Url) -> String {
    url.path().rsplit('/').next().unwrap_or("").to_owned()
}

/// The URLs of the shards, and their names. Reading the index has checked that the names are safe.
pub(crate) fn shards(url: &Url, index: &ShardIndex) -> Vec<(Url, String)> {
    index.shards().map(|name| (url.sibling(name), name.to_owned())).collect()
}

/// Compares the index with the headers of its shards, as
/// [`ShardedModel`](safetensors_files::shards::ShardedModel) does, but for the total size: models on the Hub
/// exist whose index has a wrong one.
pub(crate) fn compare(index: &ShardIndex, shards: &[(&str, &OwnedIndex)]) -> Result<(), RemoteErrorKind> {
    let misplaced =
        |tensor: &str, reason: String| Err(RemoteErrorKind::Misplaced { tensor: tensor.to_owned(), reason });
    let mut found = 0;
    for &(name, shard) in shards {
        for tensor in shard.tensors() {
            match index.shard_of(tensor.name()) {
                Some(named) if named == name => found += 1,
                Some(named) => {
                    return misplaced(tensor.name(), format!("is in {name}, but the index says {named}"));
                }
                None => return misplaced(tensor.name(), format!("of {name} is not in the index")),
            }
        }
    }
    if found == index.len() {
        return Ok(());
    }
    let shard = |name: &str| shards.iter().find(|(known, _)| *known == name).map(|(_, shard)| *shard);
    let is_there = |tensor, name| shard(name).is_some_and(|shard| matches!(shard.find(tensor), Ok(Some(_))));
    match index.tensors().find(|&(tensor, name)| !is_there(tensor, name)) {
        Some((tensor, name)) => misplaced(tensor, format!("is not in {name}, as the index says")),
        None => Ok(()),
    }
}
