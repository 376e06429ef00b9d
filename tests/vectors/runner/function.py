"""Asks a reader that is a function in Python: each vector is a test of pytest."""

import json
import os
import warnings

from . import answers, choice, expected, report, scoring, vectors

#: Whether the tests write their files of known answers instead of comparing with them.
WRITES = os.environ.get("CONFORMANCE_WRITE_EXPECT") == "1"


def conformance(*, level="full", exclude=(), expect=None, rejects=Exception):
    """Returns a decorator that makes a test of each vector.

    The function gets the path of a file. It returns the object of PROTOCOL.md, and raises one of `rejects` where it rejects
    the file; another exception is a crash. `expect` is the file of known answers. The other options are those of the command.
    """
    import pytest  # the command needs none

    manifest = vectors.load()
    chosen, _ = choice.choose(manifest, level, (), exclude)
    is_there = bool(expect) and os.path.exists(expect)
    if expect and not (is_there or WRITES):
        raise FileNotFoundError(f"{expect} does not exist: run the tests with CONFORMANCE_WRITE_EXPECT=1 to write it")
    if expect and WRITES and "PYTEST_XDIST_WORKER" in os.environ:
        raise RuntimeError(f"each process would write {expect} with its own answers alone: run pytest without -n")
    suite, known = expected.load(expect, manifest) if is_there else (manifest["suite"], {})
    for line in report.versions(suite, manifest["suite"]):
        warnings.warn(line, stacklevel=2)
    write = lambda: expected.write(expect, manifest["suite"], {name: kind for name, kind in known.items() if kind != "right"})

    def decorate(read):
        reader = Function(read, rejects, manifest)

        @pytest.mark.parametrize("vector", chosen, ids=[vector["id"] for vector in chosen])
        def test(vector, request):
            if expect and WRITES and not reader.said:
                request.session.addfinalizer(write)
            scored = reader.score(vector)
            changes = expected.differences(known, {vector["id"]: scored.kind}, [vector["id"]])
            if expect and WRITES:
                known[vector["id"]] = scored.kind
            elif changes:
                pytest.fail("\n".join([*report.news(changes), *report.examples([scored] if scored.problem else [], True)]), pytrace=False)

        test.__name__, test.__doc__, test.__module__ = read.__name__, read.__doc__, read.__module__
        return test

    return decorate


class Function:
    """A function that reads a file, and its answers so far."""

    def __init__(self, read, rejects, manifest):
        self.read, self.rejects, self.manifest = read, rejects, manifest
        self.said, self.vectors = {}, {vector["id"]: vector for vector in manifest["vectors"]}

    def score(self, vector):
        """Returns the score of the answer about a vector. The twin is asked, too, and all files that show whether the
        reader has the profiles of the vector."""
        answer, twin, lacks = self.answer(vector), None, frozenset()
        if answer.verdict == "reject":
            twin = self.answer(self.vectors[vector["twin"]]) if "twin" in vector else None
            profiles = set(self.manifest["profiles"]).intersection(vector["flags"])
            shows = lambda other: other["verdict"] == "valid" and other["level"] != "large" and profiles.intersection(other["flags"])
            lacks = scoring.lacking(self.manifest, {name: self.answer(other) for name, other in self.vectors.items() if shows(other)})
        return scoring.score(vector, answer, twin, lacks=lacks)

    def answer(self, vector):
        """Returns the answer about a vector, which is asked once."""
        if vector["id"] not in self.said:
            self.said[vector["id"]] = self.ask(vector)
        return self.said[vector["id"]]

    def ask(self, vector):
        """Calls the function with a copy of the file."""
        with vectors.empty_directory() as place:
            path = place / "model.safetensors"
            vectors.write(vector, path)
            try:
                found = self.read(str(path))
            except self.rejects as error:
                return answers.rejection(str(error))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # such as a panic of Rust
                return answers.Answer("crash", text=f"{type(error).__name__} {error}")
        try:
            return answers.acceptance(json.dumps(found).encode())
        except (TypeError, ValueError, RecursionError) as error:
            return answers.Answer("accept", text=f"what is returned is not JSON: {error}")
