"""Writes files of PyTorch into a directory, as the initial corpus of the fuzzer `torch`.

python3 torch.py DIRECTORY

The first byte of each says what follows: a whole file, the pickle of an archive that is stored or deflated, or the
pickles of the format before 1.6 after the first three.
"""

import collections
import io
import pathlib
import sys
import zipfile

# Not this directory, whose name for this script is that of the package.
sys.path[0] = str(pathlib.Path(__file__).resolve().parents[2] / "python")

import numpy
import torch

import test_torch_files as files

BEFORE = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."


def values():
    plain = torch.arange(6.0)
    yield {"a": plain, "b": plain}
    yield {"a": plain.reshape(2, 3).t(), "c": torch.ones(1, dtype=torch.int32)}
    yield [torch.nn.Parameter(plain), 3, None, "x", {1, 2}, 1.5]
    yield collections.OrderedDict(a=torch.ones(24, dtype=torch.uint8), b=torch.ones(3, dtype=torch.complex64))
    yield {"n": numpy.ones((2, 2), order="F"), "s": numpy.float32(1), "b": b"\xff", "d": torch.float16,
           "dev": torch.device("cpu"), "z": torch.Size([1])}
    yield {"st": torch.nn.Linear(2, 3).state_dict(), "df": collections.defaultdict(list), "e": plain.expand(3, 6)}
    yield {"big": numpy.arange(100, dtype=">i8")}
    yield files.Evil()


def seeds():
    for value in values():
        for form, data in files.forms(value):
            yield 0, data
            if form.startswith("legacy"):
                # After the description of the system, which ends with a dictionary.
                yield 3, data[len(BEFORE):].split(b"u.", 1)[1]
            elif "deflated" not in form:
                with zipfile.ZipFile(io.BytesIO(data)) as archive:
                    (name,) = [name for name in archive.namelist() if name.endswith("data.pkl")]
                    for kind in 1, 2:
                        yield kind, archive.read(name)


directory = pathlib.Path(sys.argv[1])
directory.mkdir(parents=True, exist_ok=True)
for number, (kind, seed) in enumerate(seeds()):
    (directory / f"torch-{number:03}").write_bytes(bytes([kind]) + seed)
