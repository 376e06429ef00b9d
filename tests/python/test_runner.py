"""The runner of the conformance vectors: it scores a reader with thirteen planned wrong answers exactly, and it is right
about readers that end, hang, flood, fork or follow no protocol."""

import contextlib
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time

import pytest
import results
from planned import PLANNED
from runner import answers, choice, report, scoring, vectors
from suite import FAKE, SUITE, kinds, run, score
from support import ROOT

pytestmark = pytest.mark.main

MANIFEST = vectors.load()
VECTORS = {vector["id"]: vector for vector in MANIFEST["vectors"]}
SMALL = [vector for vector in VECTORS.values() if vector["level"] != "large"]

#: The kind of each planned answer, and its problem as a pattern.
PROBLEMS = {
    "offsets-pair": ("wrong", r"must accept, but did reject: error\[json.syntax\] at byte 8: as planned"),
    "after-brace": ("wrong", r"must reject, but did accept"),
    "space-before": ("wrong", r"must accept, but did reject: error\[json.syntax\] at byte 8: as planned"),
    "dtype-all": ("wrong", r"sha256 of '\w+' is '[0-9a-f]{64}', but '0{64}' was read"),
    "layout-backwards": ("wrong", r"the tensors are \[.+\], but \[.+\] were read"),
    "metadata-several": ("wrong", r"the metadata is \{.+\}, but None was read"),
    "layout-shuffled": ("wrong", r"leaves out the metadata"),
    "after-comma": ("wrong", r"must say error\[(?!json.depth).+\] at byte (\d+), but said error\[json.depth\] at byte \1"),
    "after-comment": ("wrong", r"must say error\[(.+)\] at byte (\d+), but said error\[\1\] at byte (?!\2)\d+"),
    "end-in-literal": ("crash", r"crashed: exit code 101 index out of bounds"),
    "json-literal-nan": ("hang", r"hung: no answer in 5 seconds"),
    "metadata-one": ("bad output", r".*(the line|standard output) is not one JSON object: no JSON"),
    "space-only": ("wrong", r"must reject, but did accept"),
}
#: These are right unless scores are strict.
STRICT_ONLY = ("space-before", "layout-shuffled", "after-comma", "after-comment")


def shell(place, options, line):
    """Returns the answer of a line of shell about one vector, after the control that is asked before it."""
    line = f"[ $(wc -c) != {VECTORS['entry-object']['length']} ] || exec echo '{{\"tensors\":{{}}}}'; {line}"
    said, scored = score(place, ["--filter", "d3-array", *options], ["sh", "-c", line])
    assert (said.stderr, said.returncode in (0, 1)) == ("", True), said
    return scored["answers"]["d3-array"]


@pytest.mark.parametrize("is_strict", [True, False])
@pytest.mark.parametrize("how", ["--batch", "--jobs=3"])
def test_thirteen_planned_answers_are_scored_exactly(tmp_path, how, is_strict):
    """One process for each file would read the manifest 1500 times: it is asked about a few of them."""
    in_full = how == "--batch"
    asked = [vector for vector in SMALL if in_full or vector["id"] in PLANNED or vector.get("twin") == "offsets-pair"]
    filters = [] if in_full else [f"--filter={vector['id']}" for vector in asked]
    command = [*FAKE, "planned", *(["--batch"] if in_full else [])]
    said, scored = score(tmp_path, [how, "--details", "--timeout=5", *filters, *(["--strict"] if is_strict else [])], command)
    assert (said.returncode, said.stderr) == (1, "")
    assert len(PLANNED) == 13 and PLANNED.keys() == PROBLEMS.keys()
    expected = {name: problem for name, problem in PROBLEMS.items() if is_strict or name not in STRICT_ONLY}
    shown = [vector["id"] for vector in asked if vector.get("twin") == "offsets-pair"]
    assert len(shown) > 2
    expected.update({name: ("not shown", "rejected, but the valid file offsets-pair is not accepted either") for name in shown})
    lost = {name: answer for name, answer in scored["answers"].items() if answer["kind"] != "right"}
    assert lost.keys() == expected.keys()
    for name, (kind, problem) in expected.items():
        assert lost[name]["kind"] == kind and re.fullmatch(problem, lost[name]["problem"]), lost[name]
        assert said.stdout.count(f"\n  {name}: ") == 1
        assert f"      {VECTORS[name]['reason']}\n      {VECTORS[name]['rule']}" in said.stdout
    check_numbers(scored, asked, expected, said.stdout)
    if is_strict:
        check_details(scored, asked)


