//! Runs the examples of a package, and compares what they print with what their documentation says.

use std::path::{Path, PathBuf};
use std::process::Command;

/// All examples of the package in this folder, each with the features that it needs.
pub fn check(package: &str, examples: &[(&str, &str)]) {
    let folder = Path::new(package).join("examples");
    let mut listed: Vec<&str> = examples.iter().map(|(name, _)| *name).collect();
    listed.sort();
    assert_eq!(programs(&folder), listed);
    for (name, features) in examples {
        let documented = documented(&folder.join(name).with_extension("rs"));
        assert!(!documented.is_empty(), "{name} does not say what it prints");
        assert_eq!(printed(package, name, features), documented, "{name}");
    }
}

fn programs(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).expect("the examples").map(|entry| entry.expect("an entry").path());
    let programs = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut names: Vec<_> =
        programs.filter_map(|path| path.file_stem()?.to_str().map(String::from)).collect();
    names.sort();
    names
}

/// The block of text in the example's documentation.
fn documented(path: &Path) -> String {
    let source = std::fs::read_to_string(path).expect("the example");
    let lines = source.lines().skip_while(|line| *line != "//! ```text").skip(1);
    let block = lines.take_while(|line| *line != "//! ```").map(|line| line.trim_start_matches("//! "));
    block.flat_map(|line| [line, "\n"]).collect()
}

fn printed(package: &str, name: &str, features: &str) -> String {
    // A quick run has just built them all, with one library; each with no more than it needs is the whole test.
    let mut run = match std::env::var_os("SUITE_SHARE") {
        Some(_) => Command::new(built().join(name)),
        None => {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["run", "--quiet", "--example", name, "--features", features]);
            // They run briefly, and the library is compiled again for each set of features.
            cargo.args(["--config", "profile.dev.package.embedded-safetensors.opt-level=0"]);
            cargo
        }
    };
    let output = run.current_dir(package).output().expect("it can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Where cargo puts the examples that it builds with the tests.
fn built() -> PathBuf {
    let this = std::env::current_exe().expect("the path of this test");
    this.ancestors().nth(2).expect("the folder of the profile").join("examples")
}
