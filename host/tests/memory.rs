//! The peak memory of the command, measured after its exit, and of programs that read through the library:
//! `cargo run --release -p safetensors-host --example memory`, once the command is built. The stage `costs`
//! sets `SAFETENSORS_BIN` to another build of the command.
//!
//! The system counts the memory of the parent towards a new process. This program therefore stays smaller
//! than what it measures: it has no harness, and starts itself again to write each file.

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("peak memory is only measured on Linux");
}

#[cfg(target_os = "linux")]
fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "write", name, path] => measured::write(name, path).expect("disk space"),
        [_, "read", api, path, bytes] => measured::read(api, path, bytes),
        _ => measured::all(),
    }
}

#[cfg(target_os = "linux")]
#[path = "memory/measured.rs"]
mod measured;

/// Waits for a child of this process, and returns its peak memory in bytes.
#[cfg(target_os = "linux")]
fn wait(pid: u32) -> (std::process::ExitStatus, u64) {
    let pid = libc::pid_t::try_from(pid).expect("a process id");
    let mut status = 0;
    // SAFETY: all zeros is a value of this plain C structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers lead to variables that live for the whole call.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    assert_eq!(waited, pid, "{}", std::io::Error::last_os_error());
    let kibibytes = u64::try_from(usage.ru_maxrss).expect("a size");
    (std::os::unix::process::ExitStatusExt::from_raw(status), kibibytes * 1024)
}
