"""A reader as a process: in a group of its own, so that its children end with it, and in an empty directory."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading

#: The limit of a reader's standard output: for an empty file, for each byte of the file, and for any file.
OUTPUT = 16 << 20
OUTPUT_PER_BYTE = 4
MOST_OUTPUT = 256 << 20
#: How much of its standard error is kept.
WORDS = 1 << 16
#: The seconds that its pipes may stay open after it has exited: its children may hold them.
GRACE = 2
#: Sanitizers end with exit code 1 or none of their own, unless they are told another.
SANITIZERS = {
    "ASAN_OPTIONS": "exitcode=99",
    "LSAN_OPTIONS": "exitcode=99",
    "MSAN_OPTIONS": "exitcode=99",
    "TSAN_OPTIONS": "exitcode=99",
    "UBSAN_OPTIONS": "halt_on_error=1:exitcode=99",
}


class Unusable(Exception):
    """The reader cannot be scored."""


class Process:
    """A running reader. Use `with`: at the end all of its processes and its directory are gone."""

    def __init__(self, command, stdin=subprocess.PIPE):
        self.directory = tempfile.mkdtemp(prefix="reader-")
        self.words = bytearray()
        pipes = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        try:
            self.process = subprocess.Popen(
                command, cwd=self.directory, env=environment(self.directory), start_new_session=True, **pipes
            )
        except OSError as error:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise Unusable(f"{command[0]} cannot be run: {why(error)}") from error
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.listener = background(keep_last, self.process.stderr, self.words)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_group(self.process)
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def end(self):
        """Ends the reader and its children now."""
        if self.process.poll() is None:
            end_group(self.process)


def why(error):
    """Returns why a program cannot be started."""
    return "its interpreter or its loader does not exist" if isinstance(error, FileNotFoundError) else error.strerror


def environment(directory):
    """Returns the environment of a reader: its temporary files are in its directory, too."""
    added = {name: f"{os.environ[name]}:{value}" if name in os.environ else value for name, value in SANITIZERS.items()}
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
            del words[:-WORDS]
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
