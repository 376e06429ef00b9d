//! Sets up what a stage needs: installs it where that is allowed, or says in one sentence what to run.
//!
//! Rustup adds targets, components and releases of Rust; apt-get installs programs when root runs xtask;
//! packages of Python and npm go into the target directory.

use crate::process::Run;
use crate::toolchain::own_cargo;
use crate::{python, workspace};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Something that is installed or can be.
#[derive(Clone, Copy)]
pub enum Need {
    /// Targets of the toolchain that runs xtask.
    Targets(&'static [&'static str]),
    /// A component of that toolchain, and the cargo command that shows whether it is there.
    Component(&'static str, &'static str),
    /// A release of Rust, for `cargo +NAME`.
    Rust(&'static str),
    /// A program that cargo installs, and its package, which may end with its version.
    CargoProgram(&'static str, &'static str),
    /// A program, and the Debian package that contains it.
    Program(&'static str, &'static str),
    /// A command line that succeeds once these Debian packages are installed.
    Works(&'static str, &'static [&'static str]),
    /// An environment of Python.
    Python(&'static str),
    /// What the boards need.
    Boards,
    Group(&'static [Need]),
}

impl Need {
    /// Sets it up; the error is one sentence for each part that is missing.
    pub fn set_up(self) -> Result<(), String> {
        match self {
            Self::Targets(triples) => triples.iter().try_for_each(|triple| need_target(triple)),
            Self::Component(component, command) => {
                let present = || own_cargo().args([command, "--version"]).capture().is_ok();
                need_by(present, &format!("rustup component add {component}"))
            }
            Self::Rust(name) => {
                let present = || Run::new("cargo").args([&format!("+{name}"), "--version"]).capture().is_ok();
                need_by(present, &format!("rustup toolchain install {name} --profile minimal"))
            }
            Self::CargoProgram(program, package) => {
                need_by(|| find(program).is_some(), &format!("cargo install --locked --quiet {package}"))
            }
            Self::Program(program, package) => need_program(program, package),
            Self::Works(words, packages) => {
                need(&format!("`{words}`"), packages, || of_words(words).capture().is_ok())
            }
            Self::Python(name) => python::environment(name).map(drop),
            Self::Boards => crate::boards::prepare(),
            Self::Group(needs) => needs.iter().try_for_each(|need| need.set_up()),
        }
    }
}

/// Ensures that the toolchain which runs xtask can build for `triple`.
pub fn need_target(triple: &str) -> Result<(), String> {
    // `rustc` names the directory of the target's libraries even if it does not exist.
    let present = || {
        let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let folder = Run::new(rustc).args(["--print", "target-libdir", "--target", triple]).stdout();
        folder.is_ok_and(|folder| PathBuf::from(folder).read_dir().is_ok_and(|mut all| all.next().is_some()))
    };
    need_by(present, &format!("rustup target add {triple}"))
}

/// Ensures that a program is installed.
pub fn need_program(program: &str, package: &str) -> Result<(), String> {
    need(&format!("the program {program}"), &[package], || find(program).is_some())
}

/// Ensures that `present` returns true, installing the Debian `packages` if it does not.
pub fn need(what: &str, packages: &[&str], present: impl Fn() -> bool) -> Result<(), String> {
    if present() {
        return Ok(());
    }
    let list = packages.join(" ");
    let command = format!("apt-get install --yes --no-install-recommends {list}");
    // Only root may install, and only with apt-get.
    let is_root = Run::new("id").args(["-u"]).stdout().is_ok_and(|id| id == "0");
    if find("apt-get").is_none() || !is_root {
        return Err(format!("missing: {what}; on Debian run `{command}` as root"));
    }
    // Waits for the lock: another program may be installing something. It has a session of its own, and
    // finishes its step if xtask is interrupted.
    let apt_get = |words: &str| {
        let run = Run::new("setsid").words("--wait apt-get --quiet -o DPkg::Lock::Timeout=300").words(words);
        run.env("DEBIAN_FRONTEND", "noninteractive").limit(15 * 60).check()
    };
    install(what, &command, || {
        apt_get("update")?;
        apt_get(command.trim_start_matches("apt-get "))
    })?;
    if present() { Ok(()) } else { Err(format!("{what} is still missing after `{command}`")) }
}

/// Ensures that `present` returns true, running this command if it does not.
fn need_by(present: impl Fn() -> bool, command: &str) -> Result<(), String> {
    match present() {
        true => Ok(()),
        false => install(&format!("what `{command}` adds"), command, || of_words(command).check()),
    }
}

fn of_words(words: &str) -> Run {
    let (program, rest) = words.split_once(' ').unwrap_or((words, ""));
    Run::new(program).words(rest)
}

/// Installs something. The error says in one sentence what is missing and which command to run.
pub fn install(what: &str, command: &str, run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    eprintln!("installing {what}");
    run().map_err(|error| {
        // The first line names the command that ran; the last is its last message.
        let mut lines = error.lines().filter(|line| !line.trim().is_empty());
        let error = lines.next().into_iter().chain(lines.next_back()).collect::<Vec<_>>().join(" ");
        format!("cannot install {what}: {error}; with a network and disk space, run `{command}`")
    })
}

/// Finds a program on the search path.
pub fn find(program: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// Returns the package of npm in a directory of the repository, installed in the target directory.
pub fn npm(folder: &str) -> Result<PathBuf, String> {
    need_program("node", "nodejs")?;
    need_program("npm", "npm")?;
    let (from, place) = (workspace::root().join(folder), workspace::target_dir().join("npm").join(folder));
    // npm writes this file last, after everything is installed.
    let installed = place.join("node_modules/.package-lock.json");
    let wanted = workspace::read(&from.join("package-lock.json"))?;
    let is_there = workspace::read(&place.join("package-lock.json")).is_ok_and(|lock| lock == wanted);
    if is_there && installed.exists() {
        return Ok(place);
    }
    // A failed installation must not pass for the earlier one.
    let _ = std::fs::remove_file(&installed);
    for file in ["package.json", "package-lock.json"] {
        workspace::write(&place.join(file), &workspace::read(&from.join(file))?)?;
    }
    let words = "ci --no-audit --no-fund --ignore-scripts";
    let run = || Run::new("npm").words(words).dir(&place).limit(180).check();
    install(&format!("the npm packages of {folder}"), &format!("npm {words}"), run)?;
    Ok(place)
}
