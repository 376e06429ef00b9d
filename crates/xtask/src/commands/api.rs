//! `cargo xtask api`: what the libraries offer, a line for each public item, in `tests/api`. `cargo xtask lint` compares.

use super::Command;
use crate::report::{Outcome, Tally};
use crate::toolchain::{own_cargo, own_version};
use crate::workspace;
use public_api::Builder;
use std::path::PathBuf;

pub const COMMAND: Command = Command {
    name: "api",
    about: "write the public API of the libraries to tests/api anew",
    run: |words| super::succeed(words, "api", write),
};

const LIBRARIES: [&str; 2] = ["embedded-safetensors", "safetensors-files"];

/// The form of documentation that `public-api` reads: each compiler writes one, and it changes often.
const FORM: u64 = 57;

fn write() -> Result<(), String> {
    LIBRARIES.iter().try_for_each(|library| {
        let api = list(library)?.ok_or_else(unreadable)?;
        workspace::write(&page(library), api.as_bytes())
    })
}

/// Compares what the libraries offer with the pages.
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
    format!("the documentation that {compiler} writes has another form than {FORM}")
}

/// A line for each public item; nothing where the compiler's documentation has another form.
fn list(library: &str) -> Result<Option<String>, String> {
    // Where only this is built: what depends on the variable would be built again each time.
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
    if form["format_version"] != FORM {
        return Ok(None);
    }
    let builder = Builder::from_rustdoc_json(json).omit_blanket_impls(true).omit_auto_trait_impls(true);
    let api = builder.omit_auto_derived_impls(true).build().map_err(|error| error.to_string())?;
    Ok(Some(api.items().map(|item| format!("{item}\n")).collect()))
}

/// The first lines that only one of both has.
fn difference(known: &str, now: &str) -> Result<(), String> {
    let only = |lines: &str, others: &str, sign: &str| {
        let missing = lines.lines().filter(|line| !others.lines().any(|other| other == *line));
        missing.take(10).map(|line| format!("\n{sign} {line}")).collect::<String>()
    };
    let (gone, new) = (only(known, now, "-"), only(now, known, "+"));
    match known == now {
        true => Ok(()),
        false => Err(format!("the public API has changed; `cargo xtask api` writes it down{gone}{new}")),
    }
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_difference_names_the_lines() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), Ok(()));
        let sentence = difference("a\nb\n", "a\nc\n").unwrap_err();
        assert!(sentence.ends_with("\n- b\n+ c"), "{sentence}");
    }
}
