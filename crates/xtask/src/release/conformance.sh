# Scores an unfinished reader with each package beside this script. It needs Python 3.9, Node.js 20 with npm, and Rust.
set -e; dir=$(cd "$(dirname "$0")/conformance" && pwd)
python3 -m venv env && env/bin/pip install --quiet --no-compile "$dir"/*.whl
env/bin/safetensors-conformance run --batch --level lite -- python3 "$(env/bin/safetensors-conformance where)/adapters/adapter.py" | grep '^all '
npm install --silent "$dir"/*.tgz
echo 'import { conformance } from "safetensors-conformance"; conformance(() => ({ tensors: {} }));' > reader.test.mjs
node --test --test-reporter=tap reader.test.mjs | grep '^# pass [1-9]'
mkdir -p rust/src && tar -xzf "$dir"/*.crate -C rust && cd rust && cargo init --quiet --lib --name my-reader
cargo add --quiet --path safetensors-conformance-*/ && cargo add --quiet serde_json
echo 'safetensors_conformance::conformance!(is_right, |_| serde_json::from_str(r#"{"tensors":{}}"#));' > src/lib.rs
cargo test --quiet --lib 2>&1 | grep -c '^newly wrong: '; cd ..
python3 -m zipfile -e "$dir"/*.zip . && cd safetensors-conformance-*/
python3 run.py --batch -- python3 adapters/adapter.py | grep '^all '
