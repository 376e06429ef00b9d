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
import pty
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
        file=$(mktemp); cat > "$file"
        read_it() { "$0" decode < "$file"; }
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
        9) read_it | sed 's/"dtype":/"more":null,"dtype":/g';;
        10) read_it | sed 's/,"metadata":.*}/}/; s/"data_offsets":\\[[0-9,]*\\],//g';;
        11) read_it | sed 's/"sha256":"./"sha256":"x/g';;
        12) read_it | sed 's/"shape":\\[\\([0-9]*\\)\\]/"shape":["\\1"]/g';;
        13) echo '==1==ERROR: AddressSanitizer: heap-buffer-overflow' >&2; exit 1;;
        14) printf 'Traceback (most recent call last):\\n  File "a.py"\\nKeyError: 1\\n' >&2; exit 1;;
        *) read_it;;
        esac""",
    # Much of it does not follow the protocol.
    "odd in turns": """
        file=$(mktemp); cat > "$file"
        nested() { printf '{"tensors":{},"more":'; printf '[%.0s' $(seq "$1"); printf ']%.0s' $(seq "$1"); echo '}'; }
        sum=$(cksum < "$file"); case $((${sum%% *} % 14)) in
        0) exec yes;;
        1) printf '\\npanic: no such index\\n\\nmain.go:12\\n' >&2; exit 2;;
        2) yes | head -c 1000000 | tr -d '\\n' >&2; exit 3;;
        3) echo '{"tensors":{},"more":NaN}';;
        4) echo '[1]';;
        5) echo 'hello {';;
        6) printf '\\377\\376{}';;
        7) echo '{"tensors":{},"more":"\\\\ud800"}';;
        8) echo '{"tensors":{"a":{"dtype":"U8","shape":[-0]}}}';;
        9) echo '{"tensors":{},"more":1e400}';;
        10) ;;
        11) nested 126;;
        12) nested 127;;
        *) exec "$0" decode < "$file";;
        esac""",
    # Its children hold the output open.
    "forks": 'sleep 60 & file=$(mktemp); cat > "$file"; exec "$0" decode < "$file"',
    # The first ten files are not answered, but others are, and before them.
    "hangs first": "case $(wc -c) in 62|65|69|71|72|74|78) sleep 60;; *) echo '{\"tensors\":{}}';; esac",
    # It is started once.
    "line by line": """
        while read -r file; do "$0" decode < "$file" 2> said || printf '{"error":"%s"}\\n' "$(head -n 1 said | tr '"\\\\' ..)"; done""",
    "lines in turns": """
        while read -r file; do
        sum=$(cksum < "$file"); case $((${sum%% *} % 15)) in
        0) exit 1;;
        1) kill -9 $$;;
        2) echo nonsense;;
        3) echo '{"error":1}';;
        4) echo '{"tensors":{},"file":"other"}';;
        5) echo;;
        6) echo '{"tensors":[]}';;
        7) rm "$file"; exit 0;;
        8) echo 'main.rs:1: index out of bounds' >&2; exit 101;;
        9) printf '{"error":"one"}\\n{"error":"two"}\\n';;
        10) printf '%s\\n' '{"error":"half \\ud800 of a pair","more":"\\udc00"}';;
        11) echo '{"error":"","more":1e400}';;
        *) "$0" decode < "$file" 2> said || printf '{"error":"%s"}\\n' "$(head -n 1 said | tr '"\\\\' ..)";;
        esac; done""",
    "hangs": "while read -r file; do case $file in *bracket*|*entry-object*) echo '{\"tensors\":{}}';; *) sleep 60 & wait;; esac; done",
    "crashes": "kill -9 $$",
    "slow": "sleep 0.3; echo '{\"tensors\":{}}'",
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
    ("forks", "--filter", "d3"),
    ("forks", "--batch", "--filter", "d3", "--timeout", "20"),
    ("hangs first", "--jobs", "12", "--timeout", "2", "--filter", "dtype"),
    ("crashes", "--filter", "utf8"),
    ("crashes", "--batch", "--filter", "utf8"),
    ("rejects all", "--filter", "space-before"),
    ("right", "--filter", "no-such-id"),
    ("right", "--filter", "utf8", "--exclude", "utf8-*", "--exclude", "utf8"),
]
#: The one that must be given up.
GIVEN_UP = "hangs first"
#: The options for a reader whose progress is watched.
SLOW = ("--filter", "d3", "--jobs", "1")
#: Commands that cannot be run.
NO_READERS = ["no-such-program", "./no-such-program", "README.md", str(HERE), "run.py"]


def main():
    """Asks both about all readers."""
    if len(sys.argv) != 2:
        sys.exit("usage: compare.py PROGRAM")
    program = str(pathlib.Path(sys.argv[1]).resolve())
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        commands = [[*options, "--", "sh", "-c", READERS[name], program] for name, *options in SCORED]
        commands += [["--", name] for name in NO_READERS]
        scores = zip(*(workers.map(score, [program] * len(commands), commands) for score in (ours, theirs)))
        for reader, (mine, other) in zip([" ".join(reader) for reader in SCORED] + NO_READERS, scores):
            wrong += differences(reader, mine, other)
            if reader.startswith(GIVEN_UP) and "answers none of the first" not in mine.get("sentence", ""):
                print(f"{reader}: not given up: {mine}")
                wrong += 1
    commands = [[*runner, *SLOW, "--", "sh", "-c", READERS["slow"]] for runner in runners(program)]
    wrong += differences("progress", *({"shown": totals(command)} for command in commands))
    print(f"compare.py: {len(SCORED + NO_READERS)} scores, " + ("the same" if not wrong else f"{wrong} differences"))
    return 1 if wrong else 0


def runners(program):
    """Returns the commands of the program and of the script."""
    return [program, "conform", "--vectors", str(HERE)], [sys.executable, "-B", str(HERE / "run.py")]


def totals(command):
    """Returns the numbers of files of which a command shows the progress on a terminal; an error if it shows none."""
    terminal, end = pty.openpty()
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=end, env={**os.environ, "TERM": "xterm"})
    os.close(end)
    shown = b""
    try:
        while piece := os.read(terminal, 1 << 16):
            shown += piece
    except OSError:  # of Linux, at the end
        pass
    os.close(terminal)
    running.wait()
    return set(re.findall(rb"asking \[[=> ]{30}\] \d+ of (\d+) files", shown)) or f"nothing of {command[0]}"


def ours(program, command):
    """Returns the program's results."""
    conform = [*runners(program)[0], "--json", *command]
    scored = subprocess.run(conform, capture_output=True, text=True, check=False)
    score = json.loads(scored.stdout)
    return results(scored.returncode, score, score.get("message"))


def theirs(program, command):
    """Returns the script's results."""
    with tempfile.NamedTemporaryFile() as file:
        ask = [*runners(program)[1], "--json", file.name, *command]
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
