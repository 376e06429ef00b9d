#!/usr/bin/env python3
"""Asks all readers of readers/readers.json about the vectors, and writes what they said.

RESULTS.html has every answer, and RESULTS.md the sums. All readers are asked by run.py at the level `full`, those
of registries in batch form. Two things must hold before anything is written: the releases of the reference say
what the manifest says of them, and this project's decoder is right about everything. With --again, no reader is asked:
RESULTS.html gets today's page.html and reasons, and keeps its answers. Public domain (CC0-1.0).
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

from runner import report, scoring, vectors

HERE = pathlib.Path(__file__).resolve().parent
READERS = HERE / "readers"
PAGE = HERE / "RESULTS.html"
SUMMARY = HERE / "RESULTS.md"
TEMPLATE = HERE / "page.html"
#: What is before the data of a page. A template has `{}` for it.
START = '<script type="application/json" id="data">'
#: The seconds for a file: two readers take a minute of the processor for some, and the machine may be busy.
TIMEOUT = "600"
#: How many bytes of a file, and how many characters of an answer, are on the page.
BYTES = 512
CHARACTERS = 160
#: What is most often wrong. The page says it where there is no text.
ACCEPTED = "must reject, but did accept"
INSTALL = "pip install --no-deps -r tests/vectors/requirements.txt"
HOW = "cargo xtask results"
#: What differs from run to run in a sentence: the directory of the file, and addresses.
RANDOM = (re.compile(r"(/[^/\s'\"]+)*/vectors-[^/\s'\"]+/"), ""), (re.compile(r"0x[0-9a-f]{6,}"), "0x…")
#: The page names no file that stops other people's programs: where there is one, it has only the sums of the reader.
UNNAMED = ("crash", "hang")
KEPT_BACK = " It does not finish with every file, so its answers are counted and not listed."


class Missing(Exception):
    """A reader is not installed as listed."""


def main():
    """Writes the page and the summary, or compares them with the existing ones."""
    options = arguments()
    manifest = vectors.load()
    if options.again:
        PAGE.write_text(page(again(manifest, PAGE.read_text(encoding="utf-8"))), encoding="utf-8")
        return
    readers = chosen(json.loads((READERS / "readers.json").read_bytes()), options.only)
    try:
        commands = Installer(options.directory.resolve()).commands(readers)
    except Missing as error:
        sys.exit(f"results.py: {error}")
    if not options.only:
        readers.append(decoder(manifest))
        commands.append((False, [str(options.decoder.resolve()), "decode"]))
    scores = ask_all(readers, commands, options.directory.resolve())
    wrong = surprises(manifest["vectors"], readers, scores)
    if wrong:
        sys.exit("\n".join(wrong))
    data = page_data(manifest, readers, scores)
    written = {options.page or PAGE: page(data)}
    if not options.only:
        written[SUMMARY] = "\n".join(summary(data, readers)) + "\n"
    for path, text in written.items():
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or lasting(path.read_text(encoding="utf-8")) != lasting(text):
            sys.exit(f"{path.name} is not what the readers say today; write it again: {HOW}")


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description="Asks all readers about the vectors, and writes what they said.")
    parser.add_argument("--decoder", type=pathlib.Path, help="this project's program `safetensors`")
    parser.add_argument("--directory", type=pathlib.Path, help="where readers of npm and Cargo are installed")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="only readers with this name; needs --page")
    parser.add_argument("--page", type=pathlib.Path, help="write the page here instead")
    parser.add_argument("--again", action="store_true", help="ask no reader; write the page again from what it has")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the page is out of date")
    options = parser.parse_args()
    if options.again:
        if options.decoder or options.directory or options.only or options.page or options.check:
            parser.error("--again takes no other option")
        return options
    if not options.directory or bool(options.only) == bool(options.decoder) or options.only and not options.page:
        parser.error("--again is needed, or --directory and either --decoder or --only and --page")
    return options


def chosen(readers, only):
    """Returns the readers with these names. Others are not installed."""
    found = [reader for reader in readers if not only or any(fnmatch.fnmatchcase(reader["name"], name) for name in only)]
    return found or sys.exit(f"results.py: no reader has the name {' or '.join(only)}")


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


class Installer:
    """Installs the readers of npm and of Cargo. Those of PyPI are installed already."""

    def __init__(self, directory):
        self.directory = directory

    def commands(self, readers):
        """Returns for each reader whether it has the batch form, and its command."""
        registries = {reader["registry"] for reader in readers}
        asks = {name: getattr(self, name.lower())() for name in sorted(registries)}
        found = []
        for reader in readers:
            version, command = asks[reader["registry"]]
            installed = version(reader["package"])
            if reader["version"] not in installed:
                raise Missing(f"{reader['package']} {reader['version']} is not installed, but {' and '.join(installed) or 'none'}")
            found.append((True, [*command, reader["adapter"]]))
        return found

    def pypi(self):
        """Readers in this Python."""

        def versions(package):
            try:
                return [importlib.metadata.version(package)]
            except importlib.metadata.PackageNotFoundError as error:
                raise Missing(f"the Python package {package} is not installed: {INSTALL}") from error

        return versions, [sys.executable, "-B", str(READERS / "pypi.py")]

    def npm(self):
        """Readers in Node, beside a copy of their adapter."""
        home = self.directory / "npm"
        home.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json", "npm.js"):
            shutil.copy(READERS / "npm" / name, home)
        run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], home)

        def versions(package):
            path = home / "node_modules" / package / "package.json"
            return [json.loads(path.read_bytes())["version"]] if path.exists() else []

        return versions, ["node", str(home / "npm.js")]

    def cargo(self):
        """Readers in one program."""
        home, target = READERS / "rust", self.directory / "rust"
        run(["cargo", "build", "--locked", "--quiet", "--target-dir", str(target)], home)
        locked = re.findall(r'name = "(.+)"\nversion = "(.+)"', (home / "Cargo.lock").read_text(encoding="utf-8"))
        return lambda package: [version for name, version in locked if name == package], [str(target / "debug/readers")]


def run(command, directory):
    """Runs a command that installs readers."""
    try:
        subprocess.run(command, cwd=directory, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Missing(f"{' '.join(command)} in {directory}: {error}") from error


def ask_all(readers, commands, directory):
    """Returns the score of each reader."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        return list(workers.map(lambda pair: ask(*pair, directory), enumerate(zip(readers, commands, strict=True))))


