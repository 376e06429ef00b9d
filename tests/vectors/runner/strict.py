"""Reads a file, and rejects what any rule or the published text rejects: what writers write is judged by it."""

import hashlib
import itertools
import json
import re

#: The bits of an element.
BITS = {
    **dict.fromkeys(("F4",), 4),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("C64", "F64", "I64", "U64"), 64),
}
LONGEST_HEADER = 100_000_000
MOST = (1 << 64) - 1
METADATA = "__metadata__"
MEMBERS = ("dtype", "shape", "data_offsets")
#: The brackets that may be open at once.
MOST_OPEN = 127
STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


class Invalid(ValueError):
    """The file or the text breaks a rule."""


class Pairs(list):
    """The members of an object, also those with the same key."""


def read(file):
    """Returns the table of a file, as readers print it."""
    length = int.from_bytes(file[:8], "little")
    need(len(file) >= 8 and length <= LONGEST_HEADER and length <= len(file) - 8, "the header is cut off or too long")
    header, data = file[8 : 8 + length], file[8 + length :]
    need(header.startswith(b"{"), "the header does not begin with {")
    need(header.rstrip(b" ").endswith(b"}"), "something else than spaces is after the header's object")
    members = parse(header)
    need(are_distinct(members), "a name is a duplicate")
    tensors = {name: tensor(name, entry, data) for name, entry in members if name != METADATA}
    check_layout([entry["data_offsets"] for entry in tensors.values()], len(data))
    return {"tensors": tensors, "metadata": metadata(dict(members))}


def need(holds, sentence):
    """Rejects the file where something does not hold."""
    if not holds:
        raise Invalid(sentence)


def parse(text):
    """Returns what a JSON text in UTF-8 says, with objects as pairs."""
    try:
        found = json.loads(text.decode(), object_pairs_hook=Pairs, parse_int=integer, parse_constant=not_json)
        json.dumps(found, ensure_ascii=False).encode()  # fails on half a surrogate pair
    except (ValueError, RecursionError) as error:
        raise Invalid(f"not JSON: {error}") from error
    need(most_open(text.decode()) <= MOST_OPEN, f"more than {MOST_OPEN} brackets are open")
    return found


def most_open(text):
    """Returns how many brackets of a JSON text are open at once."""
    brackets = re.findall(r"[][{}]", STRING.sub("", text))
    return max(itertools.accumulate(1 if bracket in "[{" else -1 for bracket in brackets), default=0)


def integer(text):
    """Returns an integer, or 0.5 for one with a sign or too many digits: `are_numbers` rejects that."""
    return int(text) if text.isdigit() and len(text) <= len(str(MOST)) else 0.5


def not_json(word):
    """Rejects NaN and Infinity, which Python reads although they are not JSON."""
    raise ValueError(f"{word} is no value")


def are_distinct(members):
    """Whether no key is a duplicate."""
    return len(dict(members)) == len(members)


def tensor(name, entry, data):
    """Returns a tensor whose members are right."""
    need(isinstance(entry, Pairs), f"the entry of {name!r} is not an object")
    keys = [key for key, _ in entry if key in MEMBERS]
    need(sorted(keys) == sorted(MEMBERS), f"{name!r} has not dtype, shape and data_offsets once each")
    dtype, shape, offsets = map(dict(entry).get, MEMBERS)
    need(isinstance(dtype, str) and dtype in BITS, f"{name!r} has no known dtype")
    need(are_numbers(shape), f"the shape of {name!r} is not a list of 64-bit numbers")
    need(are_numbers(offsets) and len(offsets) == 2, f"data_offsets of {name!r} are not two 64-bit numbers")
    bits = BITS[dtype] * elements(name, shape)
    need(bits <= MOST and bits % 8 == 0, f"{name!r} does not fill bytes, or is too large")
    begin, end = offsets
    need(end - begin == bits // 8, f"{name!r} needs {bits // 8} bytes, but has the offsets {begin} to {end}")
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets, "sha256": hashlib.sha256(data[begin:end]).hexdigest()}


def are_numbers(found):
    """Whether this is a list of unsigned 64-bit numbers."""
    return type(found) is list and all(type(number) is int and number <= MOST for number in found)


def elements(name, shape):
    """Returns the number of elements, whose product fits 64 bits at each step."""
    count = 1
    for dimension in shape:
        count *= dimension
        need(count <= MOST, f"the shape of {name!r} is too large")
    return count


def check_layout(ranges, length):
    """Rejects tensors that do not lie end to end in the data."""
    last = 0
    for begin, end in sorted(ranges):
        need(begin == last, f"the data has a hole or an overlap at byte {min(begin, last)}")
        last = end
    need(last == length, f"the tensors end at byte {last} of the data, which has {length}")


def metadata(members):
    """Returns the metadata of a header."""
    if METADATA not in members:
        return None
    pairs = members[METADATA]
    is_map = isinstance(pairs, Pairs) and are_distinct(pairs) and all(isinstance(value, str) for _, value in pairs)
    need(is_map, "the metadata is not a map of strings")
    return dict(pairs)
