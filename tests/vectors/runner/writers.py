"""What a writer writes: it gets the tensors and a path, and the file is read back."""

import hashlib
import json
import os
import stat

from . import answers, process, scoring, single, strict, vectors

#: The cases need far less.
LONGEST_FILE = 1 << 20
#: A plain case, without which no rejection shows anything.
CONTROL = "writer-one-tensor"
#: The exit code of a writer whose types cannot express a case.
CANNOT_EXPRESS = 77


def vector(case):
    """Returns a case with a verdict: whether it must be written."""
    verdict = {"verdict": "invalid", "ours": "reject", "twin": CONTROL}
    if case["must"] == "write":
        verdict = {"verdict": "valid", "ours": "accept"}
    given = {key: case[key] for key in ("tensors", "metadata")}
    return {**{key: case[key] for key in ("id", "reason", "flags")}, **verdict, "given": given}


def ask(command, case, timeout, stop):
    """Returns the answer about one case."""
    with vectors.empty_directory() as place:
        path = place / "model.safetensors"
        line = json.dumps(case["given"]).encode() + b"\n"
        writer = process.Process([*command, str(path)], process.most_output(0))
        return judged(single.run(writer, line, timeout, stop, of_process), case["given"], path)


def of_process(code, said, words):
    """Returns the answer of a process, as of a reader; a case that it cannot express is not asked."""
    if code == CANNOT_EXPRESS:
        return answers.Answer(answers.NOT_ASKED, text=f"the writer cannot express them (exit code {code})")
    return answers.of_process(code, said, words)


def judged(answer, given, path):
    """Returns the answer with regard to what is in the directory."""
    if answer.verdict not in ("accept", "reject", answers.NOT_ASKED):
        return answer
    try:
        left = sorted(os.listdir(path.parent))
    except FileNotFoundError:
        left = []
    except OSError as error:
        return answers.Answer("bad output", text=f"its directory cannot be read: {error.strerror}")
    if answer.verdict != "accept":
        how = "rejected" if answer.verdict == "reject" else answer.verdict
        return answers.Answer("bad output", text=f"{how}, but left {left[0]!r}") if left else answer
    why = problem(given, path, left)
    # What it prints is of no interest: the file is the output.
    return answers.Answer("accept", text=why) if why else answers.Answer("accept", table={"tensors": {}})


def problem(given, path, left):
    """Returns what is wrong with the written file, as a sentence."""
    if path.name not in left:
        return "wrote no file"
    if len(left) > 1:
        return f"left {[name for name in left if name != path.name][0]!r} beside the file"
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST_FILE:
            return f"what it wrote is no file of at most {LONGEST_FILE} bytes"
        table = strict.read(path.read_bytes())
    except OSError as error:
        return f"what it wrote cannot be read: {error.strerror}"
    except strict.Invalid as error:
        return f"the file is invalid: {error}"
    for tensor in table["tensors"].values():
        del tensor["data_offsets"]  # the order is free
    return scoring.table_problem(expected(given), table)


def expected(given):
    """Returns what the file must have."""
    digest = lambda tensor: hashlib.sha256(bytes.fromhex(tensor["data"])).hexdigest()
    rows = [{**tensor, "sha256": digest(tensor)} for tensor in given["tensors"]]
    pairs = given["metadata"]
    return {"tensors": rows, "metadata": None if pairs is None else dict(pairs)}
