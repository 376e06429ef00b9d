"""What the command makes of files of PyTorch is what PyTorch makes of them.

Bytes are compared with those of the contiguous tensor. What this PyTorch cannot write is written by hand, opcode by opcode.
"""

import argparse
import collections
import io
import json
import pathlib
import struct
import zipfile

import numpy
import pytest
import torch
from support import read_model, refusal, run

pytestmark = pytest.mark.torch

NAMES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32",
    torch.int64: "I64", torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64",
    torch.complex64: "C64",
}


IN, OUT = pathlib.Path("in.pt"), pathlib.Path("out.safetensors")


def left_out(data):
    """Returns the values that are left out, as "PATH KIND"; some of them if there are many."""
    IN.write_bytes(data)
    said = json.loads(run("convert", IN, OUT, "--dry-run", "--json", "--force"))
    return [f"{value['path']} {value['kind']}" for value in said.get("values_left_out", [])]


def same(data, expected, what, notes=None):
    """Converts a file, and compares its tensors with these ones, or with (dtype, shape, bytes)."""
    IN.write_bytes(data)
    run("convert", IN, OUT, "--force")
    tensors, metadata = read_model(OUT)
    # The command has an order of its own.
    assert set(tensors) == set(expected), what
    assert metadata == (notes or {}), what
    for name, tensor in expected.items():
        assert tensors[name] == (tensor if isinstance(tensor, tuple) else contents(tensor)), f"{what}: {name}"


def rejected(data, sentence, what):
    IN.write_bytes(data)
    said = refusal("convert", IN, OUT, "--force")
    assert sentence in said, f"{what}: {said}"
    return said


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
    }
    expected = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for number, state in optimizer.state_dict()["state"].items():
        expected |= {f"optimizer.state.{number}.{name}": tensor for name, tensor in state.items()}
    array = ("I32", (2, 3), numpy.arange(6, dtype="<i4").tobytes())
    fortran = ("F64", (4, 6), numpy.arange(24, dtype="f8").tobytes())
    large = ("U16", (400, 250), numpy.arange(100_000, dtype="u2").tobytes())
    large_fortran = ("I64", (90, 100), numpy.arange(9000, dtype="i8").tobytes())
    expected |= {"rng": value["rng"], "default.a.0": torch.ones(2), "array": array, "fortran": fortran}
    expected |= {"large": large, "7.seven": torch.zeros(1), "large_fortran": large_fortran}
    notes = {"parameters.0": "model.0.weight"}
    lines = ["epoch int", "best float", "name str", "flags.done bool", "flags.none None", "big int", "set set",
             "dtype dtype", "device device", "scalar numpy scalar", "bytes bytes", "size.0 int",
             "model.__dict__ attributes", "optimizer.param_groups.0.lr float"]
    for form, data in forms(value):
        same(data, expected, f"training, {form}", notes)
        assert set(lines) <= set(left_out(data)), form


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
    for form, data in forms({"a": {"b": tensor}, "a.b": tensor + 1}):
        rejected(data, 'two tensors have the name "a.b"', f"collision, {form}")
    for form, data in forms({"a": {tensor}}):
        rejected(data, 'a tensor at "a" has no name', f"set, {form}")
    for form, data in forms({"a": {(1, 2): tensor}}):
        rejected(data, 'a tensor at "a.<tuple>" has no name', f"tuple as a key, {form}")
    plain = collections.OrderedDict({"a": tensor})
    plain.note = "a"
    for form, data in forms(plain):
        same(data, {"a": tensor}, f"attribute, {form}")
        assert "__dict__ attributes" in left_out(data), form
    plain.tensor = tensor
    for form, data in forms(plain):
        rejected(data, 'a tensor at "" has no name', f"attribute, {form}")


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
        file = by_hand(b"\x80\x02}" + short("a") + pickled + b"s.", {"0": data})
        same(file, {"a": ("F32", (2, 3), data)}, "attributes by hand")
        assert "a.__dict__ attributes" in left_out(file)
    for metadata, is_plain in [(b"}", True), (b"N", True), (b"}" + short("conj") + b"\x89s", True),
                               (b"}" + short("conj") + b"\x88s", False)]:
        file = by_hand(b"\x80\x02" + function + arguments[:-1] + metadata + b"tR.", {"0": data})
        if is_plain:
            same(file, {"tensor": ("F32", (2, 3), data)}, "metadata by hand")
        else:
            rejected(file, "flags, as for a conjugated or negated view", "metadata by hand")


class Evil:
    def __reduce__(self):
        return eval, ("1",)


