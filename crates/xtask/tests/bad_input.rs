//! What is missing ends in one sentence with the command to run. Scripts stand in for the programs that xtask
//! runs.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Runs `cargo xtask demo` with only these programs on the search path, and returns its message.
fn fails(name: &str, programs: &[(&str, &str)]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    for (program, script) in programs {
        let path = folder.join(program);
        fs::write(&path, format!("#!/bin/sh\ncd {}\n{script}\n", folder.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask.arg("demo").env("PATH", &folder).env("CARGO_TARGET_DIR", folder.join("target"));
    let output = xtask.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let own: Vec<&str> = stderr.lines().filter(|line| line.starts_with("xtask: ")).collect();
    assert_eq!((own.len(), output.status.code()), (1, Some(1)), "{stderr}");
    own[0].to_owned()
}

/// The compiler names a directory with files: every target is installed.
const RUSTC: (&str, &str) = ("rustc", "pwd");

#[test]
fn missing_program_or_network_is_reported_with_the_command_to_run() {
    let command = "`apt-get install --yes --no-install-recommends qemu-system-arm`";
    let (apt_get, setsid) = (("apt-get", "exit 100"), ("setsid", "shift; exec \"$@\""));
    let sentence = fails("nobody", &[RUSTC, ("id", "echo 1000"), apt_get]);
    assert!(
        sentence.contains(&format!("missing: the program qemu-system-arm; on Debian run {command} as root"))
    );
    let sentence = fails("root", &[RUSTC, ("id", "echo 0"), setsid, apt_get]);
    assert!(sentence.contains("cannot install the program qemu-system-arm") && sentence.contains(command));
}
