//! What users install, made in one directory and verified from that directory alone.
//!
//! A release is made from a copy of the tracked files, in which links of pages lead to the repository.

mod c;
mod command;
mod crates;
mod guide;
mod notices;
mod python;
mod tree;

use crate::machine::Need;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::workspace;
use std::path::{Path, PathBuf, absolute};
use std::process::ExitCode;

/// What makes a part of the release from a copy of the repository, and what verifies it.
struct Part {
    name: &'static str,
    needs: &'static [Need],
    make: fn(tree: &Path, dir: &Path) -> Result<(), String>,
    verify: fn(dir: &Path, table: &mut Table) -> Result<(), String>,
}

const PARTS: [Part; 5] = [
    Part { name: "crates", needs: crates::NEEDS, make: crates::make, verify: crates::verify },
    Part { name: "python", needs: python::NEEDS, make: python::make, verify: python::verify },
    Part { name: "c", needs: c::NEEDS, make: c::make, verify: c::verify },
    Part { name: "command", needs: command::NEEDS, make: command::make, verify: command::verify },
    Part { name: "guide", needs: guide::NEEDS, make: guide::make, verify: guide::verify },
];

impl Part {
    /// The file with what a user does.
    fn script(&self) -> String {
        format!("{}.sh", self.name)
    }
}

pub const ARGUMENTS: &str = "DIR [PART…]";
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The address of the repository, which the workspace's manifest states.
pub const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Makes the named parts, or all.
pub fn make(words: &[&str]) -> Result<ExitCode, String> {
    let (dir, parts) = arguments(words)?;
    let sums = dir.join("SHA256SUMS");
    if !sums.exists() && workspace::list(&dir).is_ok_and(|files| !files.is_empty()) {
        return Err(format!(
            "{} has other files: name a new directory, or an earlier release",
            dir.display()
        ));
    }
    workspace::write(&sums, b"")?;
    let tree = tree::copy()?;
    for part in parts {
        eprintln!("{}", part.name);
        let place = dir.join(part.name);
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
        part.needs.iter().try_for_each(|need| need.set_up())?;
        (part.make)(&tree, &place)?;
        // The guide has no script.
        if let Ok(script) = workspace::read(&tree.join("crates/xtask/src/release").join(part.script())) {
            workspace::write(&dir.join(part.script()), &script)?;
        }
    }
    let linked =
        ["host", "crates/safetensors-python", "crates/safetensors-c"].map(|package| tree.join(package));
    workspace::write(&dir.join("sbom.cdx.json"), notices::bill_of_materials(&linked)?.as_bytes())?;
    let sums = "find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs -d '\\n' sha256sum > SHA256SUMS";
    Run::new("sh").args(["-c", sums]).dir(&dir).capture()?;
    Ok(ExitCode::SUCCESS)
}

/// Verifies the named parts, or all, and prints a table.
pub fn verify(words: &[&str]) -> Result<ExitCode, String> {
    let (dir, parts) = arguments(words)?;
    workspace::list(&dir)?;
    let table = verified(&dir, parts)?;
    print!("\n| artefact | bytes | verified |\n|---|---|---|\n{}", table.rows);
    Ok(if table.tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What [`stage`] needs.
pub const NEEDS: &[Need] = &[Need::Group(crates::NEEDS), Need::Group(guide::NEEDS)];

/// Makes and verifies the parts that take minutes only.
pub fn stage() -> Outcome {
    let dir = empty("release")?;
    let words = [&dir.display().to_string(), "crates", "guide"];
    make(&words)?;
    Ok(verified(&dir, arguments(&words)?.1)?.tally)
}

fn verified(dir: &Path, parts: Vec<&Part>) -> Result<Table, String> {
    let mut table = Table { dir: dir.to_owned(), rows: String::new(), tally: Tally::default() };
    if !can_mount() {
        table.tally.note("the repository is not hidden: mounting is not permitted here".to_owned());
    }
    let sums = Run::new("sha256sum").words("--check --strict --quiet SHA256SUMS").dir(dir);
    table.row(&dir.join("SHA256SUMS"), "the sum of every file", sums.capture().map(drop));
    for part in parts {
        part.needs.iter().try_for_each(|need| need.set_up())?;
        (part.verify)(&dir.join(part.name), &mut table)?;
        let script = dir.join(part.script());
        if script.exists() {
            let run = alone(&empty(part.name)?, part.name == "crates");
            let run = run.args(["sh".as_ref(), script.as_path()]).capture().map(drop);
            table.row(&script, "what a user does, in an empty directory", run);
        }
    }
    Ok(table)
}

fn arguments(words: &[&str]) -> Result<(PathBuf, Vec<&'static Part>), String> {
    let usage = |sentence: &str| format!("{}{sentence}", crate::commands::USAGE);
    let (dir, names) = words.split_first().ok_or_else(|| usage("a directory is missing"))?;
    let dir = absolute(dir).map_err(|error| error.to_string())?;
    // Without links and `..`, though it may not exist yet.
    let (parent, name) = (dir.parent().unwrap_or(&dir), dir.file_name().unwrap_or_default());
    let failed = |error: std::io::Error| format!("{}: {error}", dir.display());
    let dir = dir.canonicalize().or_else(|_| Ok(parent.canonicalize()?.join(name))).map_err(failed)?;
    if dir.starts_with(workspace::root()) {
        return Err(usage("the directory must lie outside of the repository, which verify hides"));
    }
    if let Some(name) = names.iter().find(|name| PARTS.iter().all(|part| part.name != **name)) {
        return Err(usage(&format!("there is no part \"{name}\"")));
    }
    let chosen = PARTS.iter().filter(|part| names.is_empty() || names.contains(&part.name));
    Ok((dir, chosen.collect()))
}

/// What was verified.
struct Table {
    dir: PathBuf,
    /// In Markdown.
    rows: String,
    tally: Tally,
}

impl Table {
    fn row(&mut self, artefact: &Path, how: &str, outcome: Result<(), String>) {
        let name = artefact.strip_prefix(&self.dir).unwrap_or(artefact).display();
        let size = artefact.metadata().map_or(0, |data| data.len());
        let failed = if outcome.is_err() { "FAILED: " } else { "" };
        self.rows += &format!("| {name} | {size} | {failed}{how} |\n");
        self.tally.check(&format!("{name}: {how}"), outcome);
    }
}

/// Returns an empty directory outside of the repository.
fn empty(name: &str) -> Result<PathBuf, String> {
    let place = std::env::temp_dir().join("embedded-safetensors-verify").join(name);
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    Ok(place)
}

/// Puts an empty directory over $0, and runs the rest.
const HIDE: &str = "mount -t tmpfs none \"$0\" && exec \"$@\"";

/// Whether this system lets us hide the repository: some containers do not.
fn can_mount() -> bool {
    Run::new("unshare").words("--mount --map-root-user true").capture().is_ok()
}

/// Returns a run of the program that is its first argument, in this directory, where the repository is an
/// empty directory. Without `rust`, no program of Rust is on the search path.
fn alone(dir: &Path, rust: bool) -> Run {
    let run = match can_mount() {
        true => Run::new("unshare").words("--mount --map-root-user sh -c").args([HIDE]),
        false => Run::new("sh").args(["-c", "exec \"$@\""]),
    };
    let run = run.args([workspace::root()]).dir(dir).without("CARGO_TARGET_DIR");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let kept = std::env::split_paths(&paths).filter(|path| rust || !path.join("cargo").exists());
    run.env("PATH", std::env::join_paths(kept).unwrap_or_default())
}
