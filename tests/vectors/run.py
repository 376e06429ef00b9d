#!/usr/bin/env python3
"""Scores a reader of safetensors files against the conformance vectors.

The reader is a command. It gets one file on its standard input and answers with its exit code:

  0  It accepts the file. On standard output, one JSON object:
     {"tensors": {NAME: {"dtype": …, "shape": […], "data_offsets": [BEGIN, END], "sha256": HEX}},
      "metadata": {KEY: VALUE} or null}. data_offsets, sha256 (of the tensor's bytes) and metadata may
     be omitted; then they are not compared. Integers may be strings of decimal digits.
  1  It rejects the file.

Another exit code or a signal is a crash, and so are the report of a sanitizer and an uncaught exception.

With --batch it is started once. It gets the path of a file on each line of its standard input, and prints for each
one line at once: the object above, or {"error": "why it is rejected"}.

With --index it reads a model in several files, with --writer it writes one file: see README.md.

The reader runs in an empty directory, which is removed. Exit code of this script: 0 when the reader is right about
all vectors, 1 when it is not, 2 when it could not be run or accepts no valid file, 130 after Ctrl-C.

Standard library only. Public domain (CC0-1.0).
"""

import argparse
import json
import os
import signal
import sys

from runner import asking, cases, choice, process, report, scoring, vectors


def main():
    """Runs the command over the chosen vectors and prints its score."""
    options = arguments()
    if options.json:
        check_json(options.json)
    try:
        manifest = cases.load(options.cases) if options.cases else vectors.load()
        chosen, others = choice.choose(manifest, options.level, options.filter, options.exclude)
        reader = asking.Reader(options.command, options.batch, options.jobs, options.timeout)
        if options.cases:
            reader.ask = cases.KINDS[options.cases].ask
        answers = asking.ask_all(reader, choice.with_control(manifest, chosen))
    except (vectors.Unusable, process.Unusable) as error:
        fail(error)
    asked = [vector for vector in chosen if vector["id"] in answers]
    if not asked:
        fail("this system cannot have the files of the chosen cases")
    scores = [
        scoring.score(vector, answers[vector["id"]], answers.get(vector.get("twin")), options.strict) for vector in asked
    ]
    if options.json:
        write_json(options, manifest, scores)
    large = others if options.level == "full" else 0
    for line in report.summary(scores, options.strict, large, len(chosen) - len(asked)):
        print(line)
    return 0 if all(map(report.is_right, scores)) else 1


def arguments():
    """Parses and checks the command line."""
    parser = argparse.ArgumentParser(
        description="Scores a reader of safetensors files against the conformance vectors.",
        epilog="The reader gets a file on stdin; it exits with 0 and prints the tensors as JSON, or with 1. With --batch "
        "it gets paths, and prints a line for each. Exit code: 0 if it is right about all vectors, 1 if not, 2 if it "
        "could not be run or accepts no valid file.",
        usage="%(prog)s [options] -- COMMAND ARGS…",
    )
    parser.add_argument("--batch", action="store_true", help="start the reader once; it gets a path per line")
    kinds = parser.add_mutually_exclusive_group()
    add_cases(kinds, "--index", "index", "ask a reader of sharded models: it gets the path of an index")
    add_cases(kinds, "--writer", "writers", "ask a writer: it gets tensors on stdin, and a path")
    parser.add_argument("--level", choices=choice.LEVELS, default="full", help="which vectors [default: full]")
    add_patterns(parser, "--filter", "only vectors with this id, id glob, area, flag or rule (repeatable)")
    add_patterns(parser, "--exclude", "no vectors with this id, id glob, area, flag or rule (repeatable)")
    parser.add_argument("--strict", action="store_true", help="codes, offsets, listed deviations and what is left out count too")
    parser.add_argument("--jobs", type=positive, metavar="N", help="processes at once [default: number of cores]")
    parser.add_argument("--timeout", type=positive, default=60, metavar="S", help="seconds for one file [default: 60]")
    parser.add_argument("--json", metavar="FILE", help="write every answer to this file")
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.command[:1] == ["--"]:
        del options.command[0]
    if not options.command:
        parser.error("which command reads the files? Give it after --")
    if options.batch and options.jobs:
        parser.error("--batch runs one process, so it takes no --jobs")
    if options.cases and (options.batch or options.strict or options.level != "full"):
        parser.error("--index and --writer take no --batch, --level or --strict")
    return options


def add_cases(kinds, name, directory, meaning):
    """Adds an option that chooses other cases than those of readers of files."""
    kinds.add_argument(name, action="store_const", const=directory, dest="cases", help=meaning)


def add_patterns(parser, name, meaning):
    """Adds an option that takes a pattern and is repeatable."""
    parser.add_argument(name, action="append", default=[], metavar="X", help=meaning)


def positive(text):
    """Parses a whole number above 0."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def fail(sentence):
    """Ends the script: the reader could not be scored."""
    print(f"run.py: {report.cut(str(sentence))}", file=sys.stderr)
    sys.exit(2)


def check_json(path):
    """Reports a path that cannot be written before the readers run. What is there stays as it is until then."""
    is_new = not os.path.lexists(path)
    try:
        with open(path, "a", encoding="utf-8"):
            pass
        if is_new:
            os.unlink(path)
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror}")


def write_json(options, manifest, scores):
    """Writes every answer, for other programs."""
    scored = {
        "ok": all(map(report.is_right, scores)),
        "suite": manifest.get("suite", ""),
        "command": options.command,
        "batch": options.batch,
        "level": options.level,
        "strict": options.strict,
        **report.numbers(scores),
        "answers": report.answers(scores),
    }
    try:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(scored, file, indent=1)
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
        print("run.py: interrupted", file=sys.stderr)
        code = 130
    except (OSError, ValueError, RuntimeError) as error:  # of the vectors, a full disk, or no more threads
        print(f"run.py: {report.cut(str(error))}", file=sys.stderr)
        code = 2
    sys.exit(code)
