"""What the adapters of all frameworks in Python share: `run` writes a file with the framework and reads ours with it.

An adapter gets one argument, the file for the results: JSON with `versions`, and for each name of `values.json` what the
framework `written` and `read`: the dtype, shape and bytes of its own array, or its `error`. The bytes come from the
array in memory, never from a file that we have parsed.
"""

import importlib.metadata
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
VALUES = json.loads((HERE / "values.json").read_text())
OURS = HERE / "ours"

# What most frameworks call the dtypes; some say bool_.
NAMES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "I32": "int32", "U32": "uint32",
    "I64": "int64", "U64": "uint64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "F4": "float4_e2m1fn", "F6_E2M3": "float6_e2m3fn", "F6_E3M2": "float6_e3m2fn",
    "F8_E5M2": "float8_e5m2", "F8_E4M3": "float8_e4m3fn", "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
# The elements of these are narrower than a byte in a file, and a byte in the arrays of ml_dtypes.
NARROW = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
# Longer errors are cut.
LONGEST = 160


def numpy_array(dtype, shape, data):
    """Returns an array of numpy, and of ml_dtypes where numpy lacks the dtype."""
    import numpy

    if dtype in NARROW:
        bits, number = NARROW[dtype], int.from_bytes(data, "little")
        data = bytes(number >> at & (1 << bits) - 1 for at in range(0, 8 * len(data), bits))
    return numpy.frombuffer(data, numpy.dtype(NAMES[dtype])).reshape(shape)


def numpy_plain(array):
    return array.dtype.name, array.shape, array.tobytes()


def sentence(error):
    """Returns the framework's own words about the first cause, in one line, without paths of this computer."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__
    words = " ".join(f"{type(error).__name__}: {error}".split())
    words = words.replace(f"{HERE}/", "").replace(f"{sys.prefix}/", "")
    return words if len(words) <= LONGEST else words[:LONGEST].rsplit(" ", 1)[0] + " …"


def attempt(run):
    try:
        dtype, shape, data = run()
        return {"dtype": dtype, "shape": [int(dim) for dim in shape], "bytes": data.hex()}
    except (KeyboardInterrupt, SystemExit):
        raise
    # Errors of Rust, such as panics, are no `Exception`.
    except BaseException as error:
        return {"error": sentence(error)}


def run(folder, packages, make, save, load, plain, ours=OURS):
    """Writes the file and the results of a framework.

    `make(dtype, shape, bytes)` returns its array, `plain(array)` the dtype, shape and bytes of one, `save(arrays, path)`
    writes a file and `load(path)` reads one, of the directory `ours`.
    """
    made, written = {}, {}
    out = pathlib.Path(sys.argv[1])
    probe = out.with_name("probe")
    probe.mkdir(exist_ok=True)

    def write(name):
        value = VALUES[name]
        array = make(value["dtype"], value["shape"], bytes.fromhex(value["bytes"]))
        # Alone first: what a framework cannot write would otherwise spoil the file of all.
        save({name: array}, probe / "model.safetensors")
        made[name] = array
        return plain(array)

    for name in VALUES:
        written[name] = attempt(lambda: write(name))
    save(made, HERE / folder / "model.safetensors")
    results = {
        "versions": {package: importlib.metadata.version(package) for package in packages},
        "written": written,
        "read": {name: attempt(lambda: plain(load(ours / f"{name}.safetensors")[name])) for name in VALUES},
        # Which dtype it reports may be another one each time.
        "reads_all": "error" not in attempt(lambda: plain(load(ours / "all.safetensors")["F32"])),
    }
    out.write_text(json.dumps(results))
