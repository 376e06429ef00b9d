//! What is linked into programs: its licences, and the list of it.

use super::VERSION;
use crate::process::Run;
use crate::toolchain::own_cargo;
use crate::workspace::{read, root, text, write};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Prints the licences in a package, but those of GNU, and that of Apache only if there is no other: crates
/// offer these beside another one.
const PRINT: &str = "find . -type f -regextype egrep \
    -iregex '.*/(licen|copy|notice)[^/]*(/[^/]*)?' ! -iname '*apache*' ! -iname '*gpl*' ! -name '*.rs' \
    | LC_ALL=C sort | xargs -r awk 1 | grep '' || cat *APACHE* 2> /dev/null || true";

/// Writes two files into a directory: `LICENSE-OTHERS` has the licences of the crates from the registry that
/// are linked into a package, if there are any, `LICENSE-RUST.html` those of Rust's library.
pub fn notices(package: &Path, into: &Path) -> Result<(), String> {
    let mut crates = BTreeMap::<String, Vec<String>>::new();
    for package in linked(package)? {
        let name = format!("{} v{}", word(&package, "name"), word(&package, "version"));
        let folder = Path::new(word(&package, "manifest_path")).with_file_name("");
        match Run::new("sh").args(["-c", PRINT]).dir(&folder).stdout()? {
            // Without a file: the text of this licence is the same for all.
            none if none.is_empty() && word(&package, "license").contains("Apache-2.0") => {
                crates.entry(text(&root().join("LICENSE-APACHE"))?).or_default().push(name);
            }
            none if none.is_empty() => return Err(format!("{name} has no licence")),
            text => crates.entry(text).or_default().push(name),
        }
    }
    let paragraph = |(text, names): (&String, &Vec<String>)| format!("{}:\n\n{text}\n\n", names.join(", "));
    if !crates.is_empty() {
        write(&into.join("LICENSE-OTHERS"), crates.iter().map(paragraph).collect::<String>().as_bytes())?;
    }
    let rust = Run::new("rustc").words("--print sysroot").stdout()?;
    let library = read(&Path::new(rust.trim()).join("share/doc/rust/COPYRIGHT-library.html"))?;
    write(&into.join("LICENSE-RUST.html"), &library)
}

/// Returns the bill of materials of these packages in the format of CycloneDX.
pub fn bill_of_materials(packages: &[PathBuf]) -> Result<String, String> {
    let mut components = BTreeMap::new();
    for package in packages {
        for package in linked(package)? {
            let [name, version, license] = ["name", "version", "license"].map(|key| word(&package, key));
            let purl = format!("pkg:cargo/{name}@{version}");
            // Older manifests separate alternatives by a slash.
            let license = license.replace('/', " OR ");
            let component = json!({
                "type": "library", "name": name, "version": version, "purl": purl,
                "licenses": [{ "expression": license }],
            });
            components.insert(purl, component);
        }
    }
    let product = json!({ "type": "application", "name": "embedded-safetensors", "version": VERSION });
    let bill = json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": product },
        "components": components.into_values().collect::<Vec<Value>>(),
    });
    Ok(format!("{bill:#}\n"))
}

/// Returns what cargo says of the crates from the registry that are linked into a package.
fn linked(package: &Path) -> Result<Vec<Value>, String> {
    let cargo = |words: &str| own_cargo().dir(package).words(words).stdout();
    let tree = cargo("tree --locked --edges normal,no-proc-macro --prefix none")?;
    let names: Vec<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let metadata = cargo("metadata --locked --format-version 1")?;
    let mut metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let is_linked = |package: &Value| {
        names.contains(&&*format!("{} v{}", word(package, "name"), word(package, "version")))
    };
    let packages = metadata["packages"].as_array_mut().map(std::mem::take).unwrap_or_default();
    Ok(packages.into_iter().filter(is_linked).collect())
}

fn word<'v>(package: &'v Value, key: &str) -> &'v str {
    package[key].as_str().unwrap_or_default()
}
