//! What `config.json` says about how a model is quantised.

use super::Entry;
use super::mlx::{self, Layout, Packed};
use super::pattern::{glob, matches_target};
use serde_json::{Map, Value};

/// How a model is quantised, from its `config.json`. The default is: not at all.
#[derive(Clone, Debug, Default)]
pub struct Quantization {
    config: Option<Map<String, Value>>,
    method: Option<Method>,
    /// `expert_dtype` of the model.
    expert_dtype: Option<String>,
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

/// One of the `config_groups` of compressed-tensors.
#[derive(Clone, Copy)]
pub(super) struct Group<'q>(&'q Map<String, Value>);

impl Quantization {
    /// Reads the members `quantization` and `quantization_config` of a model or its `text_config`. What has
    /// another type than expected counts as absent.
    pub fn of(config: &Value) -> Self {
        let text_config = config.get("text_config");
        let found = Self::in_object(config).or_else(|| text_config.and_then(Self::in_object));
        let text = |value: &Value| value.get("expert_dtype").and_then(Value::as_str).map(str::to_owned);
        let expert_dtype = text(config).or_else(|| text_config.and_then(text));
        Self { expert_dtype, ..found.unwrap_or_default() }
    }

    fn in_object(config: &Value) -> Option<Self> {
        let of = |config: &Map<String, Value>, method| {
            let (config, method) = (Some(config.clone()), Some(method));
            Some(Self { config, method, expert_dtype: None })
        };
        if let Some(config) = config.get("quantization").and_then(Value::as_object) {
            if may_be_mlx(config) && mlx::is_valid(config) {
                return of(config, Method::Mlx);
            }
        }
        let config = config.get("quantization_config")?.as_object()?;
        let is_mlx = may_be_mlx(config) && mlx::is_valid(config);
        of(config, if is_mlx { Method::Mlx } else { method_of(config) })
    }

    /// The method, if the model is quantised.
    pub(super) fn method(&self) -> Option<Method> {
        self.method
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.config.as_ref()?.get(name)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    fn list(&self, name: &str) -> impl Iterator<Item = &str> {
        self.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    pub(super) fn bits(&self) -> Option<u64> {
        integer(self.get("bits")?)
    }

    pub(super) fn is_4bit(&self) -> bool {
        self.get("load_in_4bit") == Some(&Value::Bool(true))
    }

    pub(super) fn format(&self) -> Option<&str> {
        self.text("format")
    }

    /// The width of the routed experts of an FP8 model.
    pub(super) fn expert_bits(&self) -> Option<u64> {
        let of_model = self.expert_dtype.as_deref();
        let format = self.text("expert_dtype").or(of_model).or_else(|| self.text("store_dtype"));
        bits_of_format(&format?.to_lowercase())
    }

    /// The layout of a tensor of MLX.
    pub(super) fn mlx_of(&self, tensor: &str) -> Option<Layout> {
        mlx::layout_of(self.config.as_ref()?, tensor)
    }

    /// The modules that MLX has packed.
    pub(super) fn packed_modules(&self, files: &[&[Entry<'_>]]) -> Option<Packed> {
        let config = self.config.as_ref().filter(|_| self.method == Some(Method::Mlx))?;
        Some(mlx::packed_modules(config, files))
    }

    /// Whether a tensor is quantised: whether the configuration does not exclude it.
    pub(super) fn is_quantized(&self, tensor: &str, packed: Option<&Packed>) -> bool {
        if self.method == Some(Method::Mlx) {
            let is_packed = packed.is_none_or(|packed| packed.contains(module(tensor)));
            return is_packed && self.mlx_of(tensor).is_some();
        }
        let module = module_of_weight(tensor);
        let is_ignored = self.list("ignore").any(|target| matches_target(target, module));
        let matches = |pattern: &str| {
            if pattern.contains('*') { glob(pattern, tensor) } else { tensor.contains(pattern) }
        };
        !is_ignored && !self.list("modules_to_not_convert").any(matches)
    }

    /// The groups, in the order of their names: `group_2` before `group_10`. It is their order in the file,
    /// which a map does not keep.
    fn groups(&self) -> Vec<Group<'_>> {
        let groups = self.get("config_groups").and_then(Value::as_object).into_iter().flatten();
        let mut groups: Vec<_> =
            groups.filter_map(|(name, group)| Some((name, Group(group.as_object()?)))).collect();
        groups.sort_by_key(|(name, _)| (name.len(), *name));
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// The first group one of whose targets is this module.
    pub(super) fn group_of(&self, module: &str) -> Option<Group<'_>> {
        self.groups().into_iter().find(|group| group.targets().any(|target| matches_target(target, module)))
    }

    /// The width of the first group that has one.
    pub(super) fn first_group_bits(&self) -> Option<u64> {
        self.groups().into_iter().find_map(|group| group.bits().filter(|&bits| bits > 0))
    }
}

impl<'q> Group<'q> {
    pub(super) fn format(self) -> Option<&'q str> {
        self.0.get("format")?.as_str()
    }

    pub(super) fn bits(self) -> Option<u64> {
        integer(self.0.get("weights")?.get("num_bits")?)
    }

    fn targets(self) -> impl Iterator<Item = &'q str> {
        self.0.get("targets").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }
}

/// MLX names no method.
fn may_be_mlx(config: &Map<String, Value>) -> bool {
    let method = config.get("quant_method");
    method.is_none_or(|method| method.as_str().is_some_and(|method| method.eq_ignore_ascii_case("mlx")))
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

/// The width in the name of a format that is narrower than a byte, in lower case.
pub(super) fn bits_of_format(format: &str) -> Option<u64> {
    const BITS: [(&str, u64); 4] = [("fp4", 4), ("int4", 4), ("nf4", 4), ("int2", 2)];
    BITS.iter().find(|(name, _)| format.contains(name)).map(|&(_, bits)| bits)
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
pub(super) fn module_of_weight(tensor: &str) -> &str {
    tensor.rsplit_once(".weight").map_or(tensor, |(module, _)| module)
}
