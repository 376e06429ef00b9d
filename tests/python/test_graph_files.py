"""What the command makes of ONNX and TFLite is what their own libraries read of them, bit for bit."""

import importlib.metadata
import json
import runpy

import numpy
import onnx
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from onnx import TensorProto, helper, numpy_helper
from support import DTYPES, ROOT, array_of, converted, left_out, rejected, run

pytestmark = pytest.mark.main

random = numpy.random.default_rng(67)


def files_of(package, suffix):
    """Returns the files with this suffix that a package installs."""
    return [file.locate() for file in importlib.metadata.files(package) if file.name.endswith(suffix)]


def stored(array):
    """Returns an array as safetensors has it: the dtype, the shape and the bytes."""
    name, data = array.dtype.name, array.tobytes()
    if name == "float4_e2m1fn":
        data = bytes(low | high << 4 for low, high in zip(data[::2], data[1::2]))
    return DTYPES[name], array.shape, data


def in_graph(graph, path=""):
    """Yields the name and the message of each tensor in a graph."""
    yield from ((path + tensor.name, tensor) for tensor in graph.initializer)
    for node in graph.node:
        for one in node.attribute:
            if one.type == onnx.AttributeProto.TENSOR:
                is_value = (node.op_type, one.name) == ("Constant", "value")
                yield path + node.output[0] + ("" if is_value else f".{one.name}"), one.t
            if one.type == onnx.AttributeProto.GRAPH:
                yield from in_graph(one.g, f"{path}{next(filter(None, node.output))}.{one.name}/")


def compare_onnx(path):
    """Compares the tensors of a model with those that onnx reads."""
    expected = dict(in_graph(onnx.load(path, load_external_data=False).graph))
    texts = [name for name, tensor in expected.items() if tensor.data_type == TensorProto.STRING]
    assert sorted(left_out(path)) == sorted(f"{name} string" for name in texts)
    tensors, _ = converted(path)
    assert tensors.keys() == expected.keys() - texts
    assert tensors == {name: stored(numpy_helper.to_array(expected[name], str(path.parent))) for name in tensors}
    return tensors


def test_onnx_dtypes(place):
    """Each dtype as bytes, in the field for it, and in another file; all others are rejected or texts."""
    shapes = [[4], [2, 3, 2], [0, 3]]
    arrays = {f"{name}/{at}": array_of(random, name, shape) for name in DTYPES for at, shape in enumerate(shapes)}
    arrays["scalar"] = array_of(random, "float32", [])
    raw = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    typed = [helper.make_tensor("words", TensorProto.STRING, [1], [b"text"])]
    for message, array in zip(raw, arrays.values()):
        # Signalling NaNs do not stay as they are in Python's floats.
        if array.dtype.kind in "fc" and array.dtype.itemsize > 2:
            array = numpy.nan_to_num(array, nan=1, posinf=2, neginf=3)
        typed.append(helper.make_tensor(message.name, message.data_type, array.shape, array.flatten().tolist()))
    graphs = [helper.make_model(helper.make_graph([], "g", [], [], tensors)) for tensors in [raw, typed]]
    for at, graph in enumerate(graphs):
        onnx.save(graph, place / f"{at}.onnx")
    whole, _ = compare_onnx(place / "0.onnx"), compare_onnx(place / "1.onnx")
    onnx.save(graphs[0], place / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    assert compare_onnx(place / "m.onnx") == whole
    (place / "w.bin").unlink()
    rejected(place / "m.onnx", 'data file "w.bin" cannot be opened', code=2)


def test_onnx_models(place):
    """Models of others: in them are graphs in graphs, and constants instead of initializers."""
    paths = files_of("silero-vad", ".onnx")
    assert paths
    for path in paths:
        assert len(compare_onnx(path)) >= 40


def compare_tflite(path):
    """Compares the tensors of a model with those of the interpreter."""
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
    reader, expected, variables = Interpreter(str(path)), {}, []
    for number, graph in enumerate(model.subgraphs):
        details = {one["index"]: one["quantization_parameters"] for one in reader.get_tensor_details(number)}
        for index, tensor in enumerate(graph.tensors):
            name = (f"{graph.name.decode()}/" if number else "") + tensor.name.decode()
            data = model.buffers[tensor.buffer].data
            if data is None or len(data) == 0:
                variables += [name] * bool(tensor.isVariable)
                continue
            array = reader.get_tensor(index, number)
            expected[name] = stored(array)
            scales, zeros = details[index]["scales"], details[index]["zero_points"]
            shape, axis = [len(scales)], details[index]["quantized_dimension"]
            if len(scales) > 1 and axis > 0:
                shape = [len(scales) if at == axis else 1 for at in range(array.ndim)]
            if len(scales) > 0:
                expected[f"{name}.scale"] = stored(scales.reshape(shape))
            if zeros.any():
                expected[f"{name}.zero_point"] = stored(zeros.astype(array.dtype).reshape(shape))
    assert sorted(left_out(path)) == sorted(f"{name} variable without elements" for name in variables)
    assert converted(path)[0] == expected
    return expected


def test_tflite_models(place):
    """The wake words: convolutions with scales for each channel, and states."""
    paths = files_of("pymicro-wakeword", ".tflite")
    assert len(paths) == 4
    for path in paths:
        expected = compare_tflite(path)
        assert sum(name.endswith(".scale") for name in expected) >= 20
        assert json.loads(run("inspect", "--json", path))["tensors"].keys() == expected.keys()


def test_boards_have_a_wake_word():
    """The model of the boards is what its program makes of the weights of a wake word, as the interpreter has them."""
    program = runpy.run_path(ROOT / "tests/quantised/make.py")
    assert program["make"]() == (program["MODEL"].read_bytes(), program["PRODUCTS"].read_text())
