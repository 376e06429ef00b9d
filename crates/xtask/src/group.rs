//! A program and all that it starts, ended together.
//!
//! On Unix the program gets a process group of its own, so that one signal reaches whatever it started.
//! But Ctrl-C reaches only our own group. So a shell in that one waits for a word from us: when
//! it hears none, for we have closed the pipe or died, it ends the program's group.

use std::io;
use std::process::{Child, Command};

/// A running program. Dropped before [`release`](Self::release), it ends with all that it started.
pub struct Group {
    child: Child,
    #[cfg(unix)]
    watcher: Child,
}

impl Group {
    /// The program itself.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    fn reap(&mut self) {
        // Already ended or not: either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
impl Group {
    /// Starts the program.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let mut child = command.process_group(0).spawn()?;
        match watcher(child.id()) {
            Ok(watcher) => Ok(Self { child, watcher }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Ends the program and all that it started.
    pub fn kill(&mut self) {
        drop(self.watcher.stdin.take());
        let _ = self.watcher.wait();
        self.reap();
    }

    /// The program has ended; what it left running may go on.
    pub fn release(mut self) {
        use std::io::Write;
        if let Some(pipe) = &mut self.watcher.stdin {
            // A watcher that is gone kills nothing either.
            let _ = pipe.write_all(b"released\n");
        }
    }
}

/// A shell that ends the group, unless it reads a line first. Its `kill` is built in: the program of that
/// name is not everywhere.
#[cfg(unix)]
fn watcher(group: u32) -> io::Result<Child> {
    use std::process::Stdio;
    let script = format!("trap '' INT TERM HUP; read -r word || kill -9 -{group}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.spawn()
}

#[cfg(not(unix))]
impl Group {
    /// Starts the program.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(|child| Self { child })
    }

    /// Ends the program.
    pub fn kill(&mut self) {
        self.reap();
    }

    /// The program has ended.
    pub fn release(self) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
