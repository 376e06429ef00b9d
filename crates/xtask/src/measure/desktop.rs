//! The instructions and the heap of the main paths on a desktop, which `benches/counts` takes: exact,
//! and the same on every computer under any load.

use super::Figures;
use crate::process::Run;
use crate::toolchain::own_cargo;
use crate::workspace;
use std::path::Path;

/// The target that has limits.
const TARGET: &str = "x86_64";

/// The C library has several routines to copy and to compare bytes. This selects those that every x86-64
/// processor has, so that counts are the same on all computers.
const PLAIN: &str = "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-AVX,-ERMS,-FSRM,-BMI2,-MOVBE";

/// Counts with callgrind the instructions of each call of one function; or returns why it cannot. The program
/// prints for each path its name and, after a tab, its heap.
pub fn measure(figures: &mut Figures) -> Result<Option<String>, String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Some("desktop paths have limits on Linux on x86-64 only".to_owned()));
    }
    let package = ["--package", "verification", "--features", "std", "--bin", "counts"];
    own_cargo().args(["build", "--release", "--quiet"]).args(package).capture()?;
    let folder = workspace::target_dir().join("counts");
    let _ = std::fs::remove_dir_all(&folder);
    workspace::write(&folder.join("empty"), b"")?;
    let output = Run::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .args(["--toggle-collect=counts::counted", "--dump-after=counts::counted"])
        .args([format!("--callgrind-out-file={}/counted", folder.display())])
        .args([workspace::target_dir().join("release/counts")])
        .env("GLIBC_TUNABLES", PLAIN)
        .env("LD_BIND_NOW", "1")
        .capture()?;
    let paths = String::from_utf8_lossy(&output.stdout);
    for (path, number) in paths.lines().zip(1..) {
        let (name, heap) = path.split_once('\t').ok_or_else(|| format!("a path without a heap: {path}"))?;
        figures.set("desktop", name, TARGET, total(&folder.join(format!("counted.{number}")))?);
        if heap != "0" {
            let heap = heap.parse().map_err(|error| format!("{path}: {error}"))?;
            figures.set("desktop", &format!("{name}, heap, B"), TARGET, heap);
        }
    }
    Ok(None)
}

/// Returns the total in a file of callgrind. None is counted if the function has another name.
fn total(file: &Path) -> Result<f64, String> {
    let text = workspace::text(file)?;
    let total = text.lines().rev().find_map(|line| line.strip_prefix("totals:")?.trim().parse().ok());
    total.filter(|total| *total > 0.0).ok_or_else(|| format!("there is no total in {}", file.display()))
}
