"""The answers of readers to vectors, and whether they are right."""

import dataclasses
import re
from typing import Optional

ERROR_LINE = re.compile(r"error\[([^\]\s]+)\](?: at byte (\d+))?")


@dataclasses.dataclass
class Answer:
    """The answer of a reader about one file."""

    #: "accept", "reject" or "crash"
    verdict: str
    #: For a crash or a rejection: the message.
    text: str = ""
    #: For a rejection: this project's code of the error and its byte, if given.
    code: Optional[str] = None
    at: Optional[int] = None
    #: For a crash: whether there was no answer in time.
    hangs: bool = False
    #: For an accepted file: {"tensors": {name: {…}}, "metadata": {…} or None}
    table: Optional[dict] = None


def rejection(text):
    """Returns the answer of a reader that rejects a file with this text."""
    found = ERROR_LINE.search(text)
    if not found:
        return Answer("reject", text=text)
    return Answer("reject", text=text, code=found[1], at=int(found[2]) if found[2] else None)


def problem(vector, answer, strict=False):
    """Returns why the answer is wrong, as a sentence; None if it is right.

    Strict are the requirements on this project's own reader: its verdict where readers may differ, the
    code and the offset of each error, and everything that the manifest lists of a table.
    """
    if answer.verdict == "crash":
        return f"crashed: {answer.text}"
    expected = expected_verdict(vector, strict)
    if expected is None:
        return None
    if answer.verdict != expected:
        return f"must {expected}, but did {answer.verdict}{': ' if answer.text else ''}{answer.text}"
    if expected == "accept":
        return table_problem(vector, answer.table) or (left_out(vector, answer.table) if strict else None)
    return error_problem(vector, answer) if strict else None


def expected_verdict(vector, strict):
    """"accept" or "reject"; None where both are right."""
    if strict:
        return vector["ours"]
    return {"valid": "accept", "invalid": "reject", "either": None}[vector["verdict"]]


def error_problem(vector, answer):
    """Returns what is wrong with the code or the offset of an error."""
    if has_code(vector, answer) and has_place(vector, answer):
        return None
    return f"must say {error(vector['code'], vector['at'])}, but said {error(answer.code, answer.at)}"


def error(code, at):
    """Returns a code and a byte as they are printed."""
    place = "no byte" if at is None else f"byte {at}"
    return "no code" if code is None else f"error[{code}] at {place}"


def has_code(vector, answer):
    """Whether the code is the one of the manifest."""
    return answer.code == vector.get("code")


def has_place(vector, answer):
    """Whether the offset is the one of the manifest."""
    return answer.at == vector.get("at")


def table_problem(vector, table):
    """Returns what is wrong with the tensors or the metadata, as a sentence. Members that are missing in
    an answer's tensor are not compared."""
    tensors = table["tensors"]
    if "tensor_count" in vector and len(tensors) != vector["tensor_count"]:
        return f"has {vector['tensor_count']} tensors, but {len(tensors)} were read"
    if "tensors" in vector:
        wrong = tensors_problem({tensor["name"]: tensor for tensor in vector["tensors"]}, tensors)
        if wrong:
            return wrong
    if "metadata" in vector and "metadata" in table and not same(table["metadata"], vector["metadata"]):
        return f"the metadata is {vector['metadata']!r}, but {table['metadata']!r} was read"
    return None


def left_out(vector, table):
    """Returns the offsets or metadata that the manifest lists and the table does not have."""
    if "metadata" in vector and "metadata" not in table:
        return "leaves out the metadata"
    if "tensors" in vector and not all("data_offsets" in tensor for tensor in table["tensors"].values()):
        return "leaves out data_offsets"
    return None


def tensors_problem(expected, found):
    """Returns what is wrong with one of the tensors."""
    if expected.keys() != found.keys():
        return f"the tensors are {sorted(expected)!r}, but {sorted(found)!r} were read"
    for name, tensor in found.items():
        for member, value in tensor.items():
            if not same(value, expected[name].get(member)):
                return f"{member} of {name!r} is {expected[name].get(member)!r}, but {value!r} was read"
    return None


def same(found, expected):
    """Whether two JSON values are the same. In plain Python 2, 2.0 and (for 1) true are equal."""
    if type(found) is not type(expected):
        return False
    if isinstance(found, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in found)
    if isinstance(found, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return found == expected
