"""Answers of a reader that are planned to be wrong about thirteen vectors.

python3 planned.py FILE   writes all answers by the SHA-256 of the files, for readers that are functions
"""

import json
import os
import pathlib
import sys
import time

SUITE = pathlib.Path(__file__).resolve().parents[1] / "vectors"
sys.path.insert(0, str(SUITE))

from runner import vectors  # noqa: E402

#: The vectors about which the answer is planned to be wrong. A rejection is a pair of code and byte.
PLANNED = {
    "offsets-pair": lambda vector: ("json.syntax", 8),
    "after-brace": lambda vector: {"tensors": {}, "metadata": None},
    "space-before": lambda vector: ("json.syntax", 8),
    "dtype-all": lambda vector: with_first(vector, sha256="0" * 64),
    "layout-backwards": lambda vector: {**table(vector), "tensors": dict(list(table(vector)["tensors"].items())[1:])},
    "metadata-several": lambda vector: {**table(vector), "metadata": None},
    "layout-shuffled": lambda vector: {"tensors": {name: plain(row) for name, row in table(vector)["tensors"].items()}},
    "after-comma": lambda vector: ("json.depth", vector["at"]),
    "after-comment": lambda vector: (vector["code"], vector["at"] + 1),
    "end-in-literal": lambda vector: crash(),
    "json-literal-nan": lambda vector: time.sleep(600),
    "metadata-one": lambda vector: "no JSON",
    "space-only": lambda vector: {"tensors": None},
}


def table(vector):
    """Returns the table of the manifest, or of the header that a recipe makes."""
    vector = vectors.with_table(vector)
    rows = {row["name"]: {key: row[key] for key in row if key != "name"} for row in vector["tensors"]}
    return {"tensors": rows, "metadata": vector["metadata"]}


def with_first(vector, **members):
    """Returns the table with other members of the first tensor."""
    found = table(vector)
    next(iter(found["tensors"].values())).update(members)
    return found


def plain(row):
    """Returns a tensor without what may be left out."""
    return {key: row[key] for key in ("dtype", "shape")}


def crash():
    """Ends as a program that has found a mistake of its own."""
    print("index out of bounds", file=sys.stderr)
    os._exit(101)


def answer_of(vector):
    """Returns the planned answer, or that of the manifest."""
    if vector["id"] in PLANNED:
        return PLANNED[vector["id"]](vector)
    return table(vector) if vector["ours"] == "accept" else (vector["code"], vector["at"])


def written(vector):
    """Returns a planned answer as JSON: an object, or another value where it is none. A function cannot hang."""
    if vector["id"] in ("end-in-literal", "json-literal-nan"):
        return "crash"
    said = answer_of(vector)
    if isinstance(said, dict) and said["tensors"]:
        rows = said["tensors"] = {name: plain(row) if len(said["tensors"]) > 99 else row for name, row in said["tensors"].items()}
        for row in rows.values():
            row["shape"] = [str(size) if size >= 1 << 53 else size for size in row["shape"]]  # JavaScript has doubles
    return {"error": "error[%s] at byte %d: as planned" % said} if isinstance(said, tuple) else said


if __name__ == "__main__":
    small = [vector for vector in vectors.load()["vectors"] if vector["level"] != "large"]
    pathlib.Path(sys.argv[1]).write_text(json.dumps({vector["sha256"]: written(vector) for vector in small}), encoding="utf-8")
