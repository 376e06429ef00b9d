//! `cargo xtask interop [FRAMEWORK…]`: each framework writes its file in `tests/interop` and reads ours, then
//! the page with the results is written. `cargo xtask interop page` writes only the page, from the committed
//! results. `cargo xtask test` tests what is committed.

use super::Command;
use crate::process::Run;
use crate::python::{self, Base, TORCH};
use crate::toolchain::own_cargo;
use crate::{boards, workspace};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "interop",
    about: "rewrite tests/interop (FRAMEWORK…: only these; page: only the tables of the page)",
    run,
};

const DIRECTORY: &str = "tests/interop";
/// Those that use Debian's torch.
const WITH_TORCH: [&str; 2] = ["torch", "huggingface_hub"];
/// Seconds for an adapter, which may have to be built.
const LIMIT: u64 = 30 * 60;

fn run(words: &[String]) -> Result<ExitCode, String> {
    if words == ["page"] {
        return bless("interop::page").map(|()| ExitCode::SUCCESS);
    }
    let known = frameworks()?;
    if let Some(word) = words.iter().find(|word| !known.contains(word)) {
        let known = known.join(", ");
        return Err(format!("there is no framework \"{word}\"; there are {known}, and \"page\""));
    }
    let frameworks = if words.is_empty() { known } else { words.to_vec() };
    let [board, case] = boards::INTEROP;
    // Reports what is missing before anything is written.
    boards::find(board)?.prepare()?;
    let (adapters, missing): (Vec<_>, Vec<_>) =
        frameworks.iter().map(|framework| adapter(framework)).partition(Result::is_ok);
    super::say_missing(missing.into_iter().filter_map(Result::err))?;
    bless("interop::ours")?;
    for (framework, adapter) in frameworks.iter().zip(adapters.into_iter().flatten()) {
        println!("{framework}");
        let raw = raw(framework);
        workspace::write(&raw, b"")?;
        adapter.args([&raw]).capture()?;
        let results = format(&workspace::text(&raw)?).ok_or_else(|| format!("{framework}: no results"))?;
        workspace::write(&folder(framework).join("results.json"), results.as_bytes())?;
    }
    boards::run_case(board, case, true)?;
    bless("interop::page")?;
    Ok(ExitCode::SUCCESS)
}

/// Lists the names of the directories with an adapter.
fn frameworks() -> Result<Vec<String>, String> {
    let folders = workspace::list(&workspace::root().join(DIRECTORY))?;
    let with_adapter = folders.iter().filter(|folder| is_python(folder) || is_rust(folder));
    Ok(with_adapter.filter_map(|folder| Some(folder.file_name()?.to_string_lossy().into_owned())).collect())
}

/// Lists the packages that are adapters.
pub fn rust_adapters() -> Result<Vec<PathBuf>, String> {
    let folders = workspace::list(&workspace::root().join(DIRECTORY))?;
    Ok(folders.into_iter().filter(|folder| is_rust(folder)).collect())
}

fn is_python(folder: &Path) -> bool {
    folder.join("adapter.py").exists()
}

fn is_rust(folder: &Path) -> bool {
    folder.join("Cargo.toml").exists()
}

fn folder(framework: &str) -> PathBuf {
    workspace::root().join(DIRECTORY).join(framework)
}

fn raw(framework: &str) -> PathBuf {
    workspace::target_dir().join("interop").join(framework).join("results.json")
}

/// Returns a run of the adapter of a framework, which takes the path of its results.
fn adapter(framework: &str) -> Result<Run, String> {
    let folder = folder(framework);
    let run = if is_python(&folder) {
        let base = if WITH_TORCH.contains(&framework) { TORCH } else { Base::Any };
        let requirements = Path::new(DIRECTORY).join(framework);
        let python = python::environment_of(base, &format!("interop/python-{framework}"), &requirements)?;
        Run::new(python).args(["-B"]).args([folder.join("adapter.py")])
    } else {
        let target = workspace::target_dir().join("interop/rust");
        let run = own_cargo().dir(&folder).env("CARGO_TARGET_DIR", target);
        run.args(["run", "--quiet", "--"])
    };
    // No backtraces in errors, no search for accelerators, and fewer notes.
    let run = run.env("RUST_BACKTRACE", "0").env("JAX_PLATFORMS", "cpu").env("TF_CPP_MIN_LOG_LEVEL", "3");
    Ok(run.limit(LIMIT))
}

/// Lets tests of the suite write what they otherwise compare.
fn bless(tests: &str) -> Result<(), String> {
    let suite =
        ["test", "--quiet", "--package", "verification", "--features", "std,oracle", "--test", "suite"];
    own_cargo().args(suite).args([tests]).env("BLESS", "1").capture().map(drop)
}

/// Writes results with a line for each array.
fn format(results: &str) -> Option<String> {
    let results: Map<String, Value> = serde_json::from_str(results).ok()?;
    let part = |(name, value): (&String, &Value)| match value.as_object() {
        Some(arrays) if name != "versions" => {
            let lines = arrays.iter().map(|(name, array)| format!("    \"{name}\": {array}"));
            format!("  \"{name}\": {{\n{}\n  }}", lines.collect::<Vec<_>>().join(",\n"))
        }
        _ => format!("  \"{name}\": {value}"),
    };
    Some(format!("{{\n{}\n}}\n", results.iter().map(part).collect::<Vec<_>>().join(",\n")))
}

#[cfg(test)]
mod tests {
    use super::{DIRECTORY, WITH_TORCH, format, frameworks};
    use crate::workspace;
    use std::collections::BTreeSet;

    #[test]
    fn every_framework_is_found() {
        let found = frameworks().unwrap();
        let listed = workspace::text(&workspace::root().join(DIRECTORY).join("results.rs")).unwrap();
        let listed: Vec<&str> = listed.lines().filter_map(|line| line.trim().strip_prefix("(\"")).collect();
        let listed = listed.iter().filter_map(|line| line.split('"').next()).collect::<BTreeSet<_>>();
        assert_eq!(found.iter().map(String::as_str).collect::<BTreeSet<_>>(), listed);
        assert!(WITH_TORCH.iter().all(|name| found.iter().any(|known| known == name)));
    }

    #[test]
    fn results_have_a_line_for_each_array() {
        let text = format(r#"{"read":{"F32":{"shape":[1]},"U8":{"error":"why"}},"versions":{"numpy":"1"}}"#);
        let expected = "{\n  \"read\": {\n    \"F32\": {\"shape\":[1]},\n    \"U8\": {\"error\":\"why\"}\n  },\n  \
            \"versions\": {\"numpy\":\"1\"}\n}\n";
        assert_eq!(text.as_deref(), Some(expected));
        assert_eq!(format("no JSON"), None);
    }
}
