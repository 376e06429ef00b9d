//! What users install, made in one directory and verified from that directory alone.
//!
//! A release is made from a copy of the tracked files, in which links of pages lead to the repository.

mod c;
mod command;
mod conformance;
mod crates;
mod guide;
mod notices;
mod npm;
mod python;
mod tree;

use crate::machine::Need;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::workspace;
use std::env::var;
use std::path::{Path, PathBuf, absolute};
use std::process::ExitCode;

/// What makes a part of the release from a copy of the repository, and what verifies it.
struct Part {
    name: &'static str,
    needs: &'static [Need],
    make: fn(tree: &Path, dir: &Path) -> Result<(), String>,
    verify: fn(dir: &Path, table: &mut Table) -> Result<(), String>,
    /// What a user does.
    script: Option<&'static str>,
}

/// The part in the file of that name, and the script beside it.
macro_rules! part {
    ($name:ident, $script:expr) => {
        Part {
            name: stringify!($name),
            needs: $name::NEEDS,
            make: $name::make,
            verify: $name::verify,
            script: $script,
        }
    };
}

const PARTS: [Part; 7] = [
    part!(crates, Some(include_str!("crates.sh"))),
    part!(python, Some(include_str!("python.sh"))),
    part!(c, Some(include_str!("c.sh"))),
    part!(command, Some(include_str!("command.sh"))),
    part!(npm, Some(include_str!("npm.sh"))),
    part!(conformance, Some(include_str!("conformance.sh"))),
    part!(guide, None),
];

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
    if REPOSITORY.contains("OWNER") {
        eprintln!("no address of the repository: links lead to {REPOSITORY}");
    }
    if !Run::new("git").words("status --porcelain").stdout()?.is_empty() {
        eprintln!("the release contains changes that are not committed");
    }
    let tree = tree::copy()?;
    for part in parts {
        eprintln!("{}", part.name);
        let place = dir.join(part.name);
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
        part.needs.iter().try_for_each(|need| need.set_up())?;
        (part.make)(&tree, &place)?;
        if let Some(script) = part.script {
            workspace::write(&place.with_extension("sh"), script.as_bytes())?;
        }
    }
    let linked =
        ["host", "crates/safetensors-python", "crates/safetensors-c"].map(|package| tree.join(package));
    workspace::write(&dir.join("sbom.cdx.json"), notices::bill_of_materials(&linked)?.as_bytes())?;
    workspace::write(&sums, sums_below(&dir)?.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the SHA-256 sum of each file, with its name alone: downloaded files are in no directory.
fn sums_below(dir: &Path) -> Result<String, String> {
    let sums =
        "find . -type f ! -name SHA256SUMS -exec sha256sum {} + | sed 's, .*/,  ,' | LC_ALL=C sort -k 2";
    Run::new("sh").args(["-c", sums]).dir(dir).stdout()
}

/// Verifies the named parts, or all, and prints a table.
pub fn verify(words: &[&str]) -> Result<ExitCode, String> {
    let table = verified(words)?;
    print!("\n| artefact | bytes | verified |\n|---|---|---|\n{}", table.rows);
    Ok(if table.tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What [`stage`] needs.
pub const NEEDS: &[Need] = &[
    Need::Group(crates::NEEDS),
    Need::Group(npm::NEEDS),
    Need::Group(conformance::NEEDS),
    Need::Group(guide::NEEDS),
];

/// Makes and verifies the parts that take minutes only, and tests the package for npm.
pub fn stage() -> Outcome {
    let dir = empty("release")?;
    let words = [&dir.display().to_string(), "crates", "conformance", "guide"];
    make(&words)?;
    let mut tally = verified(&words)?.tally;
    tally.measured("the package for npm", npm::test());
    Ok(tally)
}

fn verified(words: &[&str]) -> Result<Table, String> {
    let (dir, parts) = arguments(words)?;
    let table = rows(&dir, parts);
    let _ = std::fs::remove_dir_all(place());
    table
}

fn rows(dir: &Path, parts: Vec<&Part>) -> Result<Table, String> {
    let mut table = Table { dir: dir.to_owned(), rows: String::new(), tally: Tally::default() };
    if !can_mount() {
        table.tally.note("the repository is not hidden: mounting is not permitted here".to_owned());
    }
    let sums = dir.join("SHA256SUMS");
    let same = match workspace::text(&sums)? == sums_below(dir)? {
        true => Ok(()),
        false => Err("files or sums are other ones".to_owned()),
    };
    table.row(&sums, "the sum of every file", same);
    for part in parts {
        part.needs.iter().try_for_each(|need| need.set_up())?;
        (part.verify)(&dir.join(part.name), &mut table)?;
        if part.script.is_some() {
            let script = dir.join(part.name).with_extension("sh");
            let run = alone(&empty(part.name)?, ["crates", "conformance"].contains(&part.name));
            let run = run.env("CARGO_TARGET_DIR", cargo_target());
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
        let files = Run::new("find").args([artefact]).words("-type f -printf %s\\n").stdout();
        let size: u64 = files.iter().flat_map(|sizes| sizes.lines()).flat_map(str::parse::<u64>).sum();
        let failed = if outcome.is_err() { "FAILED: " } else { "" };
        self.rows += &format!("| {name} | {size} | {failed}{how} |\n");
        self.tally.check(&format!("{name}: {how}"), outcome);
    }
}

/// The directory of this process, outside of the repository.
fn place() -> PathBuf {
    std::env::temp_dir().join(format!("embedded-safetensors-{}", std::process::id()))
}

/// Where packages of Rust that share dependencies are built.
fn cargo_target() -> PathBuf {
    place().join("target")
}

/// Returns an empty directory in [`place`].
fn empty(name: &str) -> Result<PathBuf, String> {
    let place = place().join(name);
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    Ok(place)
}

/// Returns the options of rustc for programs that name no directory of this computer.
fn nameless(tree: &Path) -> String {
    let home = var("HOME").unwrap_or_default();
    let cargo = var("CARGO_HOME").unwrap_or(format!("{home}/.cargo"));
    // The last that fits counts.
    [(home.as_str(), "/home"), (&cargo, "/cargo"), (&tree.display().to_string(), "")]
        .map(|(here, there)| format!("--remap-path-prefix={here}={there}"))
        .join(" ")
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
