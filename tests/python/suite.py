"""Runs the runner of the conformance vectors, for its tests."""

import json
import os
import pathlib
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parent
SUITE = TREE.parent / "vectors"
FAKE = [sys.executable, "-B", str(TREE / "fake_readers.py")]


def run(*words, suite=SUITE, **how):
    """Returns what the runner says."""
    command = [sys.executable, "-B", "-X", "dev", str(suite / "run.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **how)


def score(place, options, command, suite=SUITE):
    """Returns what the runner says, and the score that it writes; none if there is none.

    It must leave nothing in the directory for temporary files.
    """
    path, temporary = place / "score.json", place / "temporary"
    path.unlink(missing_ok=True)
    temporary.mkdir(exist_ok=True)
    how = {"cwd": place, "env": {**os.environ, "TMPDIR": str(temporary)}}
    said = run(*options, "--json", path, "--", *command, suite=suite, **how)
    assert os.listdir(temporary) == [], said
    return said, json.loads(path.read_bytes()) if path.exists() else None


def kinds(scored):
    """Returns the kind of each answer."""
    return {name: answer["kind"] for name, answer in scored["answers"].items()}
