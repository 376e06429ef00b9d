# python3 run.py --index -- python3 adapters/adapter_index.py
# Replace `read` by a call of your reader. It returns the tensors of a sharded model, and raises where it rejects it.
import hashlib
import json
import pathlib
import sys


def read(index):
    tensors = {}
    for name, shard in json.loads(index.read_bytes())["weight_map"].items():
        file = (index.parent / shard).read_bytes()
        start = 8 + int.from_bytes(file[:8], "little")
        entry = json.loads(file[8:start])[name]
        begin, end = entry["data_offsets"]
        digest = hashlib.sha256(file[start + begin : start + end]).hexdigest()
        tensors[name] = {"dtype": entry["dtype"], "shape": entry["shape"], "sha256": digest, "shard": shard}
    return tensors


try:
    tensors = read(pathlib.Path(sys.argv[1]))
except Exception as error:  # better: the exceptions with which your reader rejects models
    sys.exit(repr(error))  # with exit code 1
print(json.dumps({"tensors": tensors}))
