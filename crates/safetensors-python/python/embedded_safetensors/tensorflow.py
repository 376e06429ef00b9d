"""Loads and saves tensors of TensorFlow."""

from typing import Any, Mapping

import numpy as np
import tensorflow as tf

from . import numpy
from ._core import TensorSpec
from ._functions import Functions
from ._open import no_dtype, only_cpu, pairs

_functions: Functions[tf.Tensor] = Functions("tensorflow")
load, load_file = _functions.load, _functions.load_file
save, save_file, save_sharded = _functions.save, _functions.save_file, _functions.save_sharded

_BACKEND = "pread"
_view = numpy._view
_flip = numpy._flip


def _check_device(device: Any) -> None:
    only_cpu("TensorFlow", device)


def _finish(array: np.ndarray, device: Any) -> tf.Tensor:
    try:
        # Aligned memory is shared. DLPack has none of the dtypes of ml_dtypes.
        if isinstance(array, np.ndarray) and array.dtype.isbuiltin == 1 and array.flags.c_contiguous and array.ctypes.data % 64 == 0:
            return tf.experimental.dlpack.from_dlpack(array.__dlpack__())
        return tf.convert_to_tensor(array)
    except (TypeError, ValueError) as error:
        raise no_dtype("TensorFlow", array.dtype.name, error) from error


def _specs(tensors: Mapping[str, tf.Tensor]) -> dict[str, TensorSpec]:
    return numpy._specs({name: tensor.numpy() for name, tensor in pairs(tensors)})
