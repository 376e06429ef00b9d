"""Tensors of PyTorch, and models whose tensors share memory."""

import numpy as np
import pytest
import torch

import embedded_safetensors.torch as module
from embedded_safetensors import SafetensorError, TensorSpec, deserialize, safe_open, serialize, set_tensor

pytestmark = pytest.mark.torch


def to_numpy(tensor):
    tensor = tensor.contiguous()
    bits = tensor.reshape(-1).view(torch.uint8) if tensor.nelement() else torch.empty(0, dtype=torch.uint8)
    return np.frombuffer(bits.numpy().tobytes(), f"V{tensor.element_size()}").reshape(tensor.shape)


def test_all_dtypes(framework):
    tensors = {}
    for dtype in module._TYPES.values():
        if dtype in (getattr(torch, "float4_e2m1fn_x2", None), torch.bool):
            continue
        size = torch.empty(0, dtype=dtype).element_size()
        tensors[str(dtype)] = torch.arange(35 * size, dtype=torch.uint8).view(dtype).reshape(5, 7)
    tensors["bool"] = torch.arange(35).reshape(5, 7) % 3 == 0
    tensors |= {"scalar": torch.tensor(3.5), "empty": torch.zeros(2, 0)}
    framework(module, "pt", tensors, to_numpy)


def test_parameters_are_saved(path):
    module.save_file({"a": torch.nn.Parameter(torch.ones(3))}, path)
    loaded = module.load_file(path)["a"]
    assert type(loaded) is torch.Tensor and loaded.tolist() == [1, 1, 1]
    set_tensor(path, "a", torch.nn.Parameter(torch.tensor([2.0, 3.0])), slice=np.s_[::-2])
    assert module.load_file(path)["a"].tolist() == [3, 1, 2]


def test_mapped_tensors_can_be_changed(path):
    module.save_file({"a": torch.ones(3)}, path)
    file = path.read_bytes()
    for backend in (None, "mmap", "pread"):
        tensor = module.load_file(path, backend=backend)["a"]
        tensor += 1
        assert tensor.tolist() == [2, 2, 2]
    assert path.read_bytes() == file


def test_conjugated_tensors_are_saved_right(path):
    values = torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex64)
    module.save_file({"conjugated": values.conj()}, path)
    assert torch.equal(module.load_file(path)["conjugated"], torch.tensor([1 - 2j, 3 + 4j], dtype=torch.complex64))


def test_tensors_that_cannot_be_saved(path):
    shared = torch.zeros(4)
    # Those for which programs search have the first words of the reference.
    for wrong, error, words in [
        ({"a": torch.zeros(2, 3).t()}, ValueError, "^You are trying to save a non contiguous tensor: `a` which"),
        ({"a": torch.sparse_coo_tensor(size=(2, 3))}, ValueError, "^You are trying to save a sparse tensors: `"),
        ({"a": [1.0]}, ValueError, "^Key `a` is invalid"),
        ([torch.zeros(1)], ValueError, "^Expected a dict of"),
        ({"a": shared, "b": shared[1:]}, RuntimeError, "^Some tensors share memory, this will lead to duplicate mem"),
        ({"a": torch.zeros(2, dtype=torch.complex128)}, SafetensorError, "complex128"),
    ]:
        with pytest.raises(error, match=words):
            module.save_file(wrong, path)
    assert not path.exists()


def test_packed_elements_of_four_bits(path):
    header = b'{"a":{"dtype":"F4","shape":[2,2],"data_offsets":[0,2]},"b":{"dtype":"F4","shape":[2,3],"data_offsets":[2,5]}}'
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"abcde")
    with safe_open(path, "pt") as file:
        if "F4" in module._TYPES:
            assert file.get_tensor("a").shape == (2, 1)
        with pytest.raises(SafetensorError):
            file.get_tensor("b")


@pytest.mark.parametrize("backend", ["mmap", "pread", None])
def test_slices_of_packed_elements_count_elements(path, file_of, backend, monkeypatch):
    # Not every release of torch has the dtype; uint8 has elements of the same size.
    monkeypatch.setitem(module._TYPES, "F4", torch.uint8)
    path.write_bytes(file_of("F4", [2, 4], b"abcd"))
    with safe_open(path, "pt", backend=backend) as file:
        part = file.get_slice("a")
        assert part[:, :2].tolist() == [[97], [99]]
        assert part[:, 2:].tolist() == [[98], [100]]
        assert part[::-1].tolist() == [[99, 100], [97, 98]]
        for index in (np.s_[:, ::2], np.s_[:, ::-1], np.s_[:, 1:3]):
            with pytest.raises(SafetensorError) as caught:
                part[index]
            assert caught.value.code == "usage.subbyte"


def test_models_with_shared_tensors(path):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
            self.b.weight = self.a.weight
            self.register_buffer("strided", torch.arange(6.0).reshape(2, 3).t())

    model, other = Model(), Model()
    module.save_model(model, path, {"key": "value"})
    with safe_open(path, "pt") as file:
        assert file.metadata() == {"key": "value", "b.weight": "a.weight"}
    assert module.load_model(other, path) == (set(), [])
    for name, tensor in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor)
    with pytest.raises(ValueError, match="force_contiguous=True"):
        module.save_model(model, path, force_contiguous=False)
    with pytest.raises(RuntimeError, match="Missing key.*\n.*Unexpected"):
        module.load_model(torch.nn.Linear(3, 3), path)


def test_devices(path):
    module.save_file({"a": torch.ones(3)}, path)
    assert module.load_file(path, "meta")["a"].device.type == "meta"
    assert module.load_file(path, None)["a"].device.type == "cpu"
    with pytest.raises(RuntimeError):
        module.load_file(path, "no such device")


def test_names_that_programs_import():
    tensors, kept = {"a": torch.ones(2, 3), "b": torch.zeros(0), "c": torch.ones(3, dtype=torch.int8)}, []
    specs = module._flatten_as_ptr(tensors, kept)
    assert specs["a"].data_ptr == tensors["a"].data_ptr() and len(kept) == 3
    loaded = module._view2torch(deserialize(serialize(specs)))
    assert all(torch.equal(loaded[name], tensor) for name, tensor in tensors.items())
    assert module._TYPES["BF16"] is module._getdtype("BF16") is torch.bfloat16
    assert [module._SIZE[dtype] for dtype in (torch.bool, torch.float16, torch.complex64)] == [1, 2, 8]
    parts = {"a": tensors["a"][0], "b": tensors["a"][1], "c": tensors["a"]}
    assert module._filter_shared_not_shared([{"a", "b"}, {"b", "c"}], parts) == [{"a"}, {"b"}, {"b", "c"}]


def test_dtypes_and_booleans_of_torch(path):
    assert TensorSpec(dtype=torch.bfloat16, shape=[], data=bytes(2)).dtype == "BF16"
    module.save_file({"a": torch.zeros(2, 3)}, path)
    with safe_open(path, "pt") as file, pytest.raises(SafetensorError):
        file.get_slice("a")[torch.tensor(True)]
