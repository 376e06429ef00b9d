//! Compares an index with its shards.

use super::error::ShardErrorKind;
use super::index::ShardIndex;
use embedded_safetensors::index::OwnedIndex;
use std::collections::HashMap;

/// Compares the index with its shards, which are in its order.
///
/// # Errors
/// The first mismatch: a tensor in two shards, then extra or misplaced tensors, then missing tensors, then
/// the size.
pub(super) fn compare(index: &ShardIndex, shards: &[&OwnedIndex]) -> Result<(), ShardErrorKind> {
    let names: Vec<&str> = index.shards().collect();
    let tensors = || {
        let shards = names.iter().zip(shards);
        shards.flat_map(|(name, shard)| shard.tensors().map(move |tensor| (tensor.name(), *name)))
    };
    let wrong =
        |tensor: &str, place, count| Err(ShardErrorKind::Tensor { tensor: tensor.into(), place, count });
    let mut found = HashMap::with_capacity(index.len());
    for (tensor, shard) in tensors() {
        if let Some(earlier) = found.insert(tensor, shard) {
            return wrong(tensor, format!("is in two shards, {earlier:?} and {shard:?}"), 1);
        }
    }
    let mut extra = tensors().filter(|(tensor, _)| index.shard_of(tensor).is_none());
    if let Some((tensor, shard)) = extra.next() {
        return wrong(tensor, format!("in {shard:?} is not in the index"), 1 + extra.count());
    }
    let mut misplaced = tensors().filter(|(tensor, shard)| index.shard_of(tensor) != Some(shard));
    if let Some((tensor, shard)) = misplaced.next() {
        let named = index.shard_of(tensor).unwrap_or("");
        return wrong(tensor, format!("is in {shard:?}, not in {named:?}"), 1 + misplaced.count());
    }
    let mut missing = index.tensors().filter(|(tensor, _)| !found.contains_key(tensor));
    if let Some((tensor, shard)) = missing.next() {
        return wrong(tensor, format!("is not in {shard:?}, nor in another shard"), 1 + missing.count());
    }
    let found = shards.iter().map(|shard| shard.summary().data_len).fold(0, u64::saturating_add);
    match index.total_size() {
        Some(said) if said != found => Err(ShardErrorKind::TotalSize { said, found }),
        _ => Ok(()),
    }
}
