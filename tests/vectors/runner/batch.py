"""Asks a reader with one process for all files: it gets a path per line, and prints a line of JSON for each."""

import os
import pathlib
import queue
import re
import shutil
import subprocess
import tempfile

from runner import answers, vectors
from runner.process import GRACE, Process, Unusable, background, close, most_output

#: The answers after which a process is not asked again, since its next line may belong to an earlier file.
LAST = ("crash", "hang", "bad output")


def ask_all(command, asked, timeout):
    """Yields the answers to these vectors, in their order."""
    directory, waiting = tempfile.mkdtemp(prefix="vectors-"), list(reversed(asked))
    try:
        while waiting:
            with Lines(command) as reader:
                is_last = False
                while waiting and not is_last:
                    answer = ask(reader, waiting.pop(), directory, timeout)
                    is_last = answer.verdict in LAST
                    yield answer
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def ask(reader, vector, directory, timeout):
    """Returns the answer to one file, which exists until then."""
    path = pathlib.Path(directory, re.sub(r"[^A-Za-z0-9.-]", "_", vector["id"]) + ".safetensors")
    vectors.write(vector, path)
    answer = reader.ask(str(path), most_output(vector["length"]), timeout)
    try:
        os.remove(path)
    except OSError:
        pass  # the reader has removed it
    return answer


class Lines(Process):
    """A reader that answers line by line."""

    def __init__(self, command):
        super().__init__(command)
        self.lines, self.is_first, self.is_ended = queue.Queue(1), True, False
        self.most = most_output(0)
        self.collector = background(self.collect)

    def __exit__(self, *error):
        self.is_ended = True
        super().__exit__(*error)

    def collect(self):
        """Passes on the lines of the standard output, and at the end None."""
        line = bytearray()
        while piece := self.stdout.readline(1 << 20):
            line += piece
            if line.endswith(b"\n") or len(line) > self.most:
                self.put(bytes(line))
                line.clear()
        for last in (bytes(line), None) if line else (None,):
            self.put(last)
        close(self.stdout)

    def put(self, line):
        """Passes a line on as soon as the one before it is taken."""
        while not self.is_ended:
            try:
                return self.lines.put(line, timeout=0.1)
            except queue.Full:
                pass

    def ask(self, path, most, timeout):
        """Returns the answer about a path."""
        self.most = most
        try:
            self.stdin.write(os.fsencode(path) + b"\n")
            self.stdin.flush()
        except OSError:
            pass  # it has ended
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            self.check_flushing()
            return answers.Answer("hang", text=f"no answer in {timeout} seconds")
        self.is_first = False
        if line is None:
            return self.ended()
        if len(line) > most:
            return answers.Answer("bad output", text=f"more than {most} bytes of output")
        return answers.of_line(line, path)

    def check_flushing(self):
        """Reports a reader that answers when its input ends, and not before."""
        if not self.is_first:
            return
        close(self.stdin)
        try:
            line = self.lines.get(timeout=GRACE)
        except queue.Empty:
            return
        if line:
            raise Unusable("the reader answers only when its input ends: it must flush its output after each line")

    def ended(self):
        """Returns the answer of a reader that has closed its output."""
        try:
            code = self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return answers.Answer("crash", text="it has closed its output")
        self.listener.join(GRACE)
        return answers.crash(code, bytes(self.words).decode(errors="replace").strip())
