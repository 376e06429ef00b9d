"""The answers of readers: what an exit code, an output or a line of a batch says."""

import dataclasses
import json
import math
import re
from typing import Optional

from . import strict

ERROR_LINE = re.compile(r"error\[([^\]\s]+)\](?: at byte ([0-9]{1,20}(?![0-9])))?")
#: Parts of lines that sanitizers print.
REPORTS = (
    "ERROR: AddressSanitizer",
    "ERROR: HWAddressSanitizer",
    "ERROR: LeakSanitizer",
    "WARNING: MemorySanitizer",
    "WARNING: ThreadSanitizer",
    ": runtime error: ",
)
#: The start of the line before the frames of an exception that a Python program does not catch. Its last line says why.
TRACEBACK = "Traceback (most recent call last):"
#: The starts of lines that other languages print about such an exception.
UNCAUGHT = ("Node.js v", 'Exception in thread "')
#: How many characters are kept of a message: of a rejection, and of the line that tells of a crash.
LONGEST_TEXT = 1000
LONGEST_CRASH = 200
#: How many bytes are shown of output that is not JSON.
START = 60
#: The verdict of an answer that does not exist: the case is left out of the score.
NOT_ASKED = "not asked"
#: How the text ends if an accepting reader prints nothing.
EMPTY = "is empty"
#: The table of a reader that is asked for its verdict alone.
VERDICT = {}


@dataclasses.dataclass
class Answer:
    """The answer of a reader about one file."""

    #: "accept" or "reject"; "crash", "hang" or "bad output" if it is neither
    verdict: str
    #: The message; for "accept": what is wrong with the output, if the table is None.
    text: str = ""
    #: For "reject": this project's code of the error and its byte, if given.
    code: Optional[str] = None
    at: Optional[int] = None
    #: For "accept": {"tensors": {name: {…}}, "metadata": {…} or None}
    table: Optional[dict] = None


class Wrong(Exception):
    """Output does not follow the protocol."""


def of_process(code, said, words):
    """Returns the answer of a process with this exit code, standard output and standard error."""
    if code == 0:
        return acceptance(said)
    text = (words + said).decode(errors="replace").strip()
    return rejection(text) if code == 1 and not report(text) else crash(code, text)


def of_line(line, path):
    """Returns the answer of a line of a batch about this file."""
    try:
        found = json_object(line, "the line")
        if "error" not in found:
            check_text(found, line, "the line")
    except Wrong as error:
        # What is printed of an invalid file that was accepted may not be text.
        return Answer("accept" if b'"tensors"' in line else "bad output", text=str(error))
    try:
        if ("tensors" in found) == ("error" in found):
            raise Wrong(f'the line has not one of "tensors" and "error": {start(line)}')
        if "error" in found and not isinstance(found["error"], str):
            raise Wrong('"error" is not a string')
        if found.get("file", path) != path:
            raise Wrong(f'"file" is not the one that was asked: {start(line)}')
    except Wrong as error:
        return Answer("bad output", text=str(error))
    return rejection(with_whole_pairs(found["error"]).strip()) if "error" in found else accepted(found)


def of_lines():
    """Returns the answer of a batch that has printed more than the line that it was asked for."""
    return Answer("bad output", text="more than one line for a file")


def acceptance(output):
    """Returns the answer of a reader that has accepted a file with this output."""
    try:
        table = json_object(output, "standard output")
        check_text(table, output, "standard output")
        return accepted(table)
    except Wrong as error:
        return Answer("accept", text=str(error))


def accepted(table):
    """Returns the answer that is a table."""
    why = violation(table)
    return Answer("accept", text=why) if why else Answer("accept", table=table)


def rejection(text):
    """Returns the answer of a reader that rejects a file with this text."""
    found = ERROR_LINE.search(text)
    code, at = (found[1], int(found[2]) if found[2] else None) if found else (None, None)
    at = None if at is None or at >= 1 << 64 else at
    return Answer("reject", text=text[:LONGEST_TEXT], code=code, at=at)


def crash(code, text):
    """Returns the answer of a process that ended with this code, and neither accepts nor rejects."""
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    line = report(text) or lines_of(text)[0]
    return Answer("crash", text=f"{how} {line[:LONGEST_CRASH]}".strip())


def report(text):
    """Returns the line that tells of a bug found by a sanitizer, or of an exception that was not caught."""
    lines = lines_of(text)
    for line in lines:
        if line.startswith(TRACEBACK):
            return lines[-1]
        if any(part in line for part in REPORTS):
            return line
        if line.startswith(UNCAUGHT):
            return lines[0]
    return None


def lines_of(text):
    """Returns the lines of a text, of which there is at least one."""
    return text.replace("\r\n", "\n").split("\n")


def json_object(output, what):
    """Returns the JSON object that the bytes are."""
    if not output.strip():
        raise Wrong(f"{what} {EMPTY}")
    try:
        text = output.decode()
    except UnicodeDecodeError as error:
        raise Wrong(f"{what} is not UTF-8: {start(output)}") from error
    try:
        found = json.loads(text, parse_constant=strict.not_json, parse_int=integer, parse_float=finite)
    except (ValueError, RecursionError):
        found = None
    # Other parsers stop at this depth.
    if not isinstance(found, dict) or strict.most_open(text) > strict.MOST_OPEN:
        raise Wrong(f"{what} is not one JSON object: {start(output)}")
    return found


def check_text(found, output, what):
    """Rejects a JSON object with half a surrogate pair, which is no text."""
    try:
        if b"\\u" in output:
            json.dumps(found, ensure_ascii=False).encode()
    except ValueError as error:
        raise Wrong(f"{what} is not one JSON object: {start(output)}") from error


def with_whole_pairs(text):
    """Returns the text of an error, with U+FFFD for each half of a surrogate pair."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def integer(text):
    """Returns an integer. -0 is none: other parsers have no negative zero but that of floating point."""
    number = finite(text)
    return number if text == "-0" else int(text)


def finite(text):
    """Returns a number. One that is beyond floating point is rejected, as by other parsers."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


def start(output):
    """Returns the first bytes of an output as text."""
    return output[:START].decode(errors="replace").strip()


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
