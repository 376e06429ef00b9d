# Installs the wheel into a new environment, and runs the README's example. It needs Python 3.11, and an index for numpy.
set -e; dir=$(dirname "$0")/python
python3 -m venv env; env/bin/pip install --quiet numpy ml_dtypes
env/bin/pip install --quiet --no-index --find-links "$dir" "embedded-safetensors[numpy]"
env/bin/python "$dir/example.py"; env/bin/safetensors check model.safetensors
