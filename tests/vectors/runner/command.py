"""Runs a reader that is a command, and interprets its answer."""

import concurrent.futures
import json
import os
import signal
import subprocess
import threading
import time

from runner import scoring, vectors

#: The limit of a reader's standard output: for an empty file, for each byte of the file, and for any file.
OUTPUT = 16 << 20
OUTPUT_PER_BYTE = 4
MOST_OUTPUT = 256 << 20
#: How much of its standard error is kept.
WORDS = 1 << 16
#: How many characters are kept of the first line of a crash's message.
FIRST_WORDS = 200
#: How many bytes are shown of output that is not JSON.
START = 60
#: If none of so many files is answered in time, the others are not tried.
HANGS = 10
#: The seconds that its pipes may stay open after the reader has exited: its children may hold them.
GRACE = 2


class Unusable(Exception):
    """The reader cannot be tested."""


def ask_all(command, chosen, jobs=None, timeout=60):
    """Returns the answers to these vectors by id."""
    stop = threading.Event()
    pool = concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count() or 1)
    try:
        answers = pool.map(lambda vector: ask(command, vectors.content(vector), timeout, stop), chosen)
        return dict(zip((vector["id"] for vector in chosen), unless_hanging(answers, timeout)))
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def unless_hanging(answers, timeout):
    """Passes the answers on, unless the first ones are all none."""
    hangs = 0
    for count, answer in enumerate(answers, 1):
        hangs += answer.hangs
        if hangs == count == HANGS:
            raise Unusable(f"the reader answered none of {HANGS} files in {timeout} seconds; see --timeout")
        yield answer


def ask(command, data, timeout, stop):
    """Returns the answer to one file."""
    if stop.is_set():
        return scoring.Answer("crash", text="not asked")
    most = min(OUTPUT + OUTPUT_PER_BYTE * len(data), MOST_OUTPUT)
    process = start(command)
    said, words = bytearray(), bytearray()
    # Threads that the end of the script does not wait for: strangers may hold the pipes open.
    threads = [
        threading.Thread(daemon=True, target=feed, args=(process.stdin, data)),
        threading.Thread(daemon=True, target=collect, args=(process, said, most)),
        threading.Thread(daemon=True, target=keep_last, args=(process.stderr, words)),
    ]
    for thread in threads:
        thread.start()
    in_time = wait(process, threads, timeout, stop)
    if len(said) > most:
        return scoring.Answer("crash", text=f"more than {most} bytes of output")
    if not in_time:
        return scoring.Answer("crash", text=f"no answer in {timeout} seconds", hangs=True)
    return answer(process.returncode, bytes(said), bytes(words))


def start(command):
    """Starts the reader in a group of its own, so that its children can be ended with it."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        return subprocess.Popen(command, start_new_session=True, **pipes)
    except FileNotFoundError as error:
        raise Unusable(f"{command[0]} cannot be run: its interpreter or its loader does not exist") from error
    except OSError as error:
        raise Unusable(f"{command[0]} cannot be run: {error.strerror}") from error


def feed(pipe, data):
    """Writes the file. A reader may decide before its end, and close the pipe."""
    try:
        pipe.write(data)
    except OSError:
        pass
    close(pipe)


def collect(process, said, most):
    """Collects the standard output, and ends a reader that prints too much."""
    while len(said) <= most and (piece := process.stdout.read1(1 << 16)):
        said += piece
    if len(said) > most:
        end(process)
    close(process.stdout)


def keep_last(pipe, words):
    """Keeps the end of the standard error."""
    while piece := pipe.read1(1 << 16):
        words += piece
        del words[:-WORDS]
    close(pipe)


def close(pipe):
    """Closes a pipe, of which the last bytes may not be wanted."""
    try:
        pipe.close()
    except OSError:
        pass


def wait(process, threads, timeout, stop):
    """Waits until the reader has exited and its pipes are closed. Returns whether it exited in time."""
    last = time.monotonic() + timeout
    while process.poll() is None and time.monotonic() < last and not stop.is_set():
        # As soon as its output ends, the reader is about to exit.
        threads[1].join(0.05)
        if not threads[1].is_alive():
            time.sleep(0.001)
    in_time = process.returncode is not None
    if not in_time:
        end(process)
        process.wait()
    for thread in threads:
        thread.join(GRACE)
    if in_time and any(thread.is_alive() for thread in threads):
        end_group(process)  # its children hold the pipes
    return in_time


def end(process):
    """Ends a running reader and its children."""
    if process.poll() is None:
        end_group(process)


def end_group(process):
    """Ends all processes in the group of the reader."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except AttributeError:  # not on Windows
        process.kill()
    except OSError:
        pass


def answer(code, said, words):
    """Returns the answer that an exit code and the output are."""
    if code == 0:
        return acceptance(said)
    text = (words + said).decode(errors="replace").strip()
    if code == 1:
        return scoring.rejection(text)
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    first = text.split("\n", 1)[0][:FIRST_WORDS]
    return scoring.Answer("crash", text=f"{how} {first}".strip())


def acceptance(output):
    """Returns the answer of a reader that accepts the file. Output that violates the protocol is a crash."""
    try:
        table = json.loads(output.decode(), parse_constant=not_json)
        why = violation(table) if isinstance(table, dict) else no_object(output)
    except (ValueError, RecursionError):
        why = no_object(output)
    if why:
        return scoring.Answer("crash", text=f"exit code 0, but {why}")
    return scoring.Answer("accept", table=table)


def not_json(word):
    """Rejects NaN and Infinity, which Python reads although they are not JSON."""
    raise ValueError(word)


def no_object(output):
    """Returns how output that is not one JSON object violates the protocol, as a sentence."""
    start = output[:START].decode(errors="replace").strip()
    return f"standard output is not one JSON object: {start}" if output.strip() else "standard output is empty"


def violation(table):
    """Returns how a JSON object violates the protocol, as a sentence."""
    if not isinstance(table.get("tensors"), dict):
        return '"tensors" is not an object'
    for tensor in table["tensors"].values():
        if not isinstance(tensor, dict) or not {"dtype", "shape"} <= tensor.keys():
            return "a tensor lacks dtype or shape"
    if not isinstance(table.get("metadata"), (dict, type(None))):
        return '"metadata" is neither an object nor null'
    return None
