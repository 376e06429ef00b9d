#!/bin/sh
# Compiles with the parser's shortcuts switched off. As the compiler of this repository's packages alone (`RUSTC_WORKSPACE_WRAPPER`), it
# leaves what they are built from as it is; in `RUSTFLAGS`, the setting would have all of that built again. It turns on the checks of a debug build, too.
exec "$@" --cfg safetensors_general -C debug-assertions=on -C overflow-checks=on
