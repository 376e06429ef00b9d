//! The smallest of many items, in little memory: sorts a header without storing it.

use crate::util::bytes::{get, get_mut};

/// Scratch memory for one item of a sort over the entire header. The more slots, the fewer passes.
///
/// *Memory*: 24 bytes, `Copy`.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SortSlot {
    pub(crate) key: u64,
    pub(crate) tie: u64,
    /// The offset of the item in the header: no two items are equal.
    pub(crate) at: u64,
}

impl SortSlot {
    /// An empty slot, to initialise arrays with.
    pub const EMPTY: Self = Self { key: 0, tie: 0, at: 0 };

    /// Whether the two differ only in their offset.
    pub(crate) const fn is_alike(&self, other: &Self) -> bool {
        self.key == other.key && self.tie == other.tie
    }

    #[inline(never)]
    pub(crate) const fn is_below(&self, other: &Self) -> bool {
        if self.key != other.key {
            self.key < other.key
        } else if self.tie != other.tie {
            self.tie < other.tie
        } else {
            self.at < other.at
        }
    }
}

/// The smallest items of a pass that are not below `floor`, as many as there are slots: a heap with the
/// largest kept item on top, then, after [`sort`](Self::sort), an ascending list.
pub(crate) struct Smallest<'s> {
    slots: &'s mut [SortSlot],
    len: usize,
    floor: SortSlot,
    overflowed: bool,
}

impl<'s> Smallest<'s> {
    pub(crate) const fn new(slots: &'s mut [SortSlot]) -> Self {
        Self { slots, len: 0, floor: SortSlot::EMPTY, overflowed: false }
    }

    /// Starts a pass over the items from `floor` on.
    pub(crate) const fn restart(&mut self, floor: SortSlot) {
        self.len = 0;
        self.floor = floor;
        self.overflowed = false;
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Returns how many items are kept.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Whether the pass had more items than there are slots.
    pub(crate) const fn overflowed(&self) -> bool {
        self.overflowed
    }

    pub(crate) const fn get(&self, index: usize) -> Option<SortSlot> {
        if index < self.len { get(self.slots, index) } else { None }
    }

    #[inline(never)]
    pub(crate) const fn offer(&mut self, item: &SortSlot) {
        if item.is_below(&self.floor) {
            return;
        }
        if self.len < self.slots.len() {
            self.len += 1;
            self.sift_up(item);
            return;
        }
        self.overflowed = true;
        if self.is_above(0, item) {
            self.sift_down(item, self.len);
        }
    }

    /// Sorts the kept items in ascending order.
    #[inline(never)]
    pub(crate) const fn sort(&mut self) {
        let mut heap = self.len;
        while heap > 1 {
            heap -= 1;
            if let Some(last) = self.get(heap) {
                self.copy(0, heap);
                self.sift_down(&last, heap);
            }
        }
    }

    /// Whether the item at `index` is the larger one.
    const fn is_above(&self, index: usize, item: &SortSlot) -> bool {
        match self.slots.split_at_checked(index) {
            Some((_, [kept, ..])) => item.is_below(kept),
            _ => false,
        }
    }

    const fn copy(&mut self, from: usize, to: usize) {
        if let Some(item) = self.get(from) {
            self.set(to, &item);
        }
    }

    const fn set(&mut self, index: usize, item: &SortSlot) {
        // Field by field: copying an entire slot within one slice would call `memmove`, which is large, and
        // used nowhere else in a firmware.
        if let Some(slot) = get_mut(self.slots, index) {
            slot.key = item.key;
            slot.tie = item.tie;
            slot.at = item.at;
        }
    }

    /// Places `item` in the newest leaf and moves it up.
    const fn sift_up(&mut self, item: &SortSlot) {
        let mut index = self.len - 1;
        while index > 0 {
            let parent = (index - 1) >> 1;
            if self.is_above(parent, item) {
                break;
            }
            self.copy(parent, index);
            index = parent;
        }
        self.set(index, item);
    }

    /// Places `item` on top of the first `heap` items and moves it down.
    #[inline(never)]
    const fn sift_down(&mut self, item: &SortSlot, heap: usize) {
        let mut index = 0;
        while let Some(child) = self.larger_child(index, heap) {
            if !self.is_above(child, item) {
                break;
            }
            self.copy(child, index);
            index = child;
        }
        self.set(index, item);
    }

    const fn larger_child(&self, index: usize, heap: usize) -> Option<usize> {
        let left = 2 * index + 1;
        let right = left + 1;
        match self.slots.split_at_checked(left) {
            _ if left >= heap => None,
            Some((_, [a, b, ..])) if right < heap && a.is_below(b) => Some(right),
            _ => Some(left),
        }
    }
}