def ask(index, pair, directory):
    """Returns what run.py says of a reader."""
    reader, (is_batch, command) = pair
    level = "header-only" if reader["kind"] == "header-only" else "full"
    path = directory / f"{index}.json"
    path.unlink(missing_ok=True)
    options = ["--level", level, "--timeout", TIMEOUT, "--json", str(path), *(["--batch"] if is_batch else [])]
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


def page_data(manifest, readers, scores):
    """Returns the data of the page. It has no large vectors: readers are not asked about them."""
    asked = [vector for vector in manifest["vectors"] if vector["level"] != "large"]
    listed = [score["answers"] if finishes(score) else {} for score in scores]
    return {
        "suite": manifest["suite"],
        "date": max(reader["date"] for reader in readers),
        "rules": manifest["rules"],
        "flags": manifest["flags"],
        "readers": [reader_data(reader, score) for reader, score in zip(readers, scores, strict=True)],
        "vectors": [vector_data(vector, [answers.get(vector["id"]) for answers in listed]) for vector in asked],
    }


def finishes(score):
    """Whether a reader neither crashes nor hangs."""
    return not any(score["kinds"].get(kind) for kind in UNNAMED)


def reader_data(reader, score):
    """Returns a reader with its sums. They cannot be counted on the page, where some answers are not listed."""
    rules = score["rules"].values()
    clean = sum(rule["right"] == rule["vectors"] for rule in rules)
    sums = {kind: score["kinds"].get(kind, 0) for kind in scoring.KINDS}
    return {
        "name": f"{reader['registry']} {reader['name']}" if "package" in reader else reader["name"],
        "version": reader["version"],
        "kind": reader["kind"],
        "date": reader["date"],
        "how": reader["how"] if finishes(score) else reader["how"] + KEPT_BACK,
        "sums": {**sums, "rules": [clean, len(rules)]},
    }


