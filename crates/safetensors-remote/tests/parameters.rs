//! Parameters of a well-known model, whose header is made from its published shapes, and of layouts of
//! quantised weights.

use embedded_safetensors::Dtype::{self, BF16, F8_E4M3, F8_E8M0, F16, F32, I8, I32, I64, U8, U32};
use safetensors_remote::parameters::{Entry, Parameters, Quantization};
use serde_json::{Value, json};

/// A tensor of a model.
type Tensor = (String, Dtype, Vec<u64>);

#[derive(Default)]
struct Model(Vec<Tensor>);

impl Model {
    fn add(mut self, name: &str, dtype: Dtype, dims: &[u64]) -> Self {
        self.0.push((name.into(), dtype, dims.to_vec()));
        self
    }

    fn layers(self, count: u64, layer: impl Fn(Self, &str) -> Self) -> Self {
        (0..count).fold(self, |model, number| layer(model, &format!("layers.{number}")))
    }

    fn count(&self, config: &Value) -> Parameters {
        let entries: Vec<Entry<'_>> =
            self.0.iter().map(|(name, dtype, dims)| Entry { name, dtype: *dtype, dims }).collect();
        // How a model is divided among files does not matter.
        let (front, back) = entries.split_at(entries.len() / 2);
        let counted = Parameters::of(&[&entries], &Quantization::of(config));
        let divided = Parameters::of(&[front, back], &Quantization::of(config));
        assert_eq!(counted, divided);
        counted
    }
}

/// How the matrices of a Llama are stored.
type Store = fn(Model, &str, [u64; 2]) -> Model;

struct Llama {
    vocabulary: u64,
    width: u64,
    inner: u64,
    keys: u64,
    layers: u64,
}

const LLAMA_3_8B: Llama = Llama { vocabulary: 128_256, width: 4096, inner: 14_336, keys: 1024, layers: 32 };
const LLAMA_2_7B: Llama = Llama { vocabulary: 32_000, width: 4096, inner: 11_008, keys: 4096, layers: 32 };
const LLAMA_2_7B_COUNT: u64 = 6_738_415_616;

impl Llama {
    fn stored(&self, dtype: Dtype, store: Store) -> Model {
        let Self { vocabulary, width, inner, keys, layers } = *self;
        let matrices = [
            ("self_attn.q_proj", [width, width]),
            ("self_attn.k_proj", [keys, width]),
            ("self_attn.v_proj", [keys, width]),
            ("self_attn.o_proj", [width, width]),
            ("mlp.gate_proj", [inner, width]),
            ("mlp.up_proj", [inner, width]),
            ("mlp.down_proj", [width, inner]),
        ];
        Model::default()
            .add("model.embed_tokens.weight", dtype, &[vocabulary, width])
            .layers(layers, |model, name| {
                let model = matrices
                    .iter()
                    .fold(model, |model, (part, dims)| store(model, &format!("model.{name}.{part}"), *dims));
                model.add(&format!("{name}.norm_1.weight"), dtype, &[width]).add(
                    &format!("{name}.norm_2.weight"),
                    dtype,
                    &[width],
                )
            })
            .add("model.norm.weight", dtype, &[width])
            .add("lm_head.weight", dtype, &[vocabulary, width])
    }
}

#[test]
fn a_well_known_model_has_its_published_count() {
    let plain: Store = |model, name, dims| model.add(&format!("{name}.weight"), BF16, &dims);
    let counted = LLAMA_3_8B.stored(BF16, plain).count(&json!({}));
    assert_eq!(counted.by_dtype(), [(BF16, 8_030_261_248)]);
}

fn quantized(method: &str, more: Value) -> Value {
    let mut config = more;
    config["quant_method"] = method.into();
    json!({"quantization_config": config})
}

fn gptq(model: Model, name: &str, [out, inner]: [u64; 2]) -> Model {
    model
        .add(&format!("{name}.qweight"), I32, &[inner / 8, out])
        .add(&format!("{name}.qzeros"), I32, &[inner / 128, out / 8])
        .add(&format!("{name}.scales"), F16, &[inner / 128, out])
        .add(&format!("{name}.g_idx"), I32, &[inner])
}

fn mlx(model: Model, name: &str, [out, inner]: [u64; 2]) -> Model {
    model
        .add(&format!("{name}.weight"), U32, &[out, inner / 8])
        .add(&format!("{name}.scales"), F16, &[out, inner / 64])
        .add(&format!("{name}.biases"), F16, &[out, inner / 64])
}

fn bnb(model: Model, name: &str, [out, inner]: [u64; 2]) -> Model {
    model
        .add(&format!("{name}.weight"), U8, &[out * inner / 2, 1])
        .add(&format!("{name}.weight.absmax"), U8, &[out * inner / 64])
        .add(&format!("{name}.weight.quant_map"), F32, &[16])
        .add(&format!("{name}.weight.nested_absmax"), F32, &[out * inner / 16_384])
        .add(&format!("{name}.weight.nested_quant_map"), F32, &[256])
        .add(&format!("{name}.weight.quant_state.bitsandbytes__nf4"), U8, &[86])
}

fn compressed(model: Model, name: &str, [out, inner]: [u64; 2]) -> Model {
    model
        .add(&format!("{name}.weight_packed"), I32, &[out, inner / 8])
        .add(&format!("{name}.weight_scale"), F16, &[out, inner / 128])
        .add(&format!("{name}.weight_zero_point"), I32, &[out / 8, inner / 128])
        .add(&format!("{name}.weight_g_idx"), I32, &[inner])
        .add(&format!("{name}.weight_shape"), I64, &[2])
}

