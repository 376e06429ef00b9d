"""Asks a reader with one process for all files: it gets a path per line, and prints a line of JSON for each."""

import os
import re
import subprocess

from . import answers, vectors
from .process import GRACE, MOST_OUTPUT, Process, Unusable, close, most_output

#: The answers after which a process is not asked again, since its next line may belong to an earlier file.
LAST = ("crash", "hang", "bad output")


def ask_all(command, asked, timeout):
    """Yields the answers to these vectors, in their order."""
    waiting = list(reversed(asked))
    with vectors.empty_directory() as directory:
        while waiting:
            with Lines(command) as reader:
                is_last = False
                while waiting and not is_last:
                    is_first = len(waiting) == len(asked)
                    answer = ask(reader, waiting.pop(), directory, timeout, is_first)
                    is_last = answer.verdict in LAST
                    yield answer


def ask(reader, vector, directory, timeout, is_first):
    """Returns the answer to one file, which exists until then."""
    path = directory / (re.sub(r"[^A-Za-z0-9.-]", "_", vector["id"]) + ".safetensors")
    vectors.write(vector, path)
    most = most_output(vector["length"])
    answer = reader.ask(str(path), most, timeout)
    if is_first and answer.verdict == "hang":
        check_flushing(reader.command, str(path), most, timeout)
    try:
        os.remove(path)
    except OSError:
        pass  # the reader has removed it
    return answers.of_lines() if reader.output.said and answer.verdict not in LAST else answer


def check_flushing(command, path, most, timeout):
    """Reports a reader that answers in half of the time when its input ends, and does not otherwise."""
    def is_answered(is_closed):
        with Lines(command) as reader:
            return reader.ask(path, most, timeout / 2, is_closed).verdict in ("accept", "reject")

    if is_answered(True) and not is_answered(False):
        raise Unusable("the reader answers only when its input ends: it must flush its output after each line")


class Lines(Process):
    """A reader that answers line by line."""

    def __init__(self, command):
        super().__init__(command, MOST_OUTPUT)
        self.command, self.is_asked = command, False

    def __exit__(self, *_):
        super().__exit__()
        close(self.stdin)  # a path may still wait in it

    def ask(self, path, most, timeout, is_closed=False):
        """Returns the answer about a path, after which the input may be closed."""
        if self.is_asked and self.output.said:
            return answers.of_lines()
        self.is_asked = True
        try:
            self.stdin.write(os.fsencode(path) + b"\n")
            self.stdin.flush()
        except OSError:
            pass  # it has ended
        if is_closed:
            close(self.stdin)
        line = self.output.line(most, timeout, self.process)
        if line is None and self.process.poll() is None:
            return answers.Answer("hang", text=f"no answer in {timeout} seconds")
        if not line:
            return self.ended()
        if len(line) > most:
            return answers.Answer("bad output", text=f"more than {most} bytes of output")
        return answers.of_line(line, path)

    def ended(self):
        """Returns the answer of a reader that has closed its output."""
        try:
            code = self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return answers.Answer("crash", text="it has closed its output")
        self.listener.join(GRACE)
        return answers.crash(code, bytes(self.words).decode(errors="replace").strip())
