"""Files that are written: at once, in pieces, as shards and as checkpoints."""

import ctypes
import os

import numpy as np
import pytest

import embedded_safetensors
import embedded_safetensors.numpy as module
from embedded_safetensors import FileWriter, SafetensorError, TensorSpec, serialize, serialize_file

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


@pytest.mark.parametrize("wrong", [
    {"dtype": "float31"},
    {"shape": [2, 4]},
    {"shape": [2]},
    {"shape": [2**63, 2**63]},
    {"dtype": "F4", "shape": [3], "data": bytes(2)},
    {"data": None, "data_len": 24},
    {"data": bytes(23)},
], ids=str)
def test_wrong_descriptions(wrong, path):
    with pytest.raises(SafetensorError):
        serialize({"a": spec(**wrong)})
    with pytest.raises(SafetensorError):
        serialize_file({"a": spec(**wrong)}, path)
    assert not path.exists() and not list(path.parent.iterdir())


def test_other_types_are_type_errors():
    for wrong in ({"a": {"dtype": "float32"}}, {1: spec()}, {"a": spec(data=3)}):
        with pytest.raises(TypeError):
            serialize(wrong)


def test_strided_bytes_are_an_error():
    with pytest.raises(SafetensorError, match="contiguous"):
        serialize({"a": spec(data=DATA.T)})


def test_new_files_have_the_usual_permissions(path):
    module.save_file({"a": DATA}, path)
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    path.chmod(0o640)
    module.save_file({"a": DATA}, path, sync=True)
    assert path.stat().st_mode & 0o777 == 0o640


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
    for call in (lambda: file.write("b", DATA), lambda: file.write("a", bytes(25)), file.finish):
        with pytest.raises(SafetensorError) as caught:
            call()
        assert caught.value.tensor in ("a", "b")
    with pytest.raises(SafetensorError):
        FileWriter(path, {"a": ("F32", [2, 2**62])})
    with pytest.raises(SafetensorError):
        FileWriter(path, {"a": ("F31", [2])})
    del file
    assert list(path.parent.iterdir()) == []


def test_shards_are_divided_as_by_the_hub(tmp_path):
    arrays = {name: np.zeros(100, np.float32) for name in "dcba"}
    assert module.save_sharded(arrays, tmp_path).endswith("model.safetensors")
    index = module.save_sharded(arrays, tmp_path / ".", max_shard_size="0.8KB")
    assert index.endswith("index.json")
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert [list(module.load_file(shard)) for shard in shards] == [["c", "d"], ["a", "b"]]
    with pytest.raises(SafetensorError, match="size"):
        module.save_sharded(arrays, tmp_path, max_shard_size="5GiB")


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
    (directory / "step").write_text("1201")
    with pytest.raises(SafetensorError, match="step"):
        embedded_safetensors.verify_checkpoint(directory)
