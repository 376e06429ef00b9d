//! The npm package: the core in browsers and Node.

use super::{REPOSITORY, Table, VERSION, alone, empty, nameless, notices::notices};
use crate::machine::Need;
use crate::process::Run;
use crate::toolchain::own_cargo;
use crate::workspace::{root, target_dir};
use std::path::{Path, PathBuf};

pub const NEEDS: &[Need] = &[
    Need::Targets(&[TARGET]),
    Need::Program("node", "nodejs"),
    Need::Program("npm", "npm"),
    Need::Program("chromium", "chromium"),
];

const TARGET: &str = "wasm32-unknown-unknown";
const CRATE: &str = "crates/safetensors-js";

/// Puts the package, with the program $1, into the directory $0.
const PACKAGE: &str = r#"rm -rf "$0"; mkdir -p "$0"
cp js/* README.md ../../LICENSE-MIT ../../LICENSE-APACHE "$0"
{ printf 'export default "'; gzip -9nc "$1" | base64 -w0; printf '";\n'; } > "$0/program.js"
(cd "$0" && npm pkg set "repository=$REPOSITORY")
bytes=$(cat "$0/index.js" "$0/program.js" | gzip -9 | wc -c); test "$bytes" -le 40960"#;

/// The tests, for a package, the vectors and a model.
const TEST: &str = "crates/safetensors-js/tests/test.mjs";
const FILES: [&str; 2] = ["tests/vectors", "firmware/app/models/digits-f16.safetensors"];

fn package(tree: &Path, name: &str) -> Result<PathBuf, String> {
    let (place, target) = (target_dir().join("npm-package").join(name), target_dir().join("npm").join(name));
    // The options of the crate's .cargo/config.toml, which those of the environment replace.
    let flags = format!("-Clink-arg=-zstack-size=32768 {}", nameless(tree));
    let cargo = own_cargo().dir(&tree.join(CRATE)).env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", flags);
    cargo.words("build --release --locked --quiet").capture()?;
    let program = target.join(TARGET).join("release/safetensors.wasm");
    let copy = Run::new("sh").dir(&tree.join(CRATE)).args(["-ec", PACKAGE]);
    copy.args([&place, &program]).env("REPOSITORY", REPOSITORY).capture()?;
    Ok(place)
}

/// Makes the archive twice, from builds in two directories, which must be equal.
pub fn make(tree: &Path, dir: &Path) -> Result<(), String> {
    let mut sums = Vec::new();
    for name in ["first", "second"] {
        let place = package(tree, name)?;
        notices(&tree.join(CRATE), &place)?;
        let pack = Run::new("npm").words("pack --silent --pack-destination").args([dir]).dir(&place);
        sums.push(Run::new("sha256sum").args([dir.join(pack.stdout()?)]).stdout()?);
    }
    if sums[0] == sums[1] { Ok(()) } else { Err("two builds of the package for npm differ".to_owned()) }
}

/// Installs the archive, and runs every test.
pub fn verify(dir: &Path, table: &mut Table) -> Result<(), String> {
    let (file, place) = (dir.join(format!("embedded-safetensors-{VERSION}.tgz")), empty("package")?);
    let copy = Run::new("cp").words("--parents -r --target-directory").args([&place]);
    copy.args([TEST, "crates/safetensors-js/tests/vectors.mjs"]).args(FILES).capture()?;
    alone(&place, false).words("npm install --silent --no-audit --no-fund").args([&file]).capture()?;
    let test = alone(&place, false).args(["node", TEST, "node_modules/embedded-safetensors"]).args(FILES);
    let said = test.args(["all"]).stdout();
    let lines = said.iter().flat_map(|said| said.lines()).collect::<Vec<_>>().join("; ");
    table.row(&file, &format!("installed without Rust: {lines}"), said.map(drop));
    Ok(())
}

/// Tests the package of this checkout with all vectors but the large ones.
pub fn test() -> Result<String, String> {
    let package = package(root(), "test")?;
    Run::new("node").args([root().join(TEST), package]).args(FILES).limit(10 * 60).stdout()
}
