#!/usr/bin/env python3
"""Writes RESULTS.md: the answers of all readers about the vectors, and where they differ.

The answers of the Rust releases of the reference are in the manifest; a test compares them with the crates. The other
readers are run by `safetensors conform`, which scores their answers. The Python package must match the Rust crate, and this
project's decoder must be right about every vector. Public domain (CC0-1.0).
"""

import argparse
import collections
import concurrent.futures
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE / "RESULTS.md"
OURS = "safetensors decode"
PYTHON = ("deserialize", "safe_open")
#: These are not run on large files, each of which takes them minutes.
OTHERS = ("gguf", "tinygrad")
#: A reader that answers from a directory of reader.py.
REPLAY = 'answer=$0/$(sha256sum | cut -c1-64); test -e "$answer" || exit 70; test -s "$answer" && exec cat "$answer"'
UNASKED = {"verdict": None, "problem": None}
INSTALL = "pip install --no-deps -r tests/vectors/requirements.txt"
#: The only hint on the page about how to generate it.
HOW = "python3 tests/vectors/results.py --decoder target/release/safetensors"
RIGHT = {"valid": ("accept",), "invalid": ("reject",), "either": ("accept", "reject")}


def main():
    """Writes the page, or compares it with the existing one."""
    options = arguments()
    manifest = json.loads((HERE / "manifest.json").read_bytes())
    versions = installed_versions()
    readers = ask_all(manifest, versions, str(options.decoder))
    wrong = surprises(manifest["vectors"], readers, versions)
    if wrong:
        sys.exit("\n".join(wrong))
    page = "\n".join(page_lines(manifest, readers)) + "\n"
    if not options.check:
        PAGE.write_text(page, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        sys.exit(f"{PAGE.name} is not what the readers say today; make it anew: {HOW}")


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description="Writes RESULTS.md from the answers of all readers.")
    parser.add_argument("--decoder", required=True, type=pathlib.Path, help="this project's program `safetensors`")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the page is out of date")
    return parser.parse_args()


