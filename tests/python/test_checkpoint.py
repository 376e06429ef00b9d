"""The side of a training loop: writes checkpoints with the package safetensors and hashlib, which the command verifies, and reads
those of the command.

python3 checkpoint.py -- PROGRAM

PROGRAM is the command `safetensors`. Every file of a checkpoint is tampered with in every way, too. Ends non-zero on a difference.
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy
import safetensors
import safetensors.numpy

wrong = 0


def main():
    """Both directions."""
    words = [word for word in sys.argv[1:] if word != "--"]
    if len(words) != 1:
        sys.exit("usage: checkpoint.py -- PROGRAM")
    program = str(pathlib.Path(words[0]).resolve())
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for seed in range(5):
            theirs(program, seed)
            ours(program, seed)
    print(f"checkpoint.py: {'all the same' if not wrong else f'{wrong} differences'}")
    return 1 if wrong else 0


def expect(what, found, expected):
    """Notes a difference."""
    global wrong
    if found != expected:
        wrong += 1
        print(f"{what}: {found!r}, expected {expected!r}")


def run(program, *arguments):
    """What the command says, and its exit code."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def sha256(data):
    """In hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def state(seed):
    """The tensors of a model in training."""
    chance = numpy.random.default_rng(seed)
    return {
        "embed.weight": chance.standard_normal((50, 16)).astype(numpy.float32),
        "head.weight": chance.standard_normal((3, 16)).astype(numpy.float16),
        "head.bias": numpy.zeros(3, numpy.float32),
        "steps": numpy.array(seed, numpy.int64),
        "empty": numpy.zeros((0, 4), numpy.float32),
    }


def save(folder, seed):
    """A checkpoint as training loops write it: all of it beside its path, then atomically."""
    hidden = pathlib.Path(f".{folder}.tmp")
    hidden.mkdir()
    safetensors.numpy.save_file(state(seed), hidden / "model.safetensors", {"format": "np"})
    safetensors.numpy.save_file({"moment": state(seed + 1)["embed.weight"]}, hidden / "optimizer.safetensors")
    (hidden / "trainer.json").write_text(json.dumps({"step": seed, "loss": 0.5}), encoding="utf-8")
    files = sorted(path for path in hidden.iterdir())
    sums = "".join(f"{sha256(path.read_bytes())}  {path.name}\n" for path in files)
    (hidden / "SHA256SUMS").write_text(sums, encoding="utf-8")
    hidden.rename(folder)
    return [path.name for path in files]


def theirs(program, seed):
    """A checkpoint from Python, as it is and tampered with."""
    names = save("theirs", seed)
    good = "".join(f"theirs/{name}: ok\n" for name in names)
    expect("verify", run(program, "hash", "--verify", "theirs"), (0, good, ""))
    for name in names:
        tamper(program, name, lambda path: path.write_bytes(flipped(path.read_bytes(), seed)), "changed: its sum is ")
        tamper(program, name, lambda path: path.write_bytes(path.read_bytes()[:-1]), "changed: its sum is ")
        tamper(program, name, lambda path: path.unlink(), "missing\n")
        tamper(program, name, lambda path: shutil.copy(path, path.with_name("more")), "", "more: added")
    tamper(program, "SHA256SUMS", lambda path: path.write_text(path.read_text()[:-3]), "")
    tamper(program, "SHA256SUMS", lambda path: path.write_text(path.read_text() * 2), "")
    shutil.rmtree("theirs")


def flipped(data, seed):
    """With one bit changed, anywhere."""
    at = numpy.random.default_rng(seed).integers(len(data))
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def tamper(program, name, change, line, other=""):
    """A copy in which a file is changed must be refused, and said why."""
    shutil.copytree("theirs", "tampered")
    change(pathlib.Path("tampered") / name)
    code, out, err = run(program, "hash", "--verify", "tampered")
    expect(f"{name} is tampered with", code in (1, 2) and f"tampered/{name}: {line}" in out + err or bool(line == "" and code), True)
    expect(f"{name} and others", other in out, True)
    shutil.rmtree("tampered")


def ours(program, seed):
    """A checkpoint from the command, over one that is there, read here."""
    tensors = state(seed)
    safetensors.numpy.save_file(tensors, "model.safetensors", {"format": "np"})
    pathlib.Path("trainer.json").write_text("{}", encoding="utf-8")
    code, _, err = run(program, "checkpoint", "--force", "ours", "model.safetensors", "--also", "trainer.json")
    expect("checkpoint", (code, err), (0, ""))
    listed = dict(reversed(line.split("  ")) for line in pathlib.Path("ours/SHA256SUMS").read_text().splitlines())
    expect("the files", sorted(path.name for path in pathlib.Path("ours").iterdir()), sorted([*listed, "SHA256SUMS"]))
    for name, expected in listed.items():
        expect(f"the sum of {name}", sha256(pathlib.Path("ours", name).read_bytes()), expected)
    found = safetensors.numpy.load_file("ours/model.safetensors")
    expect("the names", sorted(found), sorted(tensors))
    for name, tensor in tensors.items():
        expect(f"the values of {name}", (found[name].tobytes(), found[name].shape), (tensor.tobytes(), tensor.shape))
    expect("nothing else is left", sorted(os.listdir(".")), ["model.safetensors", "ours", "trainer.json"])
    sums(program, tensors)
    shutil.rmtree("ours")


def sums(program, tensors):
    """The sums that the command prints."""
    data = pathlib.Path("model.safetensors").read_bytes()
    expect("hash", run(program, "hash", "model.safetensors"), (0, f"{sha256(data)}  model.safetensors\n", ""))
    (file,) = json.loads(run(program, "hash", "--json", "model.safetensors")[1])["files"]
    expect("hash --json", (file["bytes"], file["sha256"]), (len(data), sha256(data)))
    expected = {name: (list(tensor.shape), sha256(tensor.tobytes())) for name, tensor in tensors.items()}
    expect("tensors", {name: (row["shape"], row["sha256"]) for name, row in file["tensors"].items()}, expected)
    if shutil.which("sha256sum"):
        done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd="ours", capture_output=True, text=True, check=False)
        expect("sha256sum", (done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    sys.exit(main())
