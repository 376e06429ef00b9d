//! Runs the examples of a package, and compares their output with their documentation.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs all examples of the package in this directory. Each is listed with the features that it needs.
pub fn check(package: &str, examples: &[(&str, &str)]) {
    let directory = Path::new(package).join("examples");
    let mut listed: Vec<&str> = examples.iter().map(|(name, _)| *name).collect();
    listed.sort();
    assert_eq!(programs(&directory), listed);
    for (name, features) in examples {
        let documented = documented(&directory.join(name).with_extension("rs"));
        assert!(!documented.is_empty(), "{name} has no documented output");
        assert_eq!(printed(package, name, features), documented, "{name}");
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

fn printed(package: &str, name: &str, features: &str) -> String {
    // In a quick run, the examples have just been built, all with the same library. A complete run builds
    // each of them with only the features that it needs.
    let mut run = match std::env::var_os("SUITE_SHARE") {
        Some(_) => Command::new(built().join(name)),
        None => {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["run", "--quiet", "--example", name, "--features", features]);
            // The examples run only briefly, and the library is recompiled for each set of features.
            cargo.args(["--config", "profile.dev.package.embedded-safetensors.opt-level=0"]);
            cargo
        }
    };
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
