"""Every conformance vector: the verdict, the error, and the tensors."""

import hashlib
import pathlib
import re

import pytest
import safetensors
from runner import vectors

import embedded_safetensors
import embedded_safetensors.numpy
from embedded_safetensors import SafetensorError, safe_open

pytestmark = pytest.mark.main

VECTORS = [vector for vector in vectors.load()["vectors"] if vectors.fits_memory(vector)]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Returns a path that all vectors are written to."""
    return tmp_path_factory.mktemp("vectors") / "file"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_vector(vector, file):
    data = vectors.content(vector)
    file.write_bytes(data)
    if vector["ours"] == "reject":
        check_rejected(vector, file, data)
    else:
        check_accepted(vector, file, data)


def check_rejected(vector, file, data):
    """Checks that every function raises the same exception, with the code and the byte of the manifest."""
    sentences = set()
    for read, source in READERS:
        with pytest.raises(SafetensorError) as caught:
            read(file if source == "file" else data)
        error = caught.value
        assert (error.code, error.byte) == (vector["code"], vector["at"])
        sentences.add(str(error).replace(f"{file}: ", ""))
    assert len(sentences) == 1


READERS = [
    (embedded_safetensors.check, "file"),
    (embedded_safetensors.check, "bytes"),
    (embedded_safetensors.deserialize, "bytes"),
    (embedded_safetensors.numpy.load, "bytes"),
    (embedded_safetensors.numpy.load_file, "file"),
    (lambda file: safe_open(file, "np", backend="mmap"), "file"),
]


def check_accepted(vector, file, data):
    """Checks the tensors and the metadata, if they are listed. Arrays exist where numpy has such ones."""
    embedded_safetensors.check(data)
    deserialized = embedded_safetensors.deserialize(data)
    assert len(deserialized) == vector.get("tensor_count", len(deserialized))
    if "tensors" not in vector:
        return
    listed = vector["tensors"]
    offsets = {tensor["name"]: tensor["data_offsets"] for tensor in listed}
    check_order(offsets, [name for name, _ in deserialized])
    found = [about(name, members, members["data"]) for name, members in deserialized]
    assert sorted(found) == sorted(map(listed_about, listed))
    for backend in ("mmap", "pread"):
        with safe_open(file, "np", backend=backend) as opened:
            assert opened.metadata() == vector["metadata"]
            assert opened.keys() == sorted(tensor["name"] for tensor in listed)
            check_order(offsets, opened.offset_keys())
            parts = [(tensor["name"], opened.get_slice(tensor["name"])) for tensor in listed]
            members = [(name, {"dtype": part.get_dtype(), "shape": part.get_shape()}) for name, part in parts]
            found = [about(name, part, opened.get_bytes(name)) for name, part in members]
            assert found == list(map(listed_about, listed))
    try:
        arrays = embedded_safetensors.numpy.load(data)
    except SafetensorError as error:
        narrow = any(members["dtype"].startswith(("F4", "F6")) for _, members in deserialized)
        assert narrow or "numpy has no array of the shape" in str(error)
        return
    assert [array.nbytes for array in arrays.values()] == [len(members["data"]) for _, members in deserialized]


def check_order(offsets, names):
    """Checks that all names are in the order of their offsets. That of tensors without bytes at the same place is free."""
    assert sorted(names) == sorted(offsets)
    assert [offsets[name] for name in names] == sorted(offsets.values())


def about(name, members, data):
    return name, members["dtype"], members["shape"], hashlib.sha256(data).hexdigest()


def listed_about(tensor):
    return tensor["name"], tensor["dtype"], tensor["shape"], tensor["sha256"]


PAGE = pathlib.Path(__file__).parents[3] / "docs/src/reference-errors.md"


def rows_of_page():
    """Returns a pattern for the texts of each row of the page, and the codes for them."""
    for row in PAGE.read_text().splitlines():
        *_, texts, codes = row.strip("| ").split(" | ") if row.startswith("| ") else ("", "")
        prefix = "" if row.count(" | ") == 2 else "invalid JSON in header: "
        texts = [re.escape(text.strip("` ")).replace("…", ".*") for text in texts.split("`, `")]
        yield f"{prefix}({'|'.join(texts)})( at line .*)?", re.findall("`(.+?)`", codes)


def test_the_page_has_the_texts_of_the_reference():
    rows, seen = list(rows_of_page()), set()
    for vector in VECTORS:
        try:
            safetensors.deserialize(vectors.content(vector))
        except safetensors.SafetensorError as error:
            text = str(error).removeprefix("Error while deserializing: ")
            if vector.get("faults") == 1:
                found = {(row, code) for row, codes in rows for code in codes if re.fullmatch(row, text, re.DOTALL)}
                assert vector["code"] in {code for _, code in found}, text
                seen |= {(row, code) for row, code in found if code == vector["code"]}
    assert seen == {(row, code) for row, codes in rows for code in codes}
