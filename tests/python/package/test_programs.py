"""Programs for `safetensors` that run with this package under that name."""

import pytest

pytestmark = pytest.mark.programs


def test_distributed_checkpoints_of_torch(under_both_names):
    under_both_names("""
import torch
import torch.distributed.checkpoint as checkpoints
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter

torch.manual_seed(0)
tensors = {"a": torch.randn(40, 30), "b": torch.randn(7).bfloat16(), "c": torch.ones(2, 3)}
places = {"a": 1, "b": 2, "c": 2}
for path, options in ("plain", {}), ("merged", {"save_distributed": True, "enable_consolidation": True}):
    writer = HuggingFaceStorageWriter(path=path, fqn_to_index_mapping=places, **options)
    checkpoints.save(tensors, storage_writer=writer)
    loaded = {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}
    checkpoints.load(loaded, storage_reader=HuggingFaceStorageReader(path=path))
    assert all(torch.equal(loaded[name], tensor) for name, tensor in tensors.items())
""")


def test_transformers_accelerate_peft_and_diffusers(under_both_names):
    under_both_names("""
import accelerate, diffusers, peft, torch, transformers

def check(other, model):
    others = other.state_dict()
    assert all(torch.equal(others[name], tensor.to(other.dtype)) for name, tensor in model.state_dict().items())

torch.manual_seed(0)
sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=100)
config = transformers.LlamaConfig(tie_word_embeddings=True, **sizes)
model = transformers.LlamaForCausalLM(config)
for path, options in ("whole", {}), ("sharded", {"max_shard_size": "20KB"}):
    model.save_pretrained(path, **options)
    for choice in {}, {"dtype": torch.bfloat16}, {"device_map": "cpu"}:
        check(transformers.AutoModelForCausalLM.from_pretrained(path, **choice), model)

accelerate.Accelerator(cpu=True).save_model(model, "accelerate", max_shard_size="20KB")
other = transformers.LlamaForCausalLM(config)
accelerate.load_checkpoint_in_model(other, "accelerate")
check(other, model)

adapted = peft.get_peft_model(other, peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False))
adapted.save_pretrained("peft")
check(peft.PeftModel.from_pretrained(model, "peft"), adapted)

unet = diffusers.UNet2DModel(8, block_out_channels=(4, 8), norm_num_groups=2, layers_per_block=1,
    down_block_types=("DownBlock2D",) * 2, up_block_types=("UpBlock2D",) * 2)
unet.save_pretrained("diffusers")
check(diffusers.UNet2DModel.from_pretrained("diffusers"), unet)
""")
