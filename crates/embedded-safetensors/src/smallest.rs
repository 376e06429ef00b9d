//! The smallest of many, in little memory: how a header is sorted without holding it.

use crate::bytes::{get, get_mut};

/// Memory for one item of a sort over the whole header. The more slots, the fewer passes.
///
/// *Memory*: 24 bytes, `Copy`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    pub(crate) key: u64,
    pub(crate) tie: u64,
    /// Where in the header the item stands: no two items are equal.
    pub(crate) at: u64,
}

impl Slot {
    /// A slot with nothing in it, to make arrays of.
    pub const EMPTY: Self = Self { key: 0, tie: 0, at: 0 };

    /// Whether the two differ in nothing but their place.
    pub(crate) const fn is_alike(&self, other: &Self) -> bool {
        self.key == other.key && self.tie == other.tie
    }

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

/// Keeps the smallest items of a pass that are not below `floor`, as many as there are slots: a heap
/// with the largest kept item on top, then, after [`sort`](Self::sort), an ascending list.
pub(crate) struct Smallest<'s> {
    slots: &'s mut [Slot],
    len: usize,
    floor: Slot,
    overflowed: bool,
}

impl<'s> Smallest<'s> {
    pub(crate) const fn new(slots: &'s mut [Slot]) -> Self {
        Self { slots, len: 0, floor: Slot::EMPTY, overflowed: false }
    }

    /// Starts a pass over the items from `floor` on.
    pub(crate) const fn restart(&mut self, floor: Slot) {
        self.len = 0;
        self.floor = floor;
        self.overflowed = false;
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// How many items are kept.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Whether the pass had more items than there are slots.
    pub(crate) const fn overflowed(&self) -> bool {
        self.overflowed
    }

    pub(crate) const fn get(&self, index: usize) -> Option<Slot> {
        if index < self.len { get(self.slots, index) } else { None }
    }

    pub(crate) const fn offer(&mut self, item: Slot) {
        if item.is_below(&self.floor) {
            return;
        }
        if self.len < self.slots.len() {
            self.len += 1;
            self.sift_up(item);
            return;
        }
        self.overflowed = true;
        if let Some(largest) = self.get(0) {
            if item.is_below(&largest) {
                self.sift_down(item, self.len);
            }
        }
    }

    /// Puts the kept items into ascending order.
    pub(crate) const fn sort(&mut self) {
        let mut heap = self.len;
        while heap > 1 {
            heap -= 1;
            if let (Some(largest), Some(last)) = (self.get(0), self.get(heap)) {
                self.set(heap, largest);
                self.sift_down(last, heap);
            }
        }
    }

    const fn set(&mut self, index: usize, item: Slot) {
        // Field by field: a whole slot copied within one slice would be a call of `memmove`, which is
        // large, and the only one in a firmware.
        if let Some(slot) = get_mut(self.slots, index) {
            slot.key = item.key;
            slot.tie = item.tie;
            slot.at = item.at;
        }
    }

    /// Places `item` in the newest leaf and lets it rise.
    const fn sift_up(&mut self, item: Slot) {
        let mut index = self.len - 1;
        while index > 0 {
            let parent = (index - 1) >> 1;
            match self.get(parent) {
                Some(above) if above.is_below(&item) => self.set(index, above),
                _ => break,
            }
            index = parent;
        }
        self.set(index, item);
    }

    /// Places `item` on top of the first `heap` items and lets it sink.
    const fn sift_down(&mut self, item: Slot, heap: usize) {
        let mut index = 0;
        while let Some((child, below)) = self.larger_child(index, heap) {
            if !item.is_below(&below) {
                break;
            }
            self.set(index, below);
            index = child;
        }
        self.set(index, item);
    }

    const fn larger_child(&self, index: usize, heap: usize) -> Option<(usize, Slot)> {
        let left = 2 * index + 1;
        if left >= heap {
            return None;
        }
        let right = left + 1;
        match (self.get(left), self.get(right)) {
            (Some(a), Some(b)) if right < heap && a.is_below(&b) => Some((right, b)),
            (Some(a), _) => Some((left, a)),
            (None, _) => None,
        }
    }
}
