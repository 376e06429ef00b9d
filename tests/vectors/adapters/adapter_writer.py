# python3 run.py --writer -- python3 adapters/adapter_writer.py
# Replace `write` by a call of your writer. It writes these tensors and pairs to the path, and raises where it cannot.
import json
import sys


def write(path, tensors, metadata):
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = dict(metadata)
    for tensor in tensors:
        begin, data = len(data), data + bytes.fromhex(tensor["data"])
        header[tensor["name"]] = {"dtype": tensor["dtype"], "shape": tensor["shape"], "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


case = json.loads(sys.stdin.readline())
try:
    write(sys.argv[1], case["tensors"], case["metadata"])
except Exception as error:  # better: the exceptions with which your writer rejects them
    sys.exit(repr(error))  # with exit code 1
