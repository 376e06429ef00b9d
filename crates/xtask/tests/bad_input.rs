//! What goes wrong outside ends in one sentence that says what to do, and leaves nothing half done and nothing running. The
//! programs that xtask runs are scripts here.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A folder with programs, the only ones that are found, and a target directory below it.
struct Machine(PathBuf);

impl Machine {
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

    /// What it says for itself when it fails.
    fn fails(&self, words: &str) -> String {
        said(&self.xtask(words).output().unwrap(), 1)
    }

    /// Runs until a program has written `started`, and sends the signal.
    fn interrupted(&self, words: &str, signal: &str) -> String {
        let child = self.xtask(words).spawn().unwrap();
        wait_for(|| self.0.join("started").exists());
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        said(&child.wait_with_output().unwrap(), 130)
    }
}

fn said(output: &Output, code: i32) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let (own, others): (Vec<_>, Vec<_>) = stderr.lines().partition(|line| line.starts_with("xtask: "));
    assert_eq!((own.len(), output.status.code()), (1, Some(code)), "{stderr}");
    assert!(others.iter().all(|line| line.starts_with("installing ")), "{stderr}");
    own[0].to_owned()
}

fn wait_for(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "it does not happen");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_missing_program() {
    let python = "apt-get install --no-install-recommends python3 python3-venv";
    let nobody = Machine::new("nobody", &[("id", "echo 1000"), ("apt-get", "echo > apt-was-run")]);
    let sentence = nobody.fails("tables");
    assert!(
        sentence.contains("missing: python3") && sentence.contains(&format!("`{python}` as root")),
        "{sentence}"
    );
    let sentence = nobody.fails("tables --no-install");
    assert!(sentence.contains("without --no-install") && sentence.contains(python), "{sentence}");
    // The same before a stage builds anything: there is no cargo.
    let sentence = nobody.fails("test digits --no-install");
    assert!(sentence.contains("without --no-install") && sentence.contains(python), "{sentence}");
    assert!(!nobody.0.join("apt-was-run").exists());
}

#[test]
fn no_network() {
    let root = Machine::new("no-network", &[("id", "echo 0"), ("apt-get", "exit 100")]);
    let sentence = root.fails("tables");
    assert!(
        sentence.contains("cannot install the Debian packages python3") && sentence.contains("network"),
        "{sentence}"
    );
    // A Python that has no packages is not taken for one that has, the next time.
    let python = "[ $1 = -c ] && exit 0\n[ $2 = venv ] && /bin/mkdir -p $4/bin && /bin/cp python3 $4/bin";
    let machine = Machine::new("no-packages", &[("python3", python)]);
    for _ in 0..2 {
        let sentence = machine.fails("tables");
        assert!(
            sentence.contains("cannot install the Python packages") && sentence.contains("pip"),
            "{sentence}"
        );
    }
}

#[test]
fn no_room() {
    let full = "[ $1 = -c ] && exit 0\necho 'cannot write: No space left on device (os error 28)'; exit 1";
    let machine = Machine::new("no-room", &[("python3", full)]);
    let sentence = machine.fails("tables");
    assert!(
        sentence.contains("cannot install the Python packages") && sentence.contains("room on the disk"),
        "{sentence}"
    );
    assert!(!machine.0.join("target/python-tests/requirements.txt").exists(), "it counts as installed");
}

#[test]
fn an_interrupt_ends_whatever_was_started() {
    for signal in ["-INT", "-TERM"] {
        // What it starts takes no notice of a signal, as programs in the background do.
        let cargo = "(trap '' INT TERM; /bin/sleep 60) & echo $! > started; wait";
        let machine = Machine::new(&format!("interrupted{signal}"), &[("cargo", cargo)]);
        assert!(machine.interrupted("lint", signal).contains("interrupted"));
        let pid = fs::read_to_string(machine.0.join("started")).unwrap();
        let is_gone = || {
            !Command::new("kill").args(["-0", pid.trim()]).stderr(Stdio::null()).status().unwrap().success()
        };
        wait_for(is_gone);
    }
}

#[test]
fn an_interrupt_lets_apt_finish_its_step() {
    let apt = "trap '' INT; echo > started; /bin/sleep 1; echo > finished; exit 100";
    let machine = Machine::new("apt", &[("id", "echo 0"), ("apt-get", apt)]);
    machine.interrupted("tables", "-INT");
    assert!(machine.0.join("finished").exists());
}
