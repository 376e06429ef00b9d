//! The conformance vectors as packages for Python, npm and Cargo, and as an archive.

use super::{Table, alone, cargo_target, empty};
use crate::machine::Need;
use crate::process::Run;
use crate::toolchain::own_cargo;
use crate::workspace::{list, read, root, write};
use std::path::Path;

pub const NEEDS: &[Need] = &[
    Need::Program("node", "nodejs"),
    Need::Program("npm", "npm"),
    Need::Works("python3 -m ensurepip --version", &["python3-venv"]),
];

/// The largest package, in bytes.
const LARGEST: usize = 1_000_000;

/// What ends the names of the packages, and the function of planned.sh that scores a reader with each.
const PACKAGES: [(&str, &str); 4] =
    [(".zip", "archive"), (".whl", "wheel"), (".tgz", "npm"), (".crate", "crate")];

/// Makes the packages, those of archive.py twice: the second ones must have the same bytes.
pub fn make(tree: &Path, dir: &Path) -> Result<(), String> {
    let again = empty("again")?;
    for dir in [dir, &again] {
        Run::new("python3").words("-B tests/vectors/archive.py").args([dir]).dir(tree).capture()?;
    }
    Run::new("diff").args(["-r".as_ref(), dir, &again]).capture()?;
    let vectors = tree.join("crates/safetensors-conformance/vectors");
    std::fs::create_dir_all(&vectors).map_err(|error| error.to_string())?;
    let copy = Run::new("cp").words("-r valid invalid either manifest.json LICENSE").args([&vectors]);
    copy.dir(&tree.join("tests/vectors")).capture()?;
    let package = own_cargo().dir(tree).env("CARGO_TARGET_DIR", tree.join("target"));
    let words = "package --package safetensors-conformance --locked --no-verify --allow-dirty --quiet";
    package.words(words).check()?;
    let copy = Run::new("sh").args(["-c", "cp target/package/safetensors-conformance-*.crate \"$0\""]);
    copy.args([dir]).dir(tree).capture().map(drop)
}

/// Scores a reader whose answers are planned with each package: it finds all that is wrong, and what differs
/// from the file of known answers.
pub fn verify(dir: &Path, table: &mut Table) -> Result<(), String> {
    let place = empty("planned")?;
    let planned = Run::new("python3").words("-B tests/python/planned.py").args([place.join("planned.json")]);
    planned.capture()?;
    let page = read(&root().join("tests/vectors/README.md"))?;
    write(&place.join("README.md"), &page)?;
    write(&place.join("planned.sh"), include_bytes!("planned.sh"))?;
    let made = list(dir)?;
    let check = |(end, function): (&str, &str)| {
        let file = made.iter().find(|file| file.to_string_lossy().ends_with(end));
        let file = file.ok_or_else(|| format!("no {end}"))?;
        let run = alone(&place, true).words("sh -e planned.sh").args([function.as_ref(), file.as_path()]);
        let found = run.env("CARGO_TARGET_DIR", cargo_target()).limit(5 * 60).capture().map(drop);
        let size = read(file)?.len();
        let fits = (size <= LARGEST).then_some(()).ok_or(format!("{size} bytes are above {LARGEST}"));
        Ok::<_, String>((file.as_path(), found.and(fits)))
    };
    // The others compare with what the archive says of the reader.
    let [archive, others @ ..] = PACKAGES;
    let mut row = |(file, outcome): (&_, _)| table.row(file, "at most 1 MB; finds what is planned", outcome);
    row(check(archive)?);
    std::thread::scope(|scope| {
        let running = others.map(|package| scope.spawn(move || check(package)));
        running.into_iter().try_for_each(|one| {
            row(one.join().map_err(|_| "a check panicked".to_owned())??);
            Ok(())
        })
    })
}
