//! External programs: finds them, installs them where it may, or says what to install.

use crate::process::Run;
use crate::workspace;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Finds a program on the search path.
pub fn find(program: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// Whether installing is forbidden.
static NO_INSTALL: AtomicBool = AtomicBool::new(false);

/// Forbids installing: from now on, what is missing is only reported.
pub fn install_nothing() {
    NO_INSTALL.store(true, Ordering::Relaxed);
}

pub fn installs_nothing() -> bool {
    NO_INSTALL.load(Ordering::Relaxed)
}

/// Prints what is about to be installed, and installs it. The error says in one sentence what is missing
/// and what to do: `advice`, or, without one, to run this again.
pub fn install(
    what: &str,
    advice: Option<&str>,
    run: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    if installs_nothing() {
        let advice = advice.map_or(String::new(), |advice| format!("{advice}, or "));
        return Err(format!("missing: {what}; {advice}run this again without --no-install"));
    }
    eprintln!("installing {what}");
    let failed = |error: String| {
        // The first line names the command that ran; the last is its last message.
        let mut lines = error.lines().filter(|line| !line.trim().is_empty());
        let error = lines.next().into_iter().chain(lines.next_back()).collect::<Vec<_>>().join(" ");
        let advice = advice.unwrap_or("run this again");
        format!("cannot install {what}: {error}; this needs a network and disk space; then {advice}")
    };
    let start = Instant::now();
    let outcome = run().map_err(failed);
    let time = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    INSTALLING.fetch_add(time, Ordering::Relaxed);
    outcome
}

/// Milliseconds.
static INSTALLING: AtomicU64 = AtomicU64::new(0);

/// Returns how long installing has taken so far.
pub fn time_of_installing() -> Duration {
    Duration::from_millis(INSTALLING.load(Ordering::Relaxed))
}

/// Ensures that `present` returns true, installing the Debian `packages` if it does not.
pub fn need(what: &str, packages: &[&str], present: impl Fn() -> bool) -> Result<(), String> {
    if present() {
        return Ok(());
    }
    let list = packages.join(" ");
    let advice = format!("run `apt-get install --no-install-recommends {list}` as root");
    // Only root may install, and only with apt-get.
    let is_ours = || find("apt-get").is_some() && is_root();
    if !installs_nothing() && !is_ours() {
        return Err(format!("missing: {what}; on Debian {advice}"));
    }
    install(&format!("the Debian packages {list}, for {what}"), Some(&advice), || apt_get_install(packages))?;
    if present() {
        Ok(())
    } else {
        Err(format!("{what} is still missing after installing the Debian packages {list}"))
    }
}

/// Ensures that a program is installed.
pub fn need_program(program: &str, package: &str) -> Result<(), String> {
    need(&format!("the program {program}"), &[package], || find(program).is_some())
}

fn is_root() -> bool {
    let id = Run::new("id").args(["-u"]).output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn apt_get_install(packages: &[&str]) -> Result<(), String> {
    static LISTS: OnceLock<Result<(), String>> = OnceLock::new();
    // Waits for the lock: another program may be installing something.
    let apt_get = || Run::new("apt-get").args(["--quiet", "-o", "DPkg::Lock::Timeout=300"]).limit(15 * 60);
    let run = |run: Run| run.env("DEBIAN_FRONTEND", "noninteractive").gently().check();
    LISTS.get_or_init(|| run(apt_get().args(["update"]))).clone()?;
    run(apt_get().args(["--yes", "--no-install-recommends", "install"]).args(packages))
}

/// Whether this computer runs programs built for 32-bit x86 Linux.
pub fn runs_32_bit_x86() -> bool {
    cfg!(all(target_os = "linux", target_arch = "x86_64"))
}

/// Ensures that a C compiler links programs that check their accesses of memory.
pub fn need_sanitizers(compiler: &str, package: &str, scratch: &Path) -> Result<(), String> {
    let options = ["-fsanitize=address,undefined"];
    let probe = || find(compiler).is_some() && links(compiler, &options, scratch).is_ok();
    need(&format!("{compiler} with AddressSanitizer"), &[package], probe)
}

/// Ensures that the C compiler links 32-bit x86 programs.
pub fn need_32_bit_linking(scratch: &Path) -> Result<(), String> {
    let probe = || links("gcc", &["-m32"], scratch).is_ok();
    need("a C compiler for 32-bit x86", &["gcc", "gcc-multilib"], probe)
}

/// Checks that a C compiler links a program with these options.
fn links(compiler: &str, options: &[&str], scratch: &Path) -> Result<(), String> {
    let program = scratch.join("probe.c");
    workspace::write(&program, b"#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n")?;
    let compile = Run::new(compiler).args(options).args(["-o"]).args([&scratch.join("probe"), &program]);
    compile.capture().map(drop)
}
