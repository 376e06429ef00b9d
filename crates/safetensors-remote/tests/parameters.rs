//! Parameters of tensors in the layouts of programs that quantise. `tests/python/test_remote.py` compares
//! whole models with huggingface.js.

use embedded_safetensors::Dtype::{self, BF16, F8_E4M3, F8_E8M0, F16, F32, I8, I32, I64, U8, U32};
use safetensors_remote::parameters::{Entry, Parameters, Quantization};
use serde_json::{Value, json};

type Tensor<'t> = (&'t str, Dtype, &'t [u64]);

fn count(tensors: &[Tensor<'_>], config: &Value) -> Parameters {
    let entries = tensors.iter().map(|&(name, dtype, dims)| Entry { name, dtype, dims });
    Parameters::of(&entries.collect::<Vec<_>>(), &Quantization::of(config))
}

fn quantized(method: &str, more: Value) -> Value {
    let mut config = more;
    config["quant_method"] = method.into();
    json!({"quantization_config": config})
}

#[test]
fn parameters_are_counted_by_dtype() {
    let tensors = [("b", F16, &[4096][..]), ("a", BF16, &[128_256, 4096]), ("c", F16, &[2, 3])];
    let counted = count(&tensors, &json!({}));
    assert_eq!(counted.by_dtype(), [(F16, 4102), (BF16, 525_336_576)]);
    assert_eq!(counted.total(), 525_340_678);
}

/// The same matrix of 256 by 512 in the layouts of several programs.
#[test]
fn packed_weights_count_as_what_they_are() {
    let gptq: &[Tensor<'_>] = &[
        ("a.qweight", I32, &[64, 256]),
        ("a.qzeros", I32, &[4, 32]),
        ("a.scales", F16, &[4, 256]),
        ("a.g_idx", I32, &[512]),
    ];
    let mlx: &[Tensor<'_>] =
        &[("a.weight", U32, &[256, 64]), ("a.scales", F16, &[256, 8]), ("a.biases", F16, &[256, 8])];
    let bitsandbytes: &[Tensor<'_>] = &[
        ("a.weight", U8, &[65_536, 1]),
        ("a.weight.absmax", U8, &[2048]),
        ("a.weight.quant_map", F32, &[16]),
        ("a.weight.nested_absmax", F32, &[8]),
        ("a.weight.nested_quant_map", F32, &[256]),
        ("a.weight.quant_state.bitsandbytes__nf4", U8, &[86]),
    ];
    let compressed: &[Tensor<'_>] = &[
        ("a.weight_packed", I32, &[256, 64]),
        ("a.weight_scale", F16, &[256, 4]),
        ("a.weight_zero_point", I32, &[32, 4]),
        ("a.weight_g_idx", I32, &[512]),
        ("a.weight_shape", I64, &[2]),
    ];
    let nvfp4: &[Tensor<'_>] = &[
        ("a.weight_packed", U8, &[256, 256]),
        ("a.weight_scale", F8_E4M3, &[256, 32]),
        ("a.weight_global_scale", F32, &[1]),
        ("a.input_global_scale", F32, &[1]),
    ];
    let fp8: &[Tensor<'_>] = &[("a.weight", F8_E4M3, &[256, 512]), ("a.weight_scale_inv", F32, &[2, 4])];
    let groups = json!({"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4}}});
    let packed = json!({"format": "pack-quantized", "config_groups": groups});
    for (name, tensors, config) in [
        ("gptq", gptq, quantized("gptq", json!({"bits": 4}))),
        ("awq", gptq, quantized("AWQ", json!({"bits": 4.0}))),
        ("mlx", mlx, json!({"quantization": {"bits": 4, "group_size": 64}})),
        ("mlx, old", mlx, json!({"quantization_config": {"group_size": 64, "bits": 4}})),
        ("bitsandbytes", bitsandbytes, quantized("bitsandbytes", json!({"load_in_4bit": true}))),
        ("compressed-tensors", compressed, quantized("compressed-tensors", packed)),
        ("nvfp4", nvfp4, quantized("compressed-tensors", json!({"format": "nvfp4-pack-quantized"}))),
        ("fp8", fp8, quantized("fp8", json!({}))),
        ("text_config", gptq, json!({"text_config": quantized("gptq", json!({}))})),
    ] {
        assert_eq!(count(tensors, &config).total(), 256 * 512, "{name}");
        assert_ne!(
            count(tensors, &json!({})).total(),
            256 * 512,
            "{name}: the configuration does not matter"
        );
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
        assert_eq!(count(&[(name, dtype, dims)], &config).total(), expected, "{name} {dtype} {config}");
    }
    let in_model = json!({"expert_dtype": "fp4", "quantization_config": {"quant_method": "fp8"}});
    assert_eq!(count(&[("x.experts.0.w1.weight", I8, &[100])], &in_model).total(), 200);
}
