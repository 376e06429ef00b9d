"""`safetensors scan` finds what picklescan and fickling find in files that would execute something, and nothing in sound
files of PyTorch. No file is ever unpickled."""

import collections
import io
import json
import logging
import pickle
import pickletools
import struct
import subprocess
import zipfile

import fickling.loader
import numpy
import picklescan.scanner
import pytest
import torch
from support import built
from test_torch_files import forms

pytestmark = pytest.mark.torch

# What a call of `os.system` is in protocol 0; the text is harmless, and never executed.
SYSTEM = b"cos\nsystem\n(S'true'\ntR."
PROTO = b"\x80\x04"


def short(text):
    """A short text on the stack."""
    return b"\x8c" + bytes([len(text)]) + text.encode()


def named(module, name):
    """An import by STACK_GLOBAL."""
    return short(module) + short(name) + b"\x93"


def called(*opcodes):
    """A pickle that calls what the opcodes import with one text."""
    return PROTO + b"".join(opcodes) + short("true") + b"\x85R."


def opcodes():
    """Pickles that import or call something, each in another way."""
    yield "GLOBAL, protocol 0", SYSTEM
    for module, name in [
        ("builtins", "eval"), ("__builtin__", "exec"), ("posix", "system"), ("nt", "system"), ("subprocess", "Popen"),
        ("builtins", "__import__"), ("runpy", "run_path"), ("webbrowser", "open"), ("socket", "create_connection"),
        ("pty", "spawn"), ("importlib", "import_module"), ("torch.hub", "load"), ("pip", "main"), ("timeit", "timeit"),
        ("numpy.testing._private.utils", "runstring"), ("torch", "load"), ("pickle", "loads"), ("operator", "attrgetter"),
        ("no_such_package", "no_such_name"), ("torch.jit.unsupported_tensor_ops", "execWrapper"),
    ]:
        yield f"{module}.{name}", called(named(module, name))
    yield "GLOBAL, protocol 2", b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R."
    yield "GLOBAL without a call", b"\x80\x02cos\nsystem\n."
    yield "GLOBAL that is dropped", b"\x80\x02cos\nsystem\n0N."
    yield "dotted name", called(named("os", "path.os.system"))
    yield "dotted module", called(named("torch.serialization", "os.system"))
    yield "nested getattr", PROTO + named("builtins", "getattr") + named("builtins", "__import__") + short("os") + (
        b"\x85R" + short("system") + b"\x86R" + short("true") + b"\x85R.")
    yield "STACK_GLOBAL by memo", PROTO + short("os") + b"\x940" + short("system") + b"\x940h\0h\1\x93" + short("true") + b"\x85R."
    yield "STACK_GLOBAL by PUT and GET", PROTO + b"Vos\np7\n0Vsystem\np9\n0g7\ng9\n\x93" + short("true") + b"\x85R."
    yield "STACK_GLOBAL by LONG_BINPUT", PROTO + short("os") + b"r\0\0\1\0" + short("system") + b"\x93" + short("x") + b"0j\0\0\1\0000" + short("true") + b"\x85R."
    yield "STACK_GLOBAL of a duplicate", PROTO + short("os") + b"2\x93."
    yield "STACK_GLOBAL after a mark", PROTO + short("os") + b"(" + short("x") + b"1" + short("system") + b"\x93" + short("true") + b"\x85R."
    yield "STACK_GLOBAL of texts of every kind", PROTO + b"U\x02os" + b"X\x06\0\0\0system" + b"\x93" + short("true") + b"\x85R."
    yield "STACK_GLOBAL of computed texts", PROTO + named("builtins", "str") + short("os") + b"\x85R" + short("system") + b"\x93" + short("true") + b"\x85R."
    yield "INST", b"(S'true'\nios\nsystem\n."
    yield "OBJ", b"(cos\nsystem\nS'true'\no."
    yield "NEWOBJ", PROTO + named("subprocess", "Popen") + short("true") + b"\x85\x81."
    yield "NEWOBJ_EX", PROTO + named("subprocess", "Popen") + short("true") + b"\x85}\x92."
    yield "BUILD", PROTO + named("no_such_package", "Class") + b")\x81}" + short("a") + b"Ksb."
    for code, number in [(b"\x82", b"\x01"), (b"\x83", b"\x01\x02"), (b"\x84", b"\x01\x02\0\0")]:
        yield f"EXT{len(number)}", PROTO + code + number + b")R."
    yield "in a dictionary", PROTO + b"}" + short("a") + called(named("os", "system"))[2:-1] + b"s."
    yield "with an import on the closed list", PROTO + named("collections", "OrderedDict") + b")R0" + SYSTEM
    yield "in a frame", PROTO + b"\x95" + struct.pack("<Q", len(SYSTEM)) + SYSTEM
    yield "two protocols", PROTO + b"\x80\x02" + SYSTEM


