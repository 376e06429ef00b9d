//! Wheels for Linux, and the source distribution.

use super::notices::notices;
use super::{Table, alone, empty, nameless};
use crate::machine::{Need, need_target};
use crate::process::Run;
use crate::python::environment;
use crate::workspace::{list, target_dir, text, write};
use std::env::{consts::ARCH, var};
use std::path::Path;

pub const NEEDS: &[Need] = &[Need::Python("release"), Need::Program("qemu-arm-static", "qemu-user-static")];

/// Targets of Rust, the oldest platforms of their wheels, and what wheels, Debian and the emulator call the
/// processors.
const WHEELS: [[&str; 5]; 5] = [
    ["x86_64-unknown-linux-gnu", "manylinux_2_17", "x86_64", "amd64", "x86_64"],
    ["x86_64-unknown-linux-musl", "musllinux_1_2", "x86_64", "amd64", "x86_64"],
    ["aarch64-unknown-linux-gnu", "manylinux_2_17", "aarch64", "arm64", "aarch64"],
    ["aarch64-unknown-linux-musl", "musllinux_1_2", "aarch64", "arm64", "aarch64"],
    ["armv7-unknown-linux-gnueabihf", "manylinux_2_17", "armv7l", "armhf", "arm"],
];

/// Installs $0 into a new environment, and runs the tests of the package.
const TEST: &str = r#"python3 -m venv env; limits=tests/python/requirements/main.txt
env/bin/pip install --quiet --constraint $limits "$0[numpy]" pytest safetensors
env/bin/python -B -m pytest tests/python/package -m main"#;

/// Lets the pip of that environment choose from $0 for the platform $1, and loads the wheel with packages of
/// Debian's $2, emulated by qemu-$3: with Python, or with musl's loader, which finds all symbols but those of
/// Python.
const LOAD: &str = r#"mkdir -p lists/partial cache/archives/partial
core=site/embedded_safetensors/_core.abi3.so
../package/env/bin/pip install --quiet --no-index --find-links "$0" --no-deps --only-binary :all: \
    --abi abi3 --python-version 3.14 --platform "$1" --target site embedded-safetensors
apt="apt-get -qq -o APT::Architecture=$2 -o APT::Architectures=$2 -o Dir::State::Status=/dev/null"
apt="$apt -o Dir::State::Lists=$PWD/lists -o Dir::Cache=$PWD/cache -o APT::Sandbox::User=root"
$apt update || true; $apt install --yes --no-install-recommends --download-only python3 musl
for package in cache/archives/*.deb; do dpkg -x "$package" root; done
if grep -aE 'GLIBC_2\.(1[89]|[2-9][0-9])' $core; then exit 1; fi
case $1 in manylinux*) PYTHONPATH=site exec "qemu-$3-static" -L root root/usr/bin/python3 -c \
    'from embedded_safetensors import *; check(serialize({"a": TensorSpec(dtype="I8", shape=[], data=b"a")}))'
esac
"qemu-$3-static" -L root root/lib/ld-musl-*.so.1 --list $core > symbols 2>&1 || true
grep -q 'PyList_New: symbol not found' symbols; ! grep Error symbols | grep -v ': _*Py'"#;

/// Makes the wheels, the source distribution, and the README's example as a file.
pub fn make(tree: &Path, dir: &Path) -> Result<(), String> {
    let package = tree.join("crates/safetensors-python");
    notices(&package, &package)?;
    let bin = environment("release")?.with_file_name("");
    let path = format!("{}:{}", bin.display(), var("PATH").unwrap_or_default());
    let maturin = |words: &str| {
        let run = Run::new(bin.join("maturin")).dir(&package).words(words).args(["--out".as_ref(), dir]);
        let run =
            run.env("PATH", &path).env("RUSTFLAGS", nameless(tree)).env("CARGO_TARGET_DIR", target_dir());
        run.limit(60 * 60).check()
    };
    for [target, platform, ..] in WHEELS {
        need_target(target)?;
        maturin(&format!("build --zig --release --target {target} --compatibility {platform}"))?;
    }
    maturin("sdist")?;
    let readme = text(&tree.join("README.md"))?;
    let example = readme.split("```").find_map(|block| block.strip_prefix("python\n"));
    write(&dir.join("example.py"), example.ok_or("the README has no example of Python")?.as_bytes())
}

/// Tests the wheel for this computer and the source distribution, and loads every wheel.
pub fn verify(dir: &Path, table: &mut Table) -> Result<(), String> {
    let made = list(dir)?;
    let find = |end: &str| made.iter().find(|file| file.to_string_lossy().ends_with(end));
    let here = format!("manylinux_2_17_{ARCH}.whl");
    for (end, rust, how) in [(&*here, false, "installed without Rust"), (".tar.gz", true, "compiled by pip")]
    {
        let file = find(end).ok_or_else(|| format!("no {end}"))?;
        let place = empty("package")?;
        let tests = "tests/python tests/vectors docs/src README.md crates/safetensors-python/README.md";
        Run::new("cp").words("--parents -r --target-directory").args([&place]).words(tests).capture()?;
        let test = alone(&place, rust).args(["sh", "-ec", TEST]).args([file]).limit(30 * 60);
        table.row(file, &format!("{how}: every test of the package"), test.capture().map(drop));
    }
    for [_, platform, name, debian, emulator] in WHEELS {
        let platform = format!("{platform}_{name}");
        let file = find(&format!("{platform}.whl")).ok_or_else(|| format!("no wheel for {platform}"))?;
        let load = alone(&empty("wheel")?, false).args(["sh", "-ec", LOAD]).args([dir]);
        let load = load.args([&platform, debian, emulator]);
        table.row(file, "chosen by pip; loads, emulated", load.capture().map(drop));
    }
    Ok(())
}
