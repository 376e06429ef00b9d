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
        file=$(mktemp); cat > "$file"
        read_it() { "$0" decode "$file"; }
        sum=$(cksum < "$file"); case $((${sum%% *} % 17)) in
        0) echo broken >&2; exit 70;;
        1) touch left; kill -9 $$;;
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
        12) read_it | sed 's/"shape":\\[\\([0-9]*\\)\\]/"shape":["\\1"]/g';;
        13) echo '==1==ERROR: AddressSanitizer: heap-buffer-overflow' >&2; exit 1;;
        14) printf 'Traceback (most recent call last):\\n  File "a.py"\\nKeyError: 1\\n' >&2; exit 1;;
        *) read_it;;
        esac""",
    # None of it follows the protocol, but for one answer.
    "odd in turns": """
        sum=$(cksum); case $((${sum%% *} % 10)) in
        0) exec yes;;
        1) printf '\\npanic: no such index\\n\\nmain.go:12\\n' >&2; exit 2;;
        2) yes | head -c 1000000 | tr -d '\\n' >&2; exit 3;;
        3) echo '{"tensors":{},"more":NaN}';;
        4) echo '[1]';;
        5) echo 'hello {';;
        6) printf '\\377\\376{}';;
        7) echo '{"tensors":{},"more":"\\\\ud800"}';;
        8) echo '{"tensors":{"a":{"dtype":"U8","shape":[-0]}}}';;
        *) ;;
        esac""",
    # It is started once.
    "line by line": """
        while read -r file; do "$0" decode "$file" 2> said || printf '{"error":"%s"}\\n' "$(head -n 1 said | tr '"\\\\' ..)"; done""",
    "lines in turns": """
        while read -r file; do
        sum=$(cksum < "$file"); case $((${sum%% *} % 11)) in
        0) exit 1;;
        1) kill -9 $$;;
        2) echo nonsense;;
        3) echo '{"error":1}';;
        4) echo '{"tensors":{},"file":"other"}';;
        5) echo;;
        6) echo '{"tensors":[]}';;
        7) rm "$file"; exit 0;;
        8) echo 'main.rs:1: index out of bounds' >&2; exit 101;;
        *) "$0" decode "$file" 2> said || printf '{"error":"%s"}\\n' "$(head -n 1 said | tr '"\\\\' ..)";;
        esac; done""",
    "hangs": "while read -r file; do case $file in *bracket*) echo '{\"tensors\":{}}';; *) sleep 60 & wait;; esac; done",
    "answers at the end": "cat > /dev/null; echo '{\"error\":\"\"}'",
}

#: The readers that are scored, with options.
SCORED = [
    ("right", "--strict", "--level", "large"),
    ("accepts all",),
    ("rejects all", "--strict"),
    ("wrong in turns",),
    ("wrong in turns", "--strict", "--level", "header-only"),
    ("odd in turns", "--filter", "d*", "--exclude", "depth-*"),
    ("line by line", "--batch", "--strict"),
    ("lines in turns", "--batch", "--exclude", "metadata-1"),
    ("hangs", "--batch", "--timeout", "1", "--filter", "d3-*"),
    ("answers at the end", "--batch", "--timeout", "1", "--level", "core"),
    ("right", "--filter", "no-such-id"),
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
    return results(scored.returncode, score, score.get("message"))


def theirs(command):
    """Returns the script's results."""
    with tempfile.NamedTemporaryFile() as file:
        ask = [sys.executable, "-B", str(HERE / "run.py"), "--json", file.name, *command]
        shown = subprocess.run(ask, capture_output=True, text=True, check=False)
        score = json.load(file) if shown.returncode < 2 else {}
        return results(shown.returncode, score, shown.stderr.removeprefix("run.py: ").strip())


def results(code, score, sentence):
    """Returns what must be the same: all numbers, and the answer to each vector. Values of tables are spelled
    as each language does."""
    if "answers" not in score:
        return {"exit code": code, "sentence": sentence.replace("'", '"')}
    answers = score.pop("answers")
    for answer in answers.values():
        if (answer["problem"] or "").endswith((" was read", " were read")):
            answer["problem"] = "another table"
    return {"exit code": code} | score | answers


def differences(reader, mine, other):
    """Reports each difference, and returns their number."""
    found = [name for name in mine | other if mine.get(name) != other.get(name)]
    for name in found:
        print(f"{reader}: {name}: {mine.get(name)}, {other.get(name)}")
    return len(found)


if __name__ == "__main__":
    sys.exit(main())
