//! Files of a model in several files.

use crate::url::Url;
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
