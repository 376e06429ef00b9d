"""Checkpoints that TensorFlow writes are read as it reads them, or rejected by name.

The program is the example `tensorflow` of safetensors-convert.
"""

import json
import os
import subprocess
import sys

import keras
import numpy
import pytest
import tensorflow as tf
from support import built
from tensorflow.core.protobuf import saver_pb2

pytestmark = pytest.mark.tensorflow

DTYPES = {
    "float32": "F32",
    "float64": "F64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "bool": "BOOL",
    "complex64": "C64",
}
FOREIGN = ["complex128", "float8_e4m3b11fnuz", "int4", "uint4", "qint8", "quint8", "qint16", "quint16", "qint32"]
SHAPES = [[], [3], [2, 3], [0], [3, 0, 2], [2, 1, 3], [1, 2, 1, 2], [2] * 5, [1, 2] * 3, [2] * 7, [1, 2] * 4]

# Prints the peak memory of a program in KiB. A child of this process would count as large as this one is.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""

random = numpy.random.default_rng(27)


def run(place, path):
    """The dtype, shape and bytes of each tensor, and the names of those that are left out; or an error."""
    output = place / "bytes"
    done = subprocess.run([built("examples/tensorflow"), path, output], capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    tensors, left_out, data, at = {}, [], output.read_bytes(), 0
    for line in done.stdout.splitlines():
        dtype, shape, length, name = line.split("\t")
        if dtype == "left out":
            left_out.append(name)
        else:
            tensors[name] = dtype, json.loads(shape), data[at : at + int(length)]
            at += int(length)
    assert at == len(data)
    return tensors, left_out


def compare(place, path, prefix=None):
    """Compares the tensors of a checkpoint with those that TensorFlow reads."""
    reader = tf.train.load_checkpoint(str(prefix or path))
    shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    result = run(place, path)
    assert not isinstance(result, str), result
    tensors, left_out = result
    assert sorted(left_out) == sorted(name for name, dtype in dtypes.items() if dtype == tf.string), left_out
    assert sorted([*tensors, *left_out]) == sorted(shapes), (tensors, shapes)
    for name, (dtype, shape, data) in tensors.items():
        expected = numpy.asarray(reader.get_tensor(name))
        assert (dtype, shape) == (DTYPES[dtypes[name].name], shapes[name]), name
        assert list(expected.shape) == shape and expected.tobytes() == data, name
    return tensors


def rejected(place, path, words):
    """Checks that a checkpoint is rejected with these words."""
    result = run(place, path)
    assert isinstance(result, str) and words in result, (words, result)
    assert result.count("\n") == 1, result


def values(dtype, shape):
    """A tensor of any bits that the dtype has."""
    kind = tf.as_dtype(dtype).as_numpy_dtype
    if dtype == "bool":
        return tf.constant(random.integers(0, 2, shape).astype(bool))
    size = numpy.dtype(kind).itemsize * int(numpy.prod(shape, dtype=int))
    array = numpy.frombuffer(random.bytes(size), kind).reshape(shape)
    return tf.constant(array, dtype)


def save(prefix, tensors, slices=None):
    """Writes a checkpoint of these tensors."""
    names = list(tensors)
    slices = slices or [""] * len(names)
    tf.raw_ops.SaveV2(
        prefix=str(prefix), tensor_names=names, shape_and_slices=slices, tensors=[tensors[name] for name in names]
    )


def test_dtypes_and_ranks(place):
    """Each dtype with each rank, in one checkpoint and in several data files."""
    tensors = {
        f"{dtype}/{number}": values(dtype, shape) for dtype in DTYPES for number, shape in enumerate(SHAPES)
    }
    save(place / "all", {**tensors, "text": tf.constant(["a", "bc"])})
    assert len(compare(place, place / "all")) == len(DTYPES) * len(SHAPES)
    compare(place, place / "all.index", place / "all")
    parts = [{name: tensors[name] for name in list(tensors)[start::3]} for start in range(3)]
    for number, part in enumerate(parts):
        save(place / f"part{number}", part)
    prefixes = [str(place / f"part{number}") for number in range(3)]
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=prefixes, destination_prefix=str(place / "merged"))
    assert len(list(place.glob("merged.data-*-of-00003"))) == 3
    compare(place, place / "merged")
    rejected(place, place / "merged.data-00001-of-00003", 'give its index, "merged.index"')
    for dtype in FOREIGN:
        whole = numpy.zeros([2], tf.as_dtype(dtype.removeprefix("q")).as_numpy_dtype)
        tensor = tf.constant(whole, dtype.removeprefix("q"))
        save(place / "foreign", {"t": tf.bitcast(tensor, dtype) if dtype.startswith("q") else tensor})
        words = f'tensor "t": its dtype is DT_{dtype.upper()}, which safetensors does not have'
        rejected(place, place / "foreign", words)


def test_many_tensors(place):
    """An index of many blocks, whose keys share bytes."""
    tensors = {f"model/layers/{number}/weight": values("float32", [number % 3]) for number in range(10_000)}
    save(place / "many", tensors)
    assert (place / "many.index").stat().st_size > 1 << 18
    compare(place, place / "many")


