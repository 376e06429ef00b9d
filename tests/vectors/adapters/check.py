#!/usr/bin/env python3
"""Scores the adapters of this directory, as a test of them: each must be scored, without a crash, a hang or a line
that is no answer.

python3 check.py [--all]

Languages whose tools are not installed are left out, unless --all is given. Standard library only. Public domain (CC0-1.0).
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MOST_LINES = 30

#: For each adapter the commands that build it in an empty directory, and the command that is scored.
ADAPTERS = {
    "adapter.py": ([], [sys.executable, "{source}"]),
    "adapter.js": ([], ["node", "{source}"]),
    "adapter.go": ([["go", "build", "-o", "adapter", "{source}"]], ["./adapter"]),
    "adapter.c": ([["gcc", "-Wall", "-Werror", "-g", "-fsanitize=address,undefined", "{source}", "-o", "adapter"]], ["./adapter"]),
    "adapter.cpp": ([["g++", "-Wall", "-Werror", "-std=c++17", "-g", "-fsanitize=address,undefined", "{source}", "-o", "adapter"]], ["./adapter"]),
    "Adapter.java": ([["javac", "-d", ".", "{source}"]], ["java", "-cp", "./", "Adapter"]),
}


def main():
    """Checks all adapters."""
    wrong = [sentence for name in ADAPTERS for sentence in check(name, "--all" in sys.argv[1:])]
    print("\n".join(wrong) or f"check.py: {len(ADAPTERS)} adapters, all right")
    return 1 if wrong else 0


def check(name, needs_all):
    """Yields what is wrong with an adapter."""
    build, command = ADAPTERS[name]
    missing = [words[0] for words in (*build, command) if not words[0].startswith(".") and not shutil.which(words[0])]
    if missing:
        sentence = f"{name}: {missing[0]} is not installed"
        print(sentence)
        yield from [sentence] if needs_all else []
        return
    lines = len((HERE / name).read_text(encoding="utf-8").splitlines())
    if lines > MOST_LINES:
        yield f"{name}: {lines} lines, and at most {MOST_LINES} are allowed"
    with tempfile.TemporaryDirectory() as directory:
        score = scored(directory, *(fill(words, HERE / name) for words in (*build, command)))
    odd = [vector for vector, answer in score.items() if answer["verdict"] not in ("accept", "reject")]
    if odd or not score:
        yield f"{name}: {', '.join(odd) or 'not scored'}"


def fill(words, source):
    """Returns the words of a command for this source."""
    return [word.format(source=source) for word in words]


def scored(directory, *commands):
    """Builds an adapter, and returns its answers."""
    *build, command = commands
    for words in build:
        # Go needs a directory for what it builds, even where there is no home.
        subprocess.run(words, cwd=directory, check=True, env={**os.environ, "GOCACHE": f"{directory}/cache"})
    run = [sys.executable, "-B", str(HERE.parent / "run.py"), "--batch", "--json", "score.json", "--", *command]
    result = subprocess.run(run, cwd=directory, capture_output=True, text=True, check=False)
    if result.returncode not in (0, 1):
        print(result.stderr, end="")
        return {}
    return json.loads((pathlib.Path(directory) / "score.json").read_text(encoding="utf-8"))["answers"]


if __name__ == "__main__":
    sys.exit(main())
