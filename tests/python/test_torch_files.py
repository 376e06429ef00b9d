"""What the command makes of files of PyTorch is what PyTorch makes of them.

Bytes are compared with those of the contiguous tensor. What this PyTorch cannot write is written by hand, opcode by opcode.
"""

import argparse
import collections
import datetime
import io
import json
import pathlib
import pickle
import struct
import zipfile

import numpy
import pytest
import torch
import support
from support import converted, left_out

pytestmark = pytest.mark.torch

NAMES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32",
    torch.int64: "I64", torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64",
    torch.complex64: "C64",
}


IN = pathlib.Path("in.pt")


def same(data, expected, what, notes=None):
    """Converts a file, and compares its tensors with these ones, or with (dtype, shape, bytes)."""
    IN.write_bytes(data)
    tensors, metadata = converted(IN)
    # The command has an order of its own.
    assert set(tensors) == set(expected), what
    assert metadata == (notes or {}), what
    for name, tensor in expected.items():
        assert tensors[name] == (tensor if isinstance(tensor, tuple) else contents(tensor)), f"{what}: {name}"


def rejected(data, sentence, what):
    IN.write_bytes(data)
    return support.rejected(IN, sentence, what)


def contents(tensor):
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    array = plain.view(torch.int16) if tensor.dtype == torch.bfloat16 else plain
    return NAMES[tensor.dtype], tuple(tensor.shape), array.numpy().tobytes()


def saved(value, **options):
    data = io.BytesIO()
    torch.save(value, data, **options)
    return data.getvalue()


def forms(value):
    """All forms in which PyTorch writes a value, as (name, bytes)."""
    for protocol in range(2, 6):
        yield f"zip, protocol {protocol}", saved(value, pickle_protocol=protocol)
        legacy = saved(value, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
        yield f"legacy, protocol {protocol}", legacy
    yield "zip, deflated", deflated(saved(value))


def deflated(data):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name))
    return out.getvalue()


def random_tensor(dice, dtype, shape):
    size = torch.tensor([], dtype=dtype).element_size()
    count = int(numpy.prod(shape)) * size
    data = bytearray(dice.randbytes(count)) or bytearray(1)
    if dtype == torch.bool:
        data = bytearray(byte & 1 for byte in data)
    if not count:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(data, dtype=dtype).reshape(shape)


def view(dice, tensor):
    """A random view, whose elements may overlap and have gaps."""
    for _ in range(dice.randrange(4)):
        kind = dice.randrange(6)
        if kind == 0 and tensor.dim():
            tensor = tensor.permute(dice.sample(range(tensor.dim()), tensor.dim()))
        elif kind == 1 and tensor.dim():
            axis = dice.randrange(tensor.dim())
            begin = dice.randrange(tensor.shape[axis] + 1)
            tensor = tensor.narrow(axis, begin, dice.randrange(tensor.shape[axis] - begin + 1))
        elif kind == 2 and tensor.dim():
            step = [slice(None, None, dice.randrange(1, 4)) for _ in tensor.shape]
            tensor = tensor[tuple(step)]
        elif kind == 3:
            tensor = tensor.unsqueeze(0).expand(dice.randrange(1, 4), *tensor.shape)
        elif kind == 4 and tensor.dim() and tensor.shape[0]:
            tensor = tensor[dice.randrange(tensor.shape[0])]
        elif kind == 5 and tensor.dim() and tensor.shape[-1] > 1:
            tensor = tensor.unfold(-1, 2, 1)
    return tensor


@pytest.mark.parametrize("dtype", NAMES, ids=str)
def test_dtypes_and_ranks(dtype, place, dice):
    tensors = {f"rank{rank}": random_tensor(dice, dtype, [dice.randrange(1, 4) for _ in range(rank)]) for rank in range(9)}
    tensors["empty"] = torch.empty(3, 0, 2, dtype=dtype)
    for form, data in forms(tensors):
        same(data, tensors, f"{dtype}, {form}")


@pytest.mark.parametrize("case", range(60))
def test_views(case, place, dice):
    base = random_tensor(dice, dice.choice(list(NAMES)), [dice.randrange(1, 6) for _ in range(dice.randrange(1, 5))])
    # Those with the same elements in memory would be tied.
    tensors = {}
    for number in range(dice.randrange(1, 5)):
        tensor = view(dice, base)
        tensors[tensor.storage_offset(), tensor.shape, normal(tensor)] = f"view{number}", tensor
    tensors = dict(tensors.values())
    for form, data in dice.sample(list(forms(tensors)), 3):
        same(data, tensors, form)


def test_large_views(place, dice):
    large = {
        "transposed": random_tensor(dice, torch.float32, [1500, 1300]).t(),
        "channels": random_tensor(dice, torch.float16, [2, 50, 60, 64]).permute(0, 3, 1, 2),
        "sliced": random_tensor(dice, torch.uint8, [3000, 1001])[::7, 5::3],
        "expanded": random_tensor(dice, torch.int64, [1000, 1]).expand(1000, 1000),
        "column": random_tensor(dice, torch.float64, [1000, 1000])[:, 77],
    }
    for form, data in [("zip", saved(large)), ("legacy", saved(large, _use_new_zipfile_serialization=False)),
                       ("deflated", deflated(saved(large)))]:
        same(data, large, f"large views, {form}")


