//! What calls of the system a file costs that is opened: no more than those of a program that knows nothing of models.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use support::file::with_header;

use crate::files::temp_dir::Folder;

/// The numbers of x86-64.
const PREAD: u64 = 17;
const GETPPID: u64 = 110;
/// What gives a program memory, and a thread its first number by chance.
const OTHERS: [u64; 6] = [9, 10, 11, 12, 25, 318];

#[test]
fn a_model_is_opened_with_no_more_calls_than_a_bare_program() {
    let folder = Folder::new();
    let path = folder.put("m", &with_header("{}", 0));
    let (bare, model) = (calls("bare", &path), calls("model", &path));
    // The length and the header are one read, where both are short.
    let mut needed = bare;
    needed.remove(needed.iter().position(|call| *call == PREAD).expect("it reads"));
    assert_eq!(model, needed);
}

/// The calls that the program makes between two that mark the place, but those that are no matter of files.
#[expect(unsafe_code, reason = "a child asks to be watched")]
#[expect(clippy::zombie_processes, reason = "`waitpid` waits for it")]
fn calls(what: &str, path: &Path) -> Vec<u64> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_files"));
    command.args(["calls", what]).arg(path);
    // SAFETY: one call of the system, which allocates nothing.
    unsafe { command.pre_exec(|| ptrace::traceme().map_err(Into::into)) };
    let child = command.spawn().expect("it runs");
    let pid = Pid::from_raw(child.id().cast_signed());
    assert!(matches!(waitpid(pid, None), Ok(WaitStatus::Stopped(_, Signal::SIGTRAP))), "it begins");
    ptrace::setoptions(pid, ptrace::Options::PTRACE_O_TRACESYSGOOD).expect("it is ours");
    let (mut calls, mut marks, mut is_entry) = (Vec::new(), 0, true);
    loop {
        ptrace::syscall(pid, None).expect("it is stopped");
        match waitpid(pid, None).expect("it is ours") {
            WaitStatus::PtraceSyscall(_) if is_entry => {
                let call = ptrace::getregs(pid).expect("it is stopped").orig_rax;
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
