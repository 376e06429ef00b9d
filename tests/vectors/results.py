#!/usr/bin/env python3
"""Asks all readers of readers/readers.json about the vectors, and writes RESULTS.md.

python3 results.py [--only GLOB]

All readers are asked by run.py at the level `full`, those of registries in batch form. Two things must hold before
anything is written: the releases of the reference say what the manifest says of them, and this project's decoder is
right about everything. With --only, the readers whose names match are asked, and the tables are only printed.
README.md says what must be installed. Public domain (CC0-1.0).
"""

import argparse
import concurrent.futures
import fnmatch
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from runner import scoring, vectors

HERE = pathlib.Path(__file__).resolve().parent
READERS = HERE / "readers"
SUMMARY = HERE / "RESULTS.md"
TARGET = HERE.parents[1] / "target"
DECODER = TARGET / "release/safetensors"
#: Where readers of npm and Cargo are installed.
DIRECTORY = TARGET / "readers"
#: The seconds for a file: two readers take a minute of the processor for some, and the machine may be busy.
TIMEOUT = "600"
INSTALL = "pip install --no-deps -r tests/vectors/requirements.txt"
#: Of a reader with such answers, only sums are shown: rules could lead to the files that stop other people's programs.
UNNAMED = ("crash", "hang")


class Missing(Exception):
    """A reader is not installed as listed."""


def main():
    """Writes the summary, or prints a part of it."""
    parser = argparse.ArgumentParser(description="Asks all readers about the vectors, and writes RESULTS.md.")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="print what readers with this name say")
    only = parser.parse_args().only
    manifest = vectors.load()
    readers = json.loads((READERS / "readers.json").read_bytes())
    if only:
        readers = [reader for reader in readers if any(fnmatch.fnmatchcase(reader["name"], name) for name in only)]
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    try:
        commands = commands_of(readers)
    except Missing as error:
        sys.exit(f"results.py: {error}")
    if not only:
        readers.append(decoder(manifest))
        commands.append((False, [str(DECODER), "decode"]))
    scores = ask_all(readers, commands)
    wrong = surprises(manifest["vectors"], readers, scores)
    if wrong:
        sys.exit("\n".join(wrong))
    text = "".join(f"{line}\n" for line in summary(manifest, readers, scores))
    if only:
        print(text, end="")
    else:
        SUMMARY.write_text(text, encoding="utf-8")


def decoder(manifest):
    """Returns this project's reader."""
    return {
        "name": "safetensors decode",
        "registry": "this project",
        "version": "",
        "code": "embedded-safetensors",
        "kind": "full",
        "date": manifest["date"],
        "how": "The command of the project that keeps the suite.",
    }


def commands_of(readers):
    """Returns for each reader whether it has the batch form, and its command."""
    asks = {registry: INSTALLED[registry]() for registry in sorted({reader["registry"] for reader in readers})}
    found = []
    for reader in readers:
        versions, command = asks[reader["registry"]]
        installed = versions(reader["package"])
        if reader["version"] not in installed:
            raise Missing(f"{reader['package']} {reader['version']} is not installed, but {' and '.join(installed) or 'none'}")
        found.append((True, [*command, reader["adapter"]]))
    return found


def pypi():
    """Returns the versions of readers in this Python, which are installed already, and how they are asked."""

    def versions(package):
        try:
            return [importlib.metadata.version(package)]
        except importlib.metadata.PackageNotFoundError as error:
            raise Missing(f"the Python package {package} is not installed: {INSTALL}") from error

    return versions, [sys.executable, "-B", str(READERS / "pypi.py")]


def npm():
    """Installs the readers in Node, beside a copy of their adapter."""
    home = DIRECTORY / "npm"
    home.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json", "npm.js"):
        shutil.copy(READERS / "npm" / name, home)
    run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], home)

    def versions(package):
        path = home / "node_modules" / package / "package.json"
        return [json.loads(path.read_bytes())["version"]] if path.exists() else []

    return versions, ["node", str(home / "npm.js")]


def cargo():
    """Builds the readers in Rust, which are one program."""
    home, target = READERS / "rust", DIRECTORY / "rust"
    run(["cargo", "build", "--locked", "--quiet", "--target-dir", str(target)], home)
    locked = re.findall(r'name = "(.+)"\nversion = "(.+)"', (home / "Cargo.lock").read_text(encoding="utf-8"))
    return lambda package: [version for name, version in locked if name == package], [str(target / "debug/readers")]


#: How the readers of each registry are installed.
INSTALLED = {"PyPI": pypi, "npm": npm, "Cargo": cargo}


