//! The needs of stages. They are set up before anything is built, or reported as missing.

use super::scripts::Packages;
use crate::measure::{TARGETS, Target};
use crate::toolchain::{BARE_TARGETS, BUILT_TARGETS, Toolchain, need_cargo_program, need_rust};
use crate::{boards, c, machine, python, workspace};
use std::path::Path;

/// A tool that is installed or can be.
#[derive(Clone, Copy)]
pub enum Need {
    /// A compiler for every microcontroller that programs are linked for.
    Microcontrollers,
    /// A compiler for the microcontrollers that the library is only built for.
    MoreMicrocontrollers,
    /// A compiler and an emulator for one microcontroller of each architecture.
    Emulators,
    /// All tools to build 32-bit x86 programs.
    X86,
    /// All tools to build and run boards.
    Boards,
    /// Compilers of C and emulators for the C API.
    C,
    /// A program, and the Debian package that contains it.
    Program(&'static str, &'static str),
    /// A compiler of C that finds wrong accesses of memory, and the Debian package that contains it.
    Sanitizers(&'static str, &'static str),
    /// The oldest Rust that the libraries promise to compile with.
    OldestRust,
    /// A program that cargo installs, and its package.
    CargoProgram(&'static str, &'static str),
    Python(Packages),
    /// Debian's Python with torch, and these packages.
    Torch(Packages),
    /// Debian's Python with torch.
    DebianTorch,
    /// One of the frameworks that the Python package is tested with, ...
    Framework(&'static str),
    /// ... or all.
    Frameworks,
}

impl Need {
    /// Sets it up, and returns a sentence for each part that is missing.
    pub fn set_up(self) -> Vec<String> {
        let target = |triple| Toolchain::for_target(triple).map(drop);
        let outcomes: Vec<Result<(), String>> = match self {
            Self::Microcontrollers => BARE_TARGETS.map(target).into(),
            Self::MoreMicrocontrollers => BUILT_TARGETS.map(target).into(),
            Self::Emulators => {
                let emulator = |on: &Target| machine::need_program(on.emulator, on.package);
                TARGETS.iter().flat_map(|on| [emulator(on), target(on.triple)]).collect()
            }
            Self::X86 if !machine::runs_32_bit_x86() => Vec::new(),
            Self::X86 => {
                vec![machine::need_32_bit_linking(&workspace::target_dir()), target(super::targets::X86_32)]
            }
            Self::Boards => match boards::boards() {
                Ok(boards) => boards.iter().map(|board| board.prepare()).collect(),
                Err(sentence) => vec![Err(sentence)],
            },
            Self::C => c::prepare(),
            Self::Program(program, package) => vec![machine::need_program(program, package)],
            Self::Sanitizers(compiler, package) => {
                vec![machine::need_sanitizers(compiler, package, &workspace::target_dir())]
            }
            Self::OldestRust => {
                let need = |version: String| need_rust(&version, "the oldest that is promised");
                vec![super::targets::oldest_rust().and_then(need)]
            }
            Self::CargoProgram(program, package) => vec![need_cargo_program(program, package)],
            Self::Python([name, folder]) => vec![python::environment(name, Path::new(folder)).map(drop)],
            Self::Torch([name, folder]) => {
                vec![python::environment_of(python::TORCH, name, Path::new(folder)).map(drop)]
            }
            Self::DebianTorch => vec![python::debian_with_torch().map(drop)],
            Self::Framework(name) => vec![super::python_package::framework(name).map(drop)],
            Self::Frameworks => super::python_package::need_frameworks(),
        };
        outcomes.into_iter().filter_map(Result::err).collect()
    }
}
