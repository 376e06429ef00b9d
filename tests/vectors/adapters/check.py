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

#: Prints a text with NUL by the function of the C adapter.
QUOTED = """
#define main adapter_main
#include "{source}"
#undef main
int main(void) {{ quoted("a\\0\\n", 3); }}
"""
#: For some adapters a command, and what it prints if they are right.
PRINTED = {
    "adapter.go": (["gofmt", "-l", "{source}"], ""),
    "adapter.c": (["sh", "-c", f"printf %s '{QUOTED}' | gcc -x c - -o quoted && ./quoted"], '"a\\u0000\\u000a"'),
}


def main():
    """Checks the adapters whose tools are there."""
    missing = {name: tools[0] for name in ADAPTERS if (tools := missing_tools(name))}
    unchecked = [f"{name}: {tool} is not installed" for name, tool in missing.items()]
    wrong = [sentence for name in ADAPTERS if name not in missing for sentence in check(name)]
    for sentence in unchecked + wrong:
        print(sentence)
    checked = len(ADAPTERS) - len(missing)
    print(f"check.py: {checked} of {len(ADAPTERS)} adapters checked, {len(wrong) or 'no'} faults")
    return 1 if wrong or unchecked and "--all" in sys.argv[1:] else 0


def missing_tools(name):
    """Returns the programs that an adapter needs and that are not installed."""
    build, command = ADAPTERS[name]
    programs = [words[0] for words in (*build, command, *(PRINTED[name][:1] if name in PRINTED else ()))]
    return [program for program in programs if not program.startswith(".") and not shutil.which(program)]


def check(name):
    """Yields what is wrong with an adapter."""
    build, command = ADAPTERS[name]
    lines = len((HERE / name).read_text(encoding="utf-8").splitlines())
    if lines > MOST_LINES:
        yield f"{name}: {lines} lines, and at most {MOST_LINES} are allowed"
    with tempfile.TemporaryDirectory() as directory:
        score = scored(directory, *(fill(words, HERE / name) for words in (*build, command)))
        if name in PRINTED:
            words, expected = PRINTED[name]
            said = subprocess.run(fill(words, HERE / name), cwd=directory, capture_output=True, text=True, check=False)
            if (said.stdout, said.stderr) != (expected, ""):
                yield f"{name}: {words[0]} says {said.stdout}{said.stderr}, and not {expected!r}"
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
