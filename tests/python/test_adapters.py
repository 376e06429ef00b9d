"""The templates of readers and writers, the cases of indexes and writers, and the archive of the suite: `run.py` scores
them. The compilers of the templates must be installed."""

import json
import os
import re
import shutil
import subprocess
import sys

import archive
import pytest
from runner import strict, vectors
from suite import FAKE, SUITE, run, score

pytestmark = pytest.mark.main

ADAPTERS = SUITE / "adapters"
MOST_LINES = 30
STRICT = [*FAKE, "strict"]

SANITIZED = ["-Wall", "-Werror", "-g", "-fsanitize=address,undefined"]
#: For each template the commands that build it in an empty directory, and last the command that is scored.
TEMPLATES = {
    "adapter.py": [[sys.executable, "{}"]],
    "adapter.js": [["node", "{}"]],
    "adapter.go": [["go", "build", "-o", "adapter", "{}"], ["./adapter"]],
    "adapter.c": [["gcc", *SANITIZED, "{}", "-o", "adapter"], ["./adapter"]],
    "adapter.cpp": [["g++", "-std=c++17", *SANITIZED, "{}", "-o", "adapter"], ["./adapter"]],
    "Adapter.java": [["javac", "-d", ".", "{}"], ["java", "-cp", "./", "Adapter"]],
}
#: The packages of Debian that have the programs.
PACKAGES = {
    "node": "nodejs",
    "go": "golang-go",
    **dict.fromkeys(("javac", "java"), "default-jdk-headless"),
    **{"gcc": "gcc", "g++": "g++"},
}
#: Prints a text with NUL by the function of the C template.
QUOTED = """
#define main adapter_main
#include "{}"
#undef main
int main(void) {{ quoted("a\\0\\n", 3); }}
"""


