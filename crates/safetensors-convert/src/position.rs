//! Positions in arrays.

/// Returns the position that is `count` indices of the last axis after `first`, for axes of these lengths;
/// `None` at the end of the array. `count` leads at most to the end of the last axis.
pub fn after(
    mut first: Vec<u64>,
    count: u64,
    lens: impl DoubleEndedIterator<Item = u64> + ExactSizeIterator,
) -> Option<Vec<u64>> {
    let mut more = count;
    for (index, len) in first.iter_mut().zip(lens).rev() {
        *index += more;
        if *index < len {
            return Some(first);
        }
        (*index, more) = (0, 1);
    }
    None
}
