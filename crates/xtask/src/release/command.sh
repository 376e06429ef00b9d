# Unpacks the command for this computer, and lets it check a model with one tensor.
set -e
tar -xzf "$(dirname "$0")"/command/safetensors-*-"$(uname -m)"-unknown-linux-musl.tar.gz --strip-components=1
printf '\070\0\0\0\0\0\0\0{"bias":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}abc' > model.safetensors
bin/safetensors check model.safetensors && bin/safetensors inspect model.safetensors
