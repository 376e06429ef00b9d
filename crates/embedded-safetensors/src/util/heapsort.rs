//! Heap sort: in place, without recursion, and never quadratic.

/// What can be sorted: items that are known by their places, from 0 to the count.
pub(crate) trait Items {
    fn count(&self) -> usize;

    /// Whether the item at `a` belongs before the one at `b`.
    fn is_below(&self, a: usize, b: usize) -> bool;

    fn swap(&mut self, a: usize, b: usize);
}

/// Puts the items into ascending order. Most are in it already.
pub(crate) fn sort(items: &mut impl Items) {
    let count = items.count();
    if (1..count).all(|place| !items.is_below(place, place - 1)) {
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

/// Lets the item at `root` sink among the first `count`, until no larger one is below it: along the larger
/// children to the bottom, where it most likely belongs, and up from there. That takes half of the
/// comparisons that it takes to look for its place on the way down.
fn sift_down(items: &mut impl Items, root: usize, count: usize) {
    let mut place = root;
    while let Some(child) = larger_child(items, place, count) {
        place = child;
    }
    while place > root && items.is_below(place, root) {
        place = (place - 1) >> 1;
    }
    // What lies on the way moves up by one.
    while place > root {
        items.swap(root, place);
        place = (place - 1) >> 1;
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
    fn any_order_becomes_ascending() {
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