def vector_data(vector, answers):
    """Returns a vector with the answers to it."""
    kinds = [answer["kind"] if answer else "not asked" for answer in answers]
    texts = [text(answer) for answer in answers]
    data = vectors.content(vector)
    members = ("id", "file", "verdict", "published", "source", "ours", "rule", "reason", "flags", "level", "code", "at", "length", "twin", "twin_differs")
    return {
        **{member: vector[member] for member in members if member in vector},
        "hex": data[:BYTES].hex(),
        "answers": kinds,
        "texts": texts if any(texts) else None,
    }


def text(answer):
    """Returns what is wrong with an answer."""
    if answer is None or not answer["problem"] or answer["kind"] == "not shown":
        return None
    sentence = answer["problem"]
    if sentence == ACCEPTED:
        return None
    for pattern, replacement in RANDOM:
        sentence = pattern.sub(replacement, sentence)
    sentence = report.cut(sentence)
    return sentence if len(sentence) <= CHARACTERS else f"{sentence[:CHARACTERS]}…"


def page(data):
    """Returns the page with the data, which cannot end the element that it is in."""
    before, after = TEMPLATE.read_text(encoding="utf-8").split(f"{START}{{}}")
    return before + START + json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c") + after


def parts(text):
    """Returns what is before the data of a page, the data, and what is after it."""
    before, rest = text.split(START)
    data, after = rest.split("</script>", 1)
    return before, json.loads(data), after


def again(manifest, text):
    """Returns the data of a page with today's rules, flags and reasons. The vectors must have the same ids, verdicts, twins,
    lengths and first 512 bytes."""
    _, data, _ = parts(text)
    found = [vector_data(vector, []) for vector in manifest["vectors"] if vector["level"] != "large"]
    fixed = lambda vector: [vector.get(member) for member in ("id", "verdict", "twin", "length", "hex")]
    if list(map(fixed, found)) != list(map(fixed, data["vectors"])):
        sys.exit(f"results.py: the vectors are not those that the readers were asked; ask them again: {HOW}")
    kept = [{member: old[member] for member in ("answers", "texts")} for old in data["vectors"]]
    vectors_data = [{**new, **answers} for new, answers in zip(found, kept)]
    return {**data, "rules": manifest["rules"], "flags": manifest["flags"], "vectors": vectors_data}


def lasting(text):
    """Returns a page without what readers say: in some, chance decides which of several errors that is."""
    if START not in text:
        return text
    before, data, after = parts(text)
    return before, {**data, "vectors": [{**vector, "texts": None} for vector in data["vectors"]]}, after


def summary(data, readers):
    """Yields the lines of the summary."""
    codes = len({reader["code"] for reader in readers if "package" in reader})
    yield "# What readers say about the vectors"
    yield ""
    yield f"Written by `{HOW}`; not edited by hand. [RESULTS.html](RESULTS.html) has every answer: who differs where, with"
    yield "the bytes and the reason. Download it and open it in a browser; it needs no network."
    yield ""
    yield f"{len(readers) - 1} readers of {codes} code bases were asked about {len(data['vectors'])} vectors of suite {data['suite']}, all but the"
    yield "`large` ones. *Rules* are those about which every answer is right. *Not shown* are rejections of invalid files whose valid"
    yield "twin is rejected, too. Readers of headers were asked only what the header decides. The name of a reader is that of its package,"
    yield f"with the function where there are two; {READERS.name}/readers.json says how each was asked."
    yield ""
    yield row("reader", "version", "of", "asked on", "rules", *scoring.KINDS)
    yield row(*["---"] * 4, *["---:"] * 7)
    for reader, shown in zip(readers, data["readers"], strict=True):
        sums = shown["sums"]
        name = shown["name"] + (" (header)" if reader["kind"] == "header-only" else "")
        rules = "{} of {}".format(*sums["rules"])
        yield row(name, reader["version"], reader["code"], reader["date"], rules, *(sums[column] for column in scoring.KINDS))
    yield ""
    yield "Crashes and hangs are counted, but the files that cause them are not named: the answers of such a reader are not listed."


def row(*cells):
    """Returns a row of a table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


if __name__ == "__main__":
    main()
