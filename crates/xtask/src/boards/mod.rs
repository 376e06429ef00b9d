//! The firmware: packages that stand alone, for cargo does not reach them from the workspace; the boards among them, what
//! each is run with, and what it must say.

mod card;
mod content;
mod desktop;
mod golden;
mod log;
mod medium;
mod musts;
mod no_parser;
mod packages;
// What the program of that board has: there is one list.
#[path = "../../../../firmware/riscv-virt/src/partitions.rs"]
mod partitions;
mod readme;
mod rp2040js;
mod run;
mod suite;
mod table;
mod vectors;

pub use content::{Image, images};
pub use medium::{Card, Medium};
pub use packages::{Package, packages};
pub use run::Ended;
pub use suite::{all, quick, some};
pub use table::BOARDS;

use musts::Must;

/// A board: a package with programs for it, and a machine that runs them.
pub struct Board {
    /// The board, and its folder below `firmware`.
    pub name: &'static str,
    pub package: Package,
    pub cpu: &'static str,
    /// Bytes of flash.
    pub flash: u32,
    /// Bytes of RAM.
    pub ram: u32,
    /// What is special about it, in a line.
    pub shows: &'static str,
    pub machine: Machine,
    /// What to run in its folder for the real board, line by line; nothing where there is none to be had.
    pub hardware: &'static [&'static str],
    pub cases: &'static [Case],
}

/// What runs the programs of a board.
pub enum Machine {
    /// QEMU: the program, its Debian package, the machine, the option that a program is given with.
    Qemu { program: &'static str, package: &'static str, machine: &'static str, load: &'static str },
    /// rp2040js: the board's folder that has the script which runs it.
    Rp2040js { folder: &'static str },
    /// Unicorn: the board's folder that has the script which runs it, for programs that log.
    Unicorn { folder: &'static str },
    /// Nothing but the board itself.
    Hardware,
}

/// A program, what it finds, and what must come of it.
pub struct Case {
    pub name: &'static str,
    pub program: &'static str,
    /// The features that the program is built with.
    pub features: &'static str,
    pub medium: Medium,
    pub exit_code: i32,
    /// What must hold beside the committed lines.
    pub musts: &'static [Must],
}

/// The exit code of a program that has run into what its processor cannot execute.
const FAULT: i32 = 99;
/// That of a program that has panicked.
const PANIC: i32 = 101;

/// The case that the demo shows.
pub const DIGITS: &str = "digits";

impl Board {
    pub const fn triple(&self) -> &'static str {
        self.package.triples[0]
    }

    pub fn case(&self, name: &str) -> Option<&'static Case> {
        self.cases.iter().find(|case| case.name == name)
    }

    /// Whether there is no machine here that runs it.
    pub const fn needs_hardware(&self) -> bool {
        matches!(self.machine, Machine::Hardware)
    }
}

/// The board of this name.
pub fn find(name: &str) -> Result<&'static Board, String> {
    let names = || BOARDS.iter().map(|board| board.name).collect::<Vec<_>>().join(", ");
    let board = BOARDS.iter().find(|board| board.name == name);
    board.ok_or_else(|| format!("there is no board \"{name}\"; there are {}", names()))
}

const fn case(name: &'static str, program: &'static str, exit_code: i32) -> Case {
    Case { name, program, features: "", medium: Medium::Nothing, exit_code, musts: &[] }
}

impl Case {
    const fn with(mut self, medium: Medium) -> Self {
        self.medium = medium;
        self
    }

    /// With a program that logs in place of its text.
    const fn logged(mut self) -> Self {
        self.features = log::FEATURE;
        self
    }

    const fn must(mut self, musts: &'static [Must]) -> Self {
        self.musts = musts;
        self
    }
}
