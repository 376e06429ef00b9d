//! What one tensor counts, by the way in which it is quantised.

use super::Entry;
use super::mlx::{self, Layout};
use super::quantization::{Method, Quantization, module, suffix};
use embedded_safetensors::Dtype;
use std::collections::HashMap;

/// Bookkeeping of any quantisation, by the last part of the name.
const AUXILIARY: [&str; 11] = [
    "weight_scale",
    "weight_scale_inv",
    "weight_scale_2",
    "weight_global_scale",
    "weight_zero_point",
    "input_scale",
    "input_global_scale",
    "input_zero_point",
    "zero_point",
    "weight_shape",
    "weight_g_idx",
];
const OF_GPTQ: [&str; 3] = ["qzeros", "g_idx", "scales"];
const OF_BITSANDBYTES: [&str; 4] = ["absmax", "quant_map", "nested_absmax", "nested_quant_map"];
const STATE_OF_BITSANDBYTES: &str = "bitsandbytes__";

/// Parameters for each element, as a fraction.
type Factor = (u64, u64);

const ONE: Factor = (1, 1);

/// The rules for the tensors of one model.
pub(super) struct Rules<'r> {
    quantization: &'r Quantization,
    /// The modules that MLX has packed.
    packed: HashMap<&'r str, Layout>,
}

impl<'r> Rules<'r> {
    pub(super) fn of(tensors: &[Entry<'r>], quantization: &'r Quantization) -> Self {
        let packed = match quantization.method {
            Some(Method::Mlx) => mlx::packed_modules(&quantization.config, tensors),
            _ => HashMap::new(),
        };
        Self { quantization, packed }
    }

    /// Returns how many parameters a tensor has; `None` if it is bookkeeping or a scalar.
    pub(super) fn count(&self, entry: &Entry<'_>) -> Option<u64> {
        if entry.dtype == Dtype::F8_E8M0 || self.is_bookkeeping(entry) || entry.dims.is_empty() {
            return None;
        }
        let (times, divisor) = self.factor(entry);
        Some(rounded(entry.elements()?, times, divisor))
    }

    fn is_bookkeeping(&self, entry: &Entry<'_>) -> bool {
        let Some(method) = self.quantization.method else { return false };
        let suffix = suffix(entry.name);
        let of_method = match method {
            Method::Mlx => self
                .packed
                .get(module(entry.name))
                .is_some_and(|layout| suffix == "scales" || suffix == "biases" && layout.is_affine),
            Method::Mxfp4 => entry.dtype == Dtype::U8 && suffix.ends_with("_scales"),
            Method::BitsAndBytes => {
                OF_BITSANDBYTES.contains(&suffix) || suffix.starts_with(STATE_OF_BITSANDBYTES)
            }
            Method::Gptq => OF_GPTQ.contains(&suffix) && self.quantization.is_quantized(entry.name),
            Method::CompressedTensors | Method::Fp8 | Method::Other => false,
        };
        of_method || AUXILIARY.contains(&suffix)
    }

    fn factor(&self, entry: &Entry<'_>) -> Factor {
        let Some(method) = self.quantization.method else { return ONE };
        if method != Method::Mlx && !self.quantization.is_quantized(entry.name) {
            return ONE;
        }
        let is_u8 = entry.dtype == Dtype::U8;
        let pair = |is_packed: bool| if is_packed { (2, 1) } else { ONE };
        let bits = self.quantization.bits();
        match method {
            Method::Mlx => match self.packed.get(module(entry.name)) {
                Some(layout) if entry.dtype == Dtype::U32 && suffix(entry.name) == "weight" => {
                    packing(entry.dtype, Some(layout.bits))
                }
                _ => ONE,
            },
            Method::Gptq if suffix(entry.name) == "qweight" => {
                ((32 / bits.filter(|&bits| bits > 0).unwrap_or(4)).max(1), 1)
            }
            Method::Gptq if is_u8 && bits == Some(2) => (4, 1),
            Method::Gptq => pair(is_u8 && bits == Some(4)),
            Method::CompressedTensors => packing(entry.dtype, self.quantization.packed_bits(entry.name)),
            // A routed expert, not one that is always used.
            Method::Fp8 if entry.name.contains(".experts.") && !entry.name.contains("shared_experts") => {
                packing(entry.dtype, self.quantization.expert_bits)
            }
            Method::Fp8 => ONE,
            Method::Mxfp4 => pair(is_u8 && entry.name.contains("_blocks")),
            Method::BitsAndBytes => pair(is_u8 && self.quantization.is_4bit()),
            Method::Other => pair(is_u8 && (self.quantization.is_4bit() || bits == Some(4))),
        }
    }
}

/// Rounds half up.
fn rounded(elements: u64, times: u64, divisor: u64) -> u64 {
    let doubled = 2 * u128::from(elements) * u128::from(times) + u128::from(divisor);
    u64::try_from(doubled / (2 * u128::from(divisor))).unwrap_or(u64::MAX)
}

/// How many values of this width an integer contains. It need not be a whole number: values cross elements.
fn packing(dtype: Dtype, bits: Option<u64>) -> Factor {
    let container = match dtype {
        Dtype::U8 | Dtype::I8 => 8,
        Dtype::U16 | Dtype::I16 => 16,
        Dtype::U32 | Dtype::I32 => 32,
        _ => return ONE,
    };
    bits.filter(|&bits| bits > 0 && bits < container).map_or(ONE, |bits| (container, bits))
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn factors_round_half_up() {
        assert_eq!(rounded(3, 32, 3), 32);
        assert_eq!(rounded(1, 32, 3), 11);
        assert_eq!(rounded(1, 3, 2), 2);
        assert_eq!(rounded(u64::MAX, 1, 1), u64::MAX);
        assert_eq!(rounded(u64::MAX, 2, 1), u64::MAX);
    }
}
