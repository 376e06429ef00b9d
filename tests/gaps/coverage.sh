# Runs all tests with instrumentation. The lines they run stand in target/coverage/lines then.
export CARGO_TARGET_DIR=$PWD/target/coverage RUSTFLAGS="-C instrument-coverage --cap-lints=warn"
export LLVM_PROFILE_FILE=$CARGO_TARGET_DIR/profiles/%8m.profraw
libraries=$(rustc +nightly --print target-libdir)
llvm=${libraries%/*}/bin
objects=
rm -rf "$CARGO_TARGET_DIR/profiles"

# Without tests that take minutes, and those where a program could not write its profile.
run_tests() {
    cargo +nightly test --quiet "$@" -- --skip machine_reads_the_language --skip weakest \
        --skip on_disk::every_buffer --skip full_disk_is --skip read_only_directory
    objects="$objects $(cargo +nightly test --no-run "$@" 2>&1 | sed -n 's/.*Executable.*(\(.*\))/--object \1/p')"
}

# The C API, the suite, and the tests of the packages.
run_tests -p verification --test c
run_tests -p verification --test suite --features std
run_tests -p embedded-safetensors -p safetensors-quant -p safetensors-files -p safetensors-convert \
    -p safetensors-remote --lib --tests --features safetensors-remote/async

# The tests in C. Nothing unwinds, but the name is needed.
cargo +nightly build --quiet --manifest-path crates/safetensors-c/Cargo.toml
for name in misuse round_trip; do
    cc -Icrates/safetensors-c/include -o "$CARGO_TARGET_DIR/$name" "crates/safetensors-c/tests/$name.c" \
        "$CARGO_TARGET_DIR/debug/libsafetensors.a" -Wl,--defsym=rust_eh_personality=0 \
        -u__llvm_profile_runtime "$libraries"/libprofiler_builtins-*.rlib
    "$CARGO_TARGET_DIR/$name" "$CARGO_TARGET_DIR/recorded"
    objects="$objects --object $CARGO_TARGET_DIR/$name"
done

"$llvm/llvm-profdata" merge --sparse -o target/coverage/merged target/coverage/profiles/*
"$llvm/llvm-cov" export --format=lcov --instr-profile target/coverage/merged $objects |
    grep -E '^(SF|DA):' > target/coverage/lines
