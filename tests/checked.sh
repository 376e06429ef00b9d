#!/bin/sh
# Compiles a release build with the checks of a debug build. Only this repository's packages (`RUSTC_WORKSPACE_WRAPPER`): in the profile, the
# setting would have all that they are built from built again.
exec "$@" -C debug-assertions=on -C overflow-checks=on
