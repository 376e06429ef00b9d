"""Asks a reader about vectors."""

import dataclasses
import os
from typing import Callable, List, Optional

from runner import batch, process, scoring, single
from runner.answers import NOT_ASKED
from runner.progress import Progress

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
    timeout: int = 60
    #: How it is asked about one vector, if each process reads one.
    ask: Callable = single.ask


def ask_all(reader, asked):
    """Returns the answers to these vectors by id; the valid ones come first. What this system cannot ask is left out."""
    if reader.is_batch:
        said = batch.ask_all(reader.command, asked, reader.timeout)
    else:
        said = single.ask_all(reader.ask, reader.command, asked, reader.jobs or os.cpu_count() or 1, reader.timeout)
    answers, valid = [], sum(vector["verdict"] == "valid" for vector in asked)
    try:
        with Progress(len(asked)) as progress:
            for answer in said:
                answers.append(answer)
                check_useful(reader, asked[0], answers, valid)
                progress.done += 1
    finally:
        said.close()
    return {vector["id"]: answer for vector, answer in zip(asked, answers) if answer.verdict != NOT_ASKED}


def check_useful(reader, first, answers, valid):
    """Reports a reader that is not scored, since it answers nothing or accepts nothing."""
    if len(answers) == FIRST and not any(map(follows_protocol, answers)):
        why = f"the reader answers none of the first {FIRST} files"
    elif len(answers) == valid and all(answer.table is None for answer in answers):
        why = f"the reader accepts none of the {valid} valid files, so nothing is scored"
    else:
        return
    _, problem = scoring.judge(first, answers[0], False)
    raise process.Unusable(f"{why}{way(reader)}; {first['id']}: {problem}")


def way(reader):
    """Returns how the reader gets files, if there are two ways: it may have been written for the other one."""
    if reader.is_batch:
        return "; it gets a path per line, and without --batch each file on its standard input"
    if reader.ask is single.ask:
        return "; it gets each file on its standard input, and with --batch a path per line"
    return ""


def follows_protocol(answer):
    """Whether a reader accepts a file with a table, or rejects it."""
    return answer.verdict == "reject" or answer.table is not None
