//! Counts the parameters of a model by dtype, as huggingface.js and so the Hub do.
//!
//! Weights that are packed, several in one integer, count as what they are when `config.json` says how:
//! GPTQ, AWQ, bitsandbytes, compressed-tensors, MXFP4, MLX, and FP8 with narrower experts. Scales, zero
//! points and other bookkeeping of a quantisation do not count, nor do scalars.
//!
//! ```
//! use embedded_safetensors::Dtype;
//! use safetensors_remote::parameters::{Entry, Parameters, Quantization};
//!
//! let config = serde_json::json!({"quantization_config": {"quant_method": "gptq", "bits": 4}});
//! let entry = |name, dtype, dims| Entry { name, dtype, dims };
//! let tensors = [
//!     entry("q_proj.qweight", Dtype::I32, &[512, 4096][..]),
//!     entry("q_proj.scales", Dtype::F16, &[32, 4096]),
//!     entry("norm.weight", Dtype::F16, &[4096]),
//! ];
//! let counted = Parameters::of(&tensors, &Quantization::of(&config));
//! assert_eq!(counted.by_dtype(), [(Dtype::I32, 4096 * 4096), (Dtype::F16, 4096)]);
//! assert_eq!(counted.total(), 4096 * 4096 + 4096);
//! ```

mod mlx;
mod pattern;
mod quantization;
mod rules;

use embedded_safetensors::Dtype;
use embedded_safetensors::index::IndexedTensor;

pub use quantization::Quantization;
use rules::Rules;

/// What counting needs to know of a tensor.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'t> {
    /// The name.
    pub name: &'t str,
    /// The dtype of the elements.
    pub dtype: Dtype,
    /// The dimensions.
    pub dims: &'t [u64],
}

impl<'t> Entry<'t> {
    /// The entry of a tensor.
    pub fn of(tensor: IndexedTensor<'t>) -> Self {
        Self { name: tensor.name(), dtype: tensor.dtype(), dims: tensor.dims() }
    }

    /// The number of elements, where it is finite.
    fn elements(&self) -> Option<u64> {
        self.dims.iter().try_fold(1_u64, |product, &size| product.checked_mul(size))
    }
}

/// The number of parameters, by dtype and in total.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// In the order in which the dtypes occur.
    counts: Vec<(Dtype, u64)>,
}

impl Parameters {
    /// Counts the parameters of the tensors of a model, in all of its files.
    pub fn of(tensors: &[Entry<'_>], quantization: &Quantization) -> Self {
        let (rules, mut counted) = (Rules::of(tensors, quantization), Self::default());
        for entry in tensors {
            if let Some(count) = rules.count(entry) {
                counted.add(entry.dtype, count);
            }
        }
        counted
    }

    fn add(&mut self, dtype: Dtype, count: u64) {
        match self.counts.iter_mut().find(|(known, _)| *known == dtype) {
            Some((_, sum)) => *sum = sum.saturating_add(count),
            None => self.counts.push((dtype, count)),
        }
    }

    /// Returns the counts by dtype, in the order in which the dtypes occur.
    pub fn by_dtype(&self) -> &[(Dtype, u64)] {
        &self.counts
    }

    /// Returns the sum.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &(_, count)| sum.saturating_add(count))
    }
}
