# python3 run.py --batch -- python3 adapter.py
# Replace `read` by a call of your reader. It returns the tensors and the metadata, and raises where it rejects a file.
import json
import sys


def read(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    metadata = header.pop("__metadata__", None)
    return {name: {key: entry[key] for key in ("dtype", "shape", "data_offsets")} for name, entry in header.items()}, metadata


for line in sys.stdin:
    try:
        tensors, metadata = read(line.rstrip("\n"))
        answer = json.dumps({"tensors": tensors, "metadata": metadata})
    except Exception as error:  # better: the exceptions with which your reader rejects files
        answer = json.dumps({"error": repr(error)})
    print(answer, flush=True)
