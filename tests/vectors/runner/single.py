"""Asks a reader with one process for each file, which gets it on its standard input."""

import concurrent.futures
import pathlib
import tempfile
import threading
import time

from runner import answers, vectors
from runner.process import GRACE, Process, background, close, end_group, most_output


def ask_all(ask, command, asked, jobs, timeout):
    """Yields the answers to these vectors, in their order."""
    stop = threading.Event()
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(lambda vector: ask(command, vector, timeout, stop), asked)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def ask(command, vector, timeout, stop):
    """Returns the answer to one file."""
    if stop.is_set():
        return answers.Answer("crash", text="not asked")
    most = most_output(vector["length"])
    if vectors.fits_memory(vector):
        data = vectors.content(vector)
        return run(Process(command), data, most, timeout, stop)
    with tempfile.TemporaryDirectory(prefix="vectors-") as directory:
        path = pathlib.Path(directory, "model.safetensors")
        vectors.write(vector, path)
        with open(path, "rb") as file:
            return run(Process(command, file), b"", most, timeout, stop)


def run(reader, data, most, timeout, stop):
    """Returns the answer of a process, which gets these bytes unless its standard input is a file."""
    said = bytearray()
    with reader:
        threads = [background(collect, reader, said, most), reader.listener]
        if reader.stdin:
            threads.append(background(feed, reader.stdin, data))
        in_time = wait(reader, threads, timeout, stop)
    if len(said) > most:
        return answers.Answer("bad output", text=f"more than {most} bytes of output")
    if not in_time:
        return answers.Answer("hang", text=f"no answer in {timeout} seconds")
    return answers.of_process(reader.process.returncode, bytes(said), bytes(reader.words))


def feed(pipe, data):
    """Writes the file. A reader may decide before its end, and close the pipe."""
    try:
        pipe.write(data)
    except (OSError, ValueError):
        pass
    close(pipe)


def collect(reader, said, most):
    """Collects the standard output, and ends a reader that prints too much."""
    while len(said) <= most and (piece := reader.stdout.read1(1 << 16)):
        said += piece
    if len(said) > most:
        reader.end()
    close(reader.stdout)


def wait(reader, threads, timeout, stop):
    """Waits until the reader has exited and its pipes are closed. Returns whether it exited in time."""
    last, process = time.monotonic() + timeout, reader.process
    while process.poll() is None and time.monotonic() < last and not stop.is_set():
        # As soon as its output ends, the reader is about to exit.
        threads[0].join(0.05)
        if not threads[0].is_alive():
            time.sleep(0.001)
    in_time = process.returncode is not None
    reader.end()
    for thread in threads:
        thread.join(GRACE)
    if any(thread.is_alive() for thread in threads):
        end_group(process)  # its children hold the pipes
    return in_time
