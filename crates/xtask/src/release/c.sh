# Builds programs in C and C++ with CMake and the archive beside this script, and runs one. It needs no Rust, but CMake 3.16
# and compilers.
set -e; tar -xzf "$(dirname "$0")"/c/safetensors-c-*.tar.gz
cmake -S safetensors/examples -B build -DCMAKE_PREFIX_PATH="$PWD/safetensors" && cmake --build build
build/inference safetensors/examples/bare-metal/model.safetensors
