"""Which vectors are asked."""

import fnmatch

from .vectors import Unusable, area

#: A plain valid file with one tensor, which is always asked: a reader that accepts nothing has no score. Other cases
#: have their own control.
CONTROL = "entry-object"
#: The levels that can be chosen, each with a test of a vector.
LEVELS = {
    "core": lambda vector: vector["level"] == "core",
    "full": lambda vector: vector["level"] != "large",
    "large": lambda vector: True,
    "header-only": lambda vector: vector.get("header_only", False) and vector["level"] != "large",
    "lite": lambda vector: vector.get("lite", False),
}


def choose(manifest, name, wanted, unwanted):
    """Returns the vectors of a level that match one of `wanted`, or all if it is empty, and none of `unwanted`;
    then the number of those that match, but are of another level."""
    if name not in LEVELS:
        raise Unusable(f"{name!r} is no level, but {', '.join(LEVELS)} are")
    for pattern in (*wanted, *unwanted):
        if not any(matches(vector, pattern) for vector in manifest["vectors"]):
            raise Unusable(f"no vector has the id, the area, the flag or the rule {pattern!r}")
    selected = [vector for vector in manifest["vectors"] if matches(vector, *(wanted or "*"))]
    matching = [vector for vector in selected if not matches(vector, *unwanted)]
    if not matching:
        raise Unusable(f"--exclude leaves none of the {len(selected)} vectors")
    chosen = [vector for vector in matching if LEVELS[name](vector)]
    if not chosen:
        raise Unusable(f"none of the {len(matching)} vectors that match is of the level {name}; see --level")
    return chosen, len(matching) - len(chosen)


def matches(vector, *patterns):
    """Whether one of the patterns is the vector's area or rule, one of its flags, or a glob of its id."""
    names = (area(vector), vector["rule"], *vector["flags"])
    return any(pattern in names or fnmatch.fnmatchcase(vector["id"], pattern) for pattern in patterns)


def with_control(manifest, chosen):
    """Returns the chosen vectors, the twins of invalid ones and the control, the valid ones first: a reader that
    accepts none need not be asked more."""
    twins = {vector["twin"] for vector in chosen if vector["verdict"] == "invalid" and "twin" in vector}
    ids = {manifest.get("control", CONTROL)}.union(twins, (vector["id"] for vector in chosen))
    asked = [vector for vector in manifest["vectors"] if vector["id"] in ids]
    return sorted(asked, key=lambda vector: vector["verdict"] != "valid")
