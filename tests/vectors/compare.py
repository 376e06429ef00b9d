#!/usr/bin/env python3
"""Compares `safetensors conform` with `tests/vectors/run.py`, which was there before it: both score the same readers,
and must say the same of every vector.

python3 conform.py -- PROGRAM

PROGRAM is the command `safetensors`. Ends non-zero on a difference. Standard library only; needs a Unix shell.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

RUN = pathlib.Path(__file__).resolve().parents[3] / "tests/vectors/run.py"

#: Readers that are right, wrong in every way, or dead; `$0` is the program.
READERS = {
    "right": 'exec "$0" decode',
    "refuses all": "exit 1",
    "refuses with a code": "echo 'error[json.syntax] at byte 8: so it goes' >&2; exit 1",
    "crashes": "echo broken >&2; exit 70",
    "killed": "kill -9 $$",
    "takes all": """echo '{"tensors":{},"metadata":null}'""",
    "other dtypes": """"$0" decode | sed 's/"U8"/"U16"/g'""",
    "floats for integers": """"$0" decode | sed 's/"shape":\\[2\\]/"shape":[2.0]/g'""",
    "no metadata": """"$0" decode | sed 's/"metadata":{.*}}/"metadata":null}/'""",
    "more members": """"$0" decode | sed 's/"dtype":/"more":1,"dtype":/g'""",
}


def main():
    """Asks both about all readers."""
    words = [word for word in sys.argv[1:] if word != "--"]
    if len(words) != 1:
        sys.exit("usage: conform.py -- PROGRAM")
    program = str(pathlib.Path(words[0]).resolve())
    wrong = 0
    for name, reader in READERS.items():
        for options in ([], ["--strict", "--filter", "d[!a-z]-*"]):
            command = [*options, "--", "sh", "-c", reader, program]
            wrong += differences(f"{name} {' '.join(options)}".strip(), ours(program, command), theirs(command))
    print(f"conform.py: {len(READERS)} readers, " + ("the same scores" if not wrong else f"{wrong} differences"))
    return 1 if wrong else 0


def ours(program, command):
    """What the program says."""
    scored = subprocess.run([program, "conform", "--json", *command], capture_output=True, text=True, check=False)
    score = json.loads(scored.stdout)
    numbers = [[area, str(count["right"]), str(count["vectors"])] for area, count in score["areas"].items()]
    numbers.append(["all", str(score["right"]), str(score["vectors"])])
    return scored.returncode, numbers, answers(score)


def theirs(command):
    """What the script says."""
    with tempfile.NamedTemporaryFile() as file:
        ask = [sys.executable, "-B", str(RUN), "--json", file.name, *command]
        shown = subprocess.run(ask, capture_output=True, text=True, check=False)
        return shown.returncode, numbers(shown.stdout), answers(json.load(file))


def numbers(text):
    """An area, how many are right, and of how many."""
    lines = [line.replace(" of ", " ").split() for line in text.splitlines()]
    end = next(index for index, line in enumerate(lines) if line[0] == "all")
    return lines[: end + 1]


def answers(score):
    """Of every vector: what was said, and whether that is right."""
    return {
        vector: (answer["verdict"], answer["code"], answer["at"], answer["problem"] is None)
        for vector, answer in score["answers"].items()
    }


def differences(reader, mine, other):
    """How many there are; says each."""
    found = [f"exit codes and numbers: {mine[:2]}, {other[:2]}"] if mine[:2] != other[:2] else []
    if list(mine[2]) != list(other[2]):
        found.append("not the same vectors")
    found += [f"{vector}: {said}, {other[2].get(vector)}" for vector, said in mine[2].items() if other[2].get(vector) != said]
    for difference in found:
        print(f"{reader}: {difference}")
    return len(found)


if __name__ == "__main__":
    sys.exit(main())
