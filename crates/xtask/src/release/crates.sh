#!/bin/sh
# Builds the firmware to copy, for a Cortex-M3, with the crates beside this script.
set -e; dir=$(cd "$(dirname "$0")/crates" && pwd); mkdir -p crates .cargo; cp "$dir/config.toml" .cargo
for crate in "$dir"/*.crate; do tar -xzf "$crate" -C crates; done
cp -r "$dir/firmware" . && cd firmware && cargo build --release
