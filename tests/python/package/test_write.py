"""Files that are written: at once, in pieces, as shards and as checkpoints."""

import array
import ctypes
import math
import signal
from types import MappingProxyType

import ml_dtypes
import numpy as np
import pytest
import safetensors

import embedded_safetensors
import embedded_safetensors.numpy as module
from embedded_safetensors import FileWriter, SafetensorError, TensorSpec, serialize, serialize_file

pytestmark = pytest.mark.main

DATA = np.arange(6, dtype=np.float32).reshape(2, 3)


def spec(**members):
    return TensorSpec(**({"dtype": "float32", "shape": [2, 3], "data": DATA} | members))


def test_descriptions():
    assert (spec().dtype, spec().shape) == ("F32", [2, 3])
    packed = TensorSpec(dtype="float4_e2m1fn_x2", shape=(2, 2), data=bytes(4))
    assert (packed.dtype, packed.shape) == ("F4", [2, 4])
    assert TensorSpec(dtype="F6_E2M3", shape=[4], data=bytes(3)).dtype == "F6_E2M3"
    address = TensorSpec(dtype="float32", shape=[2, 3], data_ptr=DATA.ctypes.data, data_len=24)
    assert (address.data_ptr, address.data_len) == (DATA.ctypes.data, 24)


def test_bytes_at_an_address_or_of_an_object(path):
    memory = ctypes.create_string_buffer(DATA.tobytes(), 24)
    address = TensorSpec(dtype="float32", shape=[2, 3], data_ptr=ctypes.addressof(memory), data_len=24)
    serialize_file({"a": address}, path, {"k": "v"})
    assert path.read_bytes() == serialize({"a": spec()}, {"k": "v"}) == module.save({"a": DATA}, {"k": "v"})


# The bits of the elements of every dtype that Python can write.
BITS = {
    "bool": 8, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64, "uint64": 64,
    "float16": 16, "float32": 32, "float64": 64, "bfloat16": 16, "complex64": 64, "float8_e4m3fn": 8, "float8_e4m3fnuz": 8,
    "float8_e5m2": 8, "float8_e5m2fnuz": 8, "float8_e8m0fnu": 8, "float4_e2m1fn_x2": 8,
}


