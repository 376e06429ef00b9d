//! What `config.json` says about how a model is quantised.

use super::mlx;
use super::pattern::{glob, matches_target};
use serde_json::{Map, Value};

/// How a model is quantised, from its `config.json`. The default is: not at all.
#[derive(Clone, Debug, Default)]
pub struct Quantization {
    pub(super) method: Option<Method>,
    pub(super) config: Map<String, Value>,
    /// The width of the routed experts of an FP8 model.
    pub(super) expert_bits: Option<u64>,
}

/// The layouts that are counted differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Mlx,
    Mxfp4,
    /// GPTQ and AWQ.
    Gptq,
    CompressedTensors,
    Fp8,
    BitsAndBytes,
    Other,
}

impl Quantization {
    /// Reads the members `quantization` and `quantization_config` of a model or its `text_config`. What has
    /// another type than expected counts as absent.
    pub fn of(config: &Value) -> Self {
        let parts = || [Some(config), config.get("text_config")].into_iter().flatten();
        let found = parts().find_map(Self::in_object).unwrap_or_default();
        let of_model = parts().find_map(|part| part.get("expert_dtype")?.as_str());
        let format = text(&found.config, "expert_dtype").or(of_model);
        let format = format.or_else(|| text(&found.config, "store_dtype"));
        Self { expert_bits: format.and_then(bits_of_format), ..found }
    }

    fn in_object(config: &Value) -> Option<Self> {
        let object = |name: &str| config.get(name).and_then(Value::as_object);
        let found = |config: &Map<String, Value>, method| {
            Some(Self { method: Some(method), config: config.clone(), expert_bits: None })
        };
        if let Some(config) = object("quantization").filter(|config| mlx::is_valid(config)) {
            return found(config, Method::Mlx);
        }
        let config = object("quantization_config")?;
        found(config, if mlx::is_valid(config) { Method::Mlx } else { method_of(config) })
    }

    pub(super) fn bits(&self) -> Option<u64> {
        integer(self.config.get("bits")?)
    }

    pub(super) fn is_4bit(&self) -> bool {
        self.config.get("load_in_4bit") == Some(&Value::Bool(true))
    }

    /// Whether the configuration does not exclude a tensor.
    pub(super) fn is_quantized(&self, tensor: &str) -> bool {
        let module = module_of_weight(tensor);
        let matches = |pattern: &str| {
            if pattern.contains('*') { glob(pattern, tensor) } else { tensor.contains(pattern) }
        };
        !texts(&self.config, "ignore").any(|target| matches_target(target, module))
            && !texts(&self.config, "modules_to_not_convert").any(matches)
    }

    /// The width of the weights of a tensor that compressed-tensors has packed: that of the first group one
    /// of whose targets is its module, or else of the first group that has one.
    pub(super) fn packed_bits(&self, tensor: &str) -> Option<u64> {
        let (groups, module) = (self.groups(), module_of_weight(tensor));
        let is_target =
            |group: &Map<String, Value>| texts(group, "targets").any(|target| matches_target(target, module));
        let own = groups.iter().copied().find(|group| is_target(group));
        let bits = |group: &Map<String, Value>| integer(group.get("weights")?.get("num_bits")?);
        let format = own.and_then(|group| text(group, "format")).or_else(|| text(&self.config, "format"))?;
        let is_packed = format.to_lowercase().ends_with("pack-quantized");
        let found = own
            .and_then(bits)
            .or_else(|| groups.iter().find_map(|group| bits(group).filter(|&bits| bits > 0)))
            .or_else(|| bits_of_format(format));
        is_packed.then_some(found.unwrap_or(4))
    }

    /// The groups, in the order of their names: `group_2` before `group_10`. It is their order in the file,
    /// which a map does not keep.
    fn groups(&self) -> Vec<&Map<String, Value>> {
        let groups = self.config.get("config_groups").and_then(Value::as_object).into_iter().flatten();
        let mut groups: Vec<_> =
            groups.filter_map(|(name, group)| Some((name, group.as_object()?))).collect();
        groups.sort_by_key(|(name, _)| (name.len(), *name));
        groups.into_iter().map(|(_, group)| group).collect()
    }
}

fn text<'q>(config: &'q Map<String, Value>, name: &str) -> Option<&'q str> {
    config.get(name)?.as_str()
}

fn texts<'q>(config: &'q Map<String, Value>, name: &str) -> impl Iterator<Item = &'q str> + use<'q> {
    config.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn method_of(config: &Map<String, Value>) -> Method {
    let name = config.get("quant_method").and_then(Value::as_str).map(str::to_lowercase);
    match name.as_deref() {
        Some("mlx") => Method::Mlx,
        Some("mxfp4") => Method::Mxfp4,
        Some("gptq" | "awq") => Method::Gptq,
        Some("compressed-tensors") => Method::CompressedTensors,
        Some("fp8") => Method::Fp8,
        Some("bitsandbytes") => Method::BitsAndBytes,
        _ => Method::Other,
    }
}

/// An integer, also one that is written as `4.0`.
pub(super) fn integer(value: &Value) -> Option<u64> {
    let whole = |number: f64| number.to_string().parse().ok();
    value.as_u64().or_else(|| value.as_f64().filter(|number| number.fract() == 0.0).and_then(whole))
}

/// The width in the name of a format that is narrower than a byte.
fn bits_of_format(format: &str) -> Option<u64> {
    const BITS: [(&str, u64); 4] = [("fp4", 4), ("int4", 4), ("nf4", 4), ("int2", 2)];
    BITS.iter().find(|(name, _)| format.to_lowercase().contains(name)).map(|&(_, bits)| bits)
}

/// The last part of a name.
pub(super) fn suffix(tensor: &str) -> &str {
    tensor.rsplit('.').next().unwrap_or(tensor)
}

/// A name without its last part.
pub(super) fn module(tensor: &str) -> &str {
    tensor.rsplit_once('.').map_or(tensor, |(module, _)| module)
}

/// A name up to its last `.weight`, as in `lm_head.weight_packed`.
fn module_of_weight(tensor: &str) -> &str {
    tensor.rsplit_once(".weight").map_or(tensor, |(module, _)| module)
}
