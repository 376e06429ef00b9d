//! What stages need of a machine. It is set up before anything is built, or said to be missing.

use super::scripts::Packages;
use crate::measure::firmware::{CORTEX_M3, RISC_V};
use crate::toolchain::{BARE_TARGETS, Toolchain};
use crate::{boards, machine, python, workspace};
use std::path::Path;

/// One thing that is there, or can be installed.
#[derive(Clone, Copy)]
pub enum Need {
    /// A compiler for every microcontroller.
    Microcontrollers,
    /// A compiler and an emulator for one microcontroller of each architecture.
    Emulators,
    /// All that 32-bit x86 programs are built with.
    X86,
    /// What boards are built and run with: those of a quick run, or all.
    QuickBoards,
    Boards,
    /// A program, and the package of Debian that has it.
    Program(&'static str, &'static str),
    Python(Packages),
}

impl Need {
    pub fn set_up(self) -> Result<(), String> {
        match self {
            Self::Microcontrollers => {
                BARE_TARGETS.iter().try_for_each(|triple| Toolchain::for_target(triple).map(drop))
            }
            Self::Emulators => [CORTEX_M3, RISC_V].iter().try_for_each(|board| {
                board.need_emulator()?;
                Toolchain::for_target(board.triple).map(drop)
            }),
            Self::X86 if !machine::runs_32_bit_x86() => Ok(()),
            Self::X86 => {
                machine::need_32_bit_linking(&workspace::target_dir())?;
                Toolchain::for_target(super::targets::X86_32).map(drop)
            }
            Self::QuickBoards => boards::QUICK.iter().try_for_each(|name| boards::find(name)?.prepare()),
            Self::Boards => boards::boards()?.iter().try_for_each(|board| board.prepare()),
            Self::Program(program, package) => machine::need_program(program, package),
            Self::Python([name, folder]) => python::environment(name, Path::new(folder)).map(drop),
        }
    }
}