def normal(tensor):
    """The strides of axes that have neighbours; contiguous ones alike."""
    if tensor.is_contiguous():
        return "contiguous"
    return tuple(stride for length, stride in zip(tensor.shape, tensor.stride()) if length != 1)


def test_ties(place, dice):
    weight = random_tensor(dice, torch.float32, [4, 5])
    for form, data in forms({"b.weight": weight, "a.weight": weight, "c": weight[1:], "d": weight.t()}):
        expected = {"a.weight": weight, "c": weight[1:], "d": weight.t()}
        same(data, expected, f"tied, {form}", {"b.weight": "a.weight"})
    model = torch.nn.Sequential(torch.nn.Embedding(5, 4), torch.nn.Linear(4, 5, bias=False))
    model[1].weight = model[0].weight
    for form, data in forms(model.state_dict()):
        same(data, {"0.weight": model[0].weight}, f"tied model, {form}", {"1.weight": "0.weight"})


def test_training(place):
    """A model and its optimizer, as trainers save them."""
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.rand(2, 3, 8, 8)).sum().backward()
        optimizer.step()
    value = {
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "best": 0.5, "name": "né",
        "flags": {"done": True, "none": None}, "big": 1 << 90, "parameters": list(model.parameters())[:1],
        "size": torch.Size([1, 2]), "dtype": torch.bfloat16, "device": torch.device("cpu"), "set": {1, 2},
        "rng": torch.get_rng_state(), "default": collections.defaultdict(list, {"a": [torch.ones(2)]}),
        "scalar": numpy.float64(1.5), "array": numpy.arange(6, dtype=">i4").reshape(2, 3),
        "fortran": numpy.asfortranarray(numpy.arange(24, dtype="f8").reshape(4, 6)), "bytes": b"\xff\0",
        "large": numpy.arange(100_000, dtype="u2").reshape(400, 250), 7: {"seven": torch.zeros(1)},
        "large_fortran": numpy.asfortranarray(numpy.arange(9000, dtype="i8").reshape(90, 100)),
        "args": argparse.Namespace(lr=0.1, out=pathlib.Path("x")), "folder": pathlib.PosixPath("/tmp"),
        "begun": datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc), "words": numpy.array(["a", "bc"]),
        "class": torch.nn.Linear, "callbacks": {torch.nn.Linear: {"best": torch.ones(3), "n": 1}},
    }
    expected = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for number, state in optimizer.state_dict()["state"].items():
        expected |= {f"optimizer.state.{number}.{name}": tensor for name, tensor in state.items()}
    array = ("I32", (2, 3), numpy.arange(6, dtype="<i4").tobytes())
    fortran = ("F64", (4, 6), numpy.arange(24, dtype="f8").tobytes())
    large = ("U16", (400, 250), numpy.arange(100_000, dtype="u2").tobytes())
    large_fortran = ("I64", (90, 100), numpy.arange(9000, dtype="i8").tobytes())
    expected |= {"rng": value["rng"], "default.a.0": torch.ones(2), "array": array, "fortran": fortran}
    expected["callbacks.torch.nn.modules.linear.Linear.best"] = torch.ones(3)
    expected |= {"large": large, "7.seven": torch.zeros(1), "large_fortran": large_fortran}
    notes = {"parameters.0": "model.0.weight"}
    lines = ["epoch int", "best float", "name str", "flags.done bool", "flags.none None", "big int", "set set",
             "dtype dtype", "device device", "scalar numpy scalar", "bytes bytes", "size.0 int",
             "optimizer.param_groups.0.lr float", "args argparse.Namespace", "folder pathlib.PosixPath",
             "begun datetime.datetime", "words array of text", "class type", "callbacks.torch.nn.modules.linear.Linear.n int"]
    for form, data in forms(value):
        same(data, expected, f"training, {form}", notes)
        left = left_out(IN)
        assert set(lines) <= set(left), form
        # What every state_dict has is not worth a line.
        assert not [line for line in left if line.endswith("attributes")], form


def test_tensors_elsewhere(place, dice):
    """Tensors with attributes, alone, as parameters, and in lists."""
    tensor = random_tensor(dice, torch.int32, [3])
    with_attribute = torch.nn.Parameter(torch.ones(2))
    with_attribute.note = "a"
    for form, data in forms(tensor):
        same(data, {"tensor": tensor}, f"alone, {form}")
    for form, data in forms([tensor, (with_attribute, {"a.b": torch.ones(1)})]):
        expected = {"0": tensor, "1.0": with_attribute, "1.1.a.b": torch.ones(1)}
        same(data, expected, f"nested, {form}")
    plain = collections.OrderedDict({"a": tensor})
    plain.note = "a"
    for form, data in forms(plain):
        same(data, {"a": tensor}, f"attribute, {form}")
        assert "__dict__ attributes" in left_out(IN), form


