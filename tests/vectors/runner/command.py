"""Runs a reader that is a command, and interprets its answer."""

import concurrent.futures
import json
import os
import subprocess

from runner import scoring, vectors


def ask_all(command, chosen, jobs=None, timeout=60):
    """Returns the answers to these vectors by id."""
    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        answers = pool.map(lambda vector: ask(command, vectors.content(vector), timeout), chosen)
        return {vector["id"]: answer for vector, answer in zip(chosen, answers)}


def ask(command, data, timeout):
    """Returns the answer to one file."""
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return scoring.Answer("crash", text=f"no answer in {timeout} seconds")
    if done.returncode == 0:
        return acceptance(done.stdout)
    words = (done.stderr + done.stdout).decode(errors="replace").strip()
    if done.returncode == 1:
        return scoring.rejection(words)
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    return scoring.Answer("crash", text=f"{how} {words[-200:]}".strip())


def acceptance(output):
    """Returns the answer of a reader that accepts the file. Output that violates the protocol is a crash."""
    try:
        table = json.loads(output)
        for tensor in table["tensors"].values():
            if not {"dtype", "shape"} <= tensor.keys():
                raise ValueError("a tensor lacks dtype or shape")
        if not isinstance(table.get("metadata"), (dict, type(None))):
            raise ValueError("metadata is neither an object nor null")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return scoring.Answer("crash", text=f"the output is not what the protocol says: {error!r}")
    return scoring.Answer("accept", table=table)
