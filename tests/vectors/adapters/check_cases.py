#!/usr/bin/env python3
"""Tests the runner: strict readers, readers of indexes and writers are right about everything, the templates about all but
what their JSON library or their trust lets pass, and what is wrong with others is noticed.

python3 check_cases.py

It runs itself as the strict commands. Standard library only. Public domain (CC0-1.0).
"""

import contextlib
import io
import json
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
SUITE = HERE.parent
sys.path.insert(0, str(SUITE))

import results
from check import MOST_LINES
from runner import answers, asking, report, scoring, strict, vectors

#: For each template the runner's option, and some cases that it must lose.
TEMPLATES = {
    "adapter_index.py": ("--index", {"index-metadata-array", "index-path-up", "index-path-absolute"}),
    "adapter_writer.py": ("--writer", {"writer-refuse-same-name", "writer-refuse-short", "writer-refuse-name-metadata"}),
}
#: What a writer may do after it has written a file, and what is said of it.
SPOILT = {
    "path.unlink()": "accepted, but wrote no file",
    "path.with_name('x').touch()": "left 'x' beside the file",
    "path.write_bytes(path.read_bytes().replace(b'}}', b'} }'))": "accepted, but the file is invalid: ",
    "path.write_bytes(path.read_bytes()[:-1] + b'!')": "accepted, but sha256 of 'a' is ",
    "path.unlink(); path.parent.rmdir()": "accepted, but wrote no file",
    "path.unlink(); path.mkdir()": "accepted, but what it wrote is no file",
    "sys.exit('no')": "bad output: rejected, but left 'model.safetensors'",
    "path.unlink(); path.parent.rmdir(); path.parent.touch()": "bad output: its directory cannot be read: Not a directory",
}
#: The same, where permissions hold.
SPOILT_WITHOUT_ROOT = {
    "path.parent.chmod(0)": "bad output: its directory cannot be read: Permission denied",
    "path.parent.chmod(0o400)": "accepted, but what it wrote cannot be read: Permission denied",
}
#: Command lines for which there is no score, and why.
NO_SCORES = {
    "--index --filter index-no-tensors -- false": "so nothing is scored; index-two-shards: must accept",
    "--writer --filter writer-refuse-dtype -- false": "so nothing is scored; writer-one-tensor: must accept",
    "--index --writer -- false": "not allowed with argument",
}
#: A reader of lines that ends between two files, and closes its input before.
ENDS = "read -r file; exec < /dev/null; echo '{\"tensors\":{}}'"
#: A name that no file can have.
TOO_LONG = "x" * 300
#: A vector, and members of its tensor that are wrong.
VECTOR = {"verdict": "valid", "ours": "accept", "tensors": [{"name": "a", "dtype": "U8", "shape": []}]}
NO_MEMBERS = {"x": None, "name": "a"}
#: Texts of errors, and the byte that they name.
PLACES = {"12": 12, "12\u0663": 12, "\u0663": None, f"{12:020}": 12, f"{12:021}": None}


def main():
    """Checks all."""
    tests = (of_strict_commands, of_strict_reader, of_templates, of_spoilt_writers, of_batches, of_no_scores, of_systems)
    wrong = [sentence for test in (*tests, of_answers, of_reports) for sentence in test()]
    print("\n".join(wrong) or "check_cases.py: all right")
    return 1 if wrong else 0


def of_strict_commands():
    """Yields what the strict commands lose."""
    for how in ("--batch", "--index", "--writer"):
        lost = losses([how], [sys.executable, "-B", __file__, how])
        if lost:
            yield f"strict {how}: {lost}"


def of_strict_reader():
    """Yields what the strict reader accepts although a rule or the published text rejects it."""
    for vector in vectors.load()["vectors"]:
        if vector["verdict"] == "either" and "reject" in (vector["ours"], vector.get("published")):
            with contextlib.suppress(strict.Invalid):
                strict.read(vectors.content(vector))
                yield f"strict: {vector['id']} is accepted"


def of_templates():
    """Yields which templates are too long, or lose what they should not, or do not lose what they should."""
    for name, (how, expected) in TEMPLATES.items():
        if len((HERE / name).read_text(encoding="utf-8").splitlines()) > MOST_LINES:
            yield f"{name}: more than {MOST_LINES} lines"
        lost = losses([how], [sys.executable, "-B", str(HERE / name)])
        others = [f"{case}: {problem}" for case, problem in lost.items() if problem != "must reject, but did accept"]
        if others or not expected <= lost.keys():
            yield f"{name}: {others or expected - lost.keys()}"