def check_installed(*commands):
    """Fails where a program is missing. No template is left out."""
    for program in (words[0] for words in commands):
        package = PACKAGES.get(program)
        assert package is None or shutil.which(program), f"{program} is not installed: apt-get install {package}"


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_template_answers_about_every_file(tmp_path, name):
    *build, command = [[word.format(ADAPTERS / name) for word in words] for words in TEMPLATES[name]]
    check_installed(*build, command)
    assert len((ADAPTERS / name).read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    for words in build:
        # Go needs a directory for what it builds, even where there is no home.
        subprocess.run(words, cwd=tmp_path, check=True, env={**os.environ, "GOCACHE": str(tmp_path / "cache")})
    said, scored = score(tmp_path, ["--batch"], command)
    assert said.returncode == 1, said
    assert {answer["verdict"] for answer in scored["answers"].values()} == {"accept", "reject"}


def test_the_c_template_prints_nul(tmp_path):
    check_installed(["gcc"])
    (tmp_path / "quoted.c").write_text(QUOTED.format(ADAPTERS / "adapter.c"), encoding="utf-8")
    subprocess.run(["gcc", "quoted.c", "-o", "quoted"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "quoted"], capture_output=True, check=True).stdout == rb'"a\u0000\u000a"'


@pytest.mark.parametrize("how", ["--batch", "--index", "--writer"])
def test_strict_commands_lose_nothing(tmp_path, how):
    said, scored = score(tmp_path, [how], [*STRICT, how])
    assert said.stderr == "" and scored["right"] == scored["vectors"] > 0, said


def test_the_strict_reader_rejects_what_a_rule_or_the_text_rejects():
    for vector in vectors.load()["vectors"]:
        if vector["verdict"] == "either" and "reject" in (vector["ours"], vector.get("published")):
            with pytest.raises(strict.Invalid):
                strict.read(vectors.content(vector))
                pytest.fail(vector["id"])


@pytest.mark.parametrize(
    "name, how, expected",
    [
        ("adapter_index.py", "--index", {"index-metadata-array", "index-path-up", "index-path-absolute"}),
        ("adapter_writer.py", "--writer", {"writer-refuse-same-name", "writer-refuse-same-key", "writer-refuse-name-metadata"}),
    ],
)
def test_the_other_templates_lose_only_what_they_accept_too_much(tmp_path, name, how, expected):
    assert len((ADAPTERS / name).read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    _, scored = score(tmp_path, [how], [sys.executable, "-B", str(ADAPTERS / name)])
    lost = {case: answer for case, answer in scored["answers"].items() if answer["kind"] != "right"}
    assert {answer["problem"] for answer in lost.values()} == {"must reject, but did accept"} and expected <= lost.keys()
    for case in expected & {"writer-refuse-same-name", "writer-refuse-same-key"}:  # the template loses none of them
        assert lost[case]["text"].startswith("the file is invalid: "), lost[case]


#: What a writer may do after it has written a file, and what is said of it.
SPOILT = {
    "path.unlink()": "accepted, but wrote no file",
    "path.with_name('x').touch()": "accepted, but left 'x' beside the file",
    "path.write_bytes(path.read_bytes().replace(b'}}', b'} }'))": "accepted, but the file is invalid: ",
    "path.write_bytes(path.read_bytes()[:-1] + b'!')": "accepted, but sha256 of 'a' is ",
    "path.unlink(); path.parent.rmdir()": "accepted, but wrote no file",
    "path.unlink(); path.mkdir()": "accepted, but what it wrote is no file",
    "sys.exit('no')": "bad output: rejected, but left 'model.safetensors'",
    "sys.exit(77)": "bad output: not asked, but left 'model.safetensors'",
    "path.unlink(); sys.exit(77)": "not asked: the writer cannot express them (exit code 77)",
    "path.unlink(); path.parent.rmdir(); path.parent.touch()": "bad output: its directory cannot be read: Not a directory",
    # Where permissions hold:
    "path.parent.chmod(0)": "bad output: its directory cannot be read: Permission denied",
    "path.parent.chmod(0o400)": "accepted, but what it wrote cannot be read: Permission denied",
}


@pytest.mark.parametrize("statement", SPOILT)
def test_spoilt_files_of_writers_are_noticed(tmp_path, statement):
    if "chmod" in statement and os.geteuid() == 0:
        pytest.skip("permissions do not hold for root")
    said, _ = score(tmp_path, ["--writer", "--filter", "writer-one-tensor"], [*STRICT, "--writer", statement])
    assert f"; writer-one-tensor: {SPOILT[statement]}" in said.stderr


def test_cases_that_a_writer_cannot_express_are_not_asked(tmp_path):
    """They are neither right nor wrong, but a file of expected answers has them. Rejections show nothing without the control."""
    line = "if b'F64' in path.read_bytes(): path.unlink(); sys.exit(77)"
    known, command = tmp_path / "known", [*STRICT, "--writer", line]
    said, scored = score(tmp_path, ["--writer", "--write-expect", str(known)], command)
    skipped, answers = scored["not_asked"].keys(), scored["answers"]
    assert skipped and not skipped & answers.keys() and scored["right"] == scored["vectors"] == len(answers)
    assert f"\n{len(skipped)} cases were not asked: the writer cannot express them (exit code 77)\n" in said.stdout
    assert known.read_text().count(": not asked\n") == len(skipped)
    assert score(tmp_path, ["--writer"], command)[0].returncode == 0
    assert score(tmp_path, ["--writer", "--expect", str(known)], command)[0].returncode == 0
    said, scored = score(tmp_path, ["--writer", "--expect", str(known)], [*STRICT, "--writer"])
    assert said.returncode == 1 and said.stdout.count("\nnewly right: ") == len(skipped - scored["not_asked"].keys()) > 0
    # The control is one tensor of U8.
    command, options = [*STRICT, "--writer", line.replace("F64", '"U8"')], ["refuse-dtype", "metadata-only"]
    _, scored = score(tmp_path, ["--writer", *(f"--filter=writer-{name}" for name in options)], command)
    assert scored["answers"]["writer-refuse-dtype"]["kind"] == "not shown"


def test_cases_that_a_system_cannot_have_and_damaged_ones(tmp_path):
    copy = tmp_path / "copy"
    for name in ("runner", "index"):
        shutil.copytree(SUITE / name, copy / name)
    shutil.copy(SUITE / "run.py", copy)
    manifest = json.loads((copy / "index/manifest.json").read_bytes())
    control, other = (case for case in manifest["cases"] if case["id"] in ("index-two-shards", "index-no-tensors"))
    other["files"]["x" * 300] = ""
    for change, patterns, code, expected in (
        ({}, ["index-*-shards", "index-no-tensors"], 0, "1 cases were not asked: this system cannot have their files"),
        ({}, ["index-no-tensors"], 2, "no case was asked: this system cannot have their files"),
        ({name: "00" for name in control["files"]}, ["index-no-tensors"], 2, "the header is cut off or too long"),
    ):
        control["files"].update(change)
        (copy / "index/manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        filters = [f"--filter={pattern}" for pattern in patterns]
        said, _ = score(tmp_path, ["--index", *filters], [*STRICT, "--index"], copy)
        assert said.returncode == code and expected in said.stdout + said.stderr


def test_the_archive_is_all_that_an_author_needs(tmp_path, monkeypatch):
    """It has all files that its pages name, and the action of CI runs its runner."""
    monkeypatch.setattr(sys, "argv", ["archive.py", str(tmp_path / "new/one")])
    archive.main()
    found, = tmp_path.glob("new/one/safetensors-conformance-*.zip")
    shutil.unpack_archive(found, found.parent)
    place = found.parent / found.stem
    for page in place.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert "<!--" not in text and ("cargo" not in text.lower() or page.name in ("README.md", "RESULTS.md"))
        named = [one or other for one, other in re.findall(r"`([\w./-]+)`|\]\(([\w./-]+)\)", text)]
        gone = [path for path in named if (SUITE / path).exists() and not (place / path).exists()]
        assert {path for path in gone if not path.startswith("readers/")} <= {"CONTRIBUTING.md", "results.py"}, page
    line = re.search(r"run: (.+)$", (SUITE / "action.yml").read_text(encoding="utf-8"))[1]
    inputs = {"GITHUB_ACTION_PATH": str(place), "OPTIONS": "--batch\n--filter [a-z]*\n--json score.json\n", "COMMAND": f"{sys.executable} '{place}/adapters/adapter.py'"}
    subprocess.run(["bash", "-c", line], cwd=tmp_path, env={**os.environ, **inputs}, check=False, stdout=subprocess.DEVNULL)
    assert json.loads((tmp_path / "score.json").read_bytes())["vectors"] > 1500


def test_files_are_written_also_those_of_recipes(tmp_path):
    assert run("--level=large", "--filter=large-data-1m", "--files", tmp_path).stdout == f"1 files are in {tmp_path}\n"
    vector, = (vector for vector in vectors.load()["vectors"] if vector["id"] == "large-data-1m")
    assert (tmp_path / vectors.path(vector)).read_bytes() == vectors.content(vector)
