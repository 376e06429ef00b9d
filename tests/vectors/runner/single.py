"""Asks a reader with one process for each file, which gets it on its standard input."""

import concurrent.futures
import threading
import time

from . import answers, vectors
from .process import GRACE, TICK, Process, background, close, end_group, most_output


def ask_all(ask, command, asked, jobs, timeout):
    """Yields the answers to these vectors, in their order."""
    stop = threading.Event()

    def ask_one(vector):
        return answers.Answer(answers.NOT_ASKED) if stop.is_set() else ask(command, vector, timeout, stop)

    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(ask_one, asked)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def ask(command, vector, timeout, stop):
    """Returns the answer to one file."""
    most = most_output(vector["length"])
    if vectors.fits_memory(vector):
        data = vectors.content(vector)
        return run(Process(command, most), data, timeout, stop)
    with vectors.empty_directory() as directory:
        path = directory / "model.safetensors"
        vectors.write(vector, path)
        with open(path, "rb") as file:
            return run(Process(command, most, file), b"", timeout, stop)


def run(reader, data, timeout, stop, understand=answers.of_process):
    """Returns the answer of a process, which gets these bytes unless its standard input is a file."""
    output = reader.output
    with reader:
        threads = [output.thread, reader.listener]
        if reader.stdin:
            threads.append(background(feed, reader.stdin, data))
        in_time = wait(reader, threads, timeout, stop)
    said = bytes(output.said)
    if len(said) > output.most:
        return answers.Answer("bad output", text=f"more than {output.most} bytes of output")
    if not in_time:
        return answers.Answer("hang", text=f"no answer in {timeout} seconds")
    return understand(reader.process.returncode, said, bytes(reader.words))


def feed(pipe, data):
    """Writes the file. A reader may decide before its end, and close the pipe."""
    try:
        pipe.write(data)
    except (OSError, ValueError):
        pass
    close(pipe)


def wait(reader, threads, timeout, stop):
    """Waits until the reader has exited and its pipes are closed. Returns whether it exited in time."""
    last, process = time.monotonic() + timeout, reader.process
    while process.poll() is None and time.monotonic() < last and not stop.is_set():
        # As soon as its output ends, the reader is about to exit; if it prints too much, it is ended.
        threads[0].join(TICK)
        if len(reader.output.said) > reader.output.most:
            break
        if not threads[0].is_alive():
            time.sleep(0.001)
    in_time = process.returncode is not None
    if not in_time:
        end_group(process)
    last = time.monotonic() + GRACE
    for thread in threads:
        thread.join(max(0, last - time.monotonic()))
    return in_time
