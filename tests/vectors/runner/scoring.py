"""Whether the answers of readers are right."""

import dataclasses
from typing import Optional

from .answers import VERDICT, Answer
from .vectors import with_table

#: What an answer can be.
KINDS = ("right", "wrong", "not shown", "crash", "hang", "bad output")
#: What a reader may leave out of a table, beside members of its tensors.
METADATA = "metadata"


@dataclasses.dataclass
class Score:
    """An answer to a vector, and what it is worth."""

    vector: dict
    answer: Answer
    #: One of KINDS; the reader has a point only for "right".
    kind: str
    #: Why the answer is not right, as a sentence.
    problem: Optional[str]
    is_strict: bool = False


def lacking(manifest, answers, wanted=()):
    """Returns the profiles that a reader lacks, without those that are wanted: it rejects all valid files of them."""
    of = lambda profile: (vector["id"] for vector in manifest["vectors"] if vector["verdict"] == "valid" and profile in vector["flags"])
    said = lambda profile: {answers[name].verdict for name in of(profile) if name in answers}
    return {profile for profile in manifest.get("profiles", ()) if profile not in wanted and said(profile) == {"reject"}}


def score(vector, answer, twin, strict=False, lacks=frozenset()):
    """Returns the score of an answer; `twin` is the answer about the vector's twin, if that was asked. A reader may
    reject the files of the profiles that it `lacks`.

    `strict` also requires what this project requires of its own reader: its verdict where readers may differ, the
    code and the offset of each error, and everything that the manifest lists of a table.
    """
    if answer.verdict == "reject" and not strict and not lacks.isdisjoint(vector["flags"]):
        return Score(vector, answer, "right", None)
    if answer.verdict == "accept":
        vector = with_table(vector)
    kind, problem = judge(vector, answer, strict)
    if kind == "right" and answer.verdict == "reject" and vector["verdict"] == "invalid":
        if twin and twin.verdict != "accept":
            kind, problem = "not shown", f"rejected, but the valid file {vector['twin']} is not accepted either"
    return Score(vector, answer, kind, problem, strict)


def judge(vector, answer, strict):
    """Returns the kind of an answer and the problem with it, without regard to the twin."""
    if answer.verdict not in ("accept", "reject"):
        word = {"crash": "crashed", "hang": "hung"}.get(answer.verdict, answer.verdict)
        return answer.verdict, f"{word}: {answer.text}"
    expected = expected_verdict(vector, strict)
    if answer.verdict != (expected or answer.verdict):
        said = f": {answer.text}" if answer.text and answer.verdict == "reject" else ""
        return "wrong", f"must {expected}, but did {answer.verdict}{said}"
    if answer.verdict == "accept" and answer.table is None:
        return "bad output", f"accepted, but {answer.text}"
    problem = detail(vector, answer, strict) if expected else None
    return ("wrong", problem) if problem else ("right", None)


def expected_verdict(vector, strict):
    """"accept" or "reject"; None where both are right."""
    if strict:
        return vector["ours"]
    return {"valid": "accept", "invalid": "reject", "either": None}[vector["verdict"]]


def detail(vector, answer, strict):
    """Returns what is wrong with an answer whose verdict is right."""
    if answer.verdict == "accept":
        return table_problem(vector, answer.table, strict) or (left_out(vector, answer.table) if strict else None)
    return error_problem(vector, answer) if strict else None


def error_problem(vector, answer):
    """Returns what is wrong with the code or the offset of an error."""
    if (answer.code, answer.at) == (vector.get("code"), vector.get("at")):
        return None
    return f"must say {error(vector['code'], vector['at'])}, but said {error(answer.code, answer.at)}"


def error(code, at):
    """Returns a code and a byte as they are printed."""
    place = "no byte" if at is None else f"byte {at}"
    return "no code" if code is None else f"error[{code}] at {place}"


def table_problem(vector, table, strict=False):
    """Returns what is wrong with the tensors or the metadata, as a sentence. What is missing in the table is
    not compared."""
    if table == VERDICT:
        return None
    tensors = table["tensors"]
    if "tensors" in vector:
        wrong = tensors_problem(rows(vector), tensors)
        if wrong:
            return wrong
    if METADATA in vector and METADATA in table and not same_metadata(vector, table, strict):
        return f"the metadata is {vector[METADATA]!r}, but {table[METADATA]!r} was read"
    return None


def same_metadata(vector, table, strict):
    """Whether the metadata is right. The text does not say that a reader tells an empty map from none."""
    found, expected = table[METADATA], vector[METADATA]
    return same(found, expected) or not (strict or found or expected)


def rows(vector):
    """Returns the tensors that the manifest lists, by their names."""
    return {tensor["name"]: tensor for tensor in vector["tensors"]}


def left_out(vector, table):
    """Returns the offsets or metadata that the manifest lists and the table does not have."""
    if METADATA in vector and METADATA not in table:
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
            if member == "name" or member not in expected[name]:
                return f"{member} of {name!r} is no member, but {value!r} was read"
            if not same(value, expected[name][member]):
                return f"{member} of {name!r} is {expected[name][member]!r}, but {value!r} was read"
    return None


def same(found, expected):
    """Whether a JSON value is the expected one. Integers may be strings of decimal digits; 2.0 and true are
    no integers, although they are equal to some in plain Python."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in found)
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, found, expected))
    if type(expected) is int:
        return type(found) in (int, str) and str(found) == str(expected)
    return type(found) is type(expected) and found == expected


def part(scored, member):
    """Returns whether this part of a table is right; None where it is left out or there is nothing to compare."""
    vector, table = scored.vector, scored.answer.table
    if member == METADATA:
        return same_metadata(vector, table, scored.is_strict) if METADATA in table else None
    expected, found = rows(vector), table["tensors"]
    if not all(member in tensor for tensor in found.values()):
        return None
    return all(name in expected and same(tensor[member], expected[name][member]) for name, tensor in found.items())


def can_have(scored, member):
    """Whether the manifest lists this part of a table, and the reader has accepted the file with a table."""
    vector, table = scored.vector, scored.answer.table
    if table in (None, VERDICT) or vector["verdict"] != "valid" or "tensors" not in vector:
        return False
    return member == METADATA and METADATA in vector or member != METADATA and bool(vector["tensors"] and table["tensors"])
