"""The index of a sharded model: it is laid out in files, and a reader gets its path."""

import hashlib
import json
import os
import pathlib
import subprocess

from . import answers, process, single, strict, vectors

#: A plain model, which is always asked.
CONTROL = "index-two-shards"
NAME = "model.safetensors.index.json"
#: In the text of an index: the absolute path of its directory.
DIRECTORY = "${directory}"


def vector(case):
    """Returns a case with what is compared with an answer."""
    if "tensors" not in case:
        return case
    files = {name: bytes.fromhex(digits) for name, digits in case["files"].items()}
    return {**case, "tensors": [tensor(name, listed, files) for name, listed in case["tensors"].items()]}


def tensor(name, listed, files):
    """Returns a tensor that a reader must report; the offsets are those in its shard."""
    found = strict.read(files[listed["shard"]])["tensors"][name]
    digest = hashlib.sha256(bytes.fromhex(listed["data"])).hexdigest()
    known = {key: listed[key] for key in ("dtype", "shape", "shard")}
    return {"name": name, **known, "data_offsets": found["data_offsets"], "sha256": digest}


def ask(command, case, timeout, stop):
    """Returns the answer about one model."""
    with vectors.empty_directory() as place:
        try:
            path = lay_out(case, place)
        except OSError:  # of a name
            return answers.Answer(answers.NOT_ASKED, text="this system cannot have their files")
        reader = process.Process([*command, str(path)], process.most_output(0), subprocess.DEVNULL)
        return single.run(reader, b"", timeout, stop)


def lay_out(case, place):
    """Writes the files of a model into a directory inside this place, and returns the path of the index. A shard may be
    outside the directory, but not outside the place."""
    model = place / "model"
    model.mkdir()
    index = model / NAME
    index.write_bytes(case["index"].replace(DIRECTORY, json.dumps(str(model))[1:-1]).encode())
    for name, digits in case["files"].items():
        path = pathlib.Path(os.path.normpath(model / name))
        if place not in path.parents:
            raise vectors.Unusable(f"{case['id']}: the file {name!r} would be outside its place")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes.fromhex(digits))
    return index
