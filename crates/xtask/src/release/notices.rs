//! The licences of what is linked into a program.

use crate::process::Run;
use crate::toolchain::own_cargo;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Prints the licences in a package, but those of GNU, and that of Apache only if there is no other: crates
/// offer these beside another one.
const PRINT: &str = "find . -maxdepth 2 -type f -regextype egrep \
    -iregex './(licen|copy|notice)[^/]*(/[^/]*)?' ! -iname '*apache*' ! -iname '*gpl*' \
    | LC_ALL=C sort | xargs -r awk 1 | grep '' || cat *APACHE*";

/// Returns the licences of the crates from the registry that are linked into a package, which is in this
/// directory.
pub fn notices(package: &Path) -> Result<String, String> {
    let cargo = |words: &str| own_cargo().dir(package).words(words).stdout();
    let linked = cargo("tree --locked --edges normal,no-proc-macro --prefix none")?;
    let linked: Vec<&str> = linked.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let metadata = cargo("metadata --locked --format-version 1")?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let mut crates = BTreeMap::<String, Vec<String>>::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let word = |key: &str| package[key].as_str().unwrap_or_default();
        let name = format!("{} v{}", word("name"), word("version"));
        if linked.contains(&name.as_str()) {
            let folder = Path::new(word("manifest_path")).with_file_name("");
            match Run::new("sh").args(["-c", PRINT]).dir(&folder).stdout()? {
                none if none.is_empty() => return Err(format!("{name} has no licence")),
                text => crates.entry(text).or_default().push(name),
            }
        }
    }
    Ok(crates.iter().map(|(text, names)| format!("{}:\n\n{text}\n\n", names.join(", "))).collect())
}