@pytest.mark.parametrize(("value", "sentence"), [
    (Evil(), "eval, which is not on the closed list of what models need"),
    ({"a": torch.eye(3).to_sparse()}, "which is a sparse tensor"),
    ({"a": torch.eye(3).to_sparse_csr()}, "which is a sparse tensor"),
    ({"a": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)}, "which is a quantised tensor"),
    ({"a": torch.ones(2, device="meta")}, "without data, on the device meta"),
    ({"a": torch.ones(2, dtype=torch.complex128)}, "which is a dtype that safetensors does not have"),
    ({"a": numpy.array(["text"])}, "a dtype that safetensors does not have"),
    ({"a": numpy.ones(2, dtype="c16")}, "a dtype that safetensors does not have"),
    (torch.nn.Linear(2, 2), "torch.nn.modules.linear.Linear"),
    (argparse.Namespace(a=1), "argparse.Namespace"),
], ids=range(10))
def test_rejections(value, sentence, place):
    for form, data in forms(value):
        assert "at byte" in rejected(data, sentence, form)


def test_scripts_are_rejected(place):
    script = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), script)
    rejected(script.getvalue(), "TorchScript", "TorchScript")


def by_hand(pickled, storages, byte_order=None, extra=()):
    """An archive with this pickle and storages."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        if byte_order:
            archive.writestr("archive/byteorder", byte_order)
        for key, data in storages.items():
            archive.writestr(f"archive/data/{key}", data)
        archive.writestr("archive/version", "3\n")
        for name in extra:
            archive.writestr(f"archive/{name}", "1")
    return out.getvalue()


def short(text):
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def integer(value):
    return b"J" + struct.pack("<i", value)


def newer(tensors):
    """A pickle of tensors as PyTorch 2 writes new dtypes: (name, dtype, key, bytes, offset, shape, strides)."""
    text = b"\x80\x02}("
    for name, dtype, key, count, offset, shape, strides in tensors:
        numbers = [b"(" + b"".join(map(integer, values)) + b"t" for values in (shape, strides)]
        text += short(name) + b"ctorch._utils\n_rebuild_tensor_v3\n((" + short("storage")
        text += b"ctorch.storage\nUntypedStorage\n" + short(key) + short("cpu") + integer(count) + b"tQ"
        text += integer(offset) + numbers[0] + numbers[1] + b"\x89ccollections\nOrderedDict\n)R"
        text += b"ctorch\n" + dtype.encode() + b"\ntR"
    return text + b"u."


def test_newer_dtypes(place, dice):
    names = {
        "uint16": "U16", "uint32": "U32", "uint64": "U64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
        "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ", "float8_e8m0fnu": "F8_E8M0",
    }
    extra = [".format_version", ".storage_alignment", ".data/serialization_id"]
    for number, (dtype, name) in enumerate(names.items()):
        size = {"U16": 2, "U32": 4, "U64": 8}.get(name, 1)
        data = dice.randbytes(24 * size)
        array = numpy.frombuffer(data, f"u{size}")
        tensors = [("whole", dtype, "0", len(data), 0, [4, 6], [6, 1]),
                   ("transposed", dtype, "0", len(data), 0, [6, 4], [1, 6]),
                   ("part", dtype, "0", len(data), 5, [3], [2])]
        expected = {"whole": (name, (4, 6), data),
                    "transposed": (name, (6, 4), array.reshape(4, 6).T.tobytes()),
                    "part": (name, (3,), array[5:10:2].tobytes())}
        same(by_hand(newer(tensors), {"0": data}, "little", extra), expected, f"{dtype}")
        big = array.astype(f">u{size}").tobytes()
        same(by_hand(newer(tensors), {"0": big}, "big", extra), expected, f"{dtype}, big-endian")
    for dtype in ["float4_e2m1fn_x2", "bits8", "complex32", "uint7"]:
        sentence = f"torch.{dtype}, which is"
        rejected(by_hand(newer([("a", dtype, "0", 4, 0, [4], [1])]), {"0": bytes(4)}), sentence, dtype)


def test_big_endian_files(place, dice):
    """Files of PyTorch on a big-endian system: the same pickle, and swapped numbers."""
    for dtype, name in NAMES.items():
        tensor = random_tensor(dice, dtype, [3, 4])
        data = saved({"a": tensor, "b": tensor.t(), "c": tensor[1, 1:]})
        number = 4 if name == "C64" else tensor.element_size()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            (pickled,) = [archive.read(path) for path in archive.namelist() if path.endswith("data.pkl")]
            (storage,) = [archive.read(path) for path in archive.namelist() if "/data/" in path]
        swapped = numpy.frombuffer(storage, f"u{number}").byteswap().tobytes()
        expected = {"a": tensor, "b": tensor.t(), "c": tensor[1, 1:]}
        same(by_hand(pickled, {"0": swapped}, "big"), expected, f"{dtype}, big-endian")
        rejected(by_hand(pickled, {"0": swapped}, "middle"), "unknown byte order", "byte order")
