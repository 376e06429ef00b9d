#!/usr/bin/env python3
"""Writes RESULTS.md: which reader says what about the vectors, and who disagrees where.

What the Rust releases of the reference say is in the manifest, where a test compares it with the crates themselves. The
others are asked by `safetensors conform`, which says what is wrong with their answers; the Python package and this
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
#: These are not asked about large files: one takes minutes for them.
OTHERS = ("gguf", "tinygrad")
#: A reader that answers from a folder of reader.py.
REPLAY = 'answer=$0/$(sha256sum | cut -c1-64); test -e "$answer" || exit 70; test -s "$answer" && exec cat "$answer"'
UNASKED = {"verdict": None, "problem": None}
INSTALL = "pip install --no-deps -r tests/vectors/requirements.txt"
#: The page in the repository says only this about how to make it anew.
HOW = "python3 tests/vectors/results.py --decoder target/release/safetensors"
RIGHT = {"valid": ("accept",), "invalid": ("reject",), "either": ("accept", "reject")}


def main():
    """Writes the page, or compares it with the one that is there."""
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
    """The command line."""
    parser = argparse.ArgumentParser(description="Writes RESULTS.md from the answers of all readers.")
    parser.add_argument("--decoder", required=True, type=pathlib.Path, help="this project's program `safetensors`")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the page is out of date")
    return parser.parse_args()


def installed_versions():
    """The packages of requirements.txt, with their versions, which must be the ones that are installed."""
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
    """For each reader, in the order of the columns, the answer to each vector by id."""
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
    """The answers of a reader in Python, which takes long to start: it answers into a folder, from which it is asked."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-B", str(HERE / "reader.py"), name, folder, *large], check=True)
        return ask(program, *large, "--", "sh", "-c", REPLAY, folder)


def ask(program, *options):
    """The answers of a reader: `safetensors conform` asks it and judges them."""
    conform = [program, "conform", "--json", "--vectors", str(HERE), *options]
    try:
        score = json.loads(subprocess.run(conform, stdout=subprocess.PIPE, check=False).stdout)
    except (OSError, ValueError) as error:
        sys.exit(f"results.py: {program}: {error}")
    if "answers" not in score:
        sys.exit(f"results.py: {score['message']}")
    return score["answers"]


def python_name(versions, function):
    """The column of a function of the Python package."""
    return f"Python {versions['safetensors']} {function}"


def released(manifest, version):
    """What the manifest says that a Rust release says."""
    return {vector["id"]: from_manifest(vector, vector["reference"][version]) for vector in manifest["vectors"]}


def from_manifest(vector, said):
    """`ok`, `panic`, a class, or a list of classes that come at random. What was read is not in the manifest."""
    verdict = {"ok": "accept", "panic": "crash"}.get(str(said), "reject")
    return {"verdict": verdict, "problem": None if verdict in RIGHT[vector["verdict"]] else verdict}


def surprises(all_vectors, readers, versions):
    """What must not be: the Python package that differs from the Rust crate of the same release, or this
    project's decoder that is not strictly right."""
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
    """Readers that are right about no sound file."""
    sound = [vector["id"] for vector in all_vectors if vector["verdict"] == "valid"]
    return [name for name, said in readers.items() if all(said[vector]["verdict"] != "accept" for vector in sound)]


def page_lines(manifest, readers):
    """The whole page."""
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
    """A row of a table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def head(*cells):
    """The first two rows of a table."""
    return [row(*cells), "|" + " --- |" * len(cells)]


def counts(every, readers):
    """How often each reader is right."""
    total = collections.Counter(vector["verdict"] for vector in every)
    yield "## Right answers"
    yield ""
    yield from head(
        "reader",
        f"valid ({total['valid']})",
        f"invalid ({total['invalid']})",
        f"either ({total['either']}): accepted, refused",
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
    """How many answers about the vectors with this verdict are right; of how many, if not all were asked."""
    asked = [vector for vector in asked if vector["verdict"] == verdict]
    right = sum(not answers[vector["id"]]["problem"] for vector in asked)
    return right if len(asked) == total else f"{right} of {len(asked)}"


def by_flag(manifest, readers):
    """How often each reader falls for each known class of bugs."""
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
    """Every vector about which a reader is wrong."""
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
    """What is wrong with the answer, in a word or two."""
    if not answer["problem"]:
        return ""
    return "wrong table" if answer["verdict"] in RIGHT[vector["verdict"]] else word(answer)


def word(answer):
    """The answer in a word."""
    return {"accept": "accepts", "reject": "refuses", "crash": "crashes", None: ""}[answer["verdict"]]


def either(every, readers):
    """The listed deviations, where readers may differ."""
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
    """The vector's id, with the file behind it if it is kept."""
    return f"[{vector['id']}]({vector['file']})" if "file" in vector else vector["id"]


if __name__ == "__main__":
    main()
