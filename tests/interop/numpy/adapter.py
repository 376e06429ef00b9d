"""Arrays of numpy, and of ml_dtypes where numpy lacks the dtype, through safetensors.numpy."""

import pathlib
import sys

import ml_dtypes  # noqa: F401, adds its dtypes to numpy
import safetensors.numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import interop

interop.run(
    "numpy",
    ["numpy", "ml_dtypes", "safetensors"],
    interop.numpy_array,
    safetensors.numpy.save_file,
    safetensors.numpy.load_file,
    interop.numpy_plain,
)
