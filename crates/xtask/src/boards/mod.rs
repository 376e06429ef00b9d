//! The firmware packages, which are outside the workspace. Each manifest lists the targets that the package
//! is built for; a board's manifest also says how to run the board and what to expect.

mod conditions;
mod golden;
mod log;
mod run;
mod storage;
mod suite;

use crate::workspace;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::OnceLock;

pub use suite::{EXAMPLES, INTEROP, MINIMAL, QUICK, all, judge_other, quick, run_case, some};

/// A package below `firmware`: `package.metadata.firmware` in its manifest.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Package {
    #[serde(skip)]
    pub name: String,
    /// The targets that it is built for.
    pub targets: Vec<String>,
    /// The sets of features to build it with, as `--features` takes them.
    #[serde(default = "no_features")]
    pub features: Vec<String>,
    /// Whether it has examples and tests that run on this computer.
    #[serde(default)]
    pub runs_here: bool,
}

fn no_features() -> Vec<String> {
    vec![String::new()]
}

/// A package with programs for a board, and the emulator that runs them: `package.metadata.board` in its
/// manifest.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Board {
    #[serde(skip)]
    package: Package,
    pub cpu: String,
    /// Bytes of flash.
    pub flash: u32,
    /// Bytes of RAM.
    pub ram: u32,
    /// What is special about it, in one line.
    pub shows: String,
    /// How to run its programs: a QEMU command line whose last option takes the program; `rp2040js`;
    /// `unicorn` and a chip; or `hardware` if only the real board can run them.
    pub machine: String,
    /// The commands to run in its directory for the real board; empty if that board is not for sale.
    pub hardware: Vec<String>,
    pub cases: BTreeMap<String, Case>,
}

/// A program, its storage, and the expected result.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    #[serde(default = "digits")]
    pub program: String,
    /// The features to build the program with.
    #[serde(default)]
    pub features: String,
    #[serde(default)]
    pub exit: i32,
    /// The clock of QEMU counts instructions, each of which takes 1024 ns.
    #[serde(default)]
    pub counts: bool,
    #[serde(flatten)]
    storage: storage::Storage,
    #[serde(flatten)]
    conditions: conditions::Conditions,
}

/// The program and the case of every board that reads digits.
pub const DIGITS: &str = "digits";

fn digits() -> String {
    DIGITS.to_owned()
}

/// All packages in the `firmware` directory; boards without an emulator are last.
struct Firmware {
    packages: Vec<Package>,
    boards: Vec<Board>,
}

impl Firmware {
    fn read() -> Result<Self, String> {
        let (mut packages, mut boards) = (Vec::new(), Vec::new());
        for folder in workspace::list(&workspace::root().join("firmware"))? {
            let manifest = folder.join("Cargo.toml");
            if !manifest.exists() {
                continue;
            }
            let (mut package, board) = parse(&workspace::text(&manifest)?)
                .map_err(|error| format!("{}: {}", manifest.display(), error.message()))?;
            package.name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            boards.extend(board.map(|board| Board { package: package.clone(), ..board }));
            packages.push(package);
        }
        boards.sort_by_key(Board::needs_hardware);
        Ok(Self { packages, boards })
    }

    fn known() -> Result<&'static Self, String> {
        static KNOWN: OnceLock<Result<Firmware, String>> = OnceLock::new();
        KNOWN.get_or_init(Self::read).as_ref().map_err(String::clone)
    }
}

/// Parses the metadata of a package, and of a board if it is one.
fn parse(manifest: &str) -> Result<(Package, Option<Board>), toml::de::Error> {
    #[derive(Deserialize)]
    struct Manifest {
        package: About,
    }
    #[derive(Deserialize)]
    struct About {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        firmware: Package,
        board: Option<Board>,
    }
    let Metadata { firmware, board } = toml::from_str::<Manifest>(manifest)?.package.metadata;
    Ok((firmware, board))
}

pub fn packages() -> Result<&'static [Package], String> {
    Ok(&Firmware::known()?.packages)
}

pub fn boards() -> Result<&'static [Board], String> {
    Ok(&Firmware::known()?.boards)
}

/// Finds a board by its name.
pub fn find(name: &str) -> Result<&'static Board, String> {
    let boards = boards()?;
    let names = || boards.iter().map(|board| board.name.as_str()).collect::<Vec<_>>().join(", ");
    let board = boards.iter().find(|board| board.name == name);
    board.ok_or_else(|| format!("there is no board \"{name}\"; there are {}", names()))
}

impl Package {
    pub fn folder(&self) -> PathBuf {
        workspace::root().join("firmware").join(&self.name)
    }
}

impl Deref for Board {
    type Target = Package;

    fn deref(&self) -> &Package {
        &self.package
    }
}

impl Board {
    pub fn triple(&'static self) -> &'static str {
        &self.targets[0]
    }

    /// Whether only the real board can run it.
    pub fn needs_hardware(&self) -> bool {
        self.machine == "hardware"
    }

    /// Returns the case that the demo shows: the digits, or the first one.
    pub fn shown(&self) -> Result<(&str, &Case), String> {
        let case = self.cases.get_key_value(DIGITS).or_else(|| self.cases.first_key_value());
        case.map(|(name, case)| (name.as_str(), case)).ok_or_else(|| format!("{} has no case", self.name))
    }

    /// Describes the board in one line.
    pub fn about(&self) -> String {
        format!(
            "{}: {}, {} KiB of flash, {} KiB of RAM",
            self.name,
            self.cpu,
            self.flash / 1024,
            self.ram / 1024
        )
    }

    /// Says where its programs run, in a few words.
    pub fn whereabouts(&self) -> String {
        match self.machine.rsplit_once(" -") {
            Some((qemu, _)) => format!("here, in {qemu}"),
            None if self.needs_hardware() => "only on the real board; it is built here".to_owned(),
            None => format!("here, in {}", self.emulator()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_manifest_keys_are_errors() {
        let text = workspace::text(&find("microbit").unwrap().folder().join("Cargo.toml")).unwrap();
        let slips =
            [("reads", "raeds"), ("cpu", "cup"), ("targets", "target"), ("\"parsed\", reads", "0, reads")];
        assert!(parse(&text).unwrap().1.unwrap().cases.contains_key(DIGITS));
        for (right, slip) in slips {
            assert!(text.contains(right) && parse(&text.replace(right, slip)).is_err(), "{slip}");
        }
    }
}