def damaged():
    """Pickles that are not sound, but execute something before that shows."""
    yield "without the end", SYSTEM[:-1]
    yield "without an end after the call", called(named("os", "system"))[:-1] + b"0"
    yield "an unknown opcode after the call", SYSTEM[:-1] + b"\xff."
    yield "a text that is too long after the call", SYSTEM[:-1] + b"X\xff\xff\xff\x7fa."
    yield "an empty stack after the call", SYSTEM[:-1] + b"000."
    yield "a missing item of the memo after the call", SYSTEM[:-1] + b"h\x63."
    yield "text that is not a number after the call", SYSTEM[:-1] + b"Iabc\n."


def several():
    """Pickles after others, or after something else."""
    yield "two pickles", pickle.dumps([1]) + SYSTEM
    yield "a hundred pickles", pickle.dumps([1]) * 99 + SYSTEM
    yield "a pickle, zeros, a pickle", pickle.dumps(1) + bytes(64) + SYSTEM
    yield "a pickle, then an archive", pickle.dumps(1) + archive({"data.pkl": SYSTEM})
    yield "a call, then an archive", SYSTEM + archive({"data.pkl": pickle.dumps(1)})
    yield "an archive after garbage", b"garbage\n" + archive({"data.pkl": SYSTEM})


def archive(entries, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return out.getvalue()


def archives():
    """Archives that have a pickle somewhere."""
    evil = called(named("os", "system"))
    yield "data.pkl", archive({"m/data.pkl": evil, "m/version": b"3\n"})
    yield "data.pkl, deflated", archive({"m/data.pkl": evil}, zipfile.ZIP_DEFLATED)
    yield "data.pkl, protocol 0", archive({"m/data.pkl": SYSTEM})
    yield "a storage is a pickle", archive({"m/data.pkl": pickle.dumps({}), "m/data/0": evil})
    yield "data.PKL", archive({"m/data.PKL": SYSTEM})
    yield "no suffix", archive({"m/x": evil})
    yield "the suffix of a picture", archive({"m/x.png": evil})
    for suffix in ["pickle", "pk", "p", "joblib", "dill", "dat", "data", "bin", "pt", "pth", "ckpt"]:
        yield f"x.{suffix}, protocol 0", archive({f"m/x.{suffix}": SYSTEM})
    yield "an archive in it", archive({"m.zip": archive({"data.pkl": evil})})
    yield "two entries of one name", archive({"data.pkl": pickle.dumps(1), "data.pk_": evil}).replace(b"data.pk_", b"data.pkl")
    whole = archive({"data.pkl": evil})
    yield "another name before the contents", whole.replace(b"data.pkl", b"data.txt", 1)
    yield "another name in the list", whole[::-1].replace(b"lkp.atad", b"txt.atad", 1)[::-1]
    begin = whole.index(b"PK\1\2")
    for what, at, value in [
        ("a wrong sum", begin + 16, 1), ("a flag of encryption", begin + 8, 1), ("a flag of encryption in front", 6, 1),
        ("an unknown compression in front", 8, 99),
    ]:
        yield what, whole[:at] + bytes([whole[at] ^ value]) + whole[at + 1:]
    array = io.BytesIO()
    numpy.save(array, numpy.array([{}], object), allow_pickle=True)
    objects = array.getvalue()[:array.getvalue().index(b"\n") + 1] + evil
    yield "array of objects.npy", objects
    yield "array of objects in npz.npz", archive({"a.npy": objects})
    yield "array of objects of another suffix", archive({"a.txt": objects})


def legacy():
    """The form of PyTorch before 1.6, with a call in each of its pickles."""
    data = io.BytesIO()
    torch.save({"a": torch.zeros(2)}, data, _use_new_zipfile_serialization=False)
    source, ends = io.BytesIO(data.getvalue()), [0]
    for _ in range(5):
        collections.deque(pickletools.genops(source), maxlen=0)
        ends.append(source.tell())
    for number, (begin, end) in enumerate(zip(ends, ends[1:])):
        one = data.getvalue()[begin:end]
        yield f"in pickle {number} before its value", data.getvalue()[:begin] + called(named("os", "system"))[:-1] + b"0" + one + data.getvalue()[end:]


def sound():
    """Files of PyTorch that hold tensors and plain values."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Embedding(5, 4))
    optimiser = torch.optim.Adam(model.parameters())
    values = {
        "tensor": torch.zeros(3), "state": model.state_dict(), "empty": {},
        "every dtype": {str(dtype): torch.zeros(2, dtype=dtype) for dtype in [
            torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
            torch.float32, torch.float64, torch.complex64]},
        "parameters": {"a": torch.nn.Parameter(torch.zeros(2)), "b": list(model.parameters())},
        "views": {"a": torch.arange(12).reshape(3, 4).t(), "b": torch.zeros(1).expand(3)},
        "checkpoint": {"model": model.state_dict(), "optimizer": optimiser.state_dict(), "epoch": 3, "loss": 0.5, "name": "x",
                       "none": None, "flags": (True, [1, 2]), "size": torch.Size([1, 2])},
        # Their bytes are opcodes.
        "elements": {str(number): torch.tensor([float(number)]) for number in range(65_500, 66_600, 7)},
        "arrays of numpy": {"a": numpy.arange(3.0), "b": numpy.float32(1), "c": numpy.zeros((2, 3), "i2")},
        "dtypes": {"a": torch.float16, "b": torch.device("cpu"), "c": {1, 2}, "d": collections.OrderedDict(a=1)},
    }
    for what, value in values.items():
        for form, data in forms(value):
            yield f"{what}, {form}", data


def ours(path):
    """Returns the verdict, and the names that are not on the list."""
    done = subprocess.run([built(), "scan", "--json", path], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2) and done.stdout, f"ended with {done.returncode}: {done.stderr}"
    pickles = json.loads(done.stdout).get("pickles", [])
    bad = {(finding["module"], finding["name"]) for part in pickles for finding in part["findings"] if not finding["listed"]}
    return "found" if bad else ("nothing", "damaged", "error")[done.returncode], bad


def of_picklescan(path):
    """Returns whether it finds something, and the names that it calls dangerous, without those that it does not know either."""
    try:
        result = picklescan.scanner.scan_file_path(str(path))
    except Exception:  # It raises what the readers raise.
        return False, set()
    dangerous = {(one.module, one.name) for one in result.globals if one.safety == picklescan.scanner.SafetyLevel.Dangerous
                 and "unknown" not in (one.module, one.name)}
    return result.issues_count > 0, dangerous


def of_fickling(path):
    """Returns whether it finds something in the file, or in an entry of an archive."""
    try:
        if zipfile.is_zipfile(path):
            results = fickling.loader.scan_zip_archive(str(path), graceful=True).values()
        else:
            results = [fickling.loader.scan_file(str(path), graceful=True)]
    except Exception:
        return False
    return any(not result.is_safe and result.results for result in results)


@pytest.mark.parametrize("files", [opcodes, damaged, several, archives, legacy], ids=lambda files: files.__name__)
def test_what_would_execute_something_is_found(files, place):
    logging.disable(logging.CRITICAL)
    found = 0
    for what, data in files():
        for path in [what] if what.endswith((".npy", ".npz")) else ["file.pkl", "file.bin"]:
            path = place / path.replace(" ", "-")
            path.write_bytes(data)
            (verdict, names), (is_found, dangerous) = ours(path), of_picklescan(path)
            is_found |= of_fickling(path)
            found += is_found
            assert verdict in (["found"] if is_found else ["found", "damaged", "error"]), f"{what}, {path.suffix}"
            assert dangerous <= names, f"{what}, {path.suffix}"
    assert found


def test_nothing_is_found_in_sound_files(place):
    for what, data in sound():
        path = place / "file.pt"
        path.write_bytes(data)
        assert ours(path)[0] == "nothing", what
