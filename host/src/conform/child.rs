//! One run of a reader: a file on its standard input, and how it ended.

use crate::conform::Unusable;
use crate::failure::sentence;
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// How much a reader may say on one stream. The table of the largest vector has a third of it.
const MOST_OUTPUT: u64 = 256 << 20;
/// How often it is looked whether the run is to be broken off.
const TICK: Duration = Duration::from_millis(50);

/// How a reader's process ended.
#[derive(Clone, Copy)]
pub enum End {
    Code(i32),
    Signal(i32),
    /// It was killed after so many seconds.
    TimedOut(u64),
    /// It was killed after so many bytes of output.
    Flooded(u64),
}

/// An end, and what was said before it.
pub struct Ended {
    pub end: End,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
}

impl Ended {
    /// What was said to people: standard error, then standard output.
    pub fn words(&self) -> String {
        let words = [self.err.as_slice(), &self.out].concat();
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}

/// Runs the reader on a file, for so many seconds at most. Nothing if it is told to stop.
pub fn run(command: &[OsString], file: Vec<u8>, limit: &Limit<'_>) -> Result<Option<Ended>, Unusable> {
    let mut running = Running::start(command)?;
    let streams = running.connect(file);
    let begun = Instant::now();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let end = loop {
        if limit.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if begun.elapsed().as_secs() >= limit.seconds {
            break End::TimedOut(limit.seconds);
        }
        match streams.recv_timeout(TICK) {
            Ok(Stream::In) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Stream::Out(bytes) | Stream::Err(bytes)) if bytes.len() as u64 > MOST_OUTPUT => {
                break End::Flooded(MOST_OUTPUT);
            }
            Ok(Stream::Out(bytes)) => out = bytes,
            Ok(Stream::Err(bytes)) => err = bytes,
            // All three have come to their ends.
            Err(RecvTimeoutError::Disconnected) => match running.ended()? {
                Some(status) => break end(status),
                None => sleep(Duration::from_millis(1)),
            },
        }
    };
    Ok(Some(Ended { end, out, err }))
}

/// What ends a run that does not end by itself.
pub struct Limit<'s> {
    pub seconds: u64,
    pub stop: &'s AtomicBool,
}

/// What one of the three streams has come to.
enum Stream {
    In,
    Out(Vec<u8>),
    Err(Vec<u8>),
}

/// A process that does not outlive the interest in it.
struct Running {
    child: Child,
    ended: bool,
}

impl Running {
    fn start(command: &[OsString]) -> Result<Self, Unusable> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| Unusable::Reader("no command is given".into()))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        system::set_apart(&mut command);
        match command.spawn() {
            Ok(child) => Ok(Self { child, ended: false }),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
                Err(Unusable::Reader(format!("there is no program {program:?} that can be run")))
            }
            Err(error) => Err(Unusable::Reader(format!("{program:?} cannot be run: {}", sentence(&error)))),
        }
    }

    /// Feeds the process, and listens to it, each stream in a thread of its own: it may do the three in any order.
    fn connect(&mut self, file: Vec<u8>) -> Receiver<Stream> {
        let (sender, streams) = channel();
        if let Some(mut pipe) = self.child.stdin.take() {
            let sender = sender.clone();
            spawn(move || {
                // A reader may know enough before the end; the pipe breaks then.
                let _ = pipe.write_all(&file);
                drop(pipe);
                let _ = sender.send(Stream::In);
            });
        }
        if let Some(pipe) = self.child.stdout.take() {
            listen(pipe, Stream::Out, sender.clone());
        }
        if let Some(pipe) = self.child.stderr.take() {
            listen(pipe, Stream::Err, sender);
        }
        streams
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>, Unusable> {
        let status = self.child.try_wait();
        let status =
            status.map_err(|error| Unusable::Reader(format!("the command is lost: {}", sentence(&error))))?;
        self.ended = status.is_some();
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            system::kill(&mut self.child);
            let _ = self.child.wait();
        }
    }
}

/// Takes in what a stream brings, and one byte more than is allowed at most.
fn listen(pipe: impl Read + Send + 'static, stream: fn(Vec<u8>) -> Stream, sender: Sender<Stream>) {
    spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.take(MOST_OUTPUT + 1).read_to_end(&mut bytes);
        let _ = sender.send(stream(bytes));
    });
}

fn end(status: ExitStatus) -> End {
    status.code().map_or_else(|| End::Signal(system::signal(status)), End::Code)
}

#[cfg(unix)]
mod system {
    use rustix::process::{Pid, Signal, kill_process_group};
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, ExitStatus};

    /// In a group of its own, so that what it starts is killed with it.
    pub fn set_apart(command: &mut Command) {
        command.process_group(0);
    }

    pub fn kill(child: &mut Child) {
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }

    pub fn signal(status: ExitStatus) -> i32 {
        status.signal().unwrap_or_default()
    }
}

#[cfg(not(unix))]
mod system {
    use std::process::{Child, Command, ExitStatus};

    pub fn set_apart(_: &mut Command) {}

    pub fn kill(child: &mut Child) {
        let _ = child.kill();
    }

    pub fn signal(_: ExitStatus) -> i32 {
        0
    }
}
