#!/usr/bin/env python3
"""Packs the suite as one file for authors of readers, who then need nothing else of this repository.

python3 archive.py DIRECTORY [--check OPTIONS… -- COMMAND…]

Writes safetensors-conformance-VERSION.zip, the same bytes every time. It has the manifests and their schemas, the pages,
the runner and the adapters, and every file: those of recipes are made, except for what has more than 1 GiB, which the runner
makes. With --check, the archive is unpacked elsewhere, its pages are checked, and its own runner scores COMMAND with
these options. Standard library only. Public domain (CC0-1.0).
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

from runner import vectors

#: The page, and what it says of the repository alone.
README = "README.md"
OF_REPOSITORY = re.compile("<!-- repository -->.*?<!-- end -->\\n{0,2}", re.DOTALL)
PAGES = ("LICENSE", "RULES.md", "CHANGES.md", "manifest.json", "manifest.schema.json", "run.py")
PARTS = ("runner/*.py", "adapters/[aA]dapter*.*", "index/*.json", "writers/*.json")
#: A valid file that a recipe makes.
MADE = "large-data-1m"
#: What a wrong command line is told.
USAGE = "usage: archive.py DIRECTORY [--check OPTIONS… -- COMMAND…], where DIRECTORY exists"
#: The first day that the format knows: when a file was made does not matter.
DAY = (1980, 1, 1, 0, 0, 0)


def main():
    """Packs, and checks if told."""
    directory, *rest = sys.argv[1:] or sys.exit(USAGE)
    if rest and (rest[0] != "--check" or "--" not in rest[:-1]) or not os.path.isdir(directory):
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
    return check(archive, name, rest[1:]) if rest else 0


def files(manifest):
    """Yields the path and the bytes of each file."""
    yield README, OF_REPOSITORY.sub("", (vectors.HERE / README).read_text(encoding="utf-8")).encode()
    for path in [*PAGES, *(str(path.relative_to(vectors.HERE)) for part in PARTS for path in sorted(vectors.HERE.glob(part)))]:
        yield path, (vectors.HERE / path).read_bytes()
    for vector in manifest["vectors"]:
        if vectors.fits_memory(vector):
            yield vectors.path(vector), vectors.content(vector)


def entry(path):
    """Returns an entry that is the same on every machine and day."""
    info = zipfile.ZipInfo(path, DAY)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def check(archive, name, asked):
    """Scores a reader with nothing but the archive. Returns the runner's exit code."""
    with tempfile.TemporaryDirectory() as directory:
        with zipfile.ZipFile(archive) as pack:
            pack.extractall(directory)
        place = pathlib.Path(directory, name)
        return pages_problem(place) or files_problem(place, asked) or run(place, *asked).returncode


def run(place, *words, **how):
    """Runs the runner of the archive."""
    return subprocess.run([sys.executable, "-B", place / "run.py", *words], check=False, **how)


def pages_problem(place):
    """Returns what a page says that does not hold in the archive."""
    for page in place.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        paths = re.findall(r"`([\w./-]+)`|\]\(([\w./-]+)\)", text)
        for path in filter(None, (path for pair in paths for path in pair)):
            if (vectors.HERE / path).exists() and not (place / path).exists():
                return f"{page.name} speaks of {path}, which is not in the archive"
        if "cargo" in text or "<!--" in text:
            return f"{page.name} speaks of the repository"
    return None


def files_problem(place, asked):
    """Returns what is wrong with how the runner finds files: it reads one that is there, and makes one that is not."""
    file = place / "valid" / f"{MADE}.safetensors"
    score = lambda: run(place, "--filter", MADE, *asked, capture_output=True).returncode
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    is_read = score() == 2  # it is not the one that the manifest means
    file.unlink()
    return None if is_read and score() in (0, 1) else f"the runner does not use {file.name}, or does not make it"


if __name__ == "__main__":
    sys.exit(main())
