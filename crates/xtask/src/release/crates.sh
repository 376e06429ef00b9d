# Builds the firmware to copy, for a Cortex-M3, with the crates beside this script. It needs Rust with the target
# thumbv7m-none-eabi, and an empty directory to run in.
set -e; dir=$(cd "$(dirname "$0")/crates" && pwd); mkdir -p crates .cargo; cp "$dir/config.toml" .cargo
for crate in "$dir"/*.crate; do tar -xzf "$crate" -C crates; done
cp -r "$dir/firmware" . && cd firmware && cargo build --release --quiet