def check_numbers(scored, asked, expected, said):
    """Checks what is counted of the answers."""
    right = len(asked) - len(expected)
    assert (scored["ok"], scored["suite"], scored["vectors"], scored["right"]) == (False, MANIFEST["suite"], len(asked), right)
    lost = [kind for kind, _ in expected.values()]
    assert scored["kinds"] == {kind: lost.count(kind) or (right if kind == "right" else 0) for kind in scoring.KINDS}
    words_of = {"verdicts": lambda vector: vector["verdict"], "areas": vectors.area, "rules": lambda vector: vector["rule"]}
    for name, word in words_of.items():
        count = lambda group: {"vectors": len(group), "right": sum(vector["id"] not in expected for vector in group)}
        words = {word(vector) for vector in asked}
        assert scored[name] == {each: count([vector for vector in asked if word(vector) == each]) for each in words}
    clean = sum(rule["vectors"] == rule["right"] for rule in scored["rules"].values())
    assert f"\nall          {right:>5} of {len(asked):>5}\n" in said
    assert f"\nrules without a fault: {clean} of {len(scored['rules'])}\nnot right: wrong {lost.count('wrong')}, " in said


def check_details(scored, asked):
    """Checks what is counted of tables and of errors. Two valid files have no table; four invalid ones are not rejected."""
    is_read = lambda vector: vector["verdict"] == "valid" and vector["id"] not in ("offsets-pair", "metadata-one")
    tables = [vectors.with_table(vector)["tensors"] for vector in asked if is_read(vector)]
    count = sum(map(bool, tables))
    assert scored["parts"] == {
        "data_offsets": {"tables": count, "have": count - 1, "wrong": 0},
        "sha256": {"tables": count, "have": count - 1, "wrong": 1},
        "metadata": {"tables": len(tables), "have": len(tables) - 1, "wrong": 1},
    }
    rejected = len([vector for vector in asked if vector["ours"] == "reject"]) - 4
    assert scored["errors"] == {"all": rejected, "code": rejected - 1, "at": rejected - 1}


#: A vector, and members of its tensor; none of them is right but the first.
VECTOR = {"verdict": "valid", "ours": "accept", "tensors": [{"name": "a", "dtype": "U8", "shape": [2]}]}
TENSORS = [{}, {"shape": ["2"]}, *({"shape": shape} for shape in ([2.0], [True], ["02"], [2, 2])), {"x": None}, {"name": "a"}]


def test_types_and_members_are_compared():
    for members in TENSORS:
        answer = answers.accepted({"tensors": {"a": {"dtype": "U8", "shape": [2], **members}}})
        kind, problem = scoring.judge(VECTOR, answer, False)
        assert (kind == "right") == (members in TENSORS[:2]), problem
    pairs = {"a": ""}
    for is_strict, found, expected in [(0, {}, None), (0, None, {}), (1, {}, None), (0, {}, pairs), (0, pairs, None)]:
        vector = {**VECTOR, "tensors": [], "metadata": expected}
        scored = scoring.score(vector, answers.accepted({"tensors": {}, "metadata": found}), None, is_strict)
        is_right = not (is_strict or found or expected)
        assert (scored.kind, scoring.part(scored, "metadata")) == ("right" if is_right else "wrong", is_right)


