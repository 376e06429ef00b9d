"""Scores a reader of safetensors files against the conformance vectors.

The reader is a command. It gets one file on its standard input and answers with its exit code:

  0  It accepts the file. On standard output, one JSON object, which --verdict-only does not ask for:
     {"tensors": {NAME: {"dtype": …, "shape": […], "data_offsets": [BEGIN, END], "sha256": HEX}},
      "metadata": {KEY: VALUE} or null}. data_offsets, sha256 (of the tensor's bytes) and metadata may
     be omitted; then they are not compared. Integers may be strings of decimal digits.
  1  It rejects the file.

Another exit code or a signal is a crash, and so are the report of a sanitizer and an uncaught exception.

With --batch it is started once. It gets the path of a file on each line of its standard input, and prints for each
one line at once: the object above, or {"error": "why it is rejected"}.

With --index it reads a model in several files, with --writer it writes one file: see PROTOCOL.md.

The reader runs in an empty directory, which is removed. Exit code of this script: 0 when the reader is right about
all vectors (with --expect: when nothing differs), 1 when it is not, 2 when it could not be run or accepts no valid file,
130 after Ctrl-C.

Standard library only. Public domain (CC0-1.0).
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import signal
import sys

from . import asking, badge, cases, choice, expected, process, report, scoring, single, vectors
from .answers import NOT_ASKED


def main():
    """Runs the command over the chosen vectors and prints its score."""
    options = arguments()
    for path in filter(None, (options.json, options.badge, options.write_expect)):
        check_output(path)
    try:
        manifest = cases.load(options.cases) if options.cases else vectors.load()
        known = expected.load(options.expect, manifest) if options.expect else None
        chosen, others = choice.choose(manifest, options.level, options.filter, options.exclude)
        if options.files:
            return write_files(chosen, pathlib.Path(options.files))
        ask = cases.KINDS[options.cases].ask if options.cases else single.ask
        reader = asking.Reader(options.command, options.batch, options.jobs, options.timeout, ask, options.verdict_only)
        answers = asking.ask_all(reader, choice.with_control(manifest, chosen))
    except (vectors.Unusable, process.Unusable) as error:
        fail(error)
    said = {vector["id"]: answers[vector["id"]] for vector in chosen}
    left_out = {name: answer.text for name, answer in said.items() if answer.verdict == NOT_ASKED}
    asked = [vector for vector in chosen if vector["id"] not in left_out]
    if not asked:
        fail(f"no case was asked: {left_out[chosen[0]['id']]}")
    lacks = scoring.lacking(manifest, answers, options.profile)
    scores = [
        scoring.score(vector, answers[vector["id"]], answers.get(vector.get("twin")), options.strict, lacks) for vector in asked
    ]
    if options.json:
        write_json(options, manifest, scores, left_out)
    if options.badge:
        right = sum(map(report.is_right, scores))
        pathlib.Path(options.badge).write_text(badge.svg(manifest["suite"], right, len(scores)), encoding="utf-8")
    for line in report.summary(scores, options.strict):
        print(line)
    for profile in sorted(lacks):
        print(f"the profile {profile} is lacking: rejections of its vectors are right; --profile {profile} requires it")
    if others and options.level == "full":
        print(f"{others} large vectors were not asked: --level large includes them")
    for why, count in collections.Counter(left_out.values()).items():
        print(f"{count} cases were not asked: {why}")
    return conclude(options, manifest, scores, left_out, known)


def conclude(options, manifest, scores, left_out, known):
    """Prints or writes the answers that are not right, or not expected. Returns the exit code."""
    kinds = {scored.vector["id"]: scored.kind for scored in scores if not report.is_right(scored)}
    code = 1 if kinds else 0
    kinds.update(dict.fromkeys(left_out, NOT_ASKED))
    if options.write_expect:
        expected.write(options.write_expect, manifest["suite"], kinds)
        code = 0
    if known:
        changes = expected.differences(known[1], kinds, [scored.vector["id"] for scored in scores] + list(left_out))
        for line in report.compared(known, changes, manifest["suite"]):
            print(line)
        scores = [scored if scored.vector["id"] in changes else dataclasses.replace(scored, problem=None) for scored in scores]
        code = 1 if changes else 0
    for line in report.causes(scores, manifest, options.details or known is not None):
        print(line)
    return code


def arguments():
    """Parses and checks the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s [options] -- COMMAND ARGS…",
    )
    parser.add_argument("--batch", action="store_true", help="start the reader once; it gets a path per line")
    kinds = parser.add_mutually_exclusive_group()
    index, writer = "a reader of sharded models: it gets the path of an index", "a writer: it gets tensors on stdin, and a path"
    for name, directory, meaning in (("--index", "index", index), ("--writer", "writers", writer)):
        kinds.add_argument(name, action="store_const", const=directory, dest="cases", help=f"ask {meaning}")
    parser.add_argument("--level", choices=choice.LEVELS, default="full", help="which vectors [default: full]")
    for name, which in (("--filter", "only"), ("--exclude", "no")):
        meaning = f"{which} vectors with this id, id glob, area, flag or rule (repeatable)"
        parser.add_argument(name, action="append", default=[], metavar="X", help=meaning)
    parser.add_argument("--profile", action="append", default=[], choices=["unknown-members"], help="what the reader must have (repeatable)")
    parser.add_argument("--strict", action="store_true", help="codes, offsets, listed deviations and what is left out count too")
    parser.add_argument("--verdict-only", action="store_true", help="what the reader prints of accepted files is not compared")
    parser.add_argument("--jobs", type=positive, metavar="N", help="processes at once [default: number of cores]")
    parser.add_argument("--timeout", type=positive, default=10, metavar="S", help="seconds for one file [default: 10]")
    parser.add_argument("--details", action="store_true", help="print all wrong answers, not examples")
    parser.add_argument("--json", metavar="FILE", help="write every answer to this file")
    parser.add_argument("--badge", metavar="FILE", help="write the score as an image in SVG")
    parser.add_argument("--files", metavar="DIR", help="write the chosen files, also those of recipes, and ask no reader")
    known = parser.add_mutually_exclusive_group()
    known.add_argument("--write-expect", metavar="FILE", help="write the ids of what is not right; the exit code is 0")
    known.add_argument("--expect", metavar="FILE", help="compare with such a file; the exit code is 0 if nothing differs")
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.command[:1] == ["--"]:
        del options.command[0]
    given = {name for name, value in vars(options).items() if value and value != parser.get_default(name)}
    if options.files and given - {"files", "level", "filter", "exclude"}:
        parser.error("--files asks no reader, so it takes no options but --level, --filter and --exclude, and no command")
    if not options.command and not options.files:
        parser.error("which command reads the files? Give it after --")
    if options.batch and options.jobs:
        parser.error("--batch runs one process, so it takes no --jobs")
    if options.verdict_only and (options.strict or options.cases == "writers"):
        parser.error("--verdict-only compares neither errors nor files, so it takes no --strict or --writer")
    if options.cases and (options.batch or options.strict or options.level != "full"):
        parser.error("--index and --writer take no --batch, --level or --strict")
    return options


