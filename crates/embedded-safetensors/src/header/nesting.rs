//! The open brackets in the values of unknown fields.

/// The kinds of the brackets that are open inside a skipped value, one bit each.
///
/// *Memory*: 16 bytes.
pub(super) struct Nesting {
    /// The innermost is the lowest bit, set for an object. A one bit is above the outermost.
    near: u64,
    /// The bits shifted out of `near`.
    far: u64,
}

impl Nesting {
    pub(super) const fn new() -> Self {
        Self { near: 1, far: 0 }
    }

    /// Opens an object or an array. Returns `false` at the 126th: the reference gives up at the 128th open
    /// bracket, and two are open around every skipped value, the header's and the entry's.
    pub(super) const fn open(&mut self, is_object: bool) -> bool {
        self.far = (self.far << 1) | (self.near >> 63);
        self.near = (self.near << 1) | is_object as u64;
        self.far >> (126 - 64) == 0
    }

    /// Closes the innermost bracket.
    pub(super) const fn close(&mut self) {
        self.near = (self.near >> 1) | (self.far << 63);
        self.far >>= 1;
    }

    /// Whether no bracket is open.
    pub(super) const fn is_empty(&self) -> bool {
        self.near == 1 && self.far == 0
    }

    /// Whether the innermost bracket is an object's.
    pub(super) const fn in_object(&self) -> bool {
        self.near & 1 != 0
    }
}
