"""What the reference's Python package says about the vectors: `safetensors.deserialize` and `safe_open`.

Needs the package `safetensors`, and nothing else besides the standard library.
"""

import hashlib
import tempfile

from runner import numpy_stub, scoring, vectors

def package():
    """The package. It must have been installed in the release that counts."""
    numpy_stub.install()
    import safetensors

    return safetensors


def deserialize(safetensors, data):
    """The tensors of a whole file in memory. This function reports neither offsets nor metadata."""
    tensors = {
        name: {
            "dtype": tensor["dtype"],
            "shape": tensor["shape"],
            "sha256": hashlib.sha256(tensor["data"]).hexdigest(),
        }
        for name, tensor in safetensors.deserialize(data)
    }
    return {"tensors": tensors}


def safe_open(safetensors, data):
    """The tensors and the metadata of a file on disk. This function reports neither offsets nor bytes."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        file.write(data)
        file.flush()
        with safetensors.safe_open(file.name, framework="numpy") as opened:
            slices = {name: opened.get_slice(name) for name in opened.keys()}
            tensors = {
                name: {"dtype": tensor.get_dtype(), "shape": tensor.get_shape()} for name, tensor in slices.items()
            }
            return {"tensors": tensors, "metadata": opened.metadata()}


READERS = {"deserialize": deserialize, "safe_open": safe_open}


def ask(safetensors, read, data):
    """The answer of one of the functions; what is no SafetensorError is a crash."""
    try:
        return scoring.Answer("accept", table=read(safetensors, data))
    except safetensors.SafetensorError as error:
        return scoring.rejection(str(error))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Rust code is no Exception
        return scoring.Answer("crash", text=repr(error))


def answers():
    """For each reader, the answer to each vector by id."""
    safetensors = package()
    said = {name: {} for name in READERS}
    for vector in vectors.load()["vectors"]:
        data = vectors.content(vector)
        for name, read in READERS.items():
            said[name][vector["id"]] = ask(safetensors, read, data)
    return said
