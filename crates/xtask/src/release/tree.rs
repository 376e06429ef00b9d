//! A copy of the tracked files, whose pages can be read elsewhere.

use super::{REPOSITORY, VERSION};
use crate::process::Run;
use crate::workspace::{root, target_dir, text, write};
use std::path::{Component, Path, PathBuf};

/// Copies the tracked files, and returns the directory.
pub fn copy() -> Result<PathBuf, String> {
    let tree = target_dir().join("release-tree");
    let _ = std::fs::remove_dir_all(&tree);
    write(&tree.join("files"), Run::new("git").words("ls-files").stdout()?.as_bytes())?;
    let copy = Run::new("cp").words("--parents --dereference --preserve=mode,timestamps --target-directory");
    let files = text(&tree.join("files"))?;
    copy.args([&tree]).args(files.lines()).capture()?;
    for page in files.lines().filter(|page| page.ends_with(".md")) {
        // Pages of the guide stay together; the page of a package travels alone.
        let stays = ["docs/src", "host/docs"].into_iter().find(|kept| page.starts_with(kept));
        if stays.is_some() || page.ends_with("/README.md") {
            let linked = absolute_links(&text(&root().join(page))?, page, stays.unwrap_or("/"));
            write(&tree.join(page), linked.as_bytes())?;
        }
    }
    let python = "crates/safetensors-python/pyproject.toml";
    let urls = format!(
        "\n[project.urls]\nSource = \"{REPOSITORY}\"\nChangelog = \"{REPOSITORY}/blob/v{VERSION}/CHANGELOG.md\"\n"
    );
    write(&tree.join(python), (text(&root().join(python))? + &urls).as_bytes())?;
    Ok(tree)
}

/// Lets the links of a page to files that are not below `kept` lead to the repository.
fn absolute_links(page: &str, path: &str, kept: &str) -> String {
    let mut parts = page.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find([')', '#', ' ']).unwrap_or(part.len());
        let file = normal(&Path::new(path).with_file_name(&part[..end]));
        let is_file = end > 0 && root().join(&file).exists();
        let is_image =
            file.extension().is_some_and(|extension| ["svg", "png"].iter().any(|of| extension == *of));
        let form = if is_image { "raw" } else { "blob" };
        let address = match is_file && !file.starts_with(kept) {
            true => format!("{REPOSITORY}/{form}/v{VERSION}/{}", file.display()),
            false => part[..end].to_owned(),
        };
        text = text + "](" + &address + &part[end..];
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
