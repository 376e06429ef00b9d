//! Heap sort: in place, without recursion, and never quadratic.

/// Items that can be sorted, by their indices from 0 to the count.
pub(crate) trait Items {
    fn count(&self) -> usize;

    /// Whether the item at `a` belongs before the one at `b`.
    fn is_below(&self, a: usize, b: usize) -> bool;

    fn swap(&mut self, a: usize, b: usize);
}

/// Sorts the items in ascending order. Most inputs are sorted already.
pub(crate) fn sort(items: &mut impl Items) {
    let count = items.count();
    if (1..count).all(|index| !items.is_below(index, index - 1)) {
        return;
    }
    for root in (0..count >> 1).rev() {
        sift_down(items, root, count);
    }
    for last in (1..count).rev() {
        items.swap(0, last);
        sift_down(items, 0, last);
    }
}

/// Moves the item at `root` down among the first `count`, until no larger one is below it: along the larger
/// children to the bottom, where it most likely belongs, and up from there. This takes half the comparisons
/// of a search for its position on the way down.
fn sift_down(items: &mut impl Items, root: usize, count: usize) {
    let mut index = root;
    while let Some(child) = larger_child(items, index, count) {
        index = child;
    }
    while index > root && items.is_below(index, root) {
        index = (index - 1) >> 1;
    }
    // The items on the path move up by one.
    while index > root {
        items.swap(root, index);
        index = (index - 1) >> 1;
    }
}

fn larger_child(items: &impl Items, parent: usize, count: usize) -> Option<usize> {
    let left = 2 * parent + 1;
    let right = left + 1;
    match (left < count, right < count) {
        (false, _) => None,
        (true, true) if items.is_below(left, right) => Some(right),
        (true, _) => Some(left),
    }
}

/// Exchanges two elements, without a panic path.
pub(crate) fn swap<T>(slice: &mut [T], a: usize, b: usize) {
    if let Ok([one, other]) = slice.get_disjoint_mut([a, b]) {
        core::mem::swap(one, other);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{Items, sort, swap};
    use std::vec::Vec;

    impl Items for Vec<u32> {
        fn count(&self) -> usize {
            self.len()
        }

        fn is_below(&self, a: usize, b: usize) -> bool {
            self[a] < self[b]
        }

        fn swap(&mut self, a: usize, b: usize) {
            swap(self, a, b);
        }
    }

    #[test]
    fn any_order_is_sorted() {
        let mut state = 1u32;
        for len in 0..200 {
            let mut items: Vec<u32> = (0..len)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    state >> 26
                })
                .collect();
            let mut expected = items.clone();
            expected.sort_unstable();
            sort(&mut items);
            assert_eq!(items, expected);
        }
    }
}
