//! The guide as pages for a web server.

use super::Table;
use crate::machine::Need;
use crate::process::Run;
use crate::workspace::{list, text};
use std::path::Path;

pub const NEEDS: &[Need] = &[Need::CargoProgram("mdbook", "mdbook@0.4.52")];

pub fn make(tree: &Path, dir: &Path) -> Result<(), String> {
    Run::new("mdbook").args(["build"]).args([tree.join("docs")]).args(["--dest-dir"]).args([dir]).check()
}

/// Follows the links of each page, and those to its images: they find a file, or have an address.
pub fn verify(dir: &Path, table: &mut Table) -> Result<(), String> {
    let (mut links, mut dead) = (0, Vec::new());
    for page in list(dir)?.iter().filter(|page| page.extension().is_some_and(|end| end == "html")) {
        for part in text(page)?.replace(" src=\"", " href=\"").split(" href=\"").skip(1) {
            let link = part.split(['"', '#']).next().unwrap_or_default();
            links += 1;
            if !link.contains(':') && !page.with_file_name(link).exists() || link.starts_with("..") {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    if links == 0 {
        dead.push("the guide has no links".to_owned());
    }
    let outcome = if dead.is_empty() { Ok(()) } else { Err(dead.join("\n")) };
    table.row(dir, &format!("{links} links lead to a file of the guide or to an address"), outcome);
    Ok(())
}
