//! Runs the examples of a package, and compares their output with their documentation.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs all examples of the package in this directory, which are listed by their names.
pub fn check(package: &str, examples: &[&str]) {
    let directory = Path::new(package).join("examples");
    let mut listed = examples.to_vec();
    listed.sort();
    assert_eq!(programs(&directory), listed);
    for name in examples {
        let documented = documented(&directory.join(name).with_extension("rs"));
        assert!(!documented.is_empty(), "{name} has no documented output");
        assert_eq!(printed(package, name), documented, "{name}");
    }
}

fn programs(directory: &Path) -> Vec<String> {
    let files =
        std::fs::read_dir(directory).expect("examples").map(|entry| entry.expect("directory entry").path());
    let programs = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut names: Vec<_> =
        programs.filter_map(|path| path.file_stem()?.to_str().map(String::from)).collect();
    names.sort();
    names
}

/// Returns the text block in the example's documentation.
fn documented(path: &Path) -> String {
    let source = std::fs::read_to_string(path).expect("example source");
    let lines = source.lines().skip_while(|line| *line != "//! ```text").skip(1);
    let block = lines.take_while(|line| *line != "//! ```").map(|line| line.trim_start_matches("//! "));
    block.flat_map(|line| [line, "\n"]).collect()
}

/// Runs an example, which has just been built with the tests.
fn printed(package: &str, name: &str) -> String {
    let mut run = Command::new(built().join(name));
    let output = run.current_dir(package).output().expect("runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8 output")
}

/// Returns the directory in which cargo puts the examples that it builds with the tests.
fn built() -> PathBuf {
    let this = std::env::current_exe().expect("path of this test");
    this.ancestors().nth(2).expect("directory of the profile").join("examples")
}
