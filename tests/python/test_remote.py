"""Parameters are counted as huggingface.js counts them, and models are read over TLS. Needs openssl, node and npm."""

import http.server
import json
import os
import ssl
import subprocess
import threading

import pytest
from support import ROOT, built, run, write_model

pytestmark = pytest.mark.main

CASES = 1000
COUNT = "tests/python/huggingface-js"
# `cargo xtask test python` installs it.
HUB = built().parents[2] / "npm" / COUNT / "node_modules/@huggingface/hub/dist/index.mjs"
BITS = {
    "F32": 32, "F16": 16, "BF16": 16, "F8_E4M3": 8, "F8_E8M0": 8,
    "I64": 64, "I32": 32, "I16": 16, "I8": 8, "U32": 32, "U16": 16, "U8": 8, "BOOL": 8,
}
MODULES = [
    "model.layers.0.mlp", "model.layers.1.self_attn", "lm_head", "model.experts.3.w1", "shared_experts.w2",
    "x.experts.0.shared_experts.w1", "model.layers.10.mlp.experts.7.down",
]
SUFFIXES = [
    "weight", "bias", "qweight", "qzeros", "scales", "biases", "g_idx", "weight_packed", "weight_scale",
    "weight_scale_inv", "weight_zero_point", "weight_shape", "weight_g_idx", "zero_point", "w_blocks", "w_scales",
    "absmax", "weight.absmax", "weight.quant_map", "weight.quant_state.bitsandbytes__nf4", "input_scale", "scale",
]
PATTERNS = [
    "lm_head", "model.layers.0", "*.mlp.*", "re:.*lm_head$", "re:.*experts.*", r"re:^model\.layers\.0\.mlp",
    "re:(a|b)", "Linear", "model.layers.1.self_attn",
]


def write_hole(path, tensors):
    """Writes a header; the data is a hole."""
    header, offset = {}, 0
    for name, dtype, shape in tensors:
        size = BITS[dtype] // 8
        for dim in shape:
            size *= dim
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + offset)


def random_tensors(rng):
    names = {f"{rng.choice(MODULES)}.{rng.choice(SUFFIXES)}" for _ in range(rng.randint(1, 25))}
    shape = lambda: [rng.choice([1, 2, 3, 7, 64, 100]) for _ in range(rng.randint(0, 3))]
    return [(name, rng.choice(list(BITS)), shape()) for name in sorted(names)]


def random_config(rng):
    some = lambda values, most: [rng.choice(values) for _ in range(rng.randint(0, most))]
    methods = ["gptq", "AWQ", "mxfp4", "compressed-tensors", "fp8", "bitsandbytes", "mlx", "other", None, 5]
    config = {}
    if rng.random() < 0.85:
        config["quant_method"] = rng.choice(methods)
    for key, values in {
        "bits": [2, 3, 4, 8, 0, 4.0, None], "load_in_4bit": [True, False], "group_size": [32, 64, 16, None],
        "mode": ["affine", "mxfp4", "nvfp4", "other", None], "expert_dtype": ["fp4", "FP8", "int2"],
        "store_dtype": ["mxfp4", "fp8"], "format": ["pack-quantized", "nvfp4-pack-quantized", "float-quantized"],
    }.items():
        if rng.random() < 0.4:
            config[key] = rng.choice(values)
    for key in ["ignore", "modules_to_not_convert"]:
        if rng.random() < 0.3:
            config[key] = some(PATTERNS, 2)
    if rng.random() < 0.4:
        config["config_groups"] = {
            f"group_{number}": {
                "targets": some(PATTERNS, 2),
                **rng.choice([{}, {"weights": {"num_bits": rng.choice([2, 3, 4, 8])}}, {"weights": {}}]),
                **rng.choice([{}, {"format": "pack-quantized"}, {"format": "int-quantized"}]),
            }
            for number in range(rng.randint(1, 3))
        }
    if rng.random() < 0.2:
        config[rng.choice(MODULES)] = rng.choice([False, {"bits": 8, "group_size": 64}, {"mode": "mxfp4"}])
    top = {rng.choice(["quantization_config", "quantization_config", "quantization"]): config}
    if rng.random() < 0.2:
        top = {"text_config": top}
    if rng.random() < 0.2:
        top["expert_dtype"] = "fp4"
    return top


def test_parameters_are_counted_as_by_huggingface_js(place, dice):
    """The command has a second count if matrices are narrow, and the configuration of the model makes a difference."""
    models = {f"o/m{number}": random_tensors(dice) for number in range(CASES)}
    for name, tensors in models.items():
        write_hole(place / name / "model.safetensors", tensors)
        if dice.random() < 0.9:
            (place / name / "config.json").write_text(json.dumps(random_config(dice)))
    lines = run(ROOT / COUNT / "count.mjs", HUB, f"{place}/", *models, program="node").splitlines()
    differing = 0
    for (name, tensors), line in zip(models.items(), lines, strict=True):
        theirs, plain = ({dtype: count for dtype, count in counts.items() if count} for counts in json.loads(line))
        if not any(len(shape) > 1 and dtype not in ("F32", "F16", "BF16", "BOOL") for _, dtype, shape in tensors):
            theirs = plain
        ours = json.loads(run("inspect", "--json", name)).get("unpacked", {"dtypes": plain})
        config = place / name / "config.json"
        assert ours["dtypes"] == theirs, f"{name}: {config.exists() and config.read_text()}"
        differing += theirs != plain
    assert differing > CASES // 10


class Server(http.server.BaseHTTPRequestHandler):
    """Answers with the only model, or leads elsewhere."""

    elsewhere = {"/moved": "/model", "/plain": "http://127.0.0.1/model"}

    def do_GET(self):
        if self.path in self.elsewhere:
            self.send_response(302)
            self.send_header("Location", self.elsewhere[self.path])
            self.send_header("Content-Length", "0")
            return self.end_headers()
        with open("model.safetensors", "rb") as file:
            data = file.read()
        begin, end = self.headers["Range"].removeprefix("bytes=").split("-")
        part = data[int(begin) : int(end) + 1]
        self.send_response(206)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Content-Range", f"bytes {begin}-{int(begin) + len(part) - 1}/{len(data)}")
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_):
        pass


@pytest.fixture
def port(place):
    """Starts a server with a certificate for localhost, by a test CA."""
    openssl = lambda *words: subprocess.run(["openssl", *words], check=True, capture_output=True)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test CA")
    openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    (place / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", "server.pem", "-days", "2", "-extfile", "names")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("server.pem", "server.key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()


@pytest.mark.parametrize(("path", "authority", "sentence"), [
    ("/model", "ca.pem", None),
    ("/moved", "ca.pem", None),
    ("/model", "", b"certificate"),
    ("/plain", "ca.pem", b"from https to http"),
], ids=["trusted", "moved", "no authority", "to http"])
def test_tls(path, authority, sentence, port, place):
    """With the authority a tensor is read; without it, or through a redirect to http, nothing is."""
    held = os.urandom(1 << 20)
    write_model(place / "model.safetensors", {"a": ("U8", [1 << 20], held)})
    words = [built(), "cat", f"https://localhost:{port}{path}", "a", "--format", "raw"]
    done = subprocess.run(words, env=os.environ | {"SSL_CERT_FILE": authority}, capture_output=True, check=False)
    if sentence is None:
        assert (done.returncode, done.stdout) == (0, held), done.stderr
    else:
        assert done.returncode != 0 and sentence in done.stderr, done.stderr
