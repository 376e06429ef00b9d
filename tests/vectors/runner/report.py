"""The scores of a reader, for people and for programs."""

import collections
import operator

from . import scoring, vectors

#: How many characters of a wrong answer are printed.
LONGEST_LINE = 240
#: The parts of a table that a reader may leave out, and their names for people.
PARTS = {"data_offsets": "offsets", "sha256": "checksums", "metadata": "metadata"}


def numbers(scores):
    """Returns all that is counted, by name; of the verdicts, first the valid files, then the invalid ones."""
    verdict = lambda scored: scored.vector["verdict"]
    return {
        "vectors": len(scores),
        "right": sum(is_right(scored) for scored in scores),
        "kinds": {kind: sum(scored.kind == kind for scored in scores) for kind in scoring.KINDS},
        "verdicts": groups(sorted(scores, key=verdict, reverse=True), verdict),
        "areas": groups(scores, lambda scored: vectors.area(scored.vector)),
        "rules": groups(scores, lambda scored: scored.vector["rule"]),
        "parts": {member: part(scores, member) for member in PARTS},
        "errors": errors(scores),
    }


def is_right(scored):
    """Whether the reader gets a point."""
    return scored.kind == "right"


def groups(scores, name):
    """Returns the number of vectors and of right answers of each group, in the order of the scores."""
    found = collections.defaultdict(lambda: {"vectors": 0, "right": 0})
    for scored in scores:
        found[name(scored)]["vectors"] += 1
        found[name(scored)]["right"] += is_right(scored)
    return dict(found)


def part(scores, member):
    """Returns how many tables can have a part, how many have it, and in how many it is wrong."""
    parts = [scoring.part(scored, member) for scored in scores if scoring.can_have(scored, member)]
    return {"tables": len(parts), "have": len(parts) - parts.count(None), "wrong": parts.count(False)}


def errors(scores):
    """Returns how many errors have the code and the offset of the manifest."""
    of = lambda scored: [(scored.vector[name], getattr(scored.answer, name)) for name in ("code", "at")]
    is_reject = lambda scored: scored.answer.verdict == scored.vector["ours"] == "reject"
    rejected = [of(scored) for scored in scores if is_reject(scored) and "code" in scored.vector]
    codes, places = (sum(right == said for right, said in map(operator.itemgetter(at), rejected)) for at in (0, 1))
    return {"all": len(rejected), "code": codes, "at": places}


def summary(scores, strict):
    """Yields a line for each area, and what is not visible from them."""
    counted = numbers(scores)
    for area, count in [*counted["areas"].items(), ("all", counted)]:
        yield f"{area:<12} {count['right']:>5} of {count['vectors']:>5}"
    yield ", ".join(f"{name} {count['right']} of {count['vectors']}" for name, count in counted["verdicts"].items())
    rules = counted["rules"].values()
    yield f"rules without a fault: {sum(rule['right'] == rule['vectors'] for rule in rules)} of {len(rules)}"
    if counted["right"] < counted["vectors"]:
        yield f"not right: {kinds_of([scored for scored in scores if scored.problem])}"
    yield from parts(counted["parts"])
    if strict:
        said = counted["errors"]
        yield f"of {said['all']} errors, {said['code']} have the manifest's code and {said['at']} its offset"


def parts(counted):
    """Yields how many tables have the parts that may be left out."""
    for member, count in counted.items():
        if count["tables"]:
            how = f", {count['wrong']} wrong" if count["wrong"] else ", all right" if count["have"] else ""
            yield f"{PARTS[member]}: in {count['have']} of {count['tables']} tables{how}"


def compared(known, changes, version):
    """Yields how the answers differ from those that were expected."""
    suite, kinds = known
    yield from versions(suite, version)
    yield f"expected not to be right: {len(kinds)}; other answers than expected: {len(changes)}"
    yield from news(changes)


def versions(suite, version):
    """Yields a line if the expected answers are about another version of the suite."""
    if suite != version:
        yield f"the expected answers are of suite {suite}, the vectors are of {version}"


def news(changes):
    """Yields a line for each answer that differs from the expected one."""
    for name, (old, new) in changes.items():
        yield f"newly {new}: {name} was {old}"


def causes(scores, manifest, in_full):
    """Yields what the answers that are not right have in common. In each step it is the rule or the flag that explains most
    of the rest, with regard to its right answers; no answer is counted again."""
    meanings = {**{name: rule["rule"] for name, rule in manifest.get("rules", {}).items()}, **manifest["flags"]}
    while lost := collections.Counter(name for scored in scores if scored.problem for name in groups_of(scored)):
        asked = collections.Counter(name for scored in scores for name in groups_of(scored))
        cause = max(lost, key=lambda name: lost[name] ** 2 / asked[name])
        wrong = [scored for scored in scores if scored.problem and cause in groups_of(scored)]
        yield f"{lost[cause]} of {asked[cause]} with {cause} ({kinds_of(wrong)}): {meanings[cause]}"
        yield from examples(wrong, in_full)
        scores = [scored for scored in scores if cause not in groups_of(scored)]


def groups_of(scored):
    """Returns the rule and the flags of a vector, each once."""
    return dict.fromkeys((scored.vector["rule"], *scored.vector["flags"]))


def kinds_of(wrong):
    """Returns how many answers are of each kind."""
    found = collections.Counter(scored.kind for scored in wrong)
    return ", ".join(f"{kind} {found[kind]}" for kind in scoring.KINDS if kind in found)


def examples(wrong, in_full):
    """Yields one answer of each kind, or all, with the reason of the vector and where to look."""
    first = {scored.kind: scored for scored in reversed(wrong)}
    if len(first) > 1:
        first.pop("not shown", None)
    for scored in wrong if in_full else first.values():
        yield f"  {scored.vector['id']}: {cut(scored.problem)}"
        yield f"      {scored.vector['reason']}"
        yield f"      {where(scored.vector)}"


def where(vector):
    """Returns the rule, the error and the file of a vector."""
    error = f", {vector['code']} at byte {vector['at']}" if "code" in vector else ""
    made = "" if "file" in vector else ", made by its recipe"
    return f"{vector['rule']}{error}: {vectors.path(vector)}{made}"


def cut(text):
    """Returns the first line of a text, cut if it is too long. A reader's control characters are escaped."""
    line = text.split("\n", 1)[0]
    shown = "".join(map(escaped, line[:LONGEST_LINE]))
    return shown if len(line) <= LONGEST_LINE else f"{shown}…"


def escaped(character):
    """Returns a character so that a terminal shows it and does nothing else."""
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def answers(scores):
    """Returns every answer by id, for other programs."""
    return {
        scored.vector["id"]: {
            **{name: getattr(scored.answer, name) for name in ("verdict", "code", "at", "text")},
            **{name: getattr(scored, name) for name in ("kind", "problem")},
        }
        for scored in scores
    }
