"""Writes model.safetensors: `pip install numpy safetensors`, then `python3 model.py`."""

import numpy as np
from safetensors.numpy import save_file

# A dense layer with 8 inputs and 3 outputs, quantised: output = (weight * input) * scale + bias.
save_file(
    {
        "fc.weight": np.array(
            [
                [1, 0, -2, 3, 0, 1, -1, 2],
                [0, 4, 1, -1, 2, 0, 3, -3],
                [-2, 1, 0, 5, 1, -1, 0, 2],
            ],
            np.int8,
        ),
        "fc.scale": np.array([0.25, 0.5, 0.125], np.float16),
        "fc.bias": np.array([0.5, -0.25, 1], np.float32),
    },
    "model.safetensors",
)
