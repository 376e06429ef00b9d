//! How GPTQ and AWQ pack eight values of 4 bits into an integer.

/// The layout of the weights in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Packing {
    /// GPTQ: an integer has the weights of eight inputs for one output; stored zero points are 1 too small
    Gptq,
    /// GPTQ, checkpoint format gptq_v2: zero points are stored as they are
    GptqV2,
    /// AWQ (GEMM): an integer has the weights of one input for eight outputs, in the order 0, 2, 4, 6, 1, 3,
    /// 5, 7
    Awq,
}

/// How many values an integer has.
pub const IN_INTEGER: u64 = 8;

/// The bytes of an integer.
pub const INTEGER: usize = 4;

/// The zero point of weights whose zero points need not be stored.
pub const MIDDLE: u8 = 8;

impl Packing {
    /// The dimensions of the weights for this many outputs and inputs.
    pub const fn dims(self, outputs: u64, inputs: u64) -> [u64; 2] {
        match self {
            Self::Gptq | Self::GptqV2 => [inputs / IN_INTEGER, outputs],
            Self::Awq => [inputs, outputs / IN_INTEGER],
        }
    }

    /// The number of outputs and inputs of weights with these dimensions.
    pub const fn of_dims(self, [first, second]: [u64; 2]) -> [u64; 2] {
        match self {
            Self::Gptq | Self::GptqV2 => [second, first.saturating_mul(IN_INTEGER)],
            Self::Awq => [second.saturating_mul(IN_INTEGER), first],
        }
    }

    /// The eight values of an integer in the order of outputs, or of inputs for the weights of GPTQ.
    pub fn values(self, integer: u32) -> [u8; 8] {
        const AWQ: [u32; 8] = [0, 4, 1, 5, 2, 6, 3, 7];
        const PLAIN: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
        let order = if self == Self::Awq { AWQ } else { PLAIN };
        order.map(|nibble| integer.wrapping_shr(4 * nibble).to_le_bytes()[0] & 15)
    }

    /// The other format of GPTQ, in which this zero point would be the middle.
    pub const fn instead(self, zero_point: u8) -> Option<Self> {
        const BEFORE: u8 = MIDDLE - 1;
        const AFTER: u8 = MIDDLE + 1;
        match (self, zero_point) {
            (Self::Gptq, AFTER) => Some(Self::GptqV2),
            (Self::GptqV2, BEFORE) => Some(Self::Gptq),
            _ => None,
        }
    }

    /// The zero point that a stored value means. `None` for 15 in GPTQ's first format: some readers take it
    /// for 16, others for 0.
    pub const fn zero_point(self, stored: u8) -> Option<u8> {
        match (self, stored) {
            (Self::Gptq, 15) => None,
            (Self::Gptq, stored) => Some(stored + 1),
            (Self::GptqV2 | Self::Awq, stored) => Some(stored),
        }
    }
}
