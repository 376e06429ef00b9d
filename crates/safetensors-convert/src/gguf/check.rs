//! Checks that need all tensors of a file.

use super::elements::Stored;
use crate::error::unsound;
use crate::source::Tensor;
use crate::text::quoted;
use std::io;

/// Checks that no two tensors have the same name, or share bytes.
pub fn check_tensors(tensors: &[Tensor], stored: &[Stored]) -> io::Result<()> {
    let name = |index: u32| tensors.get(index as usize).map_or("", |tensor| tensor.name.as_str());
    // Fits: the number of tensors is limited.
    let count = u32::try_from(tensors.len()).unwrap_or(u32::MAX);
    let mut order: Vec<u32> = (0..count).collect();
    order.sort_unstable_by_key(|&index| name(index));
    if let Some(&[first, _]) = pairs(&order).find(|&&[first, second]| name(first) == name(second)) {
        return Err(unsound(format!("tensor {}: the name is duplicate", quoted(name(first)))));
    }
    let range = |index: u32| {
        stored.get(index as usize).map_or((0, 0), |stored| (stored.at, stored.at.saturating_add(stored.len)))
    };
    order.retain(|&index| range(index).0 < range(index).1);
    order.sort_unstable_by_key(|&index| range(index));
    match pairs(&order).find(|&&[first, second]| range(second).0 < range(first).1) {
        Some(&[first, second]) => {
            let [first, second] = [first, second].map(|index| quoted(name(index)));
            Err(unsound(format!("tensors {first} and {second} share bytes")))
        }
        None => Ok(()),
    }
}

/// Returns all neighbours.
fn pairs(order: &[u32]) -> impl Iterator<Item = &[u32; 2]> {
    order.windows(2).filter_map(|pair| pair.first_chunk())
}
