#!/usr/bin/env python3
"""Asks the readers of readers/readers.json about the vectors, and writes RESULTS.md.

python3 results.py [--only GLOB]        asks all that can be installed, or those whose name matches
python3 results.py --take NAME FILE     takes the result of another reader from FILE, as `run.py --json FILE` wrote it

All readers are asked by run.py at the level `full`, those of registries in batch form. Two things must hold before
anything is written: the releases of the reference say what the manifest says of them, and this project's decoder is
right about everything. CONTRIBUTING.md says what must be installed.

readers/readers.json has a line for each reader:

  name, registry, package, version   which one; of a repository, the version is a commit
  code, url    the code base, which several readers may share, and the address of its project, if it has one
  kind         "full", "header-only" if it sees no data, or "checker" if it tells nothing but the verdict
  date, how    when it was asked, and how
  adapter      how pypi.py, npm.js or rust/ call it; without one it is not asked here, but taken

So a result is handed in as such a line and the file that run.py writes with --json: it has the version of the suite,
and the kind of each answer (with --verdict-only of a checker, with --level header-only of a reader of headers).

readers/answers.json has what is left of the answers: `suite` and `vectors`, the version and the checksum of what was
asked; how many answers are of each kind; `rules`, how many rules have right answers alone; `faults`, how many answers
about each rule are not right, which is null where it could lead to files that stop other people's programs.
Public domain (CC0-1.0).
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from runner import choice, scoring, vectors

HERE = pathlib.Path(__file__).resolve().parent
READERS = HERE / "readers"
ANSWERS = READERS / "answers.json"
SUMMARY = HERE / "RESULTS.md"
TARGET = HERE.parents[1] / "target"
DECODER = TARGET / "release/safetensors"
#: Where readers of npm and Cargo are installed.
DIRECTORY = TARGET / "readers"
#: The seconds for a file: two readers take a minute of the processor for some, and the machine may be busy.
TIMEOUT = "600"
INSTALL = "pip install --no-deps -r tests/vectors/requirements.txt"
#: Of a reader with such answers, only sums are kept: rules could lead to the files that stop other people's programs.
UNNAMED = ("crash", "hang")
#: The members of a vector that answers depend on.
ASKED = ("id", "sha256", "verdict", "level", "rule", "twin", "header_only")


class Missing(Exception):
    """A reader is not installed as listed, or its answers are not there."""


def main():
    """Asks or takes answers, keeps them, and writes the summary of all."""
    parser = argparse.ArgumentParser(description="Asks readers about the vectors, and writes RESULTS.md.")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--only", action="append", default=[], metavar="GLOB", help="ask the readers with this name")
    how.add_argument("--take", nargs=2, metavar=("NAME", "FILE"), help="take what run.py wrote of a reader with --json")
    options = parser.parse_args()
    manifest = vectors.load()
    readers = json.loads((READERS / "readers.json").read_bytes())
    answers = json.loads(ANSWERS.read_bytes()) if ANSWERS.exists() else {}
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    try:
        matching = [reader for reader in readers if any(fnmatch.fnmatchcase(reader["name"], name) for name in options.only or "*")]
        found = take(readers, *options.take) if options.take else ask_all([reader for reader in matching if "adapter" in reader])
        wrong = surprises(manifest["vectors"], found)
        if wrong:
            sys.exit("\n".join(wrong))
        for reader, score in found:
            answers[title(reader)] = kept(manifest, reader, score)
            print(f"{title(reader)}: right about {answers[title(reader)]['rules']} rules; {score['kinds']}")
        lines = [f"{json.dumps(name)}: {json.dumps(answers[name])}" for name in map(title, readers) if name in answers]
        ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        scores = [current(manifest, reader, answers) for reader in readers]
    except Missing as error:
        sys.exit(f"results.py: {error}")
    SUMMARY.write_text("".join(f"{line}\n" for line in summary(manifest, readers, scores)), encoding="utf-8")


def take(readers, name, file):
    """Returns the reader with this name that is not asked here, and its score in this file."""
    found = [reader for reader in readers if reader["name"] == name and "adapter" not in reader]
    if len(found) != 1:
        raise Missing(f"{name}: {len(found)} lines of readers.json have this name and no adapter, not one")
    try:
        return [(found[0], json.loads(pathlib.Path(file).read_bytes()))]
    except (OSError, ValueError) as error:
        raise Missing(f"{file} is not what run.py writes with --json: {error}") from error


def kept(manifest, reader, score):
    """Returns what is kept of the answers of a reader."""
    asked = {vector["id"]: vector["rule"] for vector in manifest["vectors"] if choice.LEVELS[level(reader)](vector)}
    said = {name: answer["kind"] for name, answer in score["answers"].items()}
    if score["suite"] != manifest["suite"] or said.keys() != asked.keys():
        raise Missing(f"{title(reader)} was asked about other vectors than those of suite {manifest['suite']}, level {level(reader)}")
    if score["strict"] or score["verdict_only"] != (reader["kind"] == "checker"):
        raise Missing(f"{title(reader)} must be asked without --strict, and with --verdict-only only if it is a checker")
    kinds = collections.Counter(said.values())
    faults = collections.Counter(rule for name, rule in asked.items() if said[name] != "right")
    rules = len(set(asked.values()))
    return {
        "suite": manifest["suite"],
        "vectors": checksum(manifest),
        "kinds": {kind: kinds[kind] for kind in scoring.KINDS},
        "rules": f"{rules - len(faults)} of {rules}",
        "faults": None if any(kinds[kind] for kind in UNNAMED) else dict(sorted(faults.items())),
    }


def current(manifest, reader, answers):
    """Returns the answers of a reader, which must be about the vectors as they are."""
    score = answers.get(title(reader))
    if score is None:
        raise Missing(f"{title(reader)} has not been asked")
    if (score["suite"], score["vectors"]) != (manifest["suite"], checksum(manifest)):
        raise Missing(f"{title(reader)} was asked about other vectors, of suite {score['suite']}: it must be asked again")
    return score


def checksum(manifest):
    """Returns a short checksum of all that answers depend on."""
    text = json.dumps([[vector.get(member) for member in ASKED] for vector in manifest["vectors"]])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def commands_of(readers):
    """Returns the command of each reader."""
    asks = {registry: INSTALLED[registry]() for registry in sorted({reader["registry"] for reader in readers})}
    found = []
    for reader in readers:
        versions, command = asks[reader["registry"]]
        installed = versions(reader["package"])
        if reader["version"] not in installed:
            raise Missing(f"{reader['package']} {reader['version']} is not installed, but {' and '.join(installed) or 'none'}")
        found.append([*command, reader["adapter"]])
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


#: Where this project's own reader is.
OWN = "this project"
#: How the readers of each registry are installed.
INSTALLED = {"PyPI": pypi, "npm": npm, "Cargo": cargo, OWN: lambda: (lambda package: [""], [str(DECODER)])}


def run(command, directory):
    """Runs a command that installs readers."""
    try:
        subprocess.run(command, cwd=directory, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Missing(f"{' '.join(command)} in {directory}: {error}") from error


def ask_all(readers):
    """Returns each reader with its score."""
    commands = commands_of(readers)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        return list(zip(readers, workers.map(ask, range(len(readers)), readers, commands), strict=True))


def ask(index, reader, command):
    """Returns what run.py says of a reader."""
    path = DIRECTORY / f"{index}.json"
    path.unlink(missing_ok=True)
    # The releases of the reference and this project have all profiles; other readers may lack them.
    profiles = vectors.load()["profiles"] if reader["code"] in ("safetensors", "embedded-safetensors") else ()
    options = [*(f"--profile={name}" for name in profiles), "--level", level(reader), "--timeout", TIMEOUT, "--json", str(path)]
    options += ["--batch"] * (reader["registry"] != OWN) + ["--verdict-only"] * (reader["kind"] == "checker")
    asked = subprocess.run([sys.executable, "-B", str(HERE / "run.py"), *options, "--", *command], capture_output=True, check=False)
    if asked.returncode == 2 or not path.exists():
        sys.exit(f"results.py: {title(reader)}: {asked.stderr.decode(errors='replace').strip()}")
    return json.loads(path.read_bytes())


def level(reader):
    """Returns the vectors that a reader is asked."""
    return "header-only" if reader["kind"] == "header-only" else "full"


def title(reader):
    """Returns the name of a reader, with its registry and version."""
    return f"{reader['name']} {reader['version']} ({reader['registry']})".replace("  ", " ")


def surprises(all_vectors, found):
    """Returns what must not be: a release of the reference that differs from the manifest, or an error of this
    project's decoder."""
    wrong = []
    for reader, score in found:
        for vector in all_vectors:
            answer = score["answers"].get(vector["id"])
            if answer and reader["package"] == "safetensors" and reader["version"] in vector["reference"]:
                said = {"ok": "accept", "panic": "crash"}.get(str(vector["reference"][reader["version"]]), "reject")
                if answer["verdict"] != said or answer["kind"] != "right" and reader["version"] == "0.8.0":
                    wrong.append(f"{vector['id']}: {title(reader)}: {answer['verdict']}, the manifest: {said}; {answer['problem']}")
            if answer and reader["registry"] == OWN and answer["kind"] != "right":
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
    yield f"{len(readers)} readers of {codes} code bases, the last one this project's own, were asked about {asked} vectors of suite"
    yield f"{manifest['suite']}, all but the `large` ones. *Rules* are those about which every answer is right. *Not shown* are"
    yield "rejections of invalid files whose valid twin is also rejected. All but the reference may reject all files with unknown"
    yield "members. Readers of headers were asked only what the header decides, checkers only for the verdict. Readers of GitHub"
    yield "were built by hand at the commit that is their version. The name of a reader is that of its package, with the function"
    yield "where there are two; readers/readers.json says how each was asked, and results.py how to hand in a result."
    yield ""
    yield row("", "reader", "version", "of", "asked on", "rules", *scoring.KINDS)
    yield row("---:", *["---"] * 4, *["---:"] * 7)
    for number, (reader, score) in enumerate(zip(readers, scores, strict=True), 1):
        kinds = [score["kinds"][kind] for kind in scoring.KINDS]
        yield row(number, named(reader), reader["version"], reader["code"], reader["date"], score["rules"], *kinds)
    yield ""
    yield from rules_table(manifest, scores)


def named(reader):
    """Returns the name of a reader in the table, which leads to its project."""
    name = reader["name"] if reader["registry"] == OWN else f"{reader['registry']} {reader['name']}"
    kind = {"full": "", "header-only": " (header)", "checker": " (checker)"}[reader["kind"]]
    how = "" if "adapter" in reader else " (by hand)"
    return (f"[{name}]({reader['url']})" if "url" in reader else name) + kind + how


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
    return "–" if score["faults"] is None else score["faults"].get(rule, "")


def row(*cells):
    """Returns a row of a table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


if __name__ == "__main__":
    main()
