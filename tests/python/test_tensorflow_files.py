"""What the command makes of checkpoints of TensorFlow is what TensorFlow reads of them."""

import subprocess
import sys

import keras
import numpy
import pytest
import tensorflow as tf
from support import DTYPES, OUT, array_of, built, converted, left_out, rejected
from tensorflow.core.protobuf import saver_pb2

pytestmark = pytest.mark.tensorflow

# Checkpoints do not have these two.
OWN = [name for name in DTYPES if name not in ["float4_e2m1fn", "float8_e8m0fnu"]]
FOREIGN = ["complex128", "float8_e4m3b11fnuz", "int4", "uint4", "qint8", "quint8", "qint16", "quint16", "qint32"]
SHAPES = [[], [3], [2, 3], [0], [3, 0, 2], [2, 1, 3], [1, 2, 1, 2], [2] * 5, [1, 2] * 3, [2] * 7, [1, 2] * 4]

# Prints the peak memory of a program in KiB. A child of this process would count as large as this one is.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""

random = numpy.random.default_rng(27)


def compare(path, prefix=None):
    """Compares the tensors of a checkpoint with those that TensorFlow reads."""
    reader = tf.train.load_checkpoint(str(prefix or path))
    shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    tensors, _ = converted(path)
    texts = {name for name, dtype in dtypes.items() if dtype == tf.string}
    assert sorted(left_out(path)) == sorted(f"{name} string" for name in texts)
    assert tensors.keys() == shapes.keys() - texts
    for name, (dtype, shape, data) in tensors.items():
        expected = numpy.asarray(reader.get_tensor(name))
        assert (dtype, list(shape)) == (DTYPES[dtypes[name].name], shapes[name]), name
        assert expected.shape == shape and expected.tobytes() == data, name
    return tensors


def values(dtype, shape):
    """A tensor of any bits that the dtype has."""
    return tf.constant(array_of(random, dtype, shape), dtype)


def save(prefix, pairs, slices=None):
    """Writes a checkpoint of these names and tensors."""
    names, tensors = zip(*pairs)
    tf.raw_ops.SaveV2(
        prefix=str(prefix), tensor_names=names, shape_and_slices=slices or [""] * len(names), tensors=tensors
    )


def save_parts(prefix, parts):
    """Writes a checkpoint with a data file for each part."""
    paths = [f"part{number}" for number in range(len(parts))]
    for path, part in zip(paths, parts):
        save(path, part)
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=paths, destination_prefix=str(prefix))


def test_dtypes_and_ranks(place):
    """Each dtype with each rank, in one checkpoint and in several data files."""
    tensors = {
        f"{dtype}/{number}": values(dtype, shape) for dtype in OWN for number, shape in enumerate(SHAPES)
    }
    save(place / "all", [*tensors.items(), ("text", tf.constant(["a", "bc"]))])
    assert len(compare(place / "all")) == len(OWN) * len(SHAPES)
    compare(place / "all.index", place / "all")
    save_parts(place / "merged", [list(tensors.items())[start::3] for start in range(3)])
    assert len(list(place.glob("merged.data-*-of-00003"))) == 3
    compare(place / "merged")
    rejected(place / "merged.data-00001-of-00003", 'give its index, "merged.index"')
    for dtype in FOREIGN:
        whole = numpy.zeros([2], tf.as_dtype(dtype.removeprefix("q")).as_numpy_dtype)
        tensor = tf.constant(whole, dtype.removeprefix("q"))
        save(place / "foreign", [("t", tf.bitcast(tensor, dtype) if dtype.startswith("q") else tensor)])
        words = f'tensor "t": its dtype is DT_{dtype.upper()}, which safetensors does not have'
        rejected(place / "foreign", words)


def test_many_tensors(place):
    """An index of many blocks, whose keys share bytes."""
    tensors = {f"model/layers/{number}/weight": values("float32", [number % 3]) for number in range(10_000)}
    save(place / "many", tensors.items())
    assert (place / "many.index").stat().st_size > 1 << 18
    compare(place / "many")


def test_memory(place):
    """Half a million tensors take no more memory than the page of `convert` says."""
    names, parts = [f"model/layers/{number}/weight" for number in range(500_000)], 5
    one = tf.constant([1, 2], tf.uint8)
    tensors = [(name, one) for name in names]
    save_parts(place / "large", [tensors[part::parts] for part in range(parts)])
    measured = [sys.executable, "-S", "-c", PEAK, built(), "convert", place / "large", OUT]
    kibibytes = int(subprocess.run(measured, capture_output=True, text=True, check=True).stdout)
    assert OUT.read_bytes().endswith(b"\1\2" * len(names))
    most = (40 << 20) + sum(512 + 2 * len(name) for name in names)
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
            pairs = [*(("v", pieces[index]) for index in order), ("w", whole)]
            save(place / "sliced", pairs, [*(specs[index] for index in order), ""])
            tensors = compare(place / "sliced")
            assert tensors["v"] == tensors["w"]
    quarters = ["2 2 0,1:0,1", "2 2 0,1:1,1", "2 2 1,1:0,1", "2 2 1,1:1,1"]
    save(place / "quarters", [("v", tf.constant([[number]])) for number in range(4)], quarters)
    rejected(place / "quarters", 'tensor "v": it is partitioned along several axes')
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
    compare(place / "second")
    rejected(place / "first", "V1 checkpoint")
    (place / "first").rename(place / "first.index")
    rejected(place / "first.index", "V1 checkpoint")


def test_objects(place):
    """Checkpoints of objects, of Keras, and the variables of a SavedModel."""
    checkpoint = tf.train.Checkpoint(a=tf.Variable([1.0, 2.0]), b=[tf.Variable(3), tf.Variable(True)])
    tensors = compare(checkpoint.save(str(place / "objects")))
    assert "a/.ATTRIBUTES/VARIABLE_VALUE" in tensors and "save_counter/.ATTRIBUTES/VARIABLE_VALUE" in tensors
    rejected(place / "checkpoint", "this is the list of the checkpoints of its directory")
    model = keras.Sequential([keras.Input([8]), keras.layers.Dense(4), keras.layers.BatchNormalization()])
    model.compile("adam", "mse")
    model.fit(numpy.ones([4, 8]), numpy.ones([4, 4]), verbose=0)
    compare(tf.train.Checkpoint(model).write(str(place / "keras")))
    model.export(str(place / "exported"), verbose=False)
    compare(place / "exported", place / "exported/variables/variables")
    tf.saved_model.save(model, str(place / "saved"))
    compare(place / "saved", place / "saved/variables/variables")
    compare(place / "saved/variables", place / "saved/variables/variables")


def test_broken(place):
    """A wrong byte in a data file, which TensorFlow detects, too."""
    save(place / "broken", [("t", values("float32", [1000]))])
    path = place / "broken.data-00000-of-00001"
    data = bytearray(path.read_bytes())
    data[1234] ^= 1
    path.write_bytes(data)
    rejected(place / "broken", 'tensor "t": the 4000 bytes at byte 0 of data file 0 have a wrong checksum')
    path.unlink()
    rejected(place / "broken", 'data file "broken.data-00000-of-00001" cannot be opened', code=2)
