//! A copy of the tracked files, whose pages can be read elsewhere, and speak of what is published.

use super::{REPOSITORY, VERSION};
use crate::process::Run;
use crate::workspace::{root, target_dir, text, write};
use std::path::{Component, Path, PathBuf};

/// What pages and messages say in a checkout, and in a release.
const PUBLISHED: [(&str, &str); 3] = [
    ("cargo install --path host", "cargo install safetensors-host"),
    ("./crates/safetensors-python[numpy]", "embedded-safetensors[numpy]"),
    (" --path \"$OLDPWD/crates/embedded-safetensors\"", ""),
];
/// What a line begins with that is left out in a release.
const UNTIL: &str = "Until the first release is published,";

/// Copies the tracked files, and returns the directory.
pub fn copy() -> Result<PathBuf, String> {
    let tree = target_dir().join("release-tree");
    let _ = std::fs::remove_dir_all(&tree);
    write(&tree.join("files"), Run::new("git").words("ls-files").stdout()?.as_bytes())?;
    let copy = Run::new("cp").words("--parents --dereference --preserve=mode,timestamps --target-directory");
    let files = text(&tree.join("files"))?;
    copy.args([&tree]).args(files.lines()).capture()?;
    for page in files.lines().filter(|page| page.ends_with(".md")) {
        // Pages of the guide and of the commands stay together; the page of a package travels alone.
        let stays = ["docs/src", "host/docs"].into_iter().find(|kept| page.starts_with(kept));
        if stays.is_some() || page.ends_with("/README.md") {
            // The README of the library is the repository's.
            let from = root().join(page).canonicalize().map_err(|error| format!("{page}: {error}"))?;
            let kept = stays.map_or(from.clone(), |kept| root().join(kept));
            let linked = absolute_links(&text(&from)?, &from, &kept);
            write(&tree.join(page), published(page, &linked)?.as_bytes())?;
        }
    }
    let message = "host/src/commands/without_chips.rs";
    write(&tree.join(message), published(message, &text(&root().join(message))?)?.as_bytes())?;
    let python = "crates/safetensors-python/pyproject.toml";
    let urls = format!(
        "\n[project.urls]\nSource = \"{REPOSITORY}\"\n\
         Changelog = \"{REPOSITORY}/blob/v{VERSION}/CHANGELOG.md\"\n"
    );
    write(&tree.join(python), (text(&root().join(python))? + &urls).as_bytes())?;
    Ok(tree)
}

/// Returns what the text says in a release, which must not need a checkout.
fn published(name: &str, text: &str) -> Result<String, String> {
    let lines = text.lines().filter(|line| !line.starts_with(UNTIL));
    let text = lines.map(|line| format!("{line}\n")).collect();
    let text = PUBLISHED.iter().fold(text, |text: String, (here, there)| text.replace(here, there));
    match ["first release", " --path ", "\"./crates/"].iter().find(|word| text.contains(**word)) {
        Some(word) => Err(format!("{name}: \"{word}\" speaks of a checkout")),
        None => Ok(text),
    }
}

/// Lets the links of a page to files that are not below `kept` lead to the repository.
fn absolute_links(page: &str, path: &Path, kept: &Path) -> String {
    let mut parts = page.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find([')', '#', ' ']).unwrap_or(part.len());
        let (link, rest) = part.split_at(end);
        let file = normal(&path.with_file_name(link));
        text += "](";
        match file.strip_prefix(root()) {
            Ok(inside) if file.exists() && !link.is_empty() && !file.starts_with(kept) => {
                let form = if link.ends_with(".svg") { "raw" } else { "blob" };
                text += &format!("{REPOSITORY}/{form}/v{VERSION}/{}", inside.display());
            }
            _ => text += link,
        }
        text += rest;
    }
    text
}

/// Returns the path without `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut whole, part| {
        match part {
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
        whole
    })
}
