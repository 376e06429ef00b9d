#!/usr/bin/env python3
"""What `lint` says of metadata is what releases of transformers do, by the check in their sources.

Usage: frameworks.py -- SAFETENSORS

Downloads wheels without their dependencies, and evaluates the condition by which a file is rejected."""

import json
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

COMMAND = sys.argv[-1]
METADATA = [None, {}, {"by": "x"}, *({"format": value} for value in ["pt", "tf", "flax", "mlx", "np", "", "PT"])]
# The first and the last release of each behaviour; mlx is accepted from 4.39 on.
RELEASES = ["4.26.1", "4.38.2", "4.39.3", "4.47.1", "4.48.3", "4.57.6", "5.0.0"]
CONDITION = re.compile(r"if ((?:metadata is not None and )?metadata\.get\(\"format\"\) not in \[[^]]*\]):")


def rejects(source: str, metadata: dict[str, str] | None) -> bool:
    """Whether the function that loads a file raises an error."""
    conditions = CONDITION.findall(source)
    try:
        return any(eval(condition, {"metadata": metadata}) for condition in conditions)
    except AttributeError:  # of None
        return True


def source_of(release: str, directory: Path) -> str:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(directory)]
    subprocess.run([*pip, f"transformers=={release}"], check=True)
    with zipfile.ZipFile(directory / f"transformers-{release}-py3-none-any.whl") as wheel:
        return wheel.read("transformers/modeling_utils.py").decode()


def finding(directory: Path, metadata: dict[str, str] | None) -> str:
    """The message of `lint` about the metadata; empty if there is none."""
    header = {} if metadata is None else {"__metadata__": metadata}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = directory / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    run = subprocess.run([COMMAND, "lint", "--json", str(path)], capture_output=True, text=True, check=False)
    findings = json.loads(run.stdout)["findings"]
    return "".join(found["message"] for found in findings if found["code"].startswith("metadata.format"))


def is_said(message: str, release: str) -> bool:
    """Whether the message says that this release rejects the file."""

    def number(text: str) -> tuple[int, ...]:
        return tuple(int(part) for part in text.split(".")[:2])

    said = re.search(r"transformers ([0-9.]+) to ([0-9.]+)", message)
    return said is not None and number(said[1]) <= number(release) <= number(said[2])


def main() -> None:
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        messages = [finding(directory, metadata) for metadata in METADATA]
        for release in RELEASES:
            source = source_of(release, directory)
            is_old = tuple(map(int, release.split("."))) < (4, 39)
            for metadata, message in zip(METADATA, messages, strict=True):
                rejected, said = rejects(source, metadata), is_said(message, release)
                # The documented exception, which is no finding.
                is_mlx = metadata == {"format": "mlx"} and is_old
                if rejected != (said or is_mlx):
                    wrong.append(f"{release} with {metadata}: rejects {rejected}, but lint says {message!r}")
    print("\n".join(wrong) or f"lint is right about {len(RELEASES)} releases of transformers")
    sys.exit(1 if wrong else 0)


main()