def of_spoilt_writers():
    """Yields which of them are not noticed."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    for statement, expected in {**SPOILT, **({} if is_root else SPOILT_WITHOUT_ROOT)}.items():
        lost = losses(["--writer", "--filter", "writer-one-tensor"], [sys.executable, "-B", __file__, "--writer", statement])
        if expected not in str(lost):
            yield f"{statement}: {lost}"


def of_batches():
    """Yields what is said of a reader that does not read its input to the end."""
    said, _ = scored(["--batch", "--filter", "d3"], ["sh", "-c", ENDS])
    if said.stderr or said.returncode != 1:
        yield f"a batch that ends: {said}"


def of_no_scores():
    """Yields which command lines have a score, or another reason not to have one."""
    for words, expected in NO_SCORES.items():
        options, command = words.split(" -- ")
        said, _ = scored(options.split(), [command])
        if said.returncode != 2 or expected not in said.stderr:
            yield f"{words}: {said}"
    for error, expected in (
        (RuntimeError("can't start new thread"), (2, "run.py: can't start new thread\n")),
        (KeyboardInterrupt, (130, "run.py: interrupted\n")),
    ):
        with mock.patch.object(asking, "ask_all", side_effect=error):
            with mock.patch.object(sys, "argv", ["run.py", "--", "false"]), contextlib.redirect_stderr(io.StringIO()) as said:
                code = exit_code(lambda: runpy.run_path(str(SUITE / "run.py"), run_name="__main__"))
        if (code, said.getvalue()) != expected:
            yield f"{error!r}: {code}, {said.getvalue()}"
    for option in (["--check"], ["--page", "x"], ["--only", "x"]):
        with mock.patch.object(sys, "argv", ["results.py", "--again", *option]), contextlib.redirect_stderr(io.StringIO()):
            if exit_code(results.arguments) != 2:
                yield f"results.py --again {option[0]}: accepted"


def exit_code(work):
    """Returns the code with which this ends, or None."""
    try:
        work()
    except SystemExit as end:
        return end.code
    return None


def of_systems():
    """Yields what is wrong about a system that cannot have a file, and about damaged cases."""
    with tempfile.TemporaryDirectory() as place:
        copy = pathlib.Path(place)
        shutil.copytree(SUITE / "runner", copy / "runner")
        shutil.copytree(SUITE / "index", copy / "index")
        shutil.copy(SUITE / "run.py", copy)
        manifest = json.loads((copy / "index/manifest.json").read_bytes())
        control, other = (case for case in manifest["cases"] if case["id"] in ("index-two-shards", "index-no-tensors"))
        other["files"][TOO_LONG] = ""
        for change, patterns, code, expected in (
            ({}, ["index-*-shards", "index-no-tensors"], 0, "1 cases were not asked: this system cannot have their files"),
            ({}, ["index-no-tensors"], 2, "this system cannot have the files of the chosen cases"),
            ({name: "00" for name in control["files"]}, ["index-no-tensors"], 2, "the header is cut off or too long"),
        ):
            control["files"].update(change)
            (copy / "index/manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
            options = ["--index", *(word for pattern in patterns for word in ("--filter", pattern))]
            said, _ = scored(options, [sys.executable, "-B", __file__, "--index"], copy)
            if said.returncode != code or expected not in said.stdout + said.stderr:
                yield f"{expected}: {said}"


def of_answers():
    """Yields which answers are misunderstood."""
    for text, at in PLACES.items():
        found = answers.rejection(f"error[a] at byte {text}").at
        if found != at:
            yield f"byte {text}: {found}"
    for depth, is_right in ((126, True), (127, False)):
        # Brackets in a string do not count.
        output = f'{{"tensors":{{}},"more":{"[" * depth}"[\\"["{"]" * depth}}}'
        if bool(answers.acceptance(output.encode()).table) != is_right:
            yield f"depth {depth}: not {is_right}"
    for member, value in NO_MEMBERS.items():
        table = {"tensors": {"a": {"dtype": "U8", "shape": [], member: value}}}
        if scoring.judge(VECTOR, answers.accepted(table), False)[0] != "wrong":
            yield f"a tensor with {member} is right"


def of_reports():
    """Yields what is wrong with reports."""
    place = report.where({"id": "a-b", "verdict": "valid", "rule": "c-1"})
    if place != "c-1: valid/a-b.safetensors, made by its recipe":
        yield f"the place is {place}"
    _, score = scored(["--index"], [sys.executable, "-B", str(HERE / "adapter_index.py")])
    if score["errors"] != {"all": 0, "code": 0, "at": 0}:
        yield f"cases without codes: {score['errors']}"


def losses(options, command):
    """Returns the problem with each answer that is not right, and what else is."""
    said, score = scored(options, command)
    if said.stderr or not score:
        return {"not scored": said.stderr}
    return {case: answer["problem"] for case, answer in score["answers"].items() if answer["kind"] != "right"}


def scored(options, command, suite=SUITE):
    """Returns what the runner says, with warnings and what it leaves in the directory for temporary files; and the score."""
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(place, "score.json")
        run = [sys.executable, "-B", "-X", "dev", str(suite / "run.py"), *options, "--json", str(path), "--", *command]
        said = subprocess.run(run, capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": temporary})
        said.stderr += "".join(f"left {name}\n" for name in os.listdir(temporary))
        return said, json.loads(path.read_bytes()) if path.exists() else {}


def read_lines():
    """Answers as a reader of files does."""
    for line in sys.stdin:
        try:
            answer = strict.read(pathlib.Path(line.rstrip("\n")).read_bytes())
        except strict.Invalid as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


def read_index(path):
    """Returns the table of a sharded model."""
    index = strict.parse(path.read_bytes())
    strict.need(isinstance(index, strict.Pairs) and strict.are_distinct(index), "not an object")
    members = dict(index)
    map_of_names, about = members.get("weight_map"), members.get("metadata")
    strict.need(isinstance(map_of_names, strict.Pairs) and strict.are_distinct(map_of_names), "no map")
    strict.need(about is None or isinstance(about, strict.Pairs), "the metadata is no object")
    strict.need(all(is_plain(shard) for _, shard in map_of_names), "a shard has no plain name")
    shards = {shard: read_shard(path.with_name(shard))["tensors"] for _, shard in map_of_names}
    strict.need(sum(map(len, shards.values())) == len(map_of_names), "other tensors than the map")
    strict.need(all(name in shards[shard] for name, shard in map_of_names), "a tensor is missing")
    return {"tensors": {name: {**shards[shard][name], "shard": shard} for name, shard in map_of_names}}


def is_plain(name):
    """Whether this is the name of a file in a directory, on all systems."""
    if not isinstance(name, str) or name in ("", ".", "..") or set(name) & set("/\\:\0"):
        return False
    return not re.fullmatch("(CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9])(\\..*)?", name, re.IGNORECASE)


def read_shard(path):
    """Returns the table of a shard."""
    try:
        return strict.read(path.read_bytes())
    except OSError as error:
        raise strict.Invalid(f"{path.name}: {error.strerror}") from error


def write(path, tensors, metadata):
    """Writes a file that can be read again as what it should be; otherwise none."""
    header, data = strict.Pairs(), b""
    for tensor in tensors:
        begin, data = len(data), data + bytes.fromhex(tensor["data"])
        entry = {"dtype": tensor["dtype"], "shape": tensor["shape"], "data_offsets": [begin, len(data)]}
        header.append((tensor["name"], entry))
    strict.need(strict.METADATA not in dict(header), "the name of the metadata")
    if metadata is not None:
        strict.need(strict.are_distinct(metadata), "a duplicate key")
        header.append((strict.METADATA, dict(metadata)))
    text = ",".join(f"{json.dumps(name)}:{json.dumps(entry)}" for name, entry in header)
    file = f"{{{text}}}".encode()
    file = len(file).to_bytes(8, "little") + file + data
    strict.read(file)
    path.write_bytes(file)


def run(how, *words):
    """Is one of the strict commands; a writer may get a statement that it executes afterwards."""
    try:
        path = pathlib.Path(words[-1]) if words else None
        if how == "--batch":
            read_lines()
        elif how == "--index":
            print(json.dumps(read_index(path)))
        else:
            case = json.loads(sys.stdin.readline())
            write(path, case["tensors"], case["metadata"])
            exec("".join(words[:-1]), {"path": path, "sys": sys})  # pylint: disable=exec-used
    except strict.Invalid as error:
        sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]) if sys.argv[1:] else main())