def test_tables_of_recipes_are_compared():
    """A name above 64 KiB is not cut silently."""
    vector = vectors.with_table(VECTORS["count-name-65537"])
    table = lambda name: answers.accepted({"tensors": {name: {"dtype": "U8", "shape": [1]}}, "metadata": None})
    name = vector["tensors"][0]["name"]
    assert (len(name), scoring.score(vector, table(name), None).kind, scoring.score(vector, table("d"), None).kind) == (65537, "right", "wrong")


def test_a_profile_holds_for_readers_that_have_it():
    flag = "unknown-members"
    accepted, rejected = answers.Answer("accept", text=""), answers.Answer("reject", text="")
    said = {vector["id"]: rejected for vector in SMALL if flag in vector["flags"]}
    lacks = scoring.lacking(MANIFEST, said)
    assert (lacks, scoring.lacking(MANIFEST, said, [flag])) == ({flag}, set())
    assert scoring.lacking(MANIFEST, {**said, "unknown-string": accepted}) == set()
    kind = lambda name, answer, lacks, strict=False: scoring.score(VECTORS[name], answer, rejected, strict, lacks).kind
    assert [kind("unknown-null", rejected, lacks), kind("unknown-null", rejected, set()), kind("unknown-null", rejected, lacks, True)] == ["right", "wrong", "wrong"]
    assert [kind("unknown-bad-inside", rejected, lacks), kind("unknown-bad-inside", rejected, set()), kind("unknown-bad-inside", accepted, lacks)] == ["right", "not shown", "wrong"]


#: Standard outputs of readers that accept, and what is wrong with them.
NO_TABLES = {
    b"": "standard output is empty",
    b"\xff{}": "standard output is not UTF-8: \ufffd{}",
    b"12 tensors": "standard output is not one JSON object: 12 tensors",
    b"[1]": "standard output is not one JSON object: [1]",
    b'{"tensors":{},"x":NaN}': "standard output is not one JSON object: ",
    b'{"tensors":{},"x":1e400}': "standard output is not one JSON object: ",
    b'{"tensors":{},"x":"\\ud800"}': "standard output is not one JSON object: ",
    b'{"tensors":[]}': '"tensors" is not an object',
    b'{"tensors":{"a":{"dtype":"U8"}}}': "a tensor lacks dtype or shape",
    b'{"tensors":{},"metadata":[]}': '"metadata" is neither an object nor null',
}


def test_outputs_are_understood():
    for output, problem in NO_TABLES.items():
        answer = answers.of_process(0, output, b"")
        assert (answer.verdict, answer.table) == ("accept", None) and answer.text.startswith(problem), answer
    for depth, is_right in ((126, True), (127, False)):
        # Brackets in a string do not count.
        output = f'{{"tensors":{{}},"more":{"[" * depth}"[\\"["{"]" * depth}}}'
        assert bool(answers.of_process(0, output.encode(), b"").table) == is_right
    for number, at in {"12": 12, "12\u0663": 12, "\u0663": None, f"{12:020}": 12, f"{12:021}": None}.items():
        assert answers.of_process(1, b"", f"error[a] at byte {number}".encode()).at == at
    said = answers.of_line(b'{"error":"error[a] at byte 13 \\ud800","x":"\\udc00"}\n', "p")
    assert (said.verdict, said.at, said.text) == ("reject", 13, "error[a] at byte 13 \ufffd")
    for line in (b'{"error":1}', b'{"tensors":{},"error":""}', b'{"tensors":{},"file":"other"}', b"{}", b"\n"):
        assert answers.of_line(line, "p").verdict == "bad output", line


