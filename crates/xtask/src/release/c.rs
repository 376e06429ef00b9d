//! The library for C: one archive for all targets, found by CMake and pkg-config, which is also a component
//! of ESP-IDF and a module of Zephyr.

use super::{REPOSITORY, Table, VERSION, alone, empty, notices::notices};
use crate::machine::Need;
use crate::process::Run;
use crate::toolchain::own_cargo;
use crate::workspace::{read, target_dir, write};
use crate::{c, python};
use std::path::Path;

pub const NEEDS: &[Need] =
    &[Need::Group(&c::NEEDS), Need::Program("pkg-config", "pkg-config"), Need::Python("release")];

/// A user's project for `judge.c`.
const PROJECT: &str = "\
cmake_minimum_required(VERSION 3.16)
project(judge C)
find_package(safetensors REQUIRED)
add_executable(judge judge.c)
target_link_libraries(judge PRIVATE safetensors::safetensors)
";

/// What is verified, and how: scripts beside the unpacked archive, that project, and one file with all
/// vectors of up to 1 GiB.
const CHECKS: &str = r#"
# pkg-config and gcc, x86-64
export PKG_CONFIG_PATH=safetensors/lib/x86_64-unknown-linux-gnu/pkgconfig
gcc $(pkg-config --cflags safetensors) -DLONGEST=1000000000 -DSLOTS=131072 -DWINDOW=65536 judge.c \
    $(pkg-config --libs safetensors) -o judge && ./judge

# CMake, an emulated Cortex-M3
memory=-Wl,--defsym=__flash=0,--defsym=__flash_size=256K,--defsym=__ram=0x20000000,--defsym=__ram_size=64K
cmake -S . -B m3 -DCMAKE_PREFIX_PATH=$PWD/safetensors -DSAFETENSORS_TARGET=thumbv7m-none-eabi \
    -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_C_COMPILER=arm-none-eabi-gcc -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_FLAGS='-mcpu=cortex-m3 -mthumb --specs=picolibc.specs -Tpicolibc.ld --oslib=semihost' \
    -DCMAKE_EXE_LINKER_FLAGS="--crt0=hosted -Wl,--gc-sections $memory" && cmake --build m3
qemu-system-arm -M lm3s6965evb -display none -semihosting -kernel m3/judge

# the Makefile for bare metal, an emulated RV32IMC
ln -s "$PWD/vectors.bin" safetensors/examples/bare-metal
make -BsC safetensors/examples/bare-metal run BOARD=rv32 SOURCES="$PWD/judge.c" 2>&1 | tee said
grep -q '^[1-9][0-9]* vectors, 0 ' said

# the example for bare metal on both
for board in cortex-m3 rv32; do make -BsC safetensors/examples/bare-metal run BOARD=$board; done

# the libraries that ESP-IDF and Zephyr choose, by stand-ins
cmake -DARCHIVE=$PWD/safetensors -P sdk.cmake

# one error for a target or a chip without a library
! cmake -S . -B none -DCMAKE_PREFIX_PATH=$PWD/safetensors -DSAFETENSORS_TARGET=xtensa 2> error
grep -q 'set SAFETENSORS_TARGET to' error
! cmake -DARCHIVE=$PWD/safetensors -DCHIP=esp32 -P sdk.cmake 2> error
grep -o 'esp32 has no prebuilt library' error
"#;

/// Makes the archive twice; both are built at /mnt, and must be equal.
pub fn make(tree: &Path, dir: &Path) -> Result<(), String> {
    let first = archive(tree, "first")?;
    if first != archive(tree, "second")? {
        return Err("two builds of the archive for C differ".to_owned());
    }
    write(&dir.join(format!("safetensors-c-{VERSION}.tar.gz")), &first)
}

fn archive(tree: &Path, name: &str) -> Result<Vec<u8>, String> {
    let place = target_dir().join("release-c").join(name);
    let _ = std::fs::remove_dir_all(&place);
    write(&place.join("Cargo.toml"), &read(&tree.join("Cargo.toml"))?)?;
    let copy = Run::new("cp").words("-r LICENSE-MIT LICENSE-APACHE crates --target-directory").args([&place]);
    copy.dir(tree).capture()?;
    let package = place.join("crates/safetensors-c");
    notices(&package, &package.join("archive"))?;
    let run = Run::new("unshare").words("--mount --map-root-user sh crates/xtask/src/release/archive.sh");
    run.dir(&place).env("VERSION", VERSION).env("REPOSITORY", REPOSITORY).without("RUSTFLAGS").capture()?;
    read(&place.join("safetensors.tar.gz"))
}

/// Builds and runs programs with the archive, and lets the tool of ESP-IDF check and pack it.
pub fn verify(dir: &Path, table: &mut Table) -> Result<(), String> {
    let (file, place) = (dir.join(format!("safetensors-c-{VERSION}.tar.gz")), empty("archive")?);
    Run::new("tar").args(["-xzf".as_ref(), file.as_path()]).dir(&place).capture()?;
    Run::new("cp").words("judge.c sdk.cmake").args([&place]).dir(&c::directory().join("tests")).capture()?;
    write(&place.join("CMakeLists.txt"), PROJECT.as_bytes())?;
    let pack = own_cargo().words("run --quiet --package verification --bin pack --");
    pack.args([place.join("vectors.bin")]).args(["all"]).capture()?;
    for check in CHECKS.trim_start_matches("\n# ").split("\n\n# ") {
        let said = alone(&place, false).args(["sh", "-ec", &format!("exec 2>&1 # {check}")]).stdout();
        let last = said.iter().flat_map(|text| text.lines().last()).collect::<String>();
        let how = format!("{}: {last}", check.lines().next().unwrap_or_default());
        table.row(&file, how.trim_end_matches(": "), said.map(drop));
    }
    let compote = python::environment("release")?.with_file_name("compote");
    let pack = "component pack --name safetensors";
    for (words, check) in
        [("manifest lint", "true"), (pack, "test $(tar -tf dist/*.tgz | grep -c '\\.a$') = 3")]
    {
        let run = Run::new("sh").args(["-ec", &format!("\"$0\" --warnings-as-errors {words}; {check}")]);
        let outcome = run.args([&compote]).dir(&place.join("safetensors")).capture();
        table.row(&file, &format!("compote {words}, a component of ESP-IDF"), outcome.map(drop));
    }
    Ok(())
}
