# python3 run.py --writer -- python3 adapters/adapter_writer.py
# Replace `write` by a call of your writer. It raises where it rejects a case, NotImplementedError where its types cannot express it.
import json
import sys


def members(pairs, shown=json.dumps):
    return "{" + ",".join(f"{json.dumps(key)}:{shown(value)}" for key, value in pairs) + "}"


def write(path, tensors, metadata):
    header, data = [], b""
    if metadata is not None:
        header.append(("__metadata__", members(metadata)))
    for tensor in tensors:
        begin, data = len(data), data + bytes.fromhex(tensor["data"])
        entry = {"dtype": tensor["dtype"], "shape": tensor["shape"], "data_offsets": [begin, len(data)]}
        header.append((tensor["name"], json.dumps(entry)))
    text = members(header, str).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


case = json.loads(sys.stdin.readline())
try:
    write(sys.argv[1], case["tensors"], case["metadata"])
except NotImplementedError:
    sys.exit(77)
except Exception as error:  # better: the exceptions with which your writer rejects them
    sys.exit(repr(error))  # with exit code 1
