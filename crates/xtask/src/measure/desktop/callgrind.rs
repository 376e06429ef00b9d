//! Counts instructions with callgrind.

use crate::process::Run;
use crate::{machine, workspace};
use std::path::{Path, PathBuf};

/// The C library has several routines to copy and to compare bytes. This selects those that every x86-64
/// processor has, so that counts are the same on all computers.
const PLAIN: &str = "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-AVX,-ERMS,-FSRM,-BMI2,-MOVBE";

pub fn need() -> Result<(), String> {
    machine::need_program("valgrind", "valgrind")
}

/// Counts the instructions of each call of one function. The program prints a line about each call before
/// it makes it.
pub fn calls(program: &Path, function: &str) -> Result<Vec<(String, u64)>, String> {
    let folder = fresh_folder()?;
    let options = [format!("--toggle-collect={function}"), format!("--dump-after={function}")];
    let output = valgrind(&folder, &options).args([program]).capture()?;
    let names = String::from_utf8_lossy(&output.stdout);
    let counts = names.lines().zip(1..).map(|(path, number)| {
        Ok((path.to_owned(), total(&folder, |name| name.ends_with(&format!(".{number}")))?))
    });
    counts.collect()
}

/// Counts the instructions of a program from start to end.
pub fn whole(program: &Path, args: &[&str]) -> Result<u64, String> {
    let folder = fresh_folder()?;
    valgrind(&folder, &[]).args([program]).args(args).capture()?;
    total(&folder, |_| true)
}

/// Fixes all that could differ between two runs.
fn valgrind(folder: &Path, options: &[String]) -> Run {
    Run::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .args(options)
        .args([format!("--callgrind-out-file={}/counted.%p", folder.display())])
        .env("GLIBC_TUNABLES", PLAIN)
        .env("LD_BIND_NOW", "1")
}

fn fresh_folder() -> Result<PathBuf, String> {
    let folder = workspace::target_dir().join("counts");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    Ok(folder)
}

/// Returns the total in the only file with such a name.
fn total(folder: &Path, is_it: impl Fn(&str) -> bool) -> Result<u64, String> {
    let names = folder.read_dir().map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let names = names.flatten().map(|entry| entry.path());
    let files: Vec<PathBuf> =
        names.filter(|path| path.file_name().is_some_and(|name| is_it(&name.to_string_lossy()))).collect();
    let [file] = &files[..] else { return Err(format!("callgrind wrote {} files for a path", files.len())) };
    total_in(&String::from_utf8_lossy(&workspace::read(file)?))
        .ok_or_else(|| format!("there is no total in {}", file.display()))
}

fn total_in(text: &str) -> Option<u64> {
    let totals = text.lines().rev().find_map(|line| line.strip_prefix("totals:"));
    totals?.trim().parse().ok().filter(|&total| total > 0)
}

#[cfg(test)]
mod tests {
    use super::total_in;

    #[test]
    fn the_last_totals_line_is_the_total() {
        assert_eq!(total_in("fn=(1) main\n5 17\n\ntotals: 5082398\n"), Some(5_082_398));
        assert_eq!(total_in("summary: 17\n"), None);
        // Nothing was counted: the function has another name.
        assert_eq!(total_in("totals: 0\n"), None);
    }
}
