#!/usr/bin/env python3
"""Packs the suite as one file for authors of readers, who then need nothing else of this repository.

python3 archive.py DIRECTORY [--check -- COMMAND…]

Writes safetensors-conformance-VERSION.zip, the same bytes every time. It has the manifest and its schema, the pages, the
runner and the adapters, and every file: those of recipes are made, except for what has more than 1 GiB, which the runner
makes. With --check, the archive is unpacked elsewhere, and its own runner scores COMMAND. Standard library only. Public
domain (CC0-1.0).
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

from runner import vectors

PAGES = ("LICENSE", "README.md", "RULES.md", "CHANGES.md", "manifest.json", "manifest.schema.json", "run.py")
PARTS = ("runner/*.py", "adapters/[aA]dapter.*", "index/*.json", "writers/*.json")
#: What a wrong command line is told.
USAGE = "usage: archive.py DIRECTORY [--check -- COMMAND…], where DIRECTORY exists"
#: The first day that the format knows: when a file was made does not matter.
DAY = (1980, 1, 1, 0, 0, 0)


def main():
    """Packs, and checks if told."""
    directory, *rest = sys.argv[1:] or sys.exit(USAGE)
    if rest and (rest[:2] != ["--check", "--"] or not rest[2:]) or not os.path.isdir(directory):
        sys.exit(USAGE)
    manifest = vectors.load()
    name = f"safetensors-conformance-{manifest['suite']}"
    archive = pathlib.Path(directory) / f"{name}.zip"
    # A reader of the archive sees all of it or nothing.
    unfinished = archive.with_suffix(".zip.tmp")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as pack:
        for path, data in files(manifest):
            pack.writestr(entry(f"{name}/{path}"), data)
    unfinished.replace(archive)
    print(f"{archive}: {archive.stat().st_size} bytes")
    return check(archive, name, rest[2:]) if rest else 0


def files(manifest):
    """Yields the path and the bytes of each file."""
    for path in [*PAGES, *(str(path.relative_to(vectors.HERE)) for part in PARTS for path in sorted(vectors.HERE.glob(part)))]:
        yield path, (vectors.HERE / path).read_bytes()
    for vector in manifest["vectors"]:
        if vectors.fits_memory(vector):
            yield f"{vector['verdict']}/{vector['id']}.safetensors", vectors.content(vector)


def entry(path):
    """Returns an entry that is the same on every machine and day."""
    info = zipfile.ZipInfo(path, DAY)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def check(archive, name, command):
    """Scores a reader with nothing but the archive. Returns the runner's exit code."""
    with tempfile.TemporaryDirectory() as place:
        with zipfile.ZipFile(archive) as pack:
            pack.extractall(place)
        runner = pathlib.Path(place, name, "run.py")
        return subprocess.run([sys.executable, "-B", runner, "--", *command], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
