//! `cargo xtask api`: writes the public API of the libraries to `tests/api`, one line for each item. `cargo
//! xtask lint` compares.

use super::Command;
use crate::report::{Outcome, Tally};
use crate::toolchain::{own_cargo, own_version};
use crate::workspace;
use public_api::Builder;
use std::path::PathBuf;

pub const COMMAND: Command = Command {
    name: "api",
    about: "regenerate tests/api, the public API of the libraries",
    run: |words| super::succeed(words, "api", write),
};

const LIBRARIES: [&str; 5] = [
    "embedded-safetensors",
    "embedded-safestructures",
    "safetensors-emit",
    "safetensors-files",
    "safetensors-remote",
];

/// The version of rustdoc's JSON that `public-api` reads. Each compiler writes one version, and it changes
/// often.
const FORMAT: u64 = 57;

fn write() -> Result<(), String> {
    LIBRARIES.iter().try_for_each(|library| {
        let api = list(library)?.ok_or_else(unreadable)?;
        workspace::write(&page(library), api.as_bytes())
    })
}

/// Compares the public API of the libraries with the committed pages.
pub fn compare() -> Outcome {
    let mut tally = Tally::default();
    for library in LIBRARIES {
        let Some(api) = list(library)? else {
            tally.note(format!("skipped: {}", unreadable()));
            break;
        };
        let known = workspace::text(&page(library))?;
        tally.check(library, difference(&known, &api));
    }
    Ok(tally)
}

fn page(library: &str) -> PathBuf {
    workspace::root().join(format!("tests/api/{library}.txt"))
}

fn unreadable() -> String {
    let compiler = own_version().unwrap_or_else(|_| "this compiler".to_owned());
    format!("{compiler} writes another version of rustdoc's JSON than {FORMAT}")
}

/// Lists the public items, one on each line; `None` if the compiler writes another version of the JSON.
fn list(library: &str) -> Result<Option<String>, String> {
    // A target directory of its own: in a shared one, `RUSTC_BOOTSTRAP` would cause a rebuild each time.
    let target = workspace::target_dir().join("api");
    let doc = ["rustdoc", "--quiet", "--lib", "--all-features", "--package", library];
    own_cargo()
        .args(doc)
        .args(["--", "-Zunstable-options", "--output-format", "json"])
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTC_BOOTSTRAP", "1")
        .check()?;
    let json = target.join(format!("doc/{}.json", library.replace('-', "_")));
    let form: serde_json::Value =
        serde_json::from_str(&workspace::text(&json)?).map_err(|error| error.to_string())?;
    if form["format_version"] != FORMAT {
        return Ok(None);
    }
    let builder = Builder::from_rustdoc_json(json).omit_blanket_impls(true).omit_auto_trait_impls(true);
    let api = builder.omit_auto_derived_impls(true).build().map_err(|error| error.to_string())?;
    Ok(Some(api.items().map(|item| format!("{item}\n")).collect()))
}

/// Reports the first lines that only one of the two lists has.
fn difference(known: &str, now: &str) -> Result<(), String> {
    let only = |lines: &str, others: &str, sign: &str| {
        let missing = lines.lines().filter(|line| !others.lines().any(|other| other == *line));
        missing.take(10).map(|line| format!("\n{sign} {line}")).collect::<String>()
    };
    let (gone, new) = (only(known, now, "-"), only(now, known, "+"));
    match known == now {
        true => Ok(()),
        false => {
            Err(format!("the public API has changed; run `cargo xtask api` to update tests/api{gone}{new}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn difference_lists_the_lines() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), Ok(()));
        let sentence = difference("a\nb\n", "a\nc\n").unwrap_err();
        assert!(sentence.ends_with("\n- b\n+ c"), "{sentence}");
    }
}
