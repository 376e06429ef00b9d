"""Tensors of torch through safetensors.torch."""

import pathlib
import sys

import safetensors.torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import interop
import torch_tensors

interop.run(
    "torch",
    ["torch", "safetensors"],
    torch_tensors.make,
    safetensors.torch.save_file,
    safetensors.torch.load_file,
    torch_tensors.plain,
)
