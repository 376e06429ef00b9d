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
    let name = |number: usize| names.get(number).map_or(String::new(), |&name| name.into());
    let tensors = || {
        let shards = shards.iter().enumerate();
        shards.flat_map(|(number, shard)| shard.tensors().map(move |tensor| (tensor.name(), number)))
    };
    let mut found = HashMap::with_capacity(index.len());
    for (tensor, number) in tensors() {
        if let Some(earlier) = found.insert(tensor, number) {
            let shards = [earlier, number].map(name);
            return Err(ShardErrorKind::TensorTwice { tensor: tensor.into(), shards });
        }
    }
    let mut extra = tensors().filter(|(tensor, _)| index.shard_number(tensor).is_none());
    if let Some((tensor, number)) = extra.next() {
        let (tensor, shard, count) = (tensor.into(), name(number), 1 + extra.count());
        return Err(ShardErrorKind::ExtraTensor { tensor, shard, count });
    }
    let mut wrong = tensors().filter_map(|(tensor, number)| {
        let named = index.shard_number(tensor).filter(|&named| named != number)?;
        Some((tensor, named, number))
    });
    if let Some((tensor, named, number)) = wrong.next() {
        let (tensor, named, found) = (tensor.into(), name(named), name(number));
        return Err(ShardErrorKind::WrongShard { tensor, named, found, count: 1 + wrong.count() });
    }
    let mut missing = index.tensors().filter(|(tensor, _)| !found.contains_key(tensor));
    if let Some((tensor, shard)) = missing.next() {
        let (tensor, shard) = (tensor.into(), shard.into());
        return Err(ShardErrorKind::MissingTensor { tensor, shard, count: 1 + missing.count() });
    }
    let found = shards.iter().map(|shard| shard.summary().data_len).fold(0, u64::saturating_add);
    match index.total_size() {
        Some(said) if said != found => Err(ShardErrorKind::TotalSize { said, found }),
        _ => Ok(()),
    }
}