def test_memory(place):
    """Half a million tensors take no more memory than the library promises."""
    parts, each = 5, 100_000
    for part in range(parts):
        names = [f"model/layers/{number}/weight" for number in range(part, parts * each, parts)]
        tensors = [tf.constant([1, 2], tf.uint8)] * each
        tf.raw_ops.SaveV2(
            prefix=str(place / f"part{part}"), tensor_names=names, shape_and_slices=[""] * each, tensors=tensors
        )
    prefixes = [str(place / f"part{part}") for part in range(parts)]
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=prefixes, destination_prefix=str(place / "large"))
    length = max(map(len, names))
    measured = [sys.executable, "-S", "-c", PEAK, built("examples/tensorflow"), place / "large", place / "bytes"]
    kibibytes = int(subprocess.run(measured, capture_output=True, text=True, check=True).stdout)
    assert os.path.getsize(place / "bytes") == 2 * parts * each
    most = (64 << 20) + parts * each * (256 + length)
    assert kibibytes << 10 <= most, (kibibytes, most)


def test_partitioned(place):
    """Variables partitioned along each axis, by slices and by TensorFlow's first API."""
    for dtype in ["float32", "bfloat16", "uint8", "complex64"]:
        for axis in range(3):
            whole = values(dtype, [4, 6, 10])
            pieces, specs, start = [], [], 0
            for length in [1, 3, 4, 2] if axis == 2 else [1, 3] if axis == 0 else [3, 1, 2]:
                spec = ["-"] * 3
                spec[axis] = f"{start},{length}"
                specs.append("4 6 10 " + ":".join(spec))
                pieces.append(tf.gather(whole, range(start, start + length), axis=axis))
                start += length
            order = random.permutation(len(pieces))
            tf.raw_ops.SaveV2(
                prefix=str(place / "sliced"),
                tensor_names=["v"] * len(pieces) + ["w"],
                shape_and_slices=[specs[index] for index in order] + [""],
                tensors=[pieces[index] for index in order] + [whole],
            )
            tensors = compare(place, place / "sliced")
            assert tensors["v"] == tensors["w"]
    quarters = ["2 2 0,1:0,1", "2 2 0,1:1,1", "2 2 1,1:0,1", "2 2 1,1:1,1"]
    tf.raw_ops.SaveV2(
        prefix=str(place / "quarters"),
        tensor_names=["v"] * 4,
        shape_and_slices=quarters,
        tensors=[tf.constant([[number]]) for number in range(4)],
    )
    rejected(place, place / "quarters", 'tensor "v": it is partitioned along several axes')
    v1 = tf.compat.v1
    for version, name in [(saver_pb2.SaverDef.V2, "second"), (saver_pb2.SaverDef.V1, "first")]:
        with tf.Graph().as_default(), v1.Session() as session:
            for axis in range(2):
                partitioner = v1.fixed_size_partitioner(3, axis=axis)
                start = v1.random_normal_initializer()
                v1.get_variable(f"part{axis}", shape=[10, 300], initializer=start, partitioner=partitioner)
            v1.get_variable("scalar", initializer=tf.constant(1.5))
            session.run(v1.global_variables_initializer())
            v1.train.Saver(write_version=version).save(session, str(place / name))
    compare(place, place / "second")
    rejected(place, place / "first", "V1 checkpoint")
    (place / "first").rename(place / "first.index")
    rejected(place, place / "first.index", "V1 checkpoint")


def test_objects(place):
    """Checkpoints of objects, of Keras, and the variables of a SavedModel."""
    checkpoint = tf.train.Checkpoint(a=tf.Variable([1.0, 2.0]), b=[tf.Variable(3), tf.Variable(True)])
    tensors = compare(place, checkpoint.save(str(place / "objects")))
    assert "a/.ATTRIBUTES/VARIABLE_VALUE" in tensors and "save_counter/.ATTRIBUTES/VARIABLE_VALUE" in tensors
    rejected(place, place / "checkpoint", "this is the list of the checkpoints of its directory")
    model = keras.Sequential([keras.Input([8]), keras.layers.Dense(4), keras.layers.BatchNormalization()])
    model.compile("adam", "mse")
    model.fit(numpy.ones([4, 8]), numpy.ones([4, 4]), verbose=0)
    compare(place, tf.train.Checkpoint(model).write(str(place / "keras")))
    model.export(str(place / "exported"), verbose=False)
    compare(place, place / "exported", place / "exported/variables/variables")
    tf.saved_model.save(model, str(place / "saved"))
    compare(place, place / "saved", place / "saved/variables/variables")
    rejected(place, place / "saved/saved_model.pb", "give the directory")
    rejected(place, place / "saved/variables", "is not a SavedModel with variables")


def test_broken(place):
    """A wrong byte in a data file, which TensorFlow detects, too."""
    save(place / "broken", {"t": values("float32", [1000])})
    path = place / "broken.data-00000-of-00001"
    data = bytearray(path.read_bytes())
    data[1234] ^= 1
    path.write_bytes(data)
    rejected(place, place / "broken", 'tensor "t": the 4000 bytes at byte 0 of data file 0 have a wrong checksum')
    path.unlink()
    rejected(place, place / "broken", 'data file "broken.data-00000-of-00001" cannot be opened')
