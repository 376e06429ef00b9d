"""The cases of readers of indexes and of writers, as vectors: so they are chosen, scored and counted like files."""

import json

from . import index, vectors, writers

#: The directories, and how their cases are asked.
KINDS = {"index": index, "writers": writers}


def load(directory):
    """Returns the manifest of a directory with its control, and its cases as vectors: their first flag is the rule."""
    with open(vectors.HERE / directory / "manifest.json", encoding="utf-8") as file:
        manifest = json.load(file)
    where = {"file": f"{directory}/manifest.json", "level": None}
    found = [{**KINDS[directory].vector(case), **where, "rule": case["flags"][0]} for case in manifest["cases"]]
    return {**manifest, "vectors": found, "control": KINDS[directory].CONTROL}
