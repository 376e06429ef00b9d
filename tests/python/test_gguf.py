"""Compares the conversions of GGUF with gguf-py, bit for bit.

python3 gguf_oracle.py -- PROGRAM

PROGRAM is the example `gguf` of this crate. Needs `gguf` and `safetensors`. Ends non-zero on a difference.
"""

import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import gguf
import numpy
import safetensors
from gguf import GGMLQuantizationType as Type
from gguf import GGUFEndian, GGUFReader, GGUFValueType, GGUFWriter
from gguf.quants import dequantize

BLOCKS = gguf.GGML_QUANT_SIZES
NOT_DEQUANTISED = {Type.Q8_1, Type.Q8_K, Type.Q1_0}
PLAIN = {
    Type.F32: numpy.uint32,
    Type.F16: numpy.uint16,
    Type.BF16: numpy.uint16,
    Type.F64: numpy.uint64,
    Type.I8: numpy.uint8,
    Type.I16: numpy.uint16,
    Type.I32: numpy.uint32,
    Type.I64: numpy.uint64,
}
NAMES = {kind: "F64" if kind is Type.F64 else kind.name for kind in PLAIN}
# The offsets of scales of 16 bits in a block.
SCALES = {
    **{kind: [0] for kind in [Type.Q4_0, Type.Q5_0, Type.Q8_0, Type.IQ4_NL, Type.IQ4_XS]},
    **{kind: [0, 2] for kind in [Type.Q4_1, Type.Q5_1, Type.Q4_K, Type.Q5_K]},
    **{kind: [0] for kind in [Type.IQ2_XXS, Type.IQ2_XS, Type.IQ2_S, Type.IQ3_XXS, Type.IQ3_S, Type.IQ1_S]},
    Type.Q2_K: [80, 82],
    Type.Q3_K: [108],
    Type.Q6_K: [208],
    Type.TQ1_0: [52],
    Type.TQ2_0: [64],
}
# Infinities, NaNs with payloads, subnormals, zeros, the largest and the smallest normal number.
SPECIAL = [0x7C00, 0xFC00, 0x7E00, 0x7E01, 0xFE55, 0x7C01, 0xFD00, 1, 0x8001, 0x3FF, 0, 0x8000, 0x7BFF, 0xFBFF, 0x400]
# gguf-py cannot change the byte order of the others.
SWAPPED = {Type.Q4_0: [0], Type.Q8_0: [0], Type.Q4_K: [0, 2], Type.Q6_K: [208], Type.MXFP4: [], Type.NVFP4: []}

wrong = 0
checked = 0


def expect(what, found, expected):
    """Notes a difference."""
    global wrong, checked
    checked += 1
    if found != expected:
        wrong += 1
        print(f"{what}: {str(found)[:300]}, expected {str(expected)[:300]}")


def run(program, *arguments):
    """Runs the program, and returns its exit code and what it says."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def read(path):
    """Returns the tensors of a safetensors file as dtype, shape and bytes, and the metadata."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    with safetensors.safe_open(path, "np") as file:
        expect("keys by the reference", set(file.keys()), set(header))
    tensors = {}
    for name, one in header.items():
        begin, end = one["data_offsets"]
        tensors[name] = (one["dtype"], one["shape"], data[8 + length + begin : 8 + length + end])
    return tensors, metadata


