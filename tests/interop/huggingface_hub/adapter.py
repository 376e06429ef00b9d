"""State dictionaries of torch, in shards, through huggingface_hub."""

import pathlib
import sys

import huggingface_hub

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import interop
import torch_tensors

# Bytes of tensors in a shard: some hold several tensors.
SHARD = 100


def save(tensors, path):
    huggingface_hub.save_torch_state_dict(tensors, path.parent, max_shard_size=SHARD)


interop.run(
    "huggingface_hub",
    ["huggingface_hub", "torch", "safetensors"],
    torch_tensors.make,
    save,
    huggingface_hub.load_state_dict_from_file,
    torch_tensors.plain,
)
