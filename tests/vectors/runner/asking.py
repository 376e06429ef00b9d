"""Asks a reader about vectors."""

import dataclasses
import os
from typing import Callable, List, Optional

from . import answers, batch, process, scoring, single
from .progress import Progress

#: If the reader answers none of so many first files, the others are not tried.
FIRST = 10


@dataclasses.dataclass
class Reader:
    """A command that reads files, and how it is asked."""

    command: List[str]
    #: Whether one process reads all files.
    is_batch: bool = False
    #: How many processes run at once, if each reads one file.
    jobs: Optional[int] = None
    #: The seconds that it has for a file.
    timeout: int = 10
    #: How it is asked about one vector, if each process reads one.
    ask: Callable = single.ask
    #: Whether what it prints of an accepted file is not compared.
    is_verdict_only: bool = False


def ask_all(reader, asked):
    """Returns the answers to these vectors by id; the valid ones come first."""
    if reader.is_batch:
        said = batch.ask_all(reader.command, asked, reader.timeout)
    else:
        said = single.ask_all(reader.ask, reader.command, asked, reader.jobs or os.cpu_count() or 1, reader.timeout)
    found, valid = [], sum(vector["verdict"] == "valid" for vector in asked)
    try:
        with Progress(len(asked)) as progress:
            for answer in said:
                if reader.is_verdict_only and answer.verdict == "accept":
                    answer = answers.Answer("accept", table=answers.VERDICT)
                found.append(answer)
                check_useful(reader, asked[0], found, valid)
                progress.done += 1
    finally:
        said.close()
    return {vector["id"]: answer for vector, answer in zip(asked, found)}


def check_useful(reader, first, found, valid):
    """Reports a reader that is not scored, since it answers nothing or accepts nothing."""
    if len(found) == FIRST and not any(answer.verdict == "reject" or answer.table is not None for answer in found):
        why = f"the reader answers none of the first {FIRST} files"
    elif len(found) == valid and all(answer.table is None for answer in found):
        why = f"the reader accepts none of the {valid} valid files, so nothing is scored"
    else:
        return
    _, problem = scoring.judge(first, found[0], False)
    raise process.Unusable(f"{why}{way(reader, found[0])}; {first['id']}: {problem}")


def way(reader, answer):
    """Returns how else a reader with this first answer can be asked: it may have been written for that way."""
    if not reader.is_batch and answer.text.endswith(answers.EMPTY):
        return "; --verdict-only scores a reader that prints no tensors by its exit code"
    if reader.is_batch:
        return "; it gets a path per line, and without --batch each file on its standard input"
    if reader.ask is single.ask:
        return "; it gets each file on its standard input, and with --batch a path per line"
    return ""
