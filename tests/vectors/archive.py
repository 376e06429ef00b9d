#!/usr/bin/env python3
"""Packs the suite as one file for authors of readers, who then need nothing else of this repository.

python3 archive.py DIRECTORY

Makes the directory if it does not exist, and writes safetensors-conformance-VERSION.zip, the same bytes every time.
It has the manifests and their schemas, the pages, the runner and the adapters, and every file: those of recipes are made,
except for what has more than 1 GiB, which the runner makes. Standard library only. Public domain (CC0-1.0).
"""

import os
import pathlib
import re
import sys
import zipfile

from runner import vectors

#: The page, and what it says of the repository alone.
README = "README.md"
OF_REPOSITORY = re.compile("<!-- repository -->.*?<!-- end -->\\n{0,2}", re.DOTALL)
PAGES = ("LICENSE", "RULES.md", "CHANGES.md", "manifest.json", "manifest.schema.json", "run.py")
PARTS = ("runner/*.py", "adapters/[aA]dapter*.*", "index/*.json", "writers/*.json")
#: The first day that the format knows: when a file was made does not matter.
DAY = (1980, 1, 1, 0, 0, 0)


def main():
    """Packs."""
    if len(sys.argv) != 2:
        sys.exit("usage: archive.py DIRECTORY")
    os.makedirs(sys.argv[1], exist_ok=True)
    manifest = vectors.load()
    name = f"safetensors-conformance-{manifest['suite']}"
    archive = pathlib.Path(sys.argv[1]) / f"{name}.zip"
    # A reader of the archive sees all of it or nothing.
    unfinished = archive.with_suffix(".zip.tmp")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as pack:
        for path, data in files(manifest):
            pack.writestr(entry(f"{name}/{path}"), data)
    unfinished.replace(archive)
    print(f"{archive}: {archive.stat().st_size} bytes")


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


if __name__ == "__main__":
    main()
