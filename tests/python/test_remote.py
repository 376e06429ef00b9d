"""Models on nginx on loopback, with and without TLS, are read, and their parameters counted as huggingface.js counts them.

The program is the example `remote` of safetensors-remote. Needs nginx, openssl, node and npm.
"""

import json
import os
import random
import shutil
import socket
import subprocess
import time

import pytest
from support import ROOT, built

pytestmark = pytest.mark.main

CASES = 1000
JS = ROOT / "tests/python/huggingface-js"
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


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


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


def make_models(root, cases, rng):
    """Random models, one in three files, and one with a header of two requests."""
    names = []
    for number in range(cases):
        name = f"o/m{number}"
        folder = root / name / "resolve/main"
        write_hole(folder / "model.safetensors", random_tensors(rng))
        if rng.random() < 0.9:
            (folder / "config.json").write_text(json.dumps(random_config(rng)))
        names.append(name)
    folder = root / "o/sharded/resolve/main"
    weight_map = {}
    for shard in range(3):
        file = f"model-0000{shard + 1}-of-00003.safetensors"
        tensors = [(f"layer.{shard}.{number}", "F16", [100, shard + 1]) for number in range(50)]
        write_hole(folder / file, tensors)
        weight_map |= {name: file for name, _, _ in tensors}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    long = [(f"layer.{number}.with.a.long.name", "BF16", [4096, 4096]) for number in range(2000)]
    write_hole(root / "o/long/resolve/main/model.safetensors", long)
    return [*names, "o/sharded", "o/long"]


def make_certificates(folder):
    """A test CA, and a certificate for localhost."""
    run = lambda *words: subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    run("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test CA")
    run("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    run("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
        "-out", "server.pem", "-days", "2", "-extfile", "names")


def start_nginx(folder, root, ports):
    ours, theirs, tls = ports
    (folder / "nginx.conf").write_text(f"""
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
user root;
events {{ worker_connections 200; }}
http {{
    log_format counts '$bytes_sent $status $request_uri';
    client_body_temp_path {folder}/temp; proxy_temp_path {folder}/temp; fastcgi_temp_path {folder}/temp;
    uwsgi_temp_path {folder}/temp; scgi_temp_path {folder}/temp;
    gzip on; gzip_types *;
    root {root};
    server {{ listen 127.0.0.1:{ours}; access_log {folder}/ours.log counts; }}
    server {{
        listen 127.0.0.1:{theirs}; access_log {folder}/theirs.log counts;
        # Where huggingface.js looks whether a file exists.
        rewrite ^(/o/[^/]+)/raw/(.*)$ $1/resolve/$2;
    }}
    server {{
        listen 127.0.0.1:{tls} ssl; access_log {folder}/tls.log counts;
        ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
        location /plain/ {{ return 302 http://127.0.0.1:{ours}/o/long/resolve/main/model.safetensors; }}
        location /moved/ {{ return 302 /o/long/resolve/main/model.safetensors; }}
    }}
}}
""")
    program = next((path for path in ["/usr/sbin/nginx"] if os.path.exists(path)), "nginx")
    server = subprocess.Popen([program, "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", tls)).close()
            return server
        except OSError:
            time.sleep(0.05)
    server.kill()
    raise AssertionError((folder / "error.log").read_text())


def counts(lines):
    """The counts by model, whatever the order of the dtypes."""
    parts = [line.split() for line in lines]
    return {name: sorted(part for part in rest if not part.endswith("=0")) for name, *rest in parts}


def requests(log):
    return len(log.read_text().splitlines())


def environment(folder, **variables):
    kept = {name: os.environ[name] for name in ["PATH", "HOME"] if name in os.environ}
    return kept | {"SSL_CERT_FILE": str(folder / "ca.pem"), "HF_HOME": str(folder)} | variables


@pytest.fixture(scope="module")
def hub():
    """Returns the module of the npm package, which is installed once beside the programs."""
    home = built().parent / "huggingface-js"
    home.mkdir(exist_ok=True)
    lock, installed = (JS / "package-lock.json").read_bytes(), home / "installed.json"
    if not installed.exists() or installed.read_bytes() != lock:
        for name in ["package.json", "package-lock.json"]:
            shutil.copy(JS / name, home)
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=home, check=True)
        installed.write_bytes(lock)
    return home / "node_modules/@huggingface/hub/dist/index.mjs"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Starts nginx; returns its directory, its ports and the names of the models."""
    folder, dice = tmp_path_factory.mktemp("nginx"), random.Random(os.environ["SUITE_SEED"])
    names = make_models(folder / "root", CASES, dice)
    make_certificates(folder)
    ports = free_ports(3)
    process = start_nginx(folder, folder / "root", ports)
    yield folder, ports, names
    process.terminate()
    process.wait()


def test_parameters_are_counted_as_by_huggingface_js(server, hub):
    folder, ports, names = server
    run = lambda words, env: subprocess.run(words, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout
    endpoints = [f"http://127.0.0.1:{port}" for port in ports]
    env = environment(folder, HF_ENDPOINT=endpoints[0])
    ours = run([built("examples/remote"), "count", *(f"hf://{name}" for name in names)], env)
    theirs = run(["node", JS / "count.mjs", hub, endpoints[1], *names], environment(folder))
    ours, theirs = counts(ours.replace("hf://", "").splitlines()), counts(theirs.splitlines())
    for name in names:
        config = folder / "root" / name / "resolve/main/config.json"
        assert ours.get(name) == theirs.get(name), f"{name}: {config.exists() and config.read_text()}"
    assert requests(folder / "ours.log") < requests(folder / "theirs.log")


MODEL = "/o/long/resolve/main/model.safetensors"


@pytest.mark.parametrize(("path", "variables", "sentence"), [
    (MODEL, {}, None),
    ("/moved/file", {}, None),
    (MODEL, {"SSL_CERT_FILE": ""}, b"certificate"),
    ("/plain/file", {}, b"from https to http"),
], ids=["trusted", "moved", "no authority", "to http"])
def test_tls(path, variables, sentence, server):
    """With the authority a tensor is read; without it, or through a redirect to http, nothing is."""
    folder, ports, _ = server
    words = [built("examples/remote"), "read", f"https://localhost:{ports[2]}{path}", "layer.1999.with.a.long.name"]
    done = subprocess.run(words, env=environment(folder, **variables), capture_output=True)
    if sentence is None:
        assert done.returncode == 0 and done.stdout == bytes(4096 * 4096 * 2), done.stderr
    else:
        assert done.returncode == 1 and sentence in done.stderr, done.stderr