def test_random_files_are_those_of_the_reference(dice):
    for _ in range(2000):
        text = lambda: "".join(dice.choice("ab._ é\"\\\n\0\u2028\U0001f600") for _ in range(dice.randint(0, 6)))
        tensors = {}
        for name in dict.fromkeys(text() for _ in range(dice.choice([1, 3, 20]))):
            dtype, shape = dice.choice(list(BITS)), [dice.choice([0, 1, 1, 2, 3]) for _ in range(dice.choice([1, 2, 3, 9]))]
            tensors[name] = dtype, shape, ctypes.create_string_buffer(dice.randbytes(math.prod(shape) * BITS[dtype] // 8))
        metadata = dice.choice([None, {text(): text()}])
        files = []
        for package in (embedded_safetensors, safetensors):
            specs = {
                name: package.TensorSpec(
                    dtype=dtype, shape=shape, data_ptr=ctypes.addressof(data), data_len=len(data) - 1
                )
                for name, (dtype, shape, data) in tensors.items()
            }
            files.append(bytes(package.serialize(specs, metadata)))
        assert files[0] == files[1], (tensors, metadata)
        found = [sorted(package.deserialize(files[0])) for package in (embedded_safetensors, safetensors)]
        assert found[0] == found[1]


@pytest.mark.parametrize(("wrong", "code"), [
    ({"dtype": "float31"}, "dtype.unknown"),
    ({"shape": [2, 4]}, "usage.length"),
    ({"shape": [2]}, "usage.length"),
    ({"shape": [2**63, 2**63]}, "usage.overflow"),
    ({"dtype": "F4", "shape": [3], "data": bytes(2)}, "usage.bits"),
    ({"data": None, "data_len": 24}, None),
    ({"data": bytes(23)}, "usage.length"),
], ids=str)
def test_wrong_descriptions(wrong, code, path):
    for call in (serialize, lambda tensors: serialize_file(tensors, path)):
        with pytest.raises(SafetensorError) as caught:
            call({"a": spec(**wrong)})
        assert caught.value.code == code
    assert not path.exists() and not list(path.parent.iterdir())


def test_other_types_are_type_errors():
    for wrong in ({"a": {"dtype": "float32"}}, {1: spec()}, None, [("a", spec())]):
        with pytest.raises(TypeError):
            serialize(wrong)
    calls = [lambda: spec(data=3), lambda: spec(shape=["2"]), lambda: spec(shape=6), lambda: module.save(None)]
    calls += [lambda: module.save({"a": DATA}, {"k": 1}), lambda: module.save({"a": DATA}, 3)]
    for call in calls:
        with pytest.raises(TypeError):
            call()


def test_impossible_values_are_errors_with_a_sentence(path):
    calls = [lambda: spec(shape=[-1]), lambda: spec(shape=[2**64]), lambda: module.save({"a": [[1], [2, 3]]})]
    calls += [lambda: module.save({"\ud800": DATA}), lambda: module.save({"a": DATA}, {"\ud800": "v"})]
    calls += [lambda: module.save({"a": DATA}, {"k": "\ud800"})]
    tensors = [{"a": ("F32", [2], 3)}, {"a": ("F32", [-2])}, {"\ud800": ("F32", [2])}]
    calls += [lambda wrong=wrong: FileWriter(path, wrong) for wrong in tensors]
    for call in calls:
        with pytest.raises(SafetensorError) as caught:
            call()
        assert len(str(caught.value)) > 20
    assert not list(path.parent.iterdir())


def test_any_mapping_is_accepted(path):
    metadata = MappingProxyType({"k": "v"})
    expected = module.save({"a": DATA}, {"k": "v"})
    assert module.save(MappingProxyType({"a": DATA}), metadata) == expected
    assert serialize(MappingProxyType({"a": spec()}), metadata) == expected
    with FileWriter(path, MappingProxyType({"a": ("F32", [2, 3])}), metadata) as file:
        file.write("a", DATA)
    assert path.read_bytes() == expected


@pytest.mark.parametrize("dtype", ["float32", "F32", np.float32, np.dtype("f4"), DATA.dtype], ids=repr)
def test_dtypes_are_names_or_those_of_numpy(dtype, path):
    with FileWriter(path, {"a": (dtype, DATA.shape)}) as file:
        file.write("a", DATA)
    assert path.read_bytes() == serialize({"a": spec(dtype=dtype)}) == module.save({"a": DATA})
    assert TensorSpec(dtype=ml_dtypes.bfloat16, shape=[], data=bytes(2)).dtype == "BF16"


def test_dtypes_are_known_by_their_texts():
    class Float32:
        """As Paddle has it."""

        name = "FLOAT32"

        def __str__(self):
            return "paddle.float32"

    assert spec(dtype=Float32()).dtype == "F32"
    with pytest.raises(SafetensorError, match='unknown dtype "complex128"'):
        spec(dtype=np.dtype(complex))


# None is the code of a wrong byte order or of strides.
ELEMENTS = [
    (DATA[0].astype(np.float64), "usage.values"),
    (DATA[0].astype(np.int32), "usage.values"),
    (DATA[0].astype(np.int8), "usage.values"),
    (DATA[0].astype(complex), "usage.values"),
    (DATA[0].astype(ml_dtypes.bfloat16), "usage.values"),
    (memoryview(DATA[0].astype(np.float64)), "usage.values"),
    (array.array("i", [1, 2, 3]), "usage.values"),
    (DATA[0].astype(">f4"), None),
    (memoryview(DATA[0].astype(">f4")), None),
    (DATA.T[0], None),
]


@pytest.mark.parametrize(("data", "code"), ELEMENTS)
def test_other_elements_are_not_written(data, code, path):
    file = FileWriter(path, {"a": ("float32", [2, 3])})
    calls = [lambda: file.write("a", data)]
    calls += [lambda: serialize({"a": TensorSpec(dtype="float32", shape=[len(data)], data=data)})]
    for call in calls:
        with pytest.raises(SafetensorError) as caught:
            call()
        assert caught.value.code == code
    assert file.remaining("a") == 24
    if code:
        assert "F32" in str(caught.value)


def test_elements_of_every_kind_are_written(path):
    same = [DATA[0], memoryview(DATA[0]), array.array("f", DATA[0]), DATA[0].tobytes(), DATA[0].view(np.uint8)]
    same += [bytearray(DATA[0].tobytes()), memoryview(DATA[0]).cast("B"), (ctypes.c_float * 3)(*DATA[0])]
    narrow = np.ones(3, ml_dtypes.bfloat16)
    tensors = {"a": ("float32", [len(same), 3]), "b": ("bfloat16", [3]), "c": ("bool", [3]), "d": ("int64", [1])}
    with FileWriter(path, tensors) as file:
        for data in same:
            file.write("a", data)
        file.write("b", narrow)
        file.write("c", narrow == 1)
        file.write("d", array.array("q", [-1]))
    loaded = module.load_file(path)
    assert all(np.array_equal(row, DATA[0]) for row in loaded["a"])
    assert loaded["b"].tolist() == [1, 1, 1] and loaded["c"].all() and loaded["d"] == [-1]


def test_strided_bytes_are_an_error():
    with pytest.raises(SafetensorError, match="contiguous"):
        serialize({"a": spec(data=DATA.T)})


def test_a_writer_takes_pieces_in_any_order(path):
    tensors = {"inputs": ("float32", [2, 3]), "labels": ("U8", [2]), "none": ("I64", [0])}
    with FileWriter(path, tensors, {"k": "v"}) as file:
        for step in range(2):
            file.write("labels", bytes([step]))
            file.write("inputs", DATA[step])
            assert file.remaining("inputs") == 12 * (1 - step)
        assert not path.exists()
    loaded = module.load_file(path)
    assert np.array_equal(loaded["inputs"], DATA) and loaded["labels"].tolist() == [0, 1]


def test_a_block_may_finish_its_file(path):
    with FileWriter(path, {"v": ("float32", [3])}) as file:
        file.write("v", np.ones(3, np.float32))
        file.finish()
    assert module.load_file(path)["v"].tolist() == [1, 1, 1]
    with pytest.raises(SafetensorError, match="finished"):
        with file:
            pass


def test_two_elements_of_4_bits_in_one_are_two_everywhere(path):
    packed = ("float4_e2m1fn_x2", [4])
    with FileWriter(path, {"a": packed}) as file:
        assert file.remaining("a") == 4
        file.write("a", bytes(4))
    assert path.read_bytes() == serialize({"a": TensorSpec(dtype=packed[0], shape=packed[1], data=bytes(4))})


@pytest.mark.parametrize(("tensors", "exception", "sentence"), [
    ({"ok": ("float32", [1]), "foo": ("float32", [-1])}, SafetensorError, 'tensor "foo": the shape: not the length'),
    ({"foo": ("float32", 3)}, TypeError, "tensor \"foo\": the shape: 'int' object is not iterable"),
    ({"foo": ("float32",)}, SafetensorError, 'tensor "foo": a dtype and a shape needed, 1 given'),
    ({"foo": 7}, TypeError, 'tensor "foo": \'int\' object is not iterable'),
    ({"foo": ["float31", [1]]}, SafetensorError, 'tensor "foo": unknown dtype "float31"'),
], ids=str)
def test_wrong_forms_name_the_tensor(tensors, exception, sentence, path):
    with pytest.raises(exception) as caught:
        FileWriter(path, tensors)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(("metadata", "exception", "sentence"), [
    ({"epoch": 3}, TypeError, "metadata 'epoch': "),
    ({7: "a"}, TypeError, "metadata 7: "),
    ({"epoch": "\ud800"}, SafetensorError, "metadata 'epoch': not valid Unicode"),
], ids=str)
def test_wrong_metadata_is_named(metadata, exception, sentence):
    with pytest.raises(exception) as caught:
        module.save({"a": DATA}, metadata)
    assert sentence in str(caught.value)


def test_a_model_in_one_file_opens_beside_shards_of_an_older_one(tmp_path):
    module.save_sharded({str(at): np.zeros(200) for at in range(9)}, tmp_path, max_shard_size="1KB")
    module.save_sharded({"a": DATA}, tmp_path)
    assert len(list(tmp_path.glob("*.safetensors"))) == 10
    assert list(module.load_file(tmp_path)) == ["a"]


def test_a_file_that_is_finished_too_early_can_be_continued(path):
    file = FileWriter(path, {"b": ("U8", [1]), "a": ("F32", [2, 3])})
    pieces = [("b", b"b"), ("a", DATA[0]), ("a", DATA[1])]
    for name, piece in pieces:
        with pytest.raises(SafetensorError) as caught:
            file.finish()
        assert (caught.value.tensor, caught.value.code) == (name, "usage.incomplete")
        file.write(name, piece)
    file.finish()
    assert np.array_equal(module.load_file(path)["a"], DATA)


def test_an_incomplete_block_leaves_the_old_file(path):
    path.write_bytes(b"old")
    with pytest.raises(SafetensorError) as caught, FileWriter(path, {"a": ["F32", [2, 3]]}) as file:
        file.write("a", DATA[0])
    assert (caught.value.code, caught.value.tensor) == ("usage.incomplete", "a")
    assert str(path) in str(caught.value)
    with pytest.raises(SafetensorError, match="finished"):
        file.remaining("a")
    assert path.read_bytes() == b"old" and list(path.parent.iterdir()) == [path]


def test_an_exception_leaves_the_old_file(path):
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), FileWriter(path, {"a": ("F32", [2, 3])}) as file:
        file.write("a", DATA)
        1 / 0
    with pytest.raises(SafetensorError, match="finished"):
        file.write("a", DATA)
    assert path.read_bytes() == b"old" and list(path.parent.iterdir()) == [path]


def test_mistakes_with_a_writer(path):
    file = FileWriter(path, {"a": ("F32", [2, 3])}, sync=False)
    calls = [
        (lambda: file.write("b", DATA), ("b", "usage.missing")),
        (lambda: file.write("a", bytes(25)), ("a", "usage.bytes")),
        (lambda: file.finish(), ("a", "usage.incomplete")),
    ]
    for call, expected in calls:
        with pytest.raises(SafetensorError) as caught:
            call()
        assert (caught.value.tensor, caught.value.code) == expected
    with pytest.raises(SafetensorError):
        FileWriter(path, {"a": ("F32", [2, 2**62])})
    with pytest.raises(SafetensorError):
        FileWriter(path, {"a": ("F31", [2])})
    del file
    assert list(path.parent.iterdir()) == []


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
def test_a_signal_stops_a_long_call(path):
    def stop(number, frame):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, stop)
    long = {"a": np.zeros(1 << 29, np.uint8)}
    try:
        for call in (lambda: module.save_file(long, path), lambda: module.save_sharded(long, path.parent)):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            with pytest.raises(KeyboardInterrupt):
                call()
                signal.pause()
            assert not list(path.parent.iterdir())
    finally:
        signal.signal(signal.SIGALRM, old)


def test_sizes_of_shards_have_the_units_of_the_hub(tmp_path):
    with pytest.raises(SafetensorError, match="size"):
        module.save_sharded({"a": DATA}, tmp_path, max_shard_size="5GiB")


def test_checkpoints(tmp_path):
    directory = tmp_path / "runs/latest"

    def fill(path):
        module.save_file({"a": DATA}, path / "model.safetensors")
        (path / "step").write_text("1200")

    embedded_safetensors.write_checkpoint(directory, fill)
    assert embedded_safetensors.verify_checkpoint(directory) == 2
    with pytest.raises(ZeroDivisionError):
        embedded_safetensors.write_checkpoint(directory, lambda path: 1 / 0)
    assert embedded_safetensors.recover_checkpoint(directory) is False
    assert [entry.name for entry in directory.parent.iterdir()] == ["latest"]
    with pytest.raises(FileNotFoundError):
        embedded_safetensors.verify_checkpoint(directory / "none")
    (directory / "step").write_text("1201")
    with pytest.raises(SafetensorError, match="step"):
        embedded_safetensors.verify_checkpoint(directory)
