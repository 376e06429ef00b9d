"""What the command makes of GGUF is what gguf-py makes of it, bit for bit."""

import json
import math
import pathlib

import gguf
import numpy
import pytest
from gguf import GGMLQuantizationType as Type
from gguf import GGUFEndian, GGUFReader, GGUFValueType, GGUFWriter
from gguf.quants import dequantize
from support import OUT, converted, rejected, run

pytestmark = [pytest.mark.main, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

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
        return floats.astype(numpy.float16).view(numpy.uint16)
    bits = floats.view(numpy.uint32).astype(numpy.uint64)
    nearest = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)
    return numpy.where(numpy.isnan(floats), (bits >> 16).astype(numpy.uint16) | 0x40, nearest)


@pytest.mark.parametrize("seed", range(4))
def test_every_quantised_type_in_every_form(seed, place):
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
    for form, options in {"f32": [], "f16": ["--to", "f16"], "bf16": ["--to", "bf16"]}.items():
        tensors, _ = converted("quantised.gguf", *options)
        for name, (dtype, shape, data) in tensors.items():
            kind, rows, blocks = expected[name]
            floats = dequantize(blocks, kind) if blocks.size else numpy.zeros(rows, numpy.float32)
            bits = floats.view(numpy.uint32) if form == "f32" else rounded(floats, form)
            assert (dtype, shape) == (form.upper(), tuple(rows)), f"{name} {form}"
            other = numpy.frombuffer(data, bits.dtype)
            differ = numpy.flatnonzero(other != bits.ravel())
            pairs = [(hex(other[at]), hex(bits.ravel()[at])) for at in differ[:3]]
            assert not pairs, f"{name} {form}: {len(differ)} of {len(other)} elements"


def test_raw_blocks_are_kept_and_written_back(place):
    chance = numpy.random.default_rng(1)
    writer = GGUFWriter("raw.gguf", "test")
    expected = {}
    for kind in Type:
        if kind not in PLAIN:
            data = raw(kind, [3, 2 * BLOCKS[kind][0]], chance, False)
            expected[f'"{kind.name}\n\\'] = (kind, data)
            writer.add_tensor(f'"{kind.name}\n\\', data, raw_dtype=kind)
    finish(writer)
    tensors, metadata = converted("raw.gguf", "--keep-blocks")
    assert json.loads(metadata["gguf_types"]) == {name: kind.name for name, (kind, _) in expected.items()}
    assert tensors == {name: ("U8", data.shape, data.tobytes()) for name, (_, data) in expected.items()}
    run("convert", OUT, "back.gguf", "--force")
    assert pathlib.Path("back.gguf").read_bytes() == pathlib.Path("raw.gguf").read_bytes()
    for kind in NOT_DEQUANTISED:
        writer = GGUFWriter("one.gguf", "test")
        writer.add_tensor("t", raw(kind, [BLOCKS[kind][0]], chance, False), raw_dtype=kind)
        finish(writer)
        sentence = f'tensor "t": type {kind.name} cannot be made floats; its blocks can be kept (--keep-blocks)\n'
        rejected("one.gguf", sentence)


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


@pytest.mark.parametrize("order", [GGUFEndian.LITTLE, GGUFEndian.BIG], ids=lambda order: order.name)
def test_tensors_that_are_not_quantised_both_ways(order, place):
    tensors = plain_tensors(numpy.random.default_rng(2))
    writer = GGUFWriter("plain.gguf", "test", endianess=order)
    for name, (kind, bits) in tensors.items():
        # gguf-py takes U8 for blocks.
        writer.add_tensor_info(name, bits.shape, numpy.dtype(numpy.int16), bits.nbytes, raw_dtype=kind)
        writer.tensors[-1][name].tensor = bits.byteswap() if order == GGUFEndian.BIG else bits
    finish(writer)
    found, metadata = converted("plain.gguf")
    assert found == {name: (NAMES[kind], bits.shape, bits.tobytes()) for name, (kind, bits) in tensors.items()}
    assert metadata["gguf.general.architecture"] == "string:test"
    run("convert", OUT, "back.gguf", "--force")
    if order == GGUFEndian.LITTLE:
        assert pathlib.Path("back.gguf").read_bytes() == pathlib.Path("plain.gguf").read_bytes()
    for tensor in GGUFReader("back.gguf").tensors:
        kind, bits = tensors[tensor.name]
        assert (tensor.tensor_type, tensor.shape.tolist()) == (kind, list(bits.shape)[::-1]), tensor.name
        assert tensor.data.tobytes() == bits.tobytes(), tensor.name


def test_quantised_tensors_of_big_endian_files(place):
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
    for options in [], ["--keep-blocks"]:
        tensors, _ = converted("big.gguf", *options)
        for name, (kind, data) in expected.items():
            assert tensors[name][2] == (data if options else dequantize(data, kind)).tobytes(), name
    writer = GGUFWriter("big.gguf", "test", endianess=GGUFEndian.BIG)
    writer.add_tensor("t", raw(Type.Q5_0, [32], chance, False), raw_dtype=Type.Q5_0, tensor_endianess=GGUFEndian.BIG)
    finish(writer)
    sentence = 'tensor "t": the byte order of type Q5_0 in big-endian files is unknown\n'
    rejected("big.gguf", sentence)


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


@pytest.mark.parametrize("order", [GGUFEndian.LITTLE, GGUFEndian.BIG], ids=lambda order: order.name)
def test_metadata_of_every_type_both_ways(order, place):
    writer = GGUFWriter("meta.gguf", "test", endianess=order)
    for key, value, kind, _ in METADATA:
        writer.add_key_value(key, value, kind)
    for kind, value in [(GGUFValueType.UINT8, 7), (GGUFValueType.UINT16, 8), (GGUFValueType.UINT32, 9), (GGUFValueType.UINT64, 10)]:
        writer.add_key_value(f"of {kind.name}", [value, value + 1], GGUFValueType.ARRAY, kind)
    writer.add_tensor("t", numpy.zeros(3, numpy.float32))
    finish(writer)
    _, found = converted("meta.gguf")
    assert {key: found[f"gguf.{key}"] for key, *_ in METADATA} == {key: text for key, _, _, text in METADATA}
    assert found["gguf.of UINT64"] == "array:uint64[10,11]"
    run("convert", OUT, "back.gguf", "--force")
    if order == GGUFEndian.LITTLE:
        assert pathlib.Path("back.gguf").read_bytes() == pathlib.Path("meta.gguf").read_bytes()
    fields = {name: field.parts for name, field in GGUFReader("back.gguf").fields.items()}
    for name, field in GGUFReader("meta.gguf").fields.items():
        if "nan" not in name and name != "floats":
            assert [part.tolist() for part in fields[name]] == [part.tolist() for part in field.parts], name
    assert converted("meta.gguf", "--no-metadata")[1] == {}


def test_other_alignments_and_no_tensors(place):
    writer = GGUFWriter("aligned.gguf", "test")
    writer.data_alignment = 256
    writer.add_custom_alignment(256)
    writer.add_tensor("a", numpy.arange(3, dtype=numpy.float32))
    writer.add_tensor("b", numpy.arange(5, dtype=numpy.float16))
    finish(writer)
    finish(GGUFWriter("none.gguf", "test"))
    for name in ["aligned.gguf", "none.gguf"]:
        converted(name)
        run("convert", OUT, "back.gguf", "--force")
        assert pathlib.Path("back.gguf").read_bytes() == pathlib.Path(name).read_bytes(), name
