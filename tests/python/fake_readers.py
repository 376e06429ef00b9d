"""Readers and a writer whose score is known, for the tests of `run.py`.

`planned` answers as planned.py says; `strict` is as strict as the published text, by this
project's package.

python3 fake_readers.py planned [--batch]           reads a file on stdin, or a path on each line
python3 fake_readers.py strict --batch              reads a path on each line
python3 fake_readers.py strict --index PATH         reads a sharded model
python3 fake_readers.py strict --writer [DO] PATH   writes a case, and then does this: a statement in Python
"""

import hashlib
import json
import pathlib
import sys

from planned import answer_of
from runner import strict, vectors
from runner.writers import CANNOT_EXPRESS

from embedded_safetensors import SafetensorError, TensorSpec, safe_open, serialize


def planned(how=None):
    """Is the reader with planned answers."""
    known = {vector["sha256"]: vector for vector in vectors.load()["vectors"]}
    answer = lambda data: answer_of(known[hashlib.sha256(data).hexdigest()])
    say = lambda pair: "error[%s] at byte %d: as planned" % pair
    if how != "--batch":
        said = answer(sys.stdin.buffer.read())
        sys.exit(say(said) if isinstance(said, tuple) else print(shown(said)))
    for line in sys.stdin:
        said = answer(pathlib.Path(line.rstrip("\n")).read_bytes())
        print(shown({"error": say(said)} if isinstance(said, tuple) else said), flush=True)


def shown(said):
    """Returns an answer as it is printed."""
    return said if isinstance(said, str) else json.dumps(said)


def strictly(how, *words):
    """Is one of the strict commands."""
    try:
        if how == "--batch":
            read_lines()
        elif how == "--index":
            print(json.dumps({"tensors": read_index(pathlib.Path(*words))}))
        else:
            case, path = json.loads(sys.stdin.readline()), pathlib.Path(words[-1])
            write(path, case["tensors"], case["metadata"])
            exec("".join(words[:-1]), {"path": path, "sys": sys})
    except (OSError, TypeError, SafetensorError) as error:
        sys.exit(str(error))


def read_lines():
    """Answers as a reader of files does."""
    for line in sys.stdin:
        try:
            answer = strict.read(pathlib.Path(line.rstrip("\n")).read_bytes())
        except strict.Invalid as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


def read_index(path):
    """Returns the tensors of a sharded model."""
    with safe_open(path) as file:
        parts = {name: file.get_slice(name) for name in file.keys()}
    shards = json.loads(path.read_bytes())["weight_map"]
    return {name: {"dtype": part.get_dtype(), "shape": part.get_shape(), "shard": shards[name]} for name, part in parts.items()}


def write(path, tensors, metadata):
    """Writes a file; a mapping has no duplicates."""
    names, keys = [tensor["name"] for tensor in tensors], [key for key, _ in metadata or []]
    if len(set(names)) < len(names) or len(set(keys)) < len(keys):
        sys.exit(CANNOT_EXPRESS)
    specs = {one["name"]: TensorSpec(dtype=one["dtype"], shape=one["shape"], data=bytes.fromhex(one["data"])) for one in tensors}
    path.write_bytes(serialize(specs, None if metadata is None else dict(metadata)))


if __name__ == "__main__":
    {"planned": planned, "strict": strictly}[sys.argv[1]](*sys.argv[2:])
