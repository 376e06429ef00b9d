"""What readers say that share no code with the reference: pure Python, on Python's own JSON library.

They are asked for what a user of theirs would ask for: open the file, name the tensors. Every exception is
a refusal.
"""

import importlib.util
import multiprocessing
import pathlib
import sys
import tempfile

from runner import numpy_stub, scoring, vectors


def gguf():
    """The converter of llama.cpp. Only its module with the reader is loaded: the others need more packages."""
    numpy_stub.install()
    package = importlib.util.find_spec("gguf").submodule_search_locations[0]
    spec = importlib.util.spec_from_file_location("gguf_utility", pathlib.Path(package) / "utility.py")
    utility = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = utility
    spec.loader.exec_module(utility)

    def read(path):
        with utility.SafetensorsLocal(path) as tensors:
            return {name: {"dtype": tensor.dtype, "shape": list(tensor.shape)} for name, tensor in tensors.items()}

    return read


def tinygrad():
    """The deep-learning framework; its tensors stay on disk."""
    from tinygrad.nn import state

    def read(path):
        return {
            name: {"dtype": state.inverse_safe_dtypes[tensor.dtype], "shape": list(tensor.shape)}
            for name, tensor in state.safe_load(path).items()
        }

    return read


#: What loads each reader. A failure to load is ours, not the reader's, and ends the script.
LOADERS = {"gguf": gguf, "tinygrad": tinygrad}


def ask(read, data):
    """The answer to one file."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        file.write(data)
        file.flush()
        try:
            return scoring.Answer("accept", table={"tensors": read(pathlib.Path(file.name))})
        except Exception as error:
            return scoring.rejection(f"{type(error).__name__}: {error}"[:200])


class Asker:
    """A loaded reader in a process of its own."""

    read = None

    @classmethod
    def load(cls, name):
        """Makes the process ready, however it was started."""
        cls.read = staticmethod(LOADERS[name]())

    @classmethod
    def ask(cls, vector):
        """The answer to one vector."""
        return ask(cls.read, vectors.content(vector))


def ask_all(name, chosen):
    """A reader's answers to these vectors by id. It is asked in processes that are soon replaced, because
    tinygrad keeps every file open."""
    LOADERS[name]()  # once here: a failure in the processes would only make the pool start them again
    with multiprocessing.Pool(initializer=Asker.load, initargs=(name,), maxtasksperchild=1) as pool:
        answers = pool.map(Asker.ask, chosen, chunksize=100)
        return {vector["id"]: answer for vector, answer in zip(chosen, answers)}
