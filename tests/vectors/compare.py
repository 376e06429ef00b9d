#!/usr/bin/env python3
"""Compares `run.py` with `safetensors conform`: both score the same readers, with the same result for every vector.

python3 compare.py PROGRAM

PROGRAM is the command `safetensors`. Ends non-zero on a difference. Standard library only; needs a Unix shell. Public
domain (CC0-1.0).
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

#: Readers in the language of the shell; `$0` is the program.
READERS = {
    "right": 'exec "$0" decode',
    "accepts all": """echo '{"tensors":{},"metadata":null}'""",
    "rejects all": "echo 'error[json.syntax] at byte 8: so it goes' >&2; exit 1",
    # Its answer depends on the checksum of the file.
    "wrong in turns": """
        file=$(mktemp); trap 'rm "$file"' EXIT; cat > "$file"
        read_it() { "$0" decode "$file"; }
        sum=$(cksum < "$file"); case $((${sum%% *} % 13)) in
        0) echo broken >&2; exit 70;;
        1) rm "$file"; kill -9 $$;;
        2) echo nonsense;;
        3) echo '{"tensors":[],"metadata":null}';;
        4) echo '{"tensors":{"a":{"dtype":"U8"}},"metadata":null}';;
        5) echo no; exit 1;;
        6) read_it | sed 's/"U8"/"U16"/g';;
        7) read_it | sed 's/"shape":\\[\\([0-9]*\\)\\]/"shape":[\\1.0]/g';;
        8) read_it | sed 's/"metadata":{.*}}/"metadata":null}/';;
        9) read_it | sed 's/"dtype":/"more":1,"dtype":/g';;
        10) read_it | sed 's/,"metadata":.*}/}/; s/"data_offsets":\\[[0-9,]*\\],//g';;
        11) read_it | sed 's/"sha256":"./"sha256":"x/g';;
        *) read_it;;
        esac""",
    # None of it follows the protocol.
    "odd in turns": """
        sum=$(cksum); case $((${sum%% *} % 8)) in
        0) exec yes;;
        1) printf '\\npanic: no such index\\n\\nmain.go:12\\n' >&2; exit 2;;
        2) yes | head -c 1000000 | tr -d '\\n' >&2; exit 3;;
        3) echo '{"tensors":{},"more":NaN}';;
        4) echo '[1]';;
        5) echo 'hello {';;
        6) printf '\\377\\376{}';;
        *) ;;
        esac""",
}

#: The readers that are scored, with options.
SCORED = [
    ("right", "--strict"),
    ("accepts all",),
    ("rejects all", "--strict"),
    ("wrong in turns",),
    ("wrong in turns", "--strict"),
    ("odd in turns", "--filter", "d*"),
]


def main():
    """Asks both about all readers."""
    if len(sys.argv) != 2:
        sys.exit("usage: compare.py PROGRAM")
    program = str(pathlib.Path(sys.argv[1]).resolve())
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        commands = [[*options, "--", "sh", "-c", READERS[name], program] for name, *options in SCORED]
        scores = zip(workers.map(ours, [program] * len(commands), commands), workers.map(theirs, commands))
        for reader, (mine, other) in zip(SCORED, scores):
            wrong += differences(" ".join(reader), mine, other)
    print(f"compare.py: {len(SCORED)} scores, " + ("the same" if not wrong else f"{wrong} differences"))
    return 1 if wrong else 0


def ours(program, command):
    """Returns the program's results."""
    conform = [program, "conform", "--json", "--vectors", str(HERE), *command]
    scored = subprocess.run(conform, capture_output=True, text=True, check=False)
    score = json.loads(scored.stdout)
    numbers = [[area, str(count["right"]), str(count["vectors"])] for area, count in score["areas"].items()]
    numbers.append(["all", str(score["right"]), str(score["vectors"])])
    numbers.append([str(score["errors"][count]) for count in ("all", "code", "at")])
    numbers.append([str(score["left_out"])])
    return {"exit code": scored.returncode, "numbers": numbers} | answers(score)


def theirs(command):
    """Returns the script's results."""
    with tempfile.NamedTemporaryFile() as file:
        ask = [sys.executable, "-B", str(HERE / "run.py"), "--json", file.name, *command]
        shown = subprocess.run(ask, capture_output=True, text=True, check=False)
        return {"exit code": shown.returncode, "numbers": numbers(shown.stdout)} | answers(json.load(file))


def numbers(text):
    """Returns the right answers and the total of an area; then three counts of errors, one of incomplete tables."""
    lines = [line.replace(" of ", " ").split() for line in text.splitlines()]
    end = next(index for index, line in enumerate(lines) if line[0] == "all")
    left_out = re.search(r"^(\d+) of \d+ tables leave out", text, re.MULTILINE)
    return [*lines[: end + 1], re.findall(r"\d+", " ".join(lines[end + 1])), [left_out[1] if left_out else "0"]]


def answers(score):
    """Returns for every vector the answer and whether it is right; for a crash also how it is told."""
    return {
        vector: (
            answer["verdict"],
            answer["code"],
            answer["at"],
            answer["problem"] if answer["verdict"] == "crash" else answer["problem"] is None,
        )
        for vector, answer in score["answers"].items()
    }


def differences(reader, mine, other):
    """Reports each difference, and returns their number."""
    found = [name for name in mine | other if mine.get(name) != other.get(name)]
    for name in found:
        print(f"{reader}: {name}: {mine.get(name)}, {other.get(name)}")
    return len(found)


if __name__ == "__main__":
    sys.exit(main())
