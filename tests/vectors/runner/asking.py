"""Asks a reader about vectors."""

import dataclasses
import os
from typing import Callable, List, Optional

from runner import batch, process, scoring, single

#: If none of so many files is answered in time, the others are not tried.
HANGS = 10


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
    """Returns the answers to these vectors by id; the valid ones come first."""
    command = process.absolute(reader.command)
    if reader.is_batch:
        said = batch.ask_all(command, asked, reader.timeout)
    else:
        said = single.ask_all(reader.ask, command, asked, reader.jobs or os.cpu_count() or 1, reader.timeout)
    answers, hangs, valid = {}, 0, sum(vector["verdict"] == "valid" for vector in asked)
    try:
        for count, (vector, answer) in enumerate(zip(asked, said), 1):
            answers[vector["id"]] = answer
            hangs += answer.verdict == "hang"
            if hangs == count == HANGS:
                raise process.Unusable(f"the reader answered none of {HANGS} files in {reader.timeout} seconds; see --timeout")
            if count == valid and all(answer.verdict != "accept" for answer in answers.values()):
                raise process.Unusable(useless(asked[0], answers[asked[0]["id"]], valid))
    finally:
        said.close()
    return answers


def useless(vector, answer, valid):
    """Returns why a reader that accepts nothing is not scored."""
    _, problem = scoring.judge(vector, answer, False)
    return f"the reader accepts none of the {valid} valid files, so nothing is scored; {vector['id']}: {problem}"