def test_the_pages_show_what_a_reader_prints():
    for page in ("README.md", "docs/src/verdict.md", "tests/vectors/README.md"):
        shown = re.search("^```json\n(.*)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert answers.of_process(0, shown[1].encode(), b"").table


#: Ends of readers, and the verdict and the text that they get.
ENDS = {
    "echo error[entry.array] at byte 13; exit 1": ("reject", "error[entry.array] at byte 13"),
    "printf 'panic: boom\\n\\nmain.go:12\\n' >&2; exit 2": ("crash", "exit code 2 panic: boom"),
    "echo '==7==ERROR: AddressSanitizer: x' >&2; exit 1": ("crash", "exit code 1 ==7==ERROR: AddressSanitizer: x"),
    "printf 'Traceback (most recent call last):\\n  File\\nKeyError: 1\\n' >&2; exit 1": ("crash", "exit code 1 KeyError: 1"),
    "kill -SEGV $$": ("crash", "signal 11"),
    "yes": ("bad output", "more than 16777340 bytes of output"),
    "echo first >&2; yes | head -c 20000000 >&2; exit 1": ("reject", None),
    "echo $ASAN_OPTIONS $UBSAN_OPTIONS; exit 1": ("reject", "a=b:exitcode=99 halt_on_error=1:exitcode=99"),
    '[ -z "$(ls)" ] || exit 9; touch left $(mktemp); exit 1': ("reject", ""),
}


def test_every_end_is_told_apart(tmp_path, monkeypatch):
    """It runs in an empty directory, also for temporary files, and sanitizers are told their exit code."""
    monkeypatch.setenv("ASAN_OPTIONS", "a=b")
    monkeypatch.delenv("UBSAN_OPTIONS", raising=False)
    for line, (verdict, text) in ENDS.items():
        answer = shell(tmp_path, [], line)
        assert answer["verdict"] == verdict and text in (None, answer["text"]), (line, answer)


@pytest.mark.parametrize("end, verdict", [("wait", "hang"), ("echo bad >&2; exit 1", "reject")])
def test_children_are_killed_and_not_waited_for(tmp_path, end, verdict):
    started = time.monotonic()
    pid = tmp_path / "pid"
    answer = shell(tmp_path, ["--timeout=2"], f"sleep 600 & echo $! > {pid}; {end}")
    assert answer["verdict"] == verdict and time.monotonic() - started < 30
    until_gone(int(pid.read_text()))


def until_gone(pid):
    """Waits until a process has ended."""
    state = pathlib.Path(f"/proc/{pid}/stat")
    until(lambda: not state.exists() or ") Z " in state.read_text())


def until(happens):
    """Waits until something happens."""
    last = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < last
        time.sleep(0.02)


TWO_LINES = "while read -r _; do printf '{\"error\":\"\"}\\n\\n'; done"
#: Options and readers without a score, and what is said of them.
SCORELESS = [
    (["--filter=space-before"], "exit 1", "accepts none of the 1 valid files, .* with --batch .*; entry-object: must accept, but did reject$"),
    (["--filter=space-before", "--batch"], "sleep 600 & exit 3", "accepts none of .* without --batch .*: crashed: exit code 3$"),
    (["--filter=space-before", "--batch"], TWO_LINES, "bad output: more than one line for a file$"),
    (["--filter=d3"], "cat >&2", "; --verdict-only scores a reader that prints no tensors by its exit code; entry-object: "),
    (["--verdict-only", "--strict"], "", "--verdict-only compares neither errors nor files, so it takes no --strict or --writer$"),
    ([], "kill -9 $$", "answers none of the first 10 files; .*; container-empty-object: crashed: signal 9$"),
    (["--timeout=1", "--jobs=10"], "sleep 600", "answers none of the first 10 files; .*: hung: no answer in 1 seconds$"),
    (["--batch"], "yes", "answers none of the first 10 files; .*: bad output: the line is not one JSON object: y$"),
    (["--batch", "--timeout=2"], "read -r _; cat >/dev/null; echo '{\"error\":\"\"}'", "must flush its output after each line$"),
    (["--filter=none"], "", "no vector has the id, the area, the flag or the rule 'none'$"),
    (["--filter=d3", "--exclude=d3-*"], "", "--exclude leaves none of the [0-9]+ vectors$"),
    (["--filter=large-two-names-1m"], "", "none of the 1 vectors that match is of the level full; see --level$"),
    (["--batch", "--jobs=2"], "", "--batch runs one process, so it takes no --jobs$"),
    (["--files=d", "--badge=b"], "", "takes no options but --level, --filter and --exclude, and no command$"),
    (["--jobs=0"], "", "0 is not above 0$"),
    (["--index", "--writer"], "", "not allowed with argument"),
    (["--index", "--filter=index-no-tensors"], "exit 1", "so nothing is scored; index-two-shards: must accept"),
    (["--writer", "--filter=writer-refuse-dtype"], "exit 1", "so nothing is scored; writer-one-tensor: must accept"),
]


@pytest.mark.parametrize("options, line, sentence", SCORELESS)
def test_no_score(tmp_path, options, line, sentence):
    said, scored = score(tmp_path, options, ["sh", "-c", line])
    assert (said.returncode, said.stdout, scored) == (2, "", None)
    assert re.search(sentence, said.stderr.rstrip("\n")), said.stderr


def test_a_command_that_cannot_be_run():
    said = run("--", "nosuch")
    assert (said.returncode, said.stdout) == (2, "") and "is not an executable program" in said.stderr


def test_a_batch_goes_on_after_every_answer(tmp_path):
    """A file at a time is asked; after an answer that is none, the reader is started again."""
    odd = {
        "d3-array": "exit 3",
        "d3-array-scalar": "exec sleep 600",
        "d3-array-second": "echo hello",
        "d3-array-four": "printf '{\"error\":\"\"}\\n\\n'",
        "d4-object": "rm $file; kill -9 $$",
        "*entry-object*": "echo '{\"tensors\":{}}'",
        "*": "echo '{\"error\":\"\"}'",
    }
    cases = "".join(f"*/{name}.safetensors) {line};; " for name, line in odd.items())
    line = f"echo started >> {tmp_path}/log; while read -r file; do case $file in {cases} esac; done"
    said, scored = score(tmp_path, ["--batch", "--timeout=2", "--filter=d[34]-*"], ["sh", "-c", line])
    found = [kinds(scored)[name] for name in (*list(odd)[:5], "d4-object-f32")]
    assert found == ["crash", "hang", "bad output", "bad output", "crash", "right"], said
    assert len((tmp_path / "log").read_text().splitlines()) == 6
    # It closes its input between two files.
    said, _ = score(tmp_path, ["--batch", "--filter=d3"], ["sh", "-c", "read -r file; exec < /dev/null; echo '{\"tensors\":{}}'"])
    assert (said.returncode, said.stderr) == (1, "")


def test_causes_are_named_and_no_answer_can_control_a_terminal(tmp_path):
    """The reader has two faults, a flag and a rule: a line names each, and each wrong answer is under one of them."""
    is_flagged = lambda vector: "unknown-members" in vector["flags"]
    is_lost = lambda vector: is_flagged(vector) or vector["rule"] == "json-1" and vector["verdict"] == "invalid"
    scored = lambda kind, problem: lambda vector: scoring.Score(vector, answers.Answer("reject"), kind, problem)
    right, wrong, not_shown = scored("right", None), scored("wrong", "\x1b[31mbad"), scored("not shown", "\x1b[31mbad")
    kind_of = {"valid": wrong, "invalid": not_shown, "either": wrong}
    scores = [(kind_of[vector["verdict"]] if is_lost(vector) else right)(vector) for vector in SMALL]
    for in_full in (False, True):
        lines = list(report.causes(scores, MANIFEST, in_full))
        heads = [line for line in lines if not line.startswith(" ")]
        count = sum(map(is_flagged, SMALL))
        assert heads[0].startswith(f"{count} of {count} with unknown-members (wrong ")
        assert heads[0].endswith(MANIFEST["flags"]["unknown-members"])
        assert heads[1].split(" (")[0].endswith("with json-1") and MANIFEST["rules"]["json-1"]["rule"] in heads[1]
        assert sum(int(head.split()[0]) for head in heads) == sum(map(is_lost, SMALL))
        shown = [line for line in lines if line.endswith(r"\x1b[31mbad")]
        assert len(shown) == (sum(map(is_lost, SMALL)) if in_full else len(heads))
    assert report.cut("\x1b[31mred\u202e\nmore") == r"\x1b[31mred\u202e"
    assert report.where({"id": "a-b", "verdict": "valid", "rule": "c-1"}) == "c-1: valid/a-b.safetensors, made by its recipe"


@pytest.mark.parametrize("how", ["--batch", "--jobs=3"])
def test_a_verdict_alone_is_scored(tmp_path, how):
    """Tables are not compared. Verdicts, and what twins do not show, count as ever."""
    command = [*FAKE, "planned", how] if how == "--batch" else ["sh", "-c", '"$@" > /dev/null', "sh", *FAKE, "planned"]
    not_shown = next(vector["id"] for vector in SMALL if vector.get("twin") == "offsets-pair")
    lost = {"after-brace": "wrong", "end-in-literal": "crash", not_shown: "not shown"}
    asked = [*lost, "dtype-all", *(["metadata-one"] if how != "--batch" else [])]
    said, scored = score(tmp_path, ["--verdict-only", how, *(f"--filter={name}" for name in asked)], command)
    assert kinds(scored) == {**dict.fromkeys(asked, "right"), **lost}, said
    assert scored["verdict_only"] and "metadata: " not in said.stdout


def test_known_failures_are_expected(tmp_path):
    """The exit code is 0 if nothing differs. A change to worse, to better and to another kind is named, and a damaged file."""
    path, command = tmp_path / "known", [*FAKE, "planned", "--batch"]
    options = ["--batch", "--timeout=1", *(f"--filter={name}" for name in PLANNED)]
    said, scored = score(tmp_path, [*options, "--write-expect", path], command)
    lost = {name: kind for name, kind in kinds(scored).items() if kind != "right"}
    lines = "".join(f"{name}: {kind}\n" for name, kind in sorted(lost.items()))
    assert said.returncode == 0 and path.read_text().split("\n", 1)[1] == f"suite: {MANIFEST['suite']}\n{lines}"
    said, _ = score(tmp_path, [*options, "--expect", path], command)
    assert (said.returncode, "newly" in said.stdout, " with " in said.stdout) == (0, False, False)
    text = path.read_text().replace("after-brace: wrong", "").replace("json-literal-nan: hang", "json-literal-nan: wrong # slow")
    path.write_text(text.replace(f"suite: {MANIFEST['suite']}", "suite: 0.1") + "space-before: crash\nentry-object: wrong\n")
    said, _ = score(tmp_path, [*options, "--expect", path], command)
    news = ["newly wrong: after-brace was right", "newly hang: json-literal-nan was wrong", "newly right: space-before was crash"]
    assert said.returncode == 1 and sorted(re.findall("^newly .*", said.stdout, re.MULTILINE)) == sorted(news)
    assert f"are of suite 0.1, the vectors are of {MANIFEST['suite']}\n" in said.stdout
    assert sorted(re.findall(r"^  ([\w-]+): ", said.stdout, re.MULTILINE)) == ["after-brace", "json-literal-nan"]
    for line in ("no-such-id: wrong", "after-comma: odd", "entry-object: wrong"):
        path.write_text(f"{text}entry-object: wrong\n{line}\n")
        said, _ = score(tmp_path, [*options, "--expect", path], command)
        assert said.returncode == 2 and f"known, line {len(text.splitlines()) + 2}: '{line}' is no id of suite" in said.stderr


#: Levels and patterns, and which vectors they choose.
CHOICES = [
    ("core", [], [], lambda vector: vector["level"] == "core"),
    ("full", [], [], lambda vector: vector["level"] != "large"),
    ("large", [], [], lambda vector: True),
    ("header-only", [], [], lambda vector: vector.get("header_only") and vector["level"] != "large"),
    ("lite", [], [], lambda vector: vector.get("lite")),
    ("large", ["text-2", "d?-*"], [], lambda vector: vector["rule"] == "text-2" or re.match("d.-", vector["id"])),
    ("large", ["space"], ["no-tensors"], lambda vector: vectors.area(vector) == "space" and "no-tensors" not in vector["flags"]),
]


def test_vectors_are_chosen_by_level_and_pattern():
    for level, wanted, unwanted, is_chosen in CHOICES:
        chosen, _ = choice.choose(MANIFEST, level, wanted, unwanted)
        assert chosen == [vector for vector in VECTORS.values() if is_chosen(vector)] != []
    invalid = VECTORS["after-brace"]
    asked = [vector["id"] for vector in choice.with_control(MANIFEST, [invalid])]
    assert set(asked) == {"entry-object", invalid["twin"], "after-brace"} and asked[-1] == "after-brace"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_readers(tmp_path, sent):
    pid = tmp_path / "pid"
    line = f"sleep 600 & echo $! > {pid}.new; mv {pid}.new {pid}; wait"
    command = [sys.executable, "-B", SUITE / "run.py", "--filter=d3-array", "--jobs=1", "--", "sh", "-c", line]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        until(pid.exists)
        running.send_signal(sent)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, b"", b"run.py: interrupted\n")
    until_gone(int(pid.read_text()))


