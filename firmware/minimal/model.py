"""Writes model.safetensors: `pip install numpy safetensors`, then `python3 model.py`."""

import hashlib
import numpy as np
from safetensors.numpy import save

# A dense layer with 8 inputs and 3 outputs, quantised: output = (weight * input) * scale + bias.
zeros = "0" * 64
model = save(
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
    {"safetensors.sha256": zeros},
)
# The sum of the file, with zeros for its own digits. Devices verify it, as does `safetensors hash --check-embedded`.
model = model.replace(zeros.encode(), hashlib.sha256(model).hexdigest().encode(), 1)
with open("model.safetensors", "wb") as file:
    file.write(model)
