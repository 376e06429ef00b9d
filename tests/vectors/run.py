#!/usr/bin/env python3
"""Scores a reader of safetensors files against the conformance vectors.

The reader is a command. It gets one file on its standard input and answers with its exit code:

  0  The file is valid. On standard output, one JSON object:
     {"tensors": {NAME: {"dtype": …, "shape": […], "data_offsets": [BEGIN, END], "sha256": HEX}},
      "metadata": {KEY: VALUE} or null}. data_offsets, sha256 (of the tensor's bytes) and metadata may
     be omitted; then they are not compared. With --strict, only sha256 may be omitted.
  1  The file is not valid. A line `error[CODE] at byte N: …` on standard error or output is counted, if
     there is one, but does not matter unless --strict is given. (Python ends with 1 after any exception
     that is not caught: catch it, and end with another code, or a crash counts as a rejection.)

Any other exit code, a signal, too much output or no answer in time is a crash. Exit code of this script:
0 when the reader is right about all vectors, 1 when it is not, 2 when it could not be run, 130 after Ctrl-C.

Standard library only. Public domain (CC0-1.0).
"""

import argparse
import collections
import fnmatch
import json
import os
import shutil
import signal
import sys

from runner import command, scoring, vectors


#: How many wrong answers are printed, and how many characters of each.
MOST_SHOWN = 50
LONGEST_LINE = 240


def main():
    """Runs the command over all vectors and prints its errors."""
    options = arguments()
    all_vectors = vectors.load()["vectors"]
    chosen = choose(all_vectors, options)
    if options.json:
        check_json(options.json)
    try:
        answers = command.ask_all(options.command, chosen, options.jobs, options.timeout)
    except (vectors.Unusable, command.Unusable) as error:
        fail(error)
    results = [
        (vector, answers[vector["id"]], scoring.problem(vector, answers[vector["id"]], options.strict))
        for vector in chosen
    ]
    if options.json:
        write_json(options, results)
    print_summary(results, options.strict)
    print_large(all_vectors, options)
    print_wrong(results)
    return 1 if any(problem for _, _, problem in results) else 0


def arguments():
    """Parses and checks the command line."""
    parser = argparse.ArgumentParser(
        description="Scores a reader of safetensors files against the conformance vectors.",
        epilog="The reader gets a file on stdin; it exits with 0 and prints the tensors as JSON, or with 1. "
        "Exit code: 0 if it is right about all vectors, 1 if not, 2 if it could not be run.",
        usage="%(prog)s [options] -- COMMAND ARGS…",
    )
    parser.add_argument("--large", action="store_true", help="also the files of more than a megabyte")
    parser.add_argument("--strict", action="store_true", help="codes, offsets, listed deviations and what is left out count too")
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, metavar="N", help="files at once [default: number of cores]")
    parser.add_argument("--timeout", type=positive, default=60, metavar="S", help="seconds for one file [default: 60]")
    parser.add_argument("--filter", default="*", metavar="GLOB", help="only vectors whose id matches")
    parser.add_argument("--json", metavar="FILE", help="write every answer to this file")
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.command[:1] == ["--"]:
        del options.command[0]
    if not options.command:
        parser.error("which command reads the files? Give it after --")
    if not shutil.which(options.command[0]):
        parser.error(f"there is no program {options.command[0]!r} that can be run")
    return options


def positive(text):
    """Parses a whole number above 0."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def choose(all_vectors, options):
    """Returns the selected vectors."""
    chosen = [
        vector
        for vector in all_vectors
        if fnmatch.fnmatchcase(vector["id"], options.filter) and (options.large or not vector.get("large"))
    ]
    if not chosen:
        fail(f"no vector matches {options.filter!r}")
    return chosen


def fail(sentence):
    """Ends the script: the reader could not be run."""
    print(f"run.py: {sentence}", file=sys.stderr)
    sys.exit(2)


def print_summary(results, strict):
    """Prints a line for each area, and what is not visible from them."""
    areas = collections.defaultdict(list)
    for vector, _, problem in results:
        areas[vectors.area(vector)].append(problem is None)
    for name, right in areas.items():
        print(f"{name:<12} {sum(right):>5} of {len(right):>5}")
    right = sum(problem is None for _, _, problem in results)
    print(f"{'all':<12} {right:>5} of {len(results):>5}")
    print_errors(results, strict)
    print_left_out(results)
    accepted = [answer.verdict == "accept" for vector, answer, _ in results if vector["verdict"] == "valid"]
    if accepted and not any(accepted):
        print("no valid file was accepted: does the runner work?")


def print_errors(results, strict):
    """Prints how many errors have the code and the offset of the manifest."""
    rejected = [
        (vector, answer)
        for vector, answer, _ in results
        if answer.verdict == "reject" and vector["ours"] == "reject"
    ]
    codes = sum(scoring.has_code(*pair) for pair in rejected)
    places = sum(scoring.has_place(*pair) for pair in rejected)
    scored = "" if strict else " (not scored)"
    print(f"of {len(rejected)} errors, {codes} have the manifest's code and {places} its offset{scored}")


def print_large(all_vectors, options):
    """Prints how many vectors were left out for their size."""
    count = sum(bool(vector.get("large")) and fnmatch.fnmatchcase(vector["id"], options.filter) for vector in all_vectors)
    if count and not options.large:
        print(f"{count} vectors of more than a megabyte were not tested: --large includes them")


def print_wrong(results):
    """Prints the wrong answers, each with the reason of the vector and where to look."""
    wrong = [(vector, problem) for vector, _, problem in results if problem]
    for vector, problem in wrong[:MOST_SHOWN]:
        print(f"{vector['id']}: {cut(problem)}\n    {vector['reason']}\n    {where(vector)}")
    if len(wrong) > MOST_SHOWN:
        print(f"… and {len(wrong) - MOST_SHOWN} more: --filter selects vectors, --json lists all answers")


def cut(text):
    """Returns the first line of a text, cut if it is too long. A reader's control characters are escaped."""
    line = text.split("\n", 1)[0]
    shown = "".join(map(escaped, line[:LONGEST_LINE]))
    return shown if len(line) <= LONGEST_LINE else f"{shown}…"


def escaped(character):
    """Returns a character so that a terminal shows it and does nothing else."""
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def where(vector):
    """Returns the rule, the error and the file of a vector."""
    error = f", {vector['code']} at byte {vector['at']}" if "code" in vector else ""
    return f"{vector['rule']}{error}: {vector.get('file', 'made by its recipe')}"


def print_left_out(results):
    """Prints how many tables were incomplete."""
    tables = [(vector, answer.table) for vector, answer, _ in results if answer.table is not None]
    count = sum(scoring.left_out(*pair) is not None for pair in tables)
    if count:
        print(f"{count} of {len(tables)} tables leave out offsets or metadata, which were not compared")


def check_json(path):
    """Reports a path that cannot be written before the readers run. An old file stays as it is until then."""
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror}")


def write_json(options, results):
    """Writes every answer, for other programs."""
    answers = {
        vector["id"]: {
            "verdict": answer.verdict,
            "code": answer.code,
            "at": answer.at,
            "text": answer.text,
            "problem": problem,
        }
        for vector, answer, problem in results
    }
    try:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"command": options.command, "strict": options.strict, "answers": answers}, file, indent=1)
            file.write("\n")
    except OSError as error:
        fail(f"{options.json} cannot be written: {error.strerror}")


def interrupt(*_):
    """Ends the readers, too, when the script is told to end."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), interrupt)
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # of `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
