//! Limits of an index.

/// Limits of an index, which is untrusted and read to the heap. The default limits are those of
/// huggingface.js, except the bytes and values.
///
/// ```
/// use safetensors_files::shards::ShardLimits;
///
/// let limits = ShardLimits { tensors: 1_000_000, ..ShardLimits::USUAL };
/// ```
///
/// *Memory*: 48 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardLimits {
    /// Bytes of the index.
    pub bytes: u64,
    /// Bytes of a name or another string, with its escapes.
    pub text: u64,
    /// Levels of nested arrays and objects.
    pub depth: u64,
    /// Tensors in `weight_map`.
    pub tensors: u64,
    /// Shards.
    pub shards: u64,
    /// Values in `metadata`, including those in arrays and objects.
    pub values: u64,
}

impl ShardLimits {
    /// The default limits: 32 MB, strings of 100,000 bytes, 64 levels, 200,000 tensors, 10,000 shards, 10,000
    /// values in `metadata`.
    pub const USUAL: Self = Self {
        bytes: 32_000_000,
        text: 100_000,
        depth: 64,
        tensors: 200_000,
        shards: 10_000,
        values: 10_000,
    };
}

impl Default for ShardLimits {
    fn default() -> Self {
        Self::USUAL
    }
}
