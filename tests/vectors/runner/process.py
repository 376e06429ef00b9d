"""A reader as a process: in a group of its own, so that its children end with it, and in an empty directory."""

import os
import signal
import subprocess
import tempfile
import threading
import time

from . import vectors

#: The limit of a reader's standard output: for an empty file, for each byte of the file, and for any file.
OUTPUT = 16 << 20
OUTPUT_PER_BYTE = 4
MOST_OUTPUT = 256 << 20
#: How much of its standard error is kept.
LONGEST_STDERR = 1 << 16
#: The seconds that its pipes may stay open after it has exited, since its children may hold them; and that it may run
#: after it has closed its output.
GRACE = 0.5
#: The seconds after which a waiting thread looks around.
TICK = 0.05
#: Sanitizers end with exit code 1 or none of their own, unless they are told another.
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "exitcode=99",
    "LSAN_OPTIONS": "exitcode=99",
    "MSAN_OPTIONS": "exitcode=99",
    "TSAN_OPTIONS": "exitcode=99",
    "UBSAN_OPTIONS": "halt_on_error=1:exitcode=99",
}


class Unusable(Exception):
    """The reader cannot be scored."""


class Process:
    """A running reader. Use `with`: at the end its group is killed and its directory is removed."""

    def __init__(self, command, most, stdin=subprocess.PIPE):
        self.directory = tempfile.mkdtemp(prefix="reader-")
        self.words = bytearray()
        pipes = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        try:
            self.process = subprocess.Popen(
                absolute(command), cwd=self.directory, env=environment(self.directory), start_new_session=True, **pipes
            )
        except OSError as error:
            os.rmdir(self.directory)
            raise Unusable(cannot_run(command[0], error)) from error
        self.stdin, self.output = self.process.stdin, Output(self.process.stdout, most)
        self.listener = background(keep_last, self.process.stderr, self.words)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_group(self.process)
        self.process.wait()
        vectors.remove(self.directory)


class Output:
    """What a reader has printed on its standard output and was not taken yet."""

    def __init__(self, pipe, most):
        self.pipe, self.most = pipe, most
        self.said, self.searched, self.is_closed = bytearray(), 0, False
        self.news = threading.Condition()
        self.thread = background(self.collect)

    def collect(self):
        """Collects all of it, but for what is too much."""
        while len(self.said) <= self.most and (piece := self.pipe.read1(1 << 16)):
            with self.news:
                self.said += piece
                self.news.notify()
        close(self.pipe)
        with self.news:
            self.is_closed = True
            self.news.notify()

    def line(self, most, timeout, process):
        """Returns the next line, or what is there instead: of a longer line so many bytes and one more, the rest of a
        closed output, or None if the time is over or the process has ended."""
        last, is_running = time.monotonic() + timeout, True
        with self.news:
            while (end := self.end_of_line(most)) is None and time.monotonic() < last:
                if is_running and process.poll() is not None:
                    is_running, last = False, min(last, time.monotonic() + GRACE)
                self.news.wait(TICK)
            if end is None:
                return None
            line = bytes(self.said[:end])
            del self.said[:end]
            self.searched = 0
            return line

    def end_of_line(self, most):
        """Returns the length of the next line, if it is there."""
        end = self.said.find(b"\n", self.searched) + 1
        self.searched = len(self.said)
        if end or self.is_closed:
            return end or len(self.said)
        return most + 1 if len(self.said) > most else None


def cannot_run(program, error):
    """Returns why a program is not started."""
    is_missing = isinstance(error, FileNotFoundError)
    if is_missing and os.path.isfile(program):
        if os.sep in program:
            return f"reader {program!r} cannot be run: its interpreter or its loader does not exist"
        return f"reader {program!r} is not in PATH; write ./ before it for a file of this directory"
    if is_missing or isinstance(error, PermissionError):
        return f"reader {program!r} is not an executable program"
    return f"reader {program!r} cannot be run: {error.strerror.lower()}"


def environment(directory):
    """Returns the environment of a reader: its temporary files are in its directory, too."""
    added = {name: f"{os.environ[name]}:{value}" if name in os.environ else value for name, value in SANITIZER_OPTIONS.items()}
    return {**os.environ, **added, "TMPDIR": directory}


def absolute(command):
    """Returns the command for another directory: words that name existing files become absolute paths. Words
    without a slash or a dot, such as subcommands, stay as they are."""
    is_path = lambda word: os.sep in word or "." in word
    return [os.path.abspath(word) if is_path(word) and os.path.exists(word) else word for word in command]


def most_output(length):
    """Returns how much a reader may print about a file of this length."""
    return min(OUTPUT + OUTPUT_PER_BYTE * length, MOST_OUTPUT)


def background(work, *arguments):
    """Starts a thread that the end of the script does not wait for: other processes may hold the pipes open."""
    thread = threading.Thread(daemon=True, target=work, args=arguments)
    thread.start()
    return thread


def keep_last(pipe, words):
    """Keeps the end of the standard error."""
    try:
        while piece := pipe.read1(1 << 16):
            words += piece
            del words[:-LONGEST_STDERR]
    except (OSError, ValueError):
        pass
    close(pipe)


def close(pipe):
    """Closes a pipe, of which the last bytes may not be wanted."""
    try:
        pipe.close()
    except OSError:
        pass


def end_group(process):
    """Ends all processes in the group of the reader."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except AttributeError:  # not on Windows
        process.kill()
    except OSError:
        pass