fn nvfp4(model: Model, name: &str, [out, inner]: [u64; 2]) -> Model {
    model
        .add(&format!("{name}.weight_packed"), U8, &[out, inner / 2])
        .add(&format!("{name}.weight_scale"), F8_E4M3, &[out, inner / 16])
        .add(&format!("{name}.weight_global_scale"), F32, &[1])
        .add(&format!("{name}.input_global_scale"), F32, &[1])
}

fn fp8(model: Model, name: &str, [out, inner]: [u64; 2]) -> Model {
    model.add(&format!("{name}.weight"), F8_E4M3, &[out, inner]).add(
        &format!("{name}.weight_scale_inv"),
        F32,
        &[out / 128, inner / 128],
    )
}

/// The same model in the layouts of several programs has as many parameters.
#[test]
fn packed_weights_count_as_what_they_are() {
    let plain: Store = |model, name, dims| model.add(&format!("{name}.weight"), F16, &dims);
    assert_eq!(LLAMA_2_7B.stored(F16, plain).count(&json!({})).total(), LLAMA_2_7B_COUNT);
    let groups = json!({"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4}}});
    let layouts: [(&str, Store, Value); 9] = [
        ("gptq", gptq, quantized("gptq", json!({"bits": 4}))),
        ("awq", gptq, quantized("AWQ", json!({"bits": 4.0}))),
        ("mlx", mlx, json!({"quantization": {"bits": 4, "group_size": 64}})),
        ("mlx, old", mlx, json!({"quantization_config": {"group_size": 64, "bits": 4}})),
        ("bitsandbytes", bnb, quantized("bitsandbytes", json!({"load_in_4bit": true}))),
        (
            "compressed-tensors",
            compressed,
            quantized("compressed-tensors", json!({"format": "pack-quantized", "config_groups": groups})),
        ),
        ("nvfp4", nvfp4, quantized("compressed-tensors", json!({"format": "nvfp4-pack-quantized"}))),
        ("fp8", fp8, quantized("fp8", json!({}))),
        ("text_config", gptq, json!({"text_config": quantized("gptq", json!({}))})),
    ];
    for (name, store, config) in layouts {
        let model = LLAMA_2_7B.stored(F16, store);
        assert_eq!(model.count(&config).total(), LLAMA_2_7B_COUNT, "{name}");
        let unpacked = model.count(&json!({})).total();
        assert_ne!(unpacked, LLAMA_2_7B_COUNT, "{name}: the configuration does not matter");
    }
}

/// One tensor each, in layouts that are rare.
#[test]
fn single_tensors() {
    let packed = |bits: Value| {
        let group =
            json!({"targets": ["re:.*mlp.*"], "weights": {"num_bits": bits}, "format": "pack-quantized"});
        quantized("compressed-tensors", json!({"config_groups": {"group_0": group}}))
    };
    let gptq = |more: Value| quantized("gptq", more);
    let experts = |name: &str| quantized("fp8", json!({name: "mxfp4"}));
    for (name, dtype, dims, config, expected) in [
        ("a.scale", F8_E8M0, &[100][..], json!({}), 0),
        ("a.weight", F32, &[], json!({}), 0),
        ("a.weight", F32, &[0, 5], json!({}), 0),
        ("a.zero_point", I32, &[9], json!({}), 9),
        ("a.zero_point", I32, &[9], gptq(json!({})), 0),
        ("a.qweight", I32, &[100], gptq(json!({"bits": 3})), 1000),
        ("a.qweight", I32, &[100], gptq(json!({"bits": 64})), 100),
        ("a.qweight", I32, &[100], gptq(json!({"bits": 0})), 800),
        ("a.weight", U8, &[100], gptq(json!({"bits": 2})), 400),
        ("a.scales", F16, &[100], gptq(json!({"modules_to_not_convert": ["a"]})), 100),
        ("a.qweight", I32, &[100], gptq(json!({"modules_to_not_convert": ["b", "a.*"]})), 100),
        ("x.mlp.weight_packed", I32, &[300], packed(json!(3)), 3200),
        ("x.mlp.weight_packed", I32, &[1], packed(json!(3)), 11),
        ("x.mlp.weight_packed", U8, &[100], packed(json!(4)), 200),
        ("x.mlp.weight_packed", I32, &[100], packed(json!(0)), 100),
        ("x.attn.weight_packed", I32, &[100], packed(json!(4)), 100),
        ("x.experts_blocks", U8, &[100], quantized("mxfp4", json!({})), 200),
        ("x.experts_scales", U8, &[100], quantized("mxfp4", json!({})), 0),
        ("x.experts_scales", F16, &[100], quantized("mxfp4", json!({})), 100),
        ("x.experts.0.w1.weight", I8, &[100], experts("expert_dtype"), 200),
        ("x.experts.0.w1.weight", I8, &[100], experts("store_dtype"), 200),
        ("x.shared_experts.w1.weight", I8, &[100], experts("expert_dtype"), 100),
        ("x.w1.weight", I8, &[100], experts("expert_dtype"), 100),
        ("a.weight", U8, &[100], quantized("new", json!({"bits": 4})), 200),
        ("a.weight", U8, &[100], quantized("new", json!({"bits": 8})), 100),
        ("a.weight", U32, &[100], json!({"quantization": {"bits": 4}}), 100),
        ("a.weight", F32, &[100], json!({"quantization_config": "broken"}), 100),
    ] {
        let counted = Model::default().add(name, dtype, dims).count(&config);
        assert_eq!(counted.total(), expected, "{name} {dtype} {config}");
    }
    let in_model = json!({"expert_dtype": "fp4", "quantization_config": {"quant_method": "fp8"}});
    let model = Model::default().add("x.experts.0.w1.weight", I8, &[100]);
    assert_eq!(model.count(&in_model).total(), 200);
}
