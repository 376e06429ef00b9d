# Installs the wheel into an environment of its own, and writes and reads a model as the README does.
set -e; dir=$(dirname "$0")/python
python3 -m venv env; env/bin/pip install --quiet numpy ml_dtypes
env/bin/pip install --quiet --no-index --find-links "$dir" "embedded-safetensors[numpy]"
env/bin/python "$dir/example.py"; env/bin/safetensors check model.safetensors
