"""Runs a reader that is a command, and interprets its answer."""

import concurrent.futures
import json
import os
import signal
import subprocess
import threading

from runner import scoring, vectors

#: The limit of a reader's standard output: for an empty file, and for each byte of the file.
OUTPUT = 16 << 20
OUTPUT_PER_BYTE = 4
#: How much of its standard error is kept.
WORDS = 1 << 16
#: After this many files without an answer in time, one after another, the others are not tried.
HANGS = 10


class Hanging(Exception):
    """The reader gives no answers."""


def ask_all(command, chosen, jobs=None, timeout=60):
    """Returns the answers to these vectors by id."""
    stop = threading.Event()
    pool = concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count() or 1)
    try:
        answers = pool.map(lambda vector: stop.is_set() or ask(command, vectors.content(vector), timeout, stop), chosen)
        return dict(zip((vector["id"] for vector in chosen), unless_hanging(answers)))
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def unless_hanging(answers):
    """Passes the answers on, unless too many in a row are none."""
    hangs = 0
    for answer in answers:
        hangs = hangs + 1 if answer.hangs else 0
        if hangs == HANGS:
            raise Hanging(f"the reader gave {answer.text} to {HANGS} files in a row; the others were not tested")
        yield answer


def ask(command, data, timeout, stop):
    """Returns the answer to one file."""
    most = OUTPUT + OUTPUT_PER_BYTE * len(data)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # A group of its own, so that its children can be ended with it.
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        said, words = bytearray(), bytearray()
        threads = [
            threading.Thread(target=feed, args=(process.stdin, data)),
            threading.Thread(target=collect, args=(process, said, most)),
            threading.Thread(target=keep_last, args=(process.stderr, words)),
        ]
        for thread in threads:
            thread.start()
        in_time = wait(process, threads, timeout, stop)
        end(process)
    if len(said) > most:
        return scoring.Answer("crash", text=f"more than {most} bytes of output")
    if not in_time:
        return scoring.Answer("crash", text=f"no answer in {timeout} seconds", hangs=True)
    return answer(process.returncode, bytes(said), bytes(words))


def feed(pipe, data):
    """Writes the file. A reader may decide before its end, and close the pipe."""
    try:
        pipe.write(data)
        pipe.close()
    except OSError:
        pass


def collect(process, said, most):
    """Collects the standard output, and ends a reader that prints too much."""
    while piece := process.stdout.read1(1 << 16):
        said += piece
        if len(said) > most:
            end(process)
            return


def keep_last(pipe, words):
    """Keeps the end of the standard error."""
    while piece := pipe.read1(1 << 16):
        words += piece
        del words[:-WORDS]


def wait(process, threads, timeout, stop):
    """Waits until the reader has exited and its streams are closed. Returns whether that was in time."""
    for _ in range(timeout * 20):
        if stop.is_set():
            return False
        try:
            process.wait(0.05)
            break
        except subprocess.TimeoutExpired:
            pass
    in_time = process.poll() is not None
    if not in_time:
        end(process)
    for thread in threads:
        thread.join(2)  # its children may hold the streams
    return in_time


def end(process):
    """Ends the reader and its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):
        process.kill()


def answer(code, said, words):
    """Returns the answer that an exit code and the output are."""
    if code == 0:
        return acceptance(said)
    text = (words + said).decode(errors="replace").strip()
    if code == 1:
        return scoring.rejection(text)
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return scoring.Answer("crash", text=f"{how} {text[-200:]}".strip())


def acceptance(output):
    """Returns the answer of a reader that accepts the file. Output that violates the protocol is a crash."""
    try:
        table = json.loads(output)
        why = violation(table)
    except (ValueError, RecursionError):
        start = output[:60].decode(errors="replace")
        why = f"standard output is not one JSON object: {start}" if output.strip() else "standard output is empty"
    if why:
        return scoring.Answer("crash", text=f"exit code 0, but {why}")
    return scoring.Answer("accept", table=table)


def violation(table):
    """Returns how a JSON value violates the protocol, as a sentence."""
    if not isinstance(table, dict):
        return "standard output is not one JSON object"
    if not isinstance(table.get("tensors"), dict):
        return '"tensors" is not an object'
    for tensor in table["tensors"].values():
        if not isinstance(tensor, dict) or not {"dtype", "shape"} <= tensor.keys():
            return "a tensor lacks dtype or shape"
    if not isinstance(table.get("metadata"), (dict, type(None))):
        return '"metadata" is neither an object nor null'
    return None