def positive(text):
    """Parses a whole number above 0."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def fail(sentence):
    """Ends the script: the reader could not be scored."""
    print(f"{program()}: {report.cut(str(sentence))}", file=sys.stderr)
    sys.exit(2)


def program():
    """Returns the name of this script in messages."""
    return os.path.basename(sys.argv[0])


def write_files(chosen, directory):
    """Writes the files of vectors below a directory. Returns the exit code."""
    for vector in chosen:
        path = directory / vectors.path(vector)
        path.parent.mkdir(parents=True, exist_ok=True)
        vectors.write(vector, path)
    print(f"{len(chosen)} files are in {directory}")
    return 0


def check_output(path):
    """Reports a path that cannot be written before the readers run. What is there stays as it is until then."""
    is_new = not os.path.lexists(path)
    try:
        with open(path, "a", encoding="utf-8"):
            pass
        if is_new:
            os.unlink(path)
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror}")


def write_json(options, manifest, scores, left_out):
    """Writes every answer, for other programs."""
    scored = {
        "ok": all(map(report.is_right, scores)),
        "suite": manifest.get("suite", ""),
        **{name: getattr(options, name) for name in ("command", "batch", "level", "strict", "verdict_only")},
        **report.numbers(scores),
        "not_asked": left_out,
        "answers": report.answers(scores),
    }
    with open(options.json, "w", encoding="utf-8") as file:
        json.dump(scored, file, indent=1)
        file.write("\n")


def interrupt(*_):
    """Ends the readers, too, when the script is told to end."""
    raise KeyboardInterrupt


def entry():
    """Is the command of the package, and returns its exit code."""
    program, *words = sys.argv
    if words == ["where"]:
        print(vectors.HERE)
        return 0
    if words[:1] != ["run"]:
        print(f"usage: {program} run [options] -- COMMAND ARGS…\n       {program} where    # prints the directory of the suite", file=sys.stderr)
        return 2
    sys.argv = [f"{program} run", *words[1:]]
    return run()


def run():
    """Is the script, and returns its exit code."""
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
        print(f"{program()}: interrupted", file=sys.stderr)
        code = 130
    except (OSError, ValueError, RuntimeError) as error:  # of the vectors, a full disk, or no more threads
        print(f"{program()}: {report.cut(str(error))}", file=sys.stderr)
        code = 2
    return code
