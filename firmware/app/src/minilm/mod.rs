//! The sentence transformer all-MiniLM-L6-v2: a text of at most 16 tokens becomes 384 numbers. The weights
//! stay in the storage, and each is read once for all tokens of a text.
//!
//! All targets add the same numbers in the same order, without fused operations, and take functions from
//! `libm`, so their results are the same to the last bit.

mod failure;
mod network;
mod program;
mod tensors;
mod tokens;

pub use failure::{Failure, Unusable};
pub use network::{Embedder, Embedding};
pub use program::{Files, embed};
pub use tokens::{MAX_TEXT, MAX_TOKENS, Tokens, Vocabulary};

/// The number of values of each token, and of an embedding.
pub const WIDTH: usize = 384;

/// The number of layers.
pub const LAYERS: usize = 6;

/// The number of neurons of a layer.
const NEURONS: usize = 1536;

/// The number of values in the scratch: queries, keys and values of a head for all tokens, or the outputs of
/// a block of neurons.
const SCRATCH: usize = 3 * network::HEAD * MAX_TOKENS;

/// The memory of the network: two values of each token, a head or a block of neurons, and a row of weights.
///
/// *Memory*: 56,832 bytes.
pub struct Memory {
    tokens: [[f32; WIDTH]; MAX_TOKENS],
    sums: [[f32; WIDTH]; MAX_TOKENS],
    scratch: [f32; SCRATCH],
    row: [f32; WIDTH],
}

const _: () = assert!(size_of::<Memory>() == 56_832);

impl Memory {
    /// Creates memory filled with zeros.
    pub const fn new() -> Self {
        let matrix = [[0.0; WIDTH]; MAX_TOKENS];
        Self { tokens: matrix, sums: matrix, scratch: [0.0; SCRATCH], row: [0.0; WIDTH] }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}
