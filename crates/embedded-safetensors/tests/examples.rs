//! The examples run, and print what their documentation says.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Each with the features that it needs.
const EXAMPLES: [(&str, &str); 10] = [
    ("files", "std"),
    ("mapped", "std"),
    ("shards", "shards"),
    ("matvec", "embedded-io"),
    ("sd_card", "embedded-io"),
    ("nor_flash", "embedded-storage"),
    ("recorder", "embedded-storage"),
    ("uart", ""),
    ("index_in_static", ""),
    ("model_in_flash", ""),
];

#[test]
fn all_examples_print_what_they_say() {
    for (name, features) in EXAMPLES {
        let documented = documented(name);
        assert!(!documented.is_empty(), "{name} does not say what it prints");
        assert_eq!(printed(name, features), documented, "{name}");
    }
}

#[test]
fn no_example_is_left_out() {
    let files =
        std::fs::read_dir(folder()).expect("the examples").map(|entry| entry.expect("an entry").path());
    let programs = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut found: Vec<_> =
        programs.filter_map(|path| path.file_stem()?.to_str().map(String::from)).collect();
    let mut listed = EXAMPLES.map(|(name, _)| name);
    found.sort();
    listed.sort();
    assert_eq!(found, listed);
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples"))
}

/// The block of text in the example's documentation.
fn documented(name: &str) -> String {
    let source = std::fs::read_to_string(folder().join(name).with_extension("rs")).expect("the example");
    let lines = source.lines().skip_while(|line| *line != "//! ```text").skip(1);
    let block = lines.take_while(|line| *line != "//! ```").map(|line| line.trim_start_matches("//! "));
    block.flat_map(|line| [line, "\n"]).collect()
}

fn printed(name: &str, features: &str) -> String {
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
    let output = run.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("it can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Where cargo puts the examples that it builds with the tests.
fn built() -> PathBuf {
    let this = std::env::current_exe().expect("the path of this test");
    this.ancestors().nth(2).expect("the folder of the profile").join("examples")
}
