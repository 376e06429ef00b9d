//! What one tensor counts, by the way in which it is quantised.

use super::Entry;
use super::mlx::Packed;
use super::quantization::{Method, Quantization, bits_of_format, module_of_weight, suffix};
use embedded_safetensors::Dtype;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Factor(u64, u64);

impl Factor {
    const ONE: Self = Self(1, 1);

    fn times(count: u64) -> Self {
        Self(count, 1)
    }

    /// Rounds half up.
    fn of(self, elements: u64) -> u64 {
        let Self(times, divisor) = self;
        let doubled = 2 * u128::from(elements) * u128::from(times) + u128::from(divisor);
        u64::try_from(doubled / (2 * u128::from(divisor))).unwrap_or(u64::MAX)
    }
}

/// Returns how many parameters a tensor has; `None` if it is bookkeeping or a scalar.
pub(super) fn count(entry: &Entry<'_>, quantization: &Quantization, packed: Option<&Packed>) -> Option<u64> {
    if is_bookkeeping(entry, quantization, packed) || entry.dims.is_empty() {
        return None;
    }
    Some(factor(entry, quantization, packed).of(entry.elements()?))
}

fn is_bookkeeping(entry: &Entry<'_>, quantization: &Quantization, packed: Option<&Packed>) -> bool {
    if entry.dtype == Dtype::F8_E8M0 {
        return true;
    }
    let Some(method) = quantization.method() else { return false };
    let suffix = suffix(entry.name);
    if AUXILIARY.contains(&suffix) {
        return true;
    }
    match method {
        Method::Mlx => {
            let is_affine = || quantization.mlx_of(entry.name).is_some_and(|layout| layout.is_affine);
            quantization.is_quantized(entry.name, packed)
                && (suffix == "scales" || suffix == "biases" && is_affine())
        }
        Method::Mxfp4 => entry.dtype == Dtype::U8 && suffix.ends_with("_scales"),
        Method::BitsAndBytes => {
            OF_BITSANDBYTES.contains(&suffix) || suffix.starts_with(STATE_OF_BITSANDBYTES)
        }
        Method::Gptq => OF_GPTQ.contains(&suffix) && quantization.is_quantized(entry.name, packed),
        Method::CompressedTensors | Method::Fp8 | Method::Other => false,
    }
}

fn factor(entry: &Entry<'_>, quantization: &Quantization, packed: Option<&Packed>) -> Factor {
    let Some(method) = quantization.method() else { return Factor::ONE };
    if !quantization.is_quantized(entry.name, packed) {
        return Factor::ONE;
    }
    let is_u8 = entry.dtype == Dtype::U8;
    let pair = |is_packed: bool| if is_packed { Factor::times(2) } else { Factor::ONE };
    match method {
        Method::Mlx if entry.dtype == Dtype::U32 && suffix(entry.name) == "weight" => {
            let bits = quantization.mlx_of(entry.name).map(|layout| layout.bits);
            packing(entry.dtype, bits)
        }
        Method::Mlx => Factor::ONE,
        Method::Mxfp4 => pair(is_u8 && entry.name.contains("_blocks")),
        Method::Gptq => gptq(entry, quantization.bits()),
        Method::CompressedTensors => compressed(entry, quantization),
        Method::Fp8 if is_routed_expert(entry.name) => packing(entry.dtype, quantization.expert_bits()),
        Method::Fp8 => Factor::ONE,
        Method::BitsAndBytes => pair(is_u8 && quantization.is_4bit()),
        Method::Other => pair(is_u8 && (quantization.is_4bit() || quantization.bits() == Some(4))),
    }
}

fn gptq(entry: &Entry<'_>, bits: Option<u64>) -> Factor {
    if suffix(entry.name) == "qweight" {
        let bits = bits.filter(|&bits| bits > 0).unwrap_or(4);
        return Factor::times((32 / bits).max(1));
    }
    match (bits, entry.dtype) {
        (Some(4), Dtype::U8) => Factor::times(2),
        (Some(2), Dtype::U8) => Factor::times(4),
        _ => Factor::ONE,
    }
}

fn compressed(entry: &Entry<'_>, quantization: &Quantization) -> Factor {
    if container_bits(entry.dtype).is_none() {
        return Factor::ONE;
    }
    let group = quantization.group_of(module_of_weight(entry.name));
    let format = group.and_then(|group| group.format()).or_else(|| quantization.format());
    let Some(format) = format.map(str::to_lowercase).filter(|format| format.ends_with("pack-quantized"))
    else {
        return Factor::ONE;
    };
    let bits = group
        .and_then(|group| group.bits())
        .or_else(|| quantization.first_group_bits())
        .or_else(|| bits_of_format(&format))
        .unwrap_or(4);
    packing(entry.dtype, Some(bits))
}

/// A routed expert, not one that is always used.
fn is_routed_expert(name: &str) -> bool {
    name.contains(".experts.") && !name.contains("shared_experts")
}

/// How many values of this width an element contains. It need not be a whole number: values cross elements.
fn packing(dtype: Dtype, bits: Option<u64>) -> Factor {
    match (container_bits(dtype), bits) {
        (Some(container), Some(bits)) if bits > 0 && bits < container => Factor(container, bits),
        _ => Factor::ONE,
    }
}

/// The width of an integer that may contain several values.
fn container_bits(dtype: Dtype) -> Option<u64> {
    match dtype {
        Dtype::U8 | Dtype::I8 => Some(8),
        Dtype::U16 | Dtype::I16 => Some(16),
        Dtype::U32 | Dtype::I32 => Some(32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_round_half_up() {
        assert_eq!(Factor(32, 3).of(3), 32);
        assert_eq!(Factor(32, 3).of(1), 11);
        assert_eq!(Factor(3, 2).of(1), 2);
        assert_eq!(Factor(1, 1).of(u64::MAX), u64::MAX);
        assert_eq!(Factor(2, 1).of(u64::MAX), u64::MAX);
    }
}