def test_progress_is_shown_on_a_terminal():
    terminal, end = pty.openpty()
    reader = "sleep 0.3; echo '{\"tensors\":{}}'"
    command = [sys.executable, "-B", SUITE / "run.py", "--filter=d3", "--jobs=1", "--", "sh", "-c", reader]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=end):
        os.close(end)
        shown = b""
        with contextlib.suppress(OSError):  # of Linux, at the end
            while piece := os.read(terminal, 1 << 16):
                shown += piece
        os.close(terminal)
    asked = len(choice.with_control(MANIFEST, choice.choose(MANIFEST, "full", ["d3"], [])[0]))
    assert set(re.findall(rb"asking \[[=> ]{30}\] \d+ of (\d+) files", shown)) == {b"%d" % asked}


def test_output_that_cannot_be_written(tmp_path):
    said = run("--filter=d3-array", "--json", tmp_path, "--", "false")
    assert (said.returncode, said.stderr) == (2, f"run.py: {tmp_path} cannot be written: Is a directory\n")


def test_results_are_about_the_vectors_and_name_no_file_that_crashes():
    reader = {"name": "a", "version": "1", "registry": "PyPI", "kind": "full"}
    manifest = {**MANIFEST, "vectors": [dict(vector) for vector in MANIFEST["vectors"]]}
    said = {vector["id"]: {"kind": "wrong"} for vector in SMALL}
    score = {"suite": MANIFEST["suite"], "strict": False, "verdict_only": False, "answers": said}
    assert sum(results.kept(manifest, reader, score)["faults"].values()) == len(SMALL)
    said["d3-array"]["kind"] = "crash"
    answers = {"a 1 (PyPI)": results.kept(manifest, reader, score)}
    assert results.current(manifest, reader, answers)["faults"] is None
    manifest["vectors"][0]["verdict"] = "either"
    with pytest.raises(results.Missing, match="it must be asked again"):
        results.current(manifest, reader, answers)
    del said["d3-array"]
    with pytest.raises(results.Missing, match="about other vectors than those of suite"):
        results.kept(manifest, reader, score)
