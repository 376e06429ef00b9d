//! The open brackets in the values of unknown fields.

/// The kinds of the brackets that are open inside a skipped value. Their number, the depth, is an argument:
/// beside other bytes it takes no padding.
///
/// *Memory*: 16 bytes.
#[cfg_attr(test, derive(Clone, PartialEq, Eq))]
pub(super) struct Nesting {
    /// A bit for each bracket, set for an object. The outermost is the lowest bit of the first word.
    objects: [u32; 4],
}

/// The reference gives up at the 128th open bracket, and two are open around every skipped value, the
/// header's and the entry's.
pub(super) const MAX_DEPTH: u8 = 125;

impl Nesting {
    pub(super) const fn new() -> Self {
        Self { objects: [0; 4] }
    }

    /// Opens an object or an array at this depth.
    pub(super) const fn open(&mut self, depth: u8, is_object: bool) {
        let (index, bit) = place(depth);
        self.objects[index] = (self.objects[index] & !bit) | if is_object { bit } else { 0 };
    }

    /// Whether the bracket at this depth is an object's.
    pub(super) const fn is_object(&self, depth: u8) -> bool {
        let (index, bit) = place(depth);
        self.objects[index] & bit != 0
    }
}

/// Returns the index and the bit of a bracket.
const fn place(depth: u8) -> (usize, u32) {
    ((depth >> 5) as usize & 3, 1 << (depth & 31))
}
