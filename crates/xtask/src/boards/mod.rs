//! The firmware packages, which are outside the workspace. Each manifest lists the targets that the package
//! is built for; a board's manifest also says how to run the board and what to expect.

mod golden;
mod log;
mod run;
mod storage;
mod suite;

use crate::{minilm, workspace};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::LazyLock;

pub use run::qemu;
pub use suite::{INTEROP, all, judge_other, run_case, some};

/// A package below `firmware`: `package.metadata.firmware`.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Package {
    #[serde(skip)]
    pub name: String,
    /// The targets that it is built for.
    pub targets: Vec<String>,
    /// The features that clippy checks it with.
    #[serde(default)]
    pub features: Vec<String>,
    /// Whether it has examples and tests that run on this computer.
    #[serde(default)]
    pub runs_here: bool,
}

/// `package.metadata` in a manifest.
#[derive(Deserialize)]
struct Metadata {
    firmware: Package,
    board: Option<Board>,
}

/// A package with programs for a board, and the emulator that runs them: `package.metadata.board`.
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

/// A program, the files that it finds in its storage, and the expected result. Files are named as for
/// [`storage::bytes`].
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    #[serde(default = "digits")]
    pub program: String,
    #[serde(default)]
    pub exit: i32,
    /// The clock of QEMU counts instructions, each of which takes 1024 ns.
    #[serde(default)]
    counts: bool,
    /// A memory card with these files.
    card: Option<Vec<(String, String)>>,
    /// A card that was never formatted.
    #[serde(default)]
    blank_card: bool,
    /// A NOR flash bank with files at these offsets, erased elsewhere.
    nor: Option<Vec<(usize, String)>>,
    /// The NOR flash bank is write-protected.
    #[serde(default)]
    protected: bool,
    /// A file at this address, in the flash that also holds the program.
    flash: Option<(u32, String)>,
    /// A file at this address, in memory that stands for more flash.
    mapped: Option<(u32, String)>,
    /// Each first text, which occurs once in the first file, is replaced by the second; in the program, which
    /// contains its model, if there is no file.
    #[serde(default)]
    replaces: Vec<[String; 2]>,
    /// A bit of this byte of the first file is flipped.
    flips: Option<usize>,
    /// The partition table, by its path from the board's directory, if it is not `partitions.csv`.
    partition_table: Option<String>,
    /// A command of `firmware/app` on this computer, and its files. Both compute the same, to the last bit.
    desktop: Option<Vec<String>>,
    /// The image has at this byte offset the recording that this computer makes with this model.
    records: Option<(usize, String)>,
}

fn digits() -> String {
    "digits".to_owned()
}

type Firmware = (Vec<Package>, Vec<Board>);

/// Reads the manifests of all packages in `firmware`, and of the boards among them; those without an emulator
/// are last.
fn read() -> Result<Firmware, String> {
    let (mut packages, mut boards) = (Vec::new(), Vec::new());
    for folder in workspace::list(&workspace::root().join("firmware"))? {
        let manifest = folder.join("Cargo.toml");
        let Ok(text) = workspace::text(&manifest) else { continue };
        let parse = || toml::from_str::<toml::Table>(&text)?["package"]["metadata"].clone().try_into();
        let metadata: Result<Metadata, toml::de::Error> = parse();
        let Metadata { mut firmware, board } =
            metadata.map_err(|error| format!("{}: {}", manifest.display(), error.message()))?;
        firmware.name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        boards.extend(board.map(|board| Board { package: firmware.clone(), ..board }));
        packages.push(firmware);
    }
    boards.sort_by_key(Board::needs_hardware);
    Ok((packages, boards))
}

static KNOWN: LazyLock<Result<Firmware, String>> = LazyLock::new(read);

pub fn packages() -> Result<&'static [Package], String> {
    KNOWN.as_ref().map(|(packages, _)| &packages[..]).map_err(String::clone)
}

pub fn boards() -> Result<&'static [Board], String> {
    KNOWN.as_ref().map(|(_, boards)| &boards[..]).map_err(String::clone)
}

/// Installs what is needed to build and run all boards, or says what is missing.
pub fn prepare() -> Result<(), String> {
    boards()?.iter().try_for_each(Board::prepare)?;
    minilm::package().map(drop)
}

/// Finds a board by its name.
pub fn find(name: &str) -> Result<&'static Board, String> {
    let boards = boards()?;
    let names = || boards.iter().map(|board| board.name.as_str()).collect::<Vec<_>>().join(", ");
    let board = boards.iter().find(|board| board.name == name);
    board.ok_or_else(|| format!("there is no board \"{name}\"; there are {}", names()))
}

impl Case {
    /// Returns the case with this text in place of its last file.
    pub fn with_text(&self, text: &str) -> Self {
        let mut case = self.clone();
        let card = case.card.iter_mut().flatten().map(|(_, file)| file);
        let nor = case.nor.iter_mut().flatten().map(|(_, file)| file);
        if let Some(file) = card.chain(nor).last() {
            let kind = file.split(':').next().unwrap_or_default();
            // After the line break, no number is taken for a count of bytes.
            *file = format!("{kind}:{text}\n");
        }
        case
    }
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

    /// Finds a case by its name.
    pub fn case(&self, name: &str) -> Result<&Case, String> {
        self.cases.get(name).ok_or_else(|| format!("{} has no case \"{name}\"", self.name))
    }

    /// Returns the name of the case that the demo shows: the digits, or the first one.
    pub fn shown(&self) -> &str {
        self.cases
            .get_key_value(&digits())
            .or_else(|| self.cases.first_key_value())
            .map_or("", |(name, _)| name)
    }

    /// Describes the board in one line.
    pub fn about(&self) -> String {
        let Self { cpu, flash, ram, .. } = self;
        format!("{}: {cpu}, {} KiB of flash, {} KiB of RAM", self.name, flash / 1024, ram / 1024)
    }
}