def test_newer_attributes(place, dice):
    """Tensors and parameters with attributes, as PyTorch 2 writes them."""
    data = dice.randbytes(24)
    storage = b"(" + short("storage") + b"ctorch\nFloatStorage\n" + short("0") + short("cpu") + b"K\x06tQ"
    arguments = b"(" + storage + b"K\0K\x02K\x03\x86K\x03K\x01\x86\x89ccollections\nOrderedDict\n)Rt"
    function, hooks = b"ctorch._utils\n_rebuild_tensor_v2\n", b"ccollections\nOrderedDict\n)R"
    state = b"}" + short("note") + short("a") + b"s"
    typed = b"ctorch._tensor\n_rebuild_from_type_v2\n(%s%s%s%stR"
    parameter = b"ctorch._utils\n_rebuild_parameter_with_state\n(" + function + arguments + b"R\x88" + hooks
    for pickled in [typed % (function, b"ctorch\nTensor\n", arguments, state),
                    typed % (function, b"ctorch.nn.parameter\nParameter\n", arguments, state),
                    parameter + state + b"tR"]:
        file = by_hand(b"\x80\x02}" + short("a") + pickled + b"s.", data)
        same(file, {"a": ("F32", (2, 3), data)}, "attributes by hand")
        assert "a.__dict__ attributes" in left_out(IN)
    for metadata, is_plain in [(b"}", True), (b"N", True), (b"}" + short("conj") + b"\x89s", True),
                               (b"}" + short("conj") + b"\x88s", False)]:
        file = by_hand(b"\x80\x02" + function + arguments[:-1] + metadata + b"tR.", data)
        if is_plain:
            same(file, {"tensor": ("F32", (2, 3), data)}, "metadata by hand")
        else:
            rejected(file, "flags, as for a conjugated or negated view", "metadata by hand")


class Evil:
    def __reduce__(self):
        return eval, ("1",)


@pytest.mark.parametrize(("value", "sentence"), [
    (Evil(), "eval, which is not on the closed list of what models need"),
    ({"a": torch.ones(2), "b": Evil()}, "eval, which is not on the closed list of what models need"),
    ({"a": torch.eye(3).to_sparse()}, ": a sparse tensor, which"),
    ({"a": torch.eye(3).to_sparse_csr()}, ": a sparse tensor, which"),
    ({"a": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)}, ": a storage of quantised numbers"),
    ({"a": torch.ones(2, device="meta")}, "without data, on the device meta"),
    ({"a": torch.ones(2, dtype=torch.complex128)}, ": a dtype that safetensors does not have"),
    ({"a": numpy.ones(2, dtype="c16")}, "a dtype that safetensors does not have"),
    (torch.nn.Linear(2, 2), "torch.nn.modules.linear.Linear"),
    (argparse.Namespace(a=1), "argparse.Namespace"),
    ({"b": argparse.Namespace(a=torch.ones(2))}, 'in an object of the class "argparse.Namespace"'),
], ids=range(11))
def test_rejections(value, sentence, place):
    for form, data in forms(value):
        rejected(data, sentence, form)
    if not isinstance(value, dict):
        return
    # All that cannot be held is skipped, and listed.
    kept = {"a": value["a"]} if "b" in value and "a" in value else {}
    for form, data in forms(value):
        IN.write_bytes(data)
        said = json.loads(support.run("convert", IN, support.OUT, "--skip-unsupported", "--json", "--force"))
        assert [one["name"] for one in said["tensors"]] == list(kept), form
        assert [one["path"] for one in said["skipped"]] == ["b" if "b" in value else "a"], form


@pytest.mark.parametrize("protocol", range(1, 6))
def test_pickles_of_arrays(protocol, place, dice):
    """What `pickle.dump` writes of arrays, without PyTorch."""
    arrays = {
        "small": numpy.arange(6, dtype=">i2").reshape(2, 3), "large": numpy.arange(9000.0).reshape(90, 100).T,
        "half": numpy.ones((2, 2), "f2"), "empty": numpy.zeros((0, 3), "u1"), "scalar": numpy.array(True),
    }
    data = pickle.dumps({"params": arrays, "step": 3, "note": "a"}, protocol)
    names = {"int16": "I16", "float64": "F64", "float16": "F16", "uint8": "U8", "bool": "BOOL"}
    expected = {f"params.{name}": (names[array.dtype.name], array.shape, array.astype(array.dtype.newbyteorder("<")).tobytes())
                for name, array in arrays.items()}
    same(data, expected, f"protocol {protocol}")
    assert left_out(IN) == ["step int", "note str"]
    rejected(data + b"x", "bytes follow the pickle", "more bytes")


def test_scripts_are_rejected(place):
    script = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), script)
    rejected(script.getvalue(), "TorchScript", "TorchScript")


def by_hand(pickled, storage):
    """An archive with this pickle and storage."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in {"data.pkl": pickled, "data/0": storage, "version": b"3\n"}.items():
            archive.writestr(f"archive/{name}", data)
    return out.getvalue()


def short(text):
    return b"X" + struct.pack("<I", len(text)) + text.encode()
