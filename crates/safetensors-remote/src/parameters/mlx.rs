//! The layout of MLX, which has its own configuration.

use super::Entry;
use super::quantization::{integer, module, suffix};
use embedded_safetensors::Dtype;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// How the weights of a module are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) bits: u64,
    pub(super) is_affine: bool,
}

/// Whether a configuration, or one of a module in it, is one of MLX, which names no method.
pub(super) fn is_valid(config: &Map<String, Value>) -> bool {
    let is_mlx = |method: &Value| method.as_str().is_some_and(|method| method.eq_ignore_ascii_case("mlx"));
    let is_layout = |config: &Map<String, Value>| {
        ["bits", "group_size", "mode"].iter().any(|name| config.contains_key(*name))
            && layout(config, config.get("mode")).is_some()
    };
    config.get("quant_method").is_none_or(is_mlx)
        && (is_layout(config) || config.values().filter_map(Value::as_object).any(is_layout))
}

/// The layout of a module, or else that of the model.
fn layout_of(config: &Map<String, Value>, module: &str) -> Option<Layout> {
    match config.get(module) {
        Some(Value::Bool(false)) => None,
        Some(Value::Object(of_module)) => layout(of_module, of_module.get("mode")),
        // A list is an object without these members.
        Some(Value::Array(_)) => layout(&Map::new(), None),
        // What made this a configuration of MLX may be that of a module; then `null` is as good as nothing.
        _ => layout(config, config.get("mode").filter(|mode| !mode.is_null())),
    }
}

/// Reads a layout; only those that MLX has are valid.
fn layout(config: &Map<String, Value>, mode: Option<&Value>) -> Option<Layout> {
    let get = |name: &str| config.get(name).filter(|value| !value.is_null());
    let mode = mode.map_or(Some("affine".to_owned()), |mode| Some(mode.as_str()?.to_lowercase()))?;
    let (usual_bits, usual_size) = match mode.as_str() {
        "affine" => (4, 64),
        "mxfp4" => (4, 32),
        "nvfp4" => (4, 16),
        "mxfp8" => (8, 32),
        _ => return None,
    };
    let bits = get("bits").map_or(Some(usual_bits), integer)?;
    let size = get("group_size").map_or(Some(usual_size), integer)?;
    let is_affine = mode == "affine";
    let is_valid = match is_affine {
        true => matches!(bits, 2..=6 | 8) && matches!(size, 32 | 64 | 128),
        false => (bits, size) == (usual_bits, usual_size),
    };
    is_valid.then_some(Layout { bits, is_affine })
}

/// Finds the modules with packed weights in `U32` and with scales; affine ones have zero points, too.
pub(super) fn packed_modules<'t>(
    config: &Map<String, Value>,
    tensors: &[Entry<'t>],
) -> HashMap<&'t str, Layout> {
    let with = |name: &str| -> HashSet<&str> {
        tensors.iter().filter(|entry| suffix(entry.name) == name).map(|entry| module(entry.name)).collect()
    };
    let (scales, biases) = (with("scales"), with("biases"));
    let weights = tensors.iter().filter(|entry| suffix(entry.name) == "weight" && entry.dtype == Dtype::U32);
    let modules = weights.map(|entry| module(entry.name)).filter(|module| scales.contains(module));
    let packed = modules.filter_map(|module| Some((module, layout_of(config, module)?)));
    packed.filter(|(module, layout)| !layout.is_affine || biases.contains(module)).collect()
}
