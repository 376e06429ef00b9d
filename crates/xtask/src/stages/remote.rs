//! Reads models from a real server, beside the package of Hugging Face for JavaScript.

use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::{machine, workspace};
use std::path::PathBuf;

const FOLDER: &str = "crates/safetensors-remote/tests/nginx";
/// npm writes this file last, after everything is installed.
const INSTALLED: &str = "node_modules/.package-lock.json";

/// Checks that models are read from nginx with TLS, and that their parameters are those of huggingface.js.
pub fn run() -> Outcome {
    let hub = install_hub()?;
    own_cargo()
        .args(["build", "--quiet", "--package", "safetensors-remote", "--example", "remote"])
        .check()?;
    let program = workspace::target_dir().join("debug/examples/remote");
    let script = workspace::root().join(FOLDER).join("compare.py");
    let mut compare = Run::new("python3").args(["-B"]).args([script, program, hub]).limit(600);
    if let Some(seed) = std::env::var_os("REMOTE_SEED") {
        compare = compare.args(["--seed".into(), seed]);
    }
    Ok(Tally::of("models on nginx, with the counts of huggingface.js", compare.check()))
}

/// Installs the package in the target directory unless an earlier run did, and returns its module.
fn install_hub() -> Result<PathBuf, String> {
    let place = workspace::target_dir().join("huggingface-hub");
    for file in ["package.json", "package-lock.json"] {
        let text = workspace::read(&workspace::root().join(FOLDER).join(file))?;
        if workspace::read(&place.join(file)).ok().as_ref() != Some(&text) {
            // A failed installation must not pass for the earlier one.
            let _ = std::fs::remove_file(place.join(INSTALLED));
            workspace::write(&place.join(file), &text)?;
        }
    }
    if !place.join(INSTALLED).exists() {
        let quietly = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
        let what = "the npm package @huggingface/hub, in the target directory";
        machine::install(what, None, || Run::new("npm").args(quietly).dir(&place).limit(180).check())?;
    }
    Ok(place.join("node_modules/@huggingface/hub/dist/index.mjs"))
}
