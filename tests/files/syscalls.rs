//! The system calls to open a file: no more than those of a program that knows nothing of models.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use support::file::with_header;

use crate::files::temp_dir::TempDir;

/// The numbers on x86-64.
const PREAD: u64 = 17;
const GETPPID: u64 = 110;
/// Calls that allocate memory, and getrandom.
const OTHERS: [u64; 6] = [9, 10, 11, 12, 25, 318];

#[test]
fn open_makes_no_more_calls_than_a_bare_program() {
    let dir = TempDir::new();
    let path = dir.put("m", &with_header("{}", 0));
    let (bare, model) = (calls("bare", &path), calls("model", &path));
    // A short length and header are one read.
    let mut needed = bare;
    needed.remove(needed.iter().position(|call| *call == PREAD).expect("a read"));
    assert_eq!(model, needed);
}

/// Returns the calls that the program makes between two markers, except those unrelated to files.
#[expect(unsafe_code, reason = "the child is traced")]
#[expect(clippy::zombie_processes, reason = "`waitpid` waits for it")]
fn calls(what: &str, path: &Path) -> Vec<u64> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_files"));
    command.args(["calls", what]).arg(path);
    // SAFETY: a single system call, which allocates nothing.
    unsafe { command.pre_exec(|| ptrace::traceme().map_err(Into::into)) };
    let child = command.spawn().expect("starts");
    let pid = Pid::from_raw(child.id().cast_signed());
    assert!(matches!(waitpid(pid, None), Ok(WaitStatus::Stopped(_, Signal::SIGTRAP))), "it begins");
    ptrace::setoptions(pid, ptrace::Options::PTRACE_O_TRACESYSGOOD).expect("owned by this test");
    let (mut calls, mut marks, mut is_entry) = (Vec::new(), 0, true);
    loop {
        ptrace::syscall(pid, None).expect("stopped");
        match waitpid(pid, None).expect("owned by this test") {
            WaitStatus::PtraceSyscall(_) if is_entry => {
                let call = ptrace::getregs(pid).expect("stopped").orig_rax;
                match call {
                    GETPPID => marks += 1,
                    call if marks == 1 && !OTHERS.contains(&call) => calls.push(call),
                    _ => {}
                }
                is_entry = false;
            }
            WaitStatus::PtraceSyscall(_) => is_entry = true,
            WaitStatus::Exited(_, code) => {
                assert_eq!((code, marks), (0, 2));
                return calls;
            }
            status => panic!("{status:?}"),
        }
    }
}
