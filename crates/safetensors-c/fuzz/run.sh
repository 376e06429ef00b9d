#!/bin/sh
# Builds the fuzzer of the C API and runs it: run.sh DIRECTORY [OPTION...]. Built with AddressSanitizer and with
# every check of Rust, also those of `core`; a panic calls a function of the program and is a finding, too.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
directory=$1
shift
target=x86_64-unknown-linux-gnu
rustup component add rust-src --toolchain nightly
# The last line is what cargo-fuzz passes for libFuzzer.
RUSTFLAGS="-Zsanitizer=address -Zexternal-clangrt -Cdebug-assertions -Coverflow-checks -Zub-checks
    -Cforce-frame-pointers -Ccodegen-units=1 -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0"
export RUSTFLAGS CARGO_TARGET_DIR="$directory/build"
(cd "$here/.." && cargo +nightly build --release --locked --quiet --features no-panic -Zbuild-std=core \
    --target $target --config profile.release.lto=false --config profile.release.opt-level=2 \
    --config profile.release.debug=1)
clang -std=c99 -Wall -Wextra -Wpedantic -Werror -g -O1 -fuse-ld=lld -fno-omit-frame-pointer \
    -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I "$here/../include" "$here/api.c" \
    "$CARGO_TARGET_DIR/$target/release/libsafetensors.a" -o "$directory/api"
# An input begins with the length of its plan in words. Each vector that is short enough is a file after a plan
# of 24 words, that of its name's sum.
mkdir -p "$directory/corpus" "$directory/seeds"
for file in "$here"/../../../tests/vectors/*/*.safetensors; do
    if [ "$(wc -c < "$file")" -lt 1950 ]; then
        name=$(basename "$file")
        { printf '\030\000\000\000'; printf %s "$name" | sha512sum | head -c 93; cat "$file"; } > "$directory/seeds/$name"
    fi
done
# Stacks that are gone are found, too.
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
exec "$directory/api" "$@" -max_len=2048 -print_funcs=0 "$directory/corpus" "$directory/seeds"