def installed_versions():
    """Returns the packages of requirements.txt with their versions, which must be installed."""
    lines = (HERE / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = dict(line.split("==") for line in lines if "==" in line)
    for name, version in wanted.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            sys.exit(f"results.py: the Python package {name} is not installed: {INSTALL}")
        if found != version:
            sys.exit(f"results.py: the Python package {name} is {found}, not {version}: {INSTALL}")
    return wanted


def ask_all(manifest, versions, program):
    """Returns for each reader, in the order of the columns, the answer to each vector by id."""
    unasked = dict.fromkeys((vector["id"] for vector in manifest["vectors"]), UNASKED)
    readers = {f"Rust {version}": released(manifest, version) for version in manifest["references"]}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        others = [workers.submit(ask_python, program, name) for name in OTHERS]
        python = [workers.submit(ask_python, program, name, "--large") for name in PYTHON]
        ours = workers.submit(ask, program, "--large", "--strict", "--", program, "decode")
        readers |= {python_name(versions, name): asked.result() for name, asked in zip(PYTHON, python)}
        readers |= {f"{name} {versions[name]}": unasked | asked.result() for name, asked in zip(OTHERS, others)}
        readers[OURS] = ours.result()
    return readers


def ask_python(program, name, *large):
    """Returns the answers of a Python reader, which starts slowly: it writes all answers to a directory first."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.executable, "-B", str(HERE / "reader.py"), name, directory, *large], check=True)
        return ask(program, *large, "--", "sh", "-c", REPLAY, directory)


def ask(program, *options):
    """Returns the answers of a reader; `safetensors conform` runs and scores it."""
    conform = [program, "conform", "--json", "--vectors", str(HERE), *options]
    try:
        score = json.loads(subprocess.run(conform, stdout=subprocess.PIPE, check=False).stdout)
    except (OSError, ValueError) as error:
        sys.exit(f"results.py: {program}: {error}")
    if "answers" not in score:
        sys.exit(f"results.py: {score['message']}")
    return score["answers"]


def python_name(versions, function):
    """Returns the column of a function of the Python package."""
    return f"Python {versions['safetensors']} {function}"


def released(manifest, version):
    """Returns the answers of a Rust release, as listed in the manifest."""
    return {vector["id"]: from_manifest(vector, vector["reference"][version]) for vector in manifest["vectors"]}


def from_manifest(vector, said):
    """Converts `ok`, `panic`, a class, or a list of random classes. The manifest does not have the table."""
    verdict = {"ok": "accept", "panic": "crash"}.get(str(said), "reject")
    return {"verdict": verdict, "problem": None if verdict in RIGHT[vector["verdict"]] else verdict}


def surprises(all_vectors, readers, versions):
    """Returns unexpected results: the Python package differs from the Rust crate of the same release, or this
    project's decoder is not strictly right."""
    wrong = [f"{name} takes no sound file at all: it was not asked properly" for name in useless(all_vectors, readers)]
    for vector in all_vectors:
        crate = readers[f"Rust {versions['safetensors']}"][vector["id"]]
        for name in (python_name(versions, function) for function in PYTHON):
            answer = readers[name][vector["id"]]
            if answer["verdict"] != crate["verdict"] or answer["problem"]:
                said = f"{name}: {answer['verdict']}, the crate: {crate['verdict']}"
                wrong.append(f"{vector['id']}: {said}; {answer['problem']}")
        ours = readers[OURS][vector["id"]]["problem"]
        if ours:
            wrong.append(f"{vector['id']}: {OURS}: {ours}")
    return wrong


def useless(all_vectors, readers):
    """Returns the readers that are right about no valid file."""
    sound = [vector["id"] for vector in all_vectors if vector["verdict"] == "valid"]
    return [name for name, said in readers.items() if all(said[vector]["verdict"] != "accept" for vector in sound)]


def page_lines(manifest, readers):
    """Yields the entire page."""
    every = manifest["vectors"]
    large = sum(bool(vector.get("large")) for vector in every)
    yield "# Who says what about the vectors"
    yield ""
    yield f"Made by `{HOW}` from {len(every)} vectors; not edited by hand."
    yield "*Rust* is the crate `safetensors`, the reference, in five releases. *Python* is the package of the same name, once"
    yield "through `deserialize` and once through `safe_open`. *gguf* is the reader in llama.cpp's converter, *tinygrad* that of"
    yield "the framework; neither shares code with the reference, and neither claims to prove a file sound: some of the files"
    yield f"that they take here fail later, when values are read. These two are not asked about the {large} vectors that are"
    yield f"`large`, for one of them takes minutes for those. *{OURS}* is this project's reader."
    yield ""
    yield from counts(every, readers)
    yield from by_flag(manifest, readers)
    yield from disagreements(every, readers)
    yield from either(every, readers)


def row(*cells):
    """Returns a row of a table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def head(*cells):
    """Returns the first two rows of a table."""
    return [row(*cells), "|" + " --- |" * len(cells)]


def counts(every, readers):
    """Yields how often each reader is right."""
    total = collections.Counter(vector["verdict"] for vector in every)
    yield "## Right answers"
    yield ""
    yield from head(
        "reader",
        f"valid ({total['valid']})",
        f"invalid ({total['invalid']})",
        f"either ({total['either']}): accepted, rejected",
        "crashes",
    )
    for name, answers in readers.items():
        asked = [vector for vector in every if answers[vector["id"]] is not UNASKED]
        right = [score(asked, answers, verdict, total[verdict]) for verdict in ("valid", "invalid")]
        free = collections.Counter(answers[v["id"]]["verdict"] for v in asked if v["verdict"] == "either")
        crashes = sum(answer["verdict"] == "crash" for answer in answers.values())
        yield row(name, *right, f"{free['accept']}, {free['reject']}", crashes)
    yield ""


def score(asked, answers, verdict, total):
    """Returns how many answers to the vectors with this verdict are right, and of how many if not all were asked."""
    asked = [vector for vector in asked if vector["verdict"] == verdict]
    right = sum(not answers[vector["id"]]["problem"] for vector in asked)
    return right if len(asked) == total else f"{right} of {len(asked)}"


def by_flag(manifest, readers):
    """Yields how often each reader is wrong, by known class of bugs."""
    flags = {}
    for flag in manifest["flags"]:
        flagged = [v for v in manifest["vectors"] if flag in v["flags"]]
        wrong = [sum(bool(answers[v["id"]]["problem"]) for v in flagged) for answers in readers.values()]
        if any(wrong):
            flags[flag] = row(f"{flag} ({len(flagged)})", *wrong)
    yield "## Wrong answers by class of bugs"
    yield ""
    yield from head("flag", *readers)
    yield from flags.values()
    yield ""


def disagreements(every, readers):
    """Yields every vector about which a reader is wrong."""
    yield "## Where a reader is wrong"
    yield ""
    yield "An empty cell is a right answer, or none."
    yield ""
    yield from head("vector", "flags", *readers)
    for vector in every:
        wrong = [wrong_word(vector, answers[vector["id"]]) for answers in readers.values()]
        if any(wrong):
            yield row(link(vector), ", ".join(vector["flags"]), *wrong)
    yield ""


def wrong_word(vector, answer):
    """Returns the error in a word or two."""
    if not answer["problem"]:
        return ""
    return "wrong table" if answer["verdict"] in RIGHT[vector["verdict"]] else word(answer)


def word(answer):
    """Returns the answer in a word."""
    return {"accept": "accepts", "reject": "rejects", "crash": "crashes", None: ""}[answer["verdict"]]


def either(every, readers):
    """Yields the listed deviations, where readers may differ."""
    yield "## Where readers may differ"
    yield ""
    yield "The deviations are listed in [RULES.md](RULES.md)."
    yield ""
    yield from head("vector", "deviation", *readers)
    for vector in every:
        if vector["verdict"] == "either":
            said = (word(answers[vector["id"]]) for answers in readers.values())
            yield row(link(vector), vector.get("deviation", ""), *said)


def link(vector):
    """Returns the vector's id, with a link to the file if it is stored."""
    return f"[{vector['id']}]({vector['file']})" if "file" in vector else vector["id"]


if __name__ == "__main__":
    main()
