#!/bin/sh
# Makes safetensors.tar.gz for C in the current directory, a copy of the repository. Cargo hashes the directory into
# names of symbols, so it is always /mnt.
set -eu
targets="thumbv6m-none-eabi thumbv7m-none-eabi thumbv7em-none-eabi thumbv7em-none-eabihf
    thumbv8m.main-none-eabi thumbv8m.main-none-eabihf
    riscv32imc-unknown-none-elf riscv32imac-unknown-none-elf riscv32imafc-unknown-none-elf
    i686-unknown-linux-gnu x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu"
rustup --quiet target add $targets
mount --bind . /mnt && cd /mnt/crates/safetensors-c
cargo build --release --locked --quiet --target-dir target $(printf -- '--target %s ' $targets)

mkdir safetensors
cp -r include examples archive/* ../../LICENSE-* safetensors
mv safetensors/safetensors.pc .
functions=$(sed -n 's/^[a-z0-9_]* \(sft_[a-z0-9_]*\)(.*/--undefined=\1/p' include/safetensors.h)
export LD_LIBRARY_PATH="$(rustc --print sysroot)/lib"
programs=$LD_LIBRARY_PATH/rustlib/$(rustc --print host-tuple)/bin
for target in $targets; do
    # One object in which only the functions of the header are global: no other can be defined twice in a program.
    "$programs/rust-lld" -flavor gnu -r -o safetensors.o $functions "target/$target/release/libsafetensors.a"
    "$programs/rust-objcopy" --wildcard --keep-global-symbol='sft_*' --strip-debug \
        --remove-section=.llvmbc --remove-section=.llvmcmd --remove-section=.comment safetensors.o
    mkdir -p "safetensors/lib/$target/pkgconfig"
    cp safetensors.pc "safetensors/lib/$target/pkgconfig"
    LD_LIBRARY_PATH= ar rcsD "safetensors/lib/$target/libsafetensors.a" safetensors.o
done
owner=${REPOSITORY%/*}
grep -rlZ '@[A-Z]\+@' safetensors | xargs -0 sed -i \
    "s|@VERSION@|$VERSION|; s|@REPOSITORY@|$REPOSITORY|; s|@OWNER@|${owner##*/}|"
tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX safetensors |
    gzip -n9 > /mnt/safetensors.tar.gz
