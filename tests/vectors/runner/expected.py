"""The answers that are known not to be right: a file of ids and kinds, with which later runs are compared."""

from .answers import NOT_ASKED
from .scoring import KINDS
from .vectors import Unusable

HEAD = "# Answers that are known not to be right: id and kind. Another run compares with them. Words after # are skipped."
#: In place of an id: the version of the suite.
SUITE = "suite"


def write(path, suite, kinds):
    """Writes the kinds, sorted by id."""
    lines = [HEAD, f"{SUITE}: {suite}", *(f"{name}: {kind}" for name, kind in sorted(kinds.items()))]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def load(path, manifest):
    """Returns the version of the suite, and the kinds by id."""
    suite, kinds, known = None, {}, {vector["id"] for vector in manifest["vectors"]}
    with open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            name, _, kind = line.partition("#")[0].strip().partition(": ")
            if name == SUITE:
                suite = kind
            elif name in known - kinds.keys() and kind in (*KINDS[1:], NOT_ASKED):
                kinds[name] = kind
            elif name:
                why = f"is no id of suite {manifest['suite']} with a kind, or is a duplicate"
                raise Unusable(f"{path}, line {number}: {line.strip()!r} {why}")
    return suite, kinds


def differences(expected, kinds, asked):
    """Returns how the kinds of those that were asked differ, by id: the expected kind, and the new one."""
    both = ((name, expected.get(name, KINDS[0]), kinds.get(name, KINDS[0])) for name in asked)
    return {name: (old, new) for name, old, new in both if old != new}
