#!/usr/bin/env python3
"""Scores readers of indexes, writers and the strict reader that judges them, as a test of the runner: strict ones are
right about everything, and the templates about all but what their JSON library or their trust lets pass.

python3 check_cases.py

It runs itself as the strict commands. Standard library only. Public domain (CC0-1.0).
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from runner import strict

MOST_LINES = 30

#: For each command of a template: what the runner is told, and some of what it must lose.
TEMPLATES = {
    "adapter_index.py": ("--index", {"index-bom", "index-nan", "index-path-up", "index-path-absolute"}),
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
}


def main():
    """Checks all."""
    wrong = [*of_strict_commands(), *of_templates(), *of_spoilt_writers()]
    print("\n".join(wrong) or "check_cases.py: all right")
    return 1 if wrong else 0


def of_strict_commands():
    """Yields what the strict commands lose."""
    for how in ("--batch", "--index", "--writer"):
        lost = losses([how], [sys.executable, "-B", __file__, how])
        if lost:
            yield f"strict {how}: {lost}"


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
    for statement, expected in SPOILT.items():
        lost = losses(["--writer", "--filter", "writer-one-tensor"], [sys.executable, "-B", __file__, "--writer", statement])
        if expected not in str(lost):
            yield f"{statement}: {lost}"


def losses(options, command):
    """Returns the problem with each answer that is not right."""
    with tempfile.TemporaryDirectory() as place:
        score = pathlib.Path(place, "score.json")
        run = [sys.executable, "-B", str(HERE.parent / "run.py"), *options, "--json", str(score), "--", *command]
        said = subprocess.run(run, capture_output=True, text=True, check=False)
        if not score.exists():
            return {"not scored": said.stderr}
        answers = json.loads(score.read_text(encoding="utf-8"))["answers"]
        return {case: answer["problem"] for case, answer in answers.items() if answer["kind"] != "right"}


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
