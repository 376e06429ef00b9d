//! Programs that are not Rust: found, installed where that is ours to do, or asked for in a sentence.

use crate::process::Run;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Finds a program on the search path.
pub fn find(program: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// Whether nothing may be installed.
static FROZEN: AtomicBool = AtomicBool::new(false);

/// From now on, what is missing is said and not installed.
pub fn install_nothing() {
    FROZEN.store(true, Ordering::Relaxed);
}

/// Says what is about to be installed.
///
/// # Errors
/// `--no-install` forbids it.
pub fn may_install(what: &str) -> Result<(), String> {
    if FROZEN.load(Ordering::Relaxed) {
        return Err(format!("{what} would be installed, which --no-install forbids"));
    }
    eprintln!("installing {what}");
    Ok(())
}

/// Makes sure that `present` holds, installing the Debian `packages` if it does not.
pub fn need(what: &str, packages: &[&str], present: impl Fn() -> bool) -> Result<(), String> {
    if present() {
        return Ok(());
    }
    let list = packages.join(" ");
    if !FROZEN.load(Ordering::Relaxed) && !can_install() {
        return Err(format!(
            "{what} is missing; on Debian run `apt-get install --no-install-recommends {list}`"
        ));
    }
    may_install(&format!("the Debian packages {list}, for {what}"))?;
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

#[cfg(test)]
mod tests {
    use super::{install_nothing, need};

    #[test]
    fn nothing_is_installed_that_was_forbidden() {
        install_nothing();
        let sentence = need("the program x", &["x-tools"], || false).unwrap_err();
        assert!(sentence.contains("the Debian packages x-tools, for the program x"), "{sentence}");
        assert!(sentence.contains("--no-install forbids"), "{sentence}");
        assert_eq!(need("the program y", &["y-tools"], || true), Ok(()));
    }
}
