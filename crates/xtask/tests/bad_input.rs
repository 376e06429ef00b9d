//! Failures of the environment end in one sentence with advice, and leave nothing half done and nothing
//! running. Scripts stand in for the programs that xtask runs.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A directory with the only programs on the search path, and a target directory in it.
struct Environment(PathBuf);

impl Environment {
    fn new(name: &str, programs: &[(&str, &str)]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for (program, script) in programs {
            let (path, script) =
                (folder.join(program), format!("#!/bin/sh\ncd {}\n{script}\n", folder.display()));
            fs::write(&path, script).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self(folder)
    }

    fn xtask(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.args(words.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.env("PATH", &self.0).env("CARGO", self.0.join("cargo"));
        command.env("CARGO_TARGET_DIR", self.0.join("target"));
        command
    }

    /// Returns xtask's own message when it fails.
    fn fails(&self, words: &str) -> String {
        message(&self.xtask(words).output().unwrap(), 1)
    }

    /// Runs until a program has written `started`, then sends the signal.
    fn interrupted(&self, words: &str, signal: &str) -> String {
        let child = self.xtask(words).spawn().unwrap();
        wait_for(|| self.0.join("started").exists());
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        message(&child.wait_with_output().unwrap(), 130)
    }
}

fn message(output: &Output, code: i32) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let (own, others): (Vec<_>, Vec<_>) = stderr.lines().partition(|line| line.starts_with("xtask: "));
    assert_eq!((own.len(), output.status.code()), (1, Some(code)), "{stderr}");
    assert!(others.iter().all(|line| line.starts_with("installing ")), "{stderr}");
    own[0].to_owned()
}

fn wait_for(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "timed out");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn missing_program_is_reported_with_advice() {
    let python = "apt-get install --no-install-recommends python3 python3-venv";
    let nobody = Environment::new("nobody", &[("id", "echo 1000"), ("apt-get", "echo > apt-was-run")]);
    let sentence = nobody.fails("tables");
    assert!(
        sentence.contains("missing: python3") && sentence.contains(&format!("`{python}` as root")),
        "{sentence}"
    );
    let sentence = nobody.fails("tables --no-install");
    assert!(sentence.contains("without --no-install") && sentence.contains(python), "{sentence}");
    // Missing programs are reported before a stage builds anything: there is no cargo.
    let sentence = nobody.fails("test tables --no-install");
    assert!(sentence.contains("without --no-install") && sentence.contains(python), "{sentence}");
    assert!(!nobody.0.join("apt-was-run").exists());
}

#[test]
fn missing_network_is_reported() {
    let root = Environment::new("no-network", &[("id", "echo 0"), ("apt-get", "exit 100")]);
    let sentence = root.fails("tables");
    assert!(
        sentence.contains("cannot install the Debian packages python3") && sentence.contains("network"),
        "{sentence}"
    );
    // An environment without packages must not pass for a complete one the next time.
    let python = "[ $1 = -c ] && exit 0\n[ $2 = venv ] && /bin/mkdir -p $4/bin && /bin/cp python3 $4/bin";
    let environment = Environment::new("no-packages", &[("python3", python)]);
    for _ in 0..2 {
        let sentence = environment.fails("tables");
        assert!(
            sentence.contains("cannot install the Python packages") && sentence.contains("pip"),
            "{sentence}"
        );
    }
}

#[test]
fn full_disk_is_reported() {
    let full = "[ $1 = -c ] && exit 0\necho 'cannot write: No space left on device (os error 28)'; exit 1";
    let environment = Environment::new("no-room", &[("python3", full)]);
    let sentence = environment.fails("tables");
    assert!(
        sentence.contains("cannot install the Python packages") && sentence.contains("disk space"),
        "{sentence}"
    );
    assert!(!environment.0.join("target/python-main/requirements.txt").exists(), "marked as installed");
}

#[test]
fn interrupt_ends_all_started_programs() {
    for signal in ["-INT", "-TERM"] {
        // Background programs ignore the signal.
        let cargo = "(trap '' INT TERM; /bin/sleep 60) & echo $! > started; wait";
        let environment = Environment::new(&format!("interrupted{signal}"), &[("cargo", cargo)]);
        assert!(environment.interrupted("lint", signal).contains("interrupted"));
        let pid = fs::read_to_string(environment.0.join("started")).unwrap();
        let is_gone = || {
            !Command::new("kill").args(["-0", pid.trim()]).stderr(Stdio::null()).status().unwrap().success()
        };
        wait_for(is_gone);
    }
}

#[test]
fn interrupt_lets_apt_finish_its_step() {
    let apt = "trap '' INT; echo > started; /bin/sleep 1; echo > finished; exit 100";
    let environment = Environment::new("apt", &[("id", "echo 0"), ("apt-get", apt)]);
    environment.interrupted("tables", "-INT");
    assert!(environment.0.join("finished").exists());
}
