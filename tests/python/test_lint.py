"""What `lint` says of metadata is what releases of transformers do, by the check in their sources.

Downloads wheels without their dependencies, and evaluates the condition by which a file is rejected. Releases do not
change, so only by hand: when the messages of `lint` or the list of releases do.
"""

import json
import re
import subprocess
import sys
import zipfile

import pytest
from support import run, write_model

pytestmark = pytest.mark.frameworks

METADATA = [None, {}, {"by": "x"}, *({"format": value} for value in ["pt", "tf", "flax", "mlx", "np", "", "PT"])]
# The first and the last release of each behaviour; mlx is accepted from 4.39 on.
RELEASES = ["4.26.1", "4.38.2", "4.39.3", "4.47.1", "4.48.3", "4.57.6", "5.0.0"]
CONDITION = re.compile(r"if ((?:metadata is not None and )?metadata\.get\(\"format\"\) not in \[[^]]*\]):")


def rejects(source, metadata):
    """Whether the function that loads a file raises an error."""
    conditions = CONDITION.findall(source)
    try:
        return any(eval(condition, {"metadata": metadata}) for condition in conditions)
    except AttributeError:  # of None
        return True


def source_of(release, place):
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(place)]
    subprocess.run([*pip, f"transformers=={release}"], check=True)
    with zipfile.ZipFile(place / f"transformers-{release}-py3-none-any.whl") as wheel:
        return wheel.read("transformers/modeling_utils.py").decode()


def finding(path, metadata):
    """Returns the message of `lint` about the metadata; empty if there is none."""
    write_model(path, {}, metadata)
    findings = json.loads(run("lint", "--json", path, code=None))["findings"]
    return "".join(found["message"] for found in findings if found["code"].startswith("metadata.format"))


def is_said(message, release):
    """Whether the message says that this release rejects the file."""

    def number(text):
        return tuple(int(part) for part in text.split(".")[:2])

    said = re.search(r"transformers ([0-9.]+) to ([0-9.]+)", message)
    return said is not None and number(said[1]) <= number(release) <= number(said[2])


@pytest.mark.parametrize("release", RELEASES)
def test_lint_is_right_about_transformers(release, place):
    source = source_of(release, place)
    is_old = tuple(map(int, release.split("."))) < (4, 39)
    for metadata in METADATA:
        # The documented exception, which is no finding.
        is_mlx = metadata == {"format": "mlx"} and is_old
        message = finding(place / "model.safetensors", metadata)
        assert rejects(source, metadata) == (is_said(message, release) or is_mlx), (metadata, message)
