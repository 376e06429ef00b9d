"""Reads and writes safetensors files.

The modules `numpy`, `torch`, `tensorflow`, `flax` (JAX), `mlx` and `paddle` each have `load`, `load_file`, `save`,
`save_file` and `save_sharded`. `safe_open` reads one tensor, or a part of one.
"""

from ._alias import install_as_safetensors
from ._core import (
    FileWriter,
    SafetensorError,
    TensorSpec,
    __version__,
    check,
    deserialize,
    recover_checkpoint,
    serialize,
    serialize_file,
    verify_checkpoint,
    write_checkpoint,
)
from ._open import PySafeSlice, TensorMeta, _safe_open_handle, safe_open
from ._tools import convert, merge, repair, scan, set_tensor

__all__ = [
    "FileWriter",
    "PySafeSlice",
    "SafetensorError",
    "TensorMeta",
    "TensorSpec",
    "__version__",
    "_safe_open_handle",
    "check",
    "convert",
    "deserialize",
    "install_as_safetensors",
    "merge",
    "recover_checkpoint",
    "repair",
    "safe_open",
    "scan",
    "serialize",
    "serialize_file",
    "set_tensor",
    "verify_checkpoint",
    "write_checkpoint",
]