def run(command, directory):
    """Runs a command that installs readers."""
    try:
        subprocess.run(command, cwd=directory, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Missing(f"{' '.join(command)} in {directory}: {error}") from error


def ask_all(readers, commands):
    """Returns the score of each reader."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        return list(workers.map(ask, range(len(readers)), readers, commands))


def ask(index, reader, how):
    """Returns what run.py says of a reader."""
    is_batch, command = how
    level = "header-only" if reader["kind"] == "header-only" else "full"
    path = DIRECTORY / f"{index}.json"
    path.unlink(missing_ok=True)
    # The releases of the reference and this project have all profiles; other readers may lack them.
    profiles = vectors.load()["profiles"] if reader["code"] in ("safetensors", "embedded-safetensors") else ()
    options = [*(f"--profile={name}" for name in profiles), "--level", level, "--timeout", TIMEOUT, "--json", str(path), *(["--batch"] if is_batch else [])]
    asked = subprocess.run([sys.executable, "-B", str(HERE / "run.py"), *options, "--", *command], capture_output=True, check=False)
    if asked.returncode == 2 or not path.exists():
        sys.exit(f"results.py: {title(reader)}: {asked.stderr.decode(errors='replace').strip()}")
    return json.loads(path.read_bytes())


def title(reader):
    """Returns the name of a reader, with its registry and version."""
    return f"{reader['name']} {reader['version']} ({reader['registry']})".replace("  ", " ")


def surprises(all_vectors, readers, scores):
    """Returns what must not be: a release of the reference that differs from the manifest, or an error of this
    project's decoder."""
    wrong = []
    for reader, score in zip(readers, scores, strict=True):
        for vector in all_vectors:
            answer = score["answers"].get(vector["id"])
            if answer and reader["code"] == "safetensors" and reader.get("package") == "safetensors":
                said = {"ok": "accept", "panic": "crash"}.get(str(vector["reference"][reader["version"]]), "reject")
                if answer["verdict"] != said or answer["kind"] != "right" and reader["version"] == "0.8.0":
                    wrong.append(f"{vector['id']}: {title(reader)}: {answer['verdict']}, the manifest: {said}; {answer['problem']}")
            if answer and reader["registry"] == "this project" and answer["kind"] != "right":
                wrong.append(f"{vector['id']}: {title(reader)}: {answer['problem']}")
    return wrong


def summary(manifest, readers, scores):
    """Yields the lines of the summary."""
    codes = len({reader["code"] for reader in readers})
    asked = sum(vector["level"] != "large" for vector in manifest["vectors"])
    yield "# What readers say about the vectors"
    yield ""
    yield "Written by `results.py`; not edited by hand."
    yield ""
    own = ", the last one this project's own," if any("package" not in reader for reader in readers) else ""
    yield f"{len(readers)} readers of {codes} code bases{own} were asked about {asked} vectors of suite {manifest['suite']}, all"
    yield "but the `large` ones. *Rules* are those about which every answer is right. *Not shown* are rejections of invalid"
    yield "files whose valid twin is also rejected. All but the reference may reject all files with unknown members. Readers"
    yield "of headers were asked only what the header decides. The name of a reader is that of its package, with the function"
    yield "where there are two; readers/readers.json says how each was asked."
    yield ""
    yield row("", "reader", "version", "of", "asked on", "rules", *scoring.KINDS)
    yield row("---:", *["---"] * 4, *["---:"] * 7)
    for number, (reader, score) in enumerate(zip(readers, scores, strict=True), 1):
        rules = score["rules"].values()
        clean = f"{sum(rule['right'] == rule['vectors'] for rule in rules)} of {len(rules)}"
        sums = [score["kinds"].get(kind, 0) for kind in scoring.KINDS]
        yield row(number, named(reader), reader["version"], reader["code"], reader["date"], clean, *sums)
    yield ""
    yield from rules_table(manifest, scores)


def named(reader):
    """Returns the name of a reader in the table."""
    name = f"{reader['registry']} {reader['name']}" if "package" in reader else reader["name"]
    return name + (" (header)" if reader["kind"] == "header-only" else "")


def rules_table(manifest, scores):
    """Yields how many answers about each rule are not right, in a column for each reader."""
    yield "## By rule"
    yield ""
    yield "How many answers about each rule of [RULES.md](RULES.md) are not right. Readers that crash or hang have a `–`: the"
    yield "files that stop other people's programs are not named."
    yield ""
    yield row("rule", *range(1, len(scores) + 1))
    yield row("---", *["---:"] * len(scores))
    for rule in manifest["rules"]:
        yield row(rule, *(faults(score, rule) for score in scores))


def faults(score, rule):
    """Returns a cell of that table: empty if all answers are right, or none was asked for."""
    if any(score["kinds"].get(kind) for kind in UNNAMED):
        return "–"
    count = score["rules"].get(rule, {"vectors": 0, "right": 0})
    return count["vectors"] - count["right"] or ""


def row(*cells):
    """Returns a row of a table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


if __name__ == "__main__":
    main()
