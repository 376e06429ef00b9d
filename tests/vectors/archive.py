#!/usr/bin/env python3
"""Packs the suite for authors of readers, who then need nothing else of this repository.

python3 archive.py DIRECTORY

Makes the directory if it does not exist, and writes, with the same bytes every time:

  safetensors-conformance-VERSION.zip                the runner, the adapters, the pages and the vectors
  safetensors_conformance-VERSION-py3-none-any.whl   the same, as a package for Python
  safetensors-conformance-VERSION.tgz                the vectors and npm/, as a package for npm

VERSION is that of the suite. Recipes are not expanded. Standard library only. Public domain (CC0-1.0).
"""

import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile
import zipfile

from runner import vectors

NAME = "safetensors-conformance"
MODULE = "safetensors_conformance"
ABOUT = "Conformance vectors for readers of safetensors files, and a runner that scores any reader"
PAGES = ("README.md", "PROTOCOL.md", "RULES.md", "RESULTS.md", "CHANGES.md", "LICENSE")
VECTORS = ("manifest.json", "manifest.schema.json", "valid/*", "invalid/*", "either/*")
RUNNER = ("run.py", "runner/*.py", "adapters/[aA]dapter*.*", "index/*.json", "writers/*.json")
#: What pip is told beside the name and the version, before the page.
METADATA = """License-Expression: CC0-1.0
License-File: LICENSE
Requires-Python: >=3.9
Classifier: Framework :: Pytest
Description-Content-Type: text/markdown
"""
#: The first day that zip knows: when a file was made does not matter.
DAY = (1980, 1, 1, 0, 0, 0)


def main():
    """Packs."""
    if len(sys.argv) != 2:
        sys.exit("usage: archive.py DIRECTORY")
    os.makedirs(sys.argv[1], exist_ok=True)
    version, place = vectors.load()["suite"], pathlib.Path(sys.argv[1])
    suite = files("", *PAGES, *VECTORS, *RUNNER)
    packed = {
        f"{NAME}-{version}.zip": zipped({f"{NAME}-{version}/{path}": data for path, data in suite.items()}),
        f"{MODULE}-{version}-py3-none-any.whl": zipped(wheel(suite, version)),
        f"{NAME}-{version}.tgz": tarred(npm(version)),
    }
    for name, data in packed.items():
        (place / name).write_bytes(data)
        print(f"{place / name}: {len(data)} bytes")


def files(below, *patterns):
    """Returns the bytes of each file that is named, by its path below a directory of the suite."""
    place = vectors.HERE / below
    paths = [path for pattern in patterns for path in sorted(place.glob(pattern)) or sys.exit(f"{place} has no {pattern}")]
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in paths}


def wheel(suite, version):
    """Returns the files of the package for Python."""
    info = f"{MODULE}-{version}.dist-info"
    head = f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {version}\nSummary: {ABOUT}\n{METADATA}\n"
    found = {f"{MODULE}/{path}": data for path, data in {**suite, **files("", "__init__.py")}.items()}
    found |= {
        f"{info}/METADATA": head.encode() + suite["README.md"],
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: archive.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{NAME} = {MODULE}.runner.command:entry\n".encode(),
        f"{info}/licenses/LICENSE": suite["LICENSE"],
    }
    digest = lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    lines = [f"{path},sha256={digest(data)},{len(data)}\n" for path, data in found.items()]
    return {**found, f"{info}/RECORD": "".join([*lines, f"{info}/RECORD,,\n"]).encode()}


def npm(version):
    """Returns the files of the package for npm."""
    found = {**files("", *PAGES, *VECTORS), **files("npm", "index.*")}
    package = {"name": NAME, "version": version, "description": ABOUT, **json.loads((vectors.HERE / "npm/package.json").read_bytes())}
    return {f"package/{path}": data for path, data in {**found, "package.json": json.dumps(package, indent=2).encode()}.items()}


def zipped(found):
    """Returns the files as a zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as pack:
        for path, data in found.items():
            info = zipfile.ZipInfo(path, DAY)
            info.external_attr = 0o644 << 16
            pack.writestr(info, data, zipfile.ZIP_DEFLATED, 9)
    return packed.getvalue()


def tarred(found):
    """Returns the files as a compressed tar."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as pack:
        for path, data in found.items():
            info = tarfile.TarInfo(path)
            info.size = len(data)
            pack.addfile(info, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), mtime=0)


if __name__ == "__main__":
    main()
