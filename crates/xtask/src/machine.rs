//! Programs that are not Rust: found, installed where that is ours to do, or asked for in a sentence.

use crate::process::Run;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Finds a program on the search path.
pub fn find(program: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// Makes sure that `present` holds, installing the Debian `packages` if it does not.
pub fn need(what: &str, packages: &[&str], present: impl Fn() -> bool) -> Result<(), String> {
    if present() {
        return Ok(());
    }
    let list = packages.join(" ");
    if !can_install() {
        return Err(format!(
            "{what} is missing; on Debian run `apt-get install --no-install-recommends {list}`"
        ));
    }
    install(packages)?;
    if present() { Ok(()) } else { Err(format!("{what} is missing even with the Debian packages {list}")) }
}

/// Makes sure that a program is there.
pub fn need_program(program: &str, package: &str) -> Result<(), String> {
    need(&format!("the program {program}"), &[package], || find(program).is_some())
}

/// Only root may install, and only where apt-get is the way to do it.
fn can_install() -> bool {
    find("apt-get").is_some() && is_root()
}

fn is_root() -> bool {
    let id = Run::new("id").args(["-u"]).output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn install(packages: &[&str]) -> Result<(), String> {
    static LISTS: OnceLock<Result<(), String>> = OnceLock::new();
    LISTS.get_or_init(|| apt_get().args(["--quiet", "update"]).check()).clone()?;
    let install = ["--quiet", "--yes", "--no-install-recommends", "install"];
    apt_get().args(install).args(packages).check()
}

fn apt_get() -> Run {
    // Another program may be installing something: wait for its lock.
    let wait = ["-o", "DPkg::Lock::Timeout=300"];
    Run::new("apt-get").args(wait).env("DEBIAN_FRONTEND", "noninteractive").limit(15 * 60)
}

/// Whether this machine runs programs built for 32-bit x86 Linux.
pub fn runs_32_bit_x86() -> bool {
    cfg!(all(target_os = "linux", target_arch = "x86_64"))
}

/// Makes sure that the C compiler links 32-bit x86 programs.
pub fn need_32_bit_linking(scratch: &Path) -> Result<(), String> {
    let program = scratch.join("probe-32-bit.c");
    crate::workspace::write(&program, b"#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n")?;
    let links = || {
        let compile =
            Run::new("gcc").args(["-m32", "-o"]).args([scratch.join("probe-32-bit"), program.clone()]);
        compile.capture().is_ok()
    };
    need("a C compiler for 32-bit x86", &["gcc", "gcc-multilib"], links)
}