def raw(kind, rows, chance, special):
    """Returns the random bytes of rows of blocks, with special scales."""
    elements, size = BLOCKS[kind]
    data = chance.integers(0, 256, (math.prod(rows[:-1]), rows[-1] // elements, size), numpy.uint8)
    if special:
        for at in SCALES.get(kind, []):
            data[..., at : at + 2] = chance.choice(numpy.array(SPECIAL, "<u2"), data.shape[:-1])[..., None].view(numpy.uint8)
    else:
        for at in SCALES.get(kind, []):
            halves = chance.standard_normal(data.shape[:-1]).astype("<f2")
            data[..., at : at + 2] = halves[..., None].view(numpy.uint8)
    return data.reshape(*rows[:-1], rows[-1] // elements * size)


def rounded(floats, form):
    """Returns the bytes of F32 rounded to F16 or BF16."""
    if form == "f16":
        with numpy.errstate(over="ignore"):
            return floats.astype(numpy.float16).view(numpy.uint16)
    bits = floats.view(numpy.uint32).astype(numpy.uint64)
    nearest = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)
    return numpy.where(numpy.isnan(floats), (bits >> 16).astype(numpy.uint16) | 0x40, nearest)


def quantised(program, seed):
    """Compares every quantised type in every form."""
    chance = numpy.random.default_rng(seed)
    writer = GGUFWriter("quantised.gguf", "test")
    expected = {}
    shapes = [[1], [3], [5, 2], [2, 3, 4], [1, 2, 3, 2], [0, 2], [40, 33]]
    for kind in Type:
        if kind in PLAIN:
            continue
        for index, shape in enumerate(shapes):
            for special in [False, True]:
                rows = [*shape[:-1], shape[-1] * BLOCKS[kind][0]]
                name = f"{kind.name}.{index}.{special}"
                expected[name] = (kind, rows, raw(kind, rows, chance, special))
    for name, (kind, _, data) in expected.items():
        if kind not in NOT_DEQUANTISED:
            writer.add_tensor(name, data, raw_dtype=kind)
    finish(writer)
    for form in ["f32", "f16", "bf16"]:
        expect(form, run(program, "read", form, "quantised.gguf", "out"), (0, "", ""))
        tensors, _ = read("out")
        for name, (dtype, shape, data) in tensors.items():
            kind, rows, blocks = expected[name]
            with numpy.errstate(all="ignore"):
                floats = dequantize(blocks, kind) if blocks.size else numpy.zeros(rows, numpy.float32)
            bits = floats.view(numpy.uint32) if form == "f32" else rounded(floats, form)
            expect(f"{name} {form}", (dtype, shape), (form.upper(), rows))
            if data != bits.tobytes():
                other = numpy.frombuffer(data, bits.dtype)
                differ = numpy.flatnonzero(other != bits.ravel())
                pairs = [(hex(other[at]), hex(bits.ravel()[at])) for at in differ[:3]]
                expect(f"{name} {form}: {len(differ)} of {len(other)} elements", pairs, [])
            else:
                expect(name, True, True)


def kept_raw(program):
    """Compares raw blocks, and writes them back."""
    chance = numpy.random.default_rng(1)
    writer = GGUFWriter("raw.gguf", "test")
    expected = {}
    for kind in Type:
        if kind not in PLAIN:
            data = raw(kind, [3, 2 * BLOCKS[kind][0]], chance, False)
            expected[f'"{kind.name}\n\\'] = (kind, data)
            writer.add_tensor(f'"{kind.name}\n\\', data, raw_dtype=kind)
    finish(writer)
    expect("raw", run(program, "read", "raw", "raw.gguf", "out"), (0, "", ""))
    tensors, metadata = read("out")
    kinds = json.loads(metadata["gguf_types"])
    expect("types", kinds, {name: kind.name for name, (kind, _) in expected.items()})
    for name, (kind, data) in expected.items():
        expect(name, tensors[name], ("U8", list(data.shape), data.tobytes()))
    expect("raw back", run(program, "write", "out", "back.gguf"), (0, "", ""))
    expect("raw back", pathlib.Path("back.gguf").read_bytes(), pathlib.Path("raw.gguf").read_bytes())
    for kind in NOT_DEQUANTISED:
        writer = GGUFWriter("one.gguf", "test")
        writer.add_tensor("t", raw(kind, [BLOCKS[kind][0]], chance, False), raw_dtype=kind)
        finish(writer)
        sentence = f'tensor "t": type {kind.name} cannot be made floats; its blocks can be kept (--keep-blocks)\n'
        expect(kind.name, run(program, "read", "f32", "one.gguf", "none"), (1, "", sentence))


def finish(writer):
    """Completes a file."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def plain_tensors(chance):
    """Returns tensors of every type that is not quantised, of ranks 0 to 8."""
    tensors = {}
    for kind, dtype in PLAIN.items():
        # gguf-py does not read a BF16 without dims.
        for rank in range(1 if kind is Type.BF16 else 0, 9):
            shape = chance.integers(1, 4, rank).tolist()
            bits = chance.integers(0, 2 ** (8 * numpy.dtype(dtype).itemsize) - 1, shape, dtype, endpoint=True)
            tensors[f"{kind.name}.{rank}"] = (kind, numpy.asarray(bits, dtype).reshape(shape))
        tensors[f"{kind.name}.none"] = (kind, numpy.zeros((2, 0, 3), dtype))
    return tensors


def plain(program, order):
    """Compares tensors that are not quantised, both ways."""
    tensors = plain_tensors(numpy.random.default_rng(2))
    writer = GGUFWriter("plain.gguf", "test", endianess=order)
    for name, (kind, bits) in tensors.items():
        # gguf-py takes U8 for blocks.
        writer.add_tensor_info(name, bits.shape, numpy.dtype(numpy.int16), bits.nbytes, raw_dtype=kind)
        writer.tensors[-1][name].tensor = bits.byteswap() if order == GGUFEndian.BIG else bits
    finish(writer)
    expect("plain", run(program, "read", "f32", "plain.gguf", "out"), (0, "", ""))
    found, metadata = read("out")
    for name, (kind, bits) in tensors.items():
        expect(name, found.get(name), (NAMES[kind], list(bits.shape), bits.tobytes()))
    expect("names", list(found), list(tensors))
    expect("metadata", metadata["gguf.general.architecture"], "string:test")
    expect("plain back", run(program, "write", "out", "back.gguf"), (0, "", ""))
    if order == GGUFEndian.LITTLE:
        ours, theirs = pathlib.Path("back.gguf").read_bytes(), pathlib.Path("plain.gguf").read_bytes()
        expect("plain back is identical", ours == theirs, True)
    for tensor in GGUFReader("back.gguf").tensors:
        kind, bits = tensors[tensor.name]
        expect(f"{tensor.name} by gguf-py", (tensor.tensor_type, tensor.shape.tolist()), (kind, list(bits.shape)[::-1]))
        expect(f"{tensor.name} by gguf-py", tensor.data.tobytes(), bits.tobytes())


def swapped(program):
    """Compares quantised tensors of big-endian files."""
    chance = numpy.random.default_rng(3)
    writer = GGUFWriter("big.gguf", "test", endianess=GGUFEndian.BIG)
    expected = {}
    for kind, at in SWAPPED.items():
        data = raw(kind, [3, 4 * BLOCKS[kind][0]], chance, False)
        expected[kind.name] = (kind, data)
        blocks = data.reshape(-1, BLOCKS[kind][1]).copy()
        for offset in at:
            blocks[:, offset : offset + 2] = blocks[:, offset : offset + 2][:, ::-1]
        writer.add_tensor(kind.name, blocks.reshape(data.shape), raw_dtype=kind, tensor_endianess=GGUFEndian.BIG)
    finish(writer)
    for form in ["f32", "raw"]:
        expect("big", run(program, "read", form, "big.gguf", "out"), (0, "", ""))
        tensors, _ = read("out")
        for name, (kind, data) in expected.items():
            expect(f"big {name}", tensors[name][2], (data if form == "raw" else dequantize(data, kind)).tobytes())
    writer = GGUFWriter("big.gguf", "test", endianess=GGUFEndian.BIG)
    writer.add_tensor("t", raw(Type.Q5_0, [32], chance, False), raw_dtype=Type.Q5_0, tensor_endianess=GGUFEndian.BIG)
    finish(writer)
    sentence = 'tensor "t": the byte order of type Q5_0 in big-endian files is unknown\n'
    expect("big Q5_0", run(program, "read", "f32", "big.gguf", "none"), (1, "", sentence))


METADATA = [
    ("u8", 255, GGUFValueType.UINT8, "uint8:255"),
    ("i8", -128, GGUFValueType.INT8, "int8:-128"),
    ("u16", 65535, GGUFValueType.UINT16, "uint16:65535"),
    ("i16", -32768, GGUFValueType.INT16, "int16:-32768"),
    ("u32", 2**32 - 1, GGUFValueType.UINT32, "uint32:4294967295"),
    ("i32", -(2**31), GGUFValueType.INT32, "int32:-2147483648"),
    ("u64", 2**64 - 1, GGUFValueType.UINT64, "uint64:18446744073709551615"),
    ("i64", -(2**63), GGUFValueType.INT64, "int64:-9223372036854775808"),
    ("f32", 1e-5, GGUFValueType.FLOAT32, "float32:1e-5"),
    ("f32.one", 1.0, GGUFValueType.FLOAT32, "float32:1.0"),
    ("f32.inf", -math.inf, GGUFValueType.FLOAT32, "float32:-inf"),
    ("f32.nan", math.nan, GGUFValueType.FLOAT32, "float32:0x7fc00000"),
    ("f64", 0.1, GGUFValueType.FLOAT64, "float64:0.1"),
    ("f64.small", 5e-324, GGUFValueType.FLOAT64, "float64:5e-324"),
    ("f64.nan", -math.nan, GGUFValueType.FLOAT64, "float64:0xfff8000000000000"),
    ("true", True, GGUFValueType.BOOL, "bool:true"),
    ("false", False, GGUFValueType.BOOL, "bool:false"),
    ("text", 'a"b\\\nc:é层\U0001f600\0', GGUFValueType.STRING, 'string:a"b\\\nc:é层\U0001f600\0'),
    ("empty", "", GGUFValueType.STRING, "string:"),
    ("bytes", b"\xffa", GGUFValueType.STRING, "string-hex:ff61"),
    ("ints", [1, -2], GGUFValueType.ARRAY, "array:int32[1,-2]"),
    ("bools", [True, False], GGUFValueType.ARRAY, "array:bool[true,false]"),
    ("floats", [0.5, math.nan], GGUFValueType.ARRAY, "array:float32[0.5,0x7fc00000]"),
    ("texts", ["", "a", '"\\\n\x01,]', b"\xff", "é"], GGUFValueType.ARRAY, r'array:string["","a","\"\\\n\u0001,]",ff,"é"]'),
    ("nested", [[1], [[2, 3][0]]], GGUFValueType.ARRAY, "array:array[int32[1],int32[2]]"),
    ("deep", [[["x"], ["y", "z"]], [[1.5]]], GGUFValueType.ARRAY, 'array:array[array[string["x"],string["y","z"]],array[float32[1.5]]]'),
]


def metadata(program):
    """Compares metadata of every type, both ways."""
    for order in [GGUFEndian.LITTLE, GGUFEndian.BIG]:
        writer = GGUFWriter("meta.gguf", "test", endianess=order)
        for key, value, kind, _ in METADATA:
            writer.add_key_value(key, value, kind)
        for kind, value in [("B", 7), ("H", 8), ("I", 9), ("Q", 10)]:
            subtype = {"B": GGUFValueType.UINT8, "H": GGUFValueType.UINT16, "I": GGUFValueType.UINT32, "Q": GGUFValueType.UINT64}[kind]
            writer.add_key_value(f"of {kind}", [value, value + 1], GGUFValueType.ARRAY, subtype)
        writer.add_tensor("t", numpy.zeros(3, numpy.float32))
        finish(writer)
        expect("metadata", run(program, "read", "f32", "meta.gguf", "out"), (0, "", ""))
        _, found = read("out")
        for key, _, _, text in METADATA:
            expect(f"text of {key}", found[f"gguf.{key}"], text)
        expect("text of Q", found["gguf.of Q"], "array:uint64[10,11]")
        expect("back", run(program, "write", "out", "back.gguf"), (0, "", ""))
        ours, theirs = pathlib.Path("back.gguf").read_bytes(), pathlib.Path("meta.gguf").read_bytes()
        if order == GGUFEndian.LITTLE:
            expect("metadata is identical", ours == theirs, True)
        fields = {name: field.parts for name, field in GGUFReader("back.gguf").fields.items()}
        for name, field in GGUFReader("meta.gguf").fields.items():
            values = [[part.tolist() for part in parts] for parts in (fields[name], field.parts)]
            if "nan" not in name and name != "floats":
                expect(f"field {name}", *values)
    expect("plain", run(program, "read", "plain", "meta.gguf", "out"), (0, "", ""))
    expect("no metadata", read("out")[1], {})


def aligned(program):
    """Compares a file with another alignment, and a file without tensors."""
    writer = GGUFWriter("aligned.gguf", "test")
    writer.data_alignment = 256
    writer.add_custom_alignment(256)
    writer.add_tensor("a", numpy.arange(3, dtype=numpy.float32))
    writer.add_tensor("b", numpy.arange(5, dtype=numpy.float16))
    finish(writer)
    writer = GGUFWriter("none.gguf", "test")
    finish(writer)
    for name in ["aligned.gguf", "none.gguf"]:
        expect(name, run(program, "read", "f32", name, "out"), (0, "", ""))
        expect(name, run(program, "write", "out", "back.gguf"), (0, "", ""))
        expect(name, pathlib.Path("back.gguf").read_bytes() == pathlib.Path(name).read_bytes(), True)


def main():
    """Runs all comparisons."""
    words = [word for word in sys.argv[1:] if word != "--"]
    if len(words) != 1:
        sys.exit("usage: gguf_oracle.py -- PROGRAM")
    program = str(pathlib.Path(words[0]).resolve())
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for seed in range(4):
            quantised(program, seed)
        kept_raw(program)
        plain(program, GGUFEndian.LITTLE)
        plain(program, GGUFEndian.BIG)
        swapped(program)
        metadata(program)
        aligned(program)
        os.chdir("/")
    print(f"gguf_oracle.py: {checked} comparisons, {'all the same' if not wrong else f'{wrong} differences'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
