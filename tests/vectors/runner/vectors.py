"""The conformance vectors: the manifest, and the bytes of each file."""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import tempfile

#: The directory of the vectors.
HERE = pathlib.Path(__file__).resolve().parent.parent
#: A longer file is made on a disk, where its zeros take no space, and never in memory.
MOST_IN_MEMORY = 1 << 30
PLACEHOLDER = re.compile(r"\$\{i(?:\*(\d+))?(?:\+(\d+))?\}")


class Unusable(Exception):
    """The vectors here do not match the manifest."""


def load():
    """Returns the content of manifest.json."""
    with open(HERE / "manifest.json", encoding="utf-8") as file:
        return json.load(file)


@contextlib.contextmanager
def empty_directory():
    """Makes an empty directory, and removes it with what readers did in it, as far as they allow that."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="vectors-")).resolve()
    try:
        yield directory
    finally:
        remove(directory)


def remove(directory):
    """Removes the directory of a reader, or what the reader has put in its place."""
    try:
        if not stat.S_ISDIR(os.lstat(directory).st_mode):
            os.unlink(directory)
            return
        os.chmod(directory, 0o700)
    except OSError:
        pass  # the reader has removed it
    shutil.rmtree(directory, ignore_errors=True)


def area(vector):
    """Returns the first word of a vector's id."""
    return vector["id"].partition("-")[0]


def fits_memory(vector):
    """Whether a vector's file may be held in memory."""
    return vector["length"] <= MOST_IN_MEMORY


def content(vector):
    """Returns the bytes of a vector's file, read or made by its recipe, and compared with its checksum."""
    if not fits_memory(vector):
        raise Unusable(f"{vector['id']}: the file has {vector['length']} bytes, too many for memory")
    try:
        data = expand(vector["recipe"]) if "recipe" in vector else (HERE / path(vector)).read_bytes()
    except OSError as error:
        raise Unusable(f"{vector['id']}: {path(vector)} cannot be read: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != vector["sha256"]:
        raise Unusable(f"{vector['id']}: the file is not the one that the manifest means")
    return data


def with_table(vector):
    """Returns a vector with the tensors and the metadata to report. Of a recipe that this project accepts, they are in
    the header that it makes; what is longer than memory ends with zeros."""
    if "recipe" in vector and vector["ours"] == "accept" and "tensors" not in vector:
        recipe = vector["recipe"] if fits_memory(vector) else {**vector["recipe"], "data": []}
        file = expand(recipe)
        start = 8 + int.from_bytes(file[:8], "little")
        header = json.loads(file[8:start])
        vector["metadata"] = header.pop("__metadata__", None)
        vector["tensors"] = [row(name, entry, file, start) for name, entry in header.items()]
    return vector


def row(name, entry, file, start):
    """Returns a tensor of a recipe as the manifest lists those of files."""
    begin, end = entry["data_offsets"]
    data = hashlib.sha256(file[start + begin : start + end])
    missing = start + end - max(len(file), start + begin)
    for at in range(0, missing, 1 << 20):
        data.update(bytes(min(1 << 20, missing - at)))
    return {"name": name, **{key: entry[key] for key in ("dtype", "shape", "data_offsets")}, "sha256": data.hexdigest()}


def path(vector):
    """Returns the path of a vector's file in the suite, or where the file of its recipe is written."""
    return vector.get("file", f"{vector['verdict']}/{vector['id']}.safetensors")


def write(vector, to):
    """Writes a vector's file. One that is too long for memory ends with zeros, which take no space."""
    if fits_memory(vector):
        to.write_bytes(content(vector))
        return
    recipe = vector["recipe"]
    with open(to, "wb") as file:
        file.write(expand({**recipe, "data": recipe["data"][:-1]}))
        file.truncate(file.tell() + recipe["data"][-1]["zeros"])
        if file.tell() + recipe["data"][-1]["zeros"] != vector["length"]:
            raise Unusable(f"{vector['id']}: the file is not the one that the manifest means")


def expand(recipe):
    """Returns the file that a recipe describes."""
    header = b"".join(map(part, recipe["header"]))
    length = int(recipe.get("length", len(header)))
    return length.to_bytes(8, "little") + header + b"".join(map(part, recipe["data"]))


def part(piece):
    """Returns the bytes of one part of a recipe."""
    (kind, value), = piece.items()
    if kind == "text":
        return value.encode()
    if kind == "hex":
        return bytes.fromhex(value)
    if kind == "zeros":
        return bytes(value)
    if kind == "repeat":
        return repeat(value["text"], value["count"], value.get("join", ""))
    raise Unusable(f"{kind} is no part of a recipe")


def repeat(text, count, join):
    """Returns the repeated text, with its placeholders filled in."""
    if not PLACEHOLDER.search(text):
        return join.join([text] * count).encode()
    return join.join(fill(text, i) for i in range(count)).encode()


def fill(text, i):
    """Returns the text with `${i*K+C}` replaced by its value; `*K` and `+C` may be absent."""
    return PLACEHOLDER.sub(lambda match: str(i * int(match[1] or 1) + int(match[2] or 0)), text)
