"""Dictionaries of numpy's arrays through safestructures, which keeps how they are nested in the metadata."""

import pathlib
import sys

import safestructures

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import interop

interop.run(
    "safestructures",
    ["safestructures", "numpy", "safetensors"],
    interop.numpy_array,
    safestructures.save_file,
    safestructures.load_file,
    interop.numpy_plain,
    # A file without its metadata is rejected.
    ours=interop.OURS / "safestructures",
)
