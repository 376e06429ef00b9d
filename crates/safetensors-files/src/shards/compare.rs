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
    let comparison = Comparison { names: index.shards().collect(), index, found: find(index, shards)? };
    comparison.check_found_tensors(shards)?;
    comparison.check_missing_tensors()?;
    let found = shards.iter().map(|shard| shard.summary().data_len).fold(0, u64::saturating_add);
    match index.total_size() {
        Some(said) if said != found => Err(ShardErrorKind::TotalSize { said, found }),
        _ => Ok(()),
    }
}

struct Comparison<'i> {
    index: &'i ShardIndex,
    names: Vec<&'i str>,
    /// The shard of each tensor found.
    found: HashMap<&'i str, usize>,
}

/// Returns the shard of each tensor.
///
/// # Errors
/// [`ShardErrorKind::TensorTwice`].
fn find<'i>(
    index: &ShardIndex,
    shards: &[&'i OwnedIndex],
) -> Result<HashMap<&'i str, usize>, ShardErrorKind> {
    let mut found = HashMap::with_capacity(index.len());
    for (number, shard) in shards.iter().enumerate() {
        for tensor in shard.tensors() {
            if let Some(earlier) = found.insert(tensor.name(), number) {
                let names: Vec<&str> = index.shards().collect();
                let shards = [earlier, number].map(|number| name(&names, number));
                return Err(ShardErrorKind::TensorTwice { tensor: tensor.name().into(), shards });
            }
        }
    }
    Ok(found)
}

fn name(names: &[&str], number: usize) -> String {
    names.get(number).map_or(String::new(), |&name| name.into())
}

impl Comparison<'_> {
    fn name(&self, number: usize) -> String {
        name(&self.names, number)
    }

    /// Checks the tensors in the shards.
    ///
    /// # Errors
    /// [`ShardErrorKind::ExtraTensor`], [`ShardErrorKind::WrongShard`].
    fn check_found_tensors(&self, shards: &[&OwnedIndex]) -> Result<(), ShardErrorKind> {
        let tensors = shards.iter().enumerate();
        let tensors: Vec<(usize, &str)> = tensors
            .flat_map(|(number, shard)| shard.tensors().map(move |tensor| (number, tensor.name())))
            .collect();
        let mut extra = tensors.iter().filter(|(_, tensor)| self.index.shard_number(tensor).is_none());
        if let Some(&(number, tensor)) = extra.next() {
            let (tensor, shard, count) = (tensor.into(), self.name(number), 1 + extra.count());
            return Err(ShardErrorKind::ExtraTensor { tensor, shard, count });
        }
        let mut wrong = tensors.iter().filter_map(|&(number, tensor)| {
            let named = self.index.shard_number(tensor).filter(|&named| named != number)?;
            Some((tensor, named, number))
        });
        match wrong.next() {
            None => Ok(()),
            Some((tensor, named, found)) => {
                let (tensor, named, found) = (tensor.into(), self.name(named), self.name(found));
                Err(ShardErrorKind::WrongShard { tensor, named, found, count: 1 + wrong.count() })
            }
        }
    }

    /// Checks that no tensor is missing.
    ///
    /// # Errors
    /// [`ShardErrorKind::MissingTensor`].
    fn check_missing_tensors(&self) -> Result<(), ShardErrorKind> {
        let mut missing = self.index.tensors().filter(|(tensor, _)| !self.found.contains_key(tensor));
        match missing.next() {
            None => Ok(()),
            Some((tensor, shard)) => {
                let (tensor, shard) = (tensor.into(), shard.into());
                Err(ShardErrorKind::MissingTensor { tensor, shard, count: 1 + missing.count() })
            }
        }
    }
}
