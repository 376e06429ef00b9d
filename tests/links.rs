//! Links in pages lead to files of the repository, and to headings that they have.

use super::source::{self, File};
use std::path::{Component, Path};

#[test]
fn links_lead_to_files_and_headings() {
    let files = source::files_below("");
    // The package of the library has a link to the readme of the repository.
    let is_page =
        |file: &&File| file.path.ends_with(".md") && file.path != "crates/embedded-safetensors/README.md";
    let mut broken = Vec::new();
    for page in files.iter().filter(is_page) {
        let links = links(&page.text);
        broken.extend(links.filter(|link| !exists(&files, page, link)).map(|link| (&page.path, link)));
    }
    assert_eq!(broken, []);
}

/// Returns the targets of links, except to other sites, outside blocks of code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("\n```").step_by(2);
    let targets = prose.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.contains(' '))
}

fn exists(files: &[File], page: &File, link: &str) -> bool {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let path = if path.is_empty() { page.path.clone() } else { resolved(&page.path, path) };
    // Pictures are text, too; other files are looked for on the disk.
    let Some(target) = files.iter().find(|file| file.path == path) else {
        return Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists();
    };
    let mut headings = target.text.lines().filter(|line| line.starts_with('#'));
    heading.is_empty() || headings.any(|line| anchor(line.trim_start_matches('#').trim()) == heading)
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
    kept.map(|it| if it == ' ' { '-' } else { it.to_ascii_lowercase() }).collect()
}

/// A path from the root of the repository.
fn resolved(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.push(name.to_str().expect("paths are UTF-8")),
            _ => {}
        }
    }
    parts.join("/")
}
