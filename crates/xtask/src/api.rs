//! The public API of the libraries: `tests/api` has one line for each item.

use crate::report::{Outcome, Tally};
use crate::toolchain::{own_cargo, own_version};
use crate::workspace;
use public_api::Builder;
use std::path::PathBuf;

const LIBRARIES: [&str; 7] = [
    "embedded-safetensors",
    "embedded-safestructures",
    "safetensors-emit",
    "safetensors-files",
    "safetensors-quant",
    "safetensors-remote",
    "safetensors-slots",
];

/// The version of rustdoc's JSON that `public-api` reads. Each compiler writes one version, and it changes
/// often.
const FORMAT: u64 = 57;

/// Writes the pages, and checks that the documentation has no warnings. With a compiler whose JSON cannot be
/// read, the pages stay as they are; where `CI` is set that is an error.
pub fn write() -> Outcome {
    let libraries = LIBRARIES.iter().flat_map(|library| ["--package", library]);
    let doc =
        own_cargo().words("doc --locked --quiet --keep-going --no-deps --lib --all-features").args(libraries);
    let doc = doc.env("RUSTDOCFLAGS", "-Dwarnings -Zunstable-options --output-format json");
    doc.env("RUSTDOC", with_json()?).check()?;
    let mut tally = Tally::of("the documentation has no warnings", Ok(()));
    for library in LIBRARIES {
        match list(library)? {
            Some(api) => workspace::write(&page(library), api.as_bytes())?,
            None => {
                let version = own_version()?;
                let other = format!("{version} writes another version of rustdoc's JSON than {FORMAT}");
                tally.skip(&format!("the public API of {library}: {other}"))?;
            }
        }
    }
    Ok(tally)
}

/// Writes a rustdoc that has unstable options. Set for all of cargo, the variable would rebuild many
/// dependencies, whose build scripts depend on it.
fn with_json() -> Result<PathBuf, String> {
    let path = workspace::target_dir().join("xtask/rustdoc");
    let text = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";
    workspace::write(&path, text.as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let permissions = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, permissions)
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(path)
}

fn page(library: &str) -> PathBuf {
    workspace::root().join(format!("tests/api/{library}.txt"))
}

/// Lists the public items, one on each line; `None` if the compiler writes another version of the JSON.
fn list(library: &str) -> Result<Option<String>, String> {
    let json = workspace::target_dir().join(format!("doc/{}.json", library.replace('-', "_")));
    let form: serde_json::Value =
        serde_json::from_str(&workspace::text(&json)?).map_err(|error| error.to_string())?;
    if form["format_version"] != FORMAT {
        return Ok(None);
    }
    let builder = Builder::from_rustdoc_json(json).omit_blanket_impls(true).omit_auto_trait_impls(true);
    let api = builder.omit_auto_derived_impls(true).build().map_err(|error| error.to_string())?;
    Ok(Some(api.items().map(|item| format!("{item}\n")).collect()))
}
