//! One run of a reader: a file on its standard input, and its exit.

use crate::conform::Unusable;
use crate::failure::sentence;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::mem;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use vectors::protocol::{End, Output};

/// The limit for a reader's standard output: for an empty file, and per byte of the file.
const OUTPUT: usize = 16 << 20;
const OUTPUT_PER_BYTE: usize = 4;
/// The limit for any file. The output for the largest vector needs a third of it.
const MOST_OUTPUT: usize = 256 << 20;
/// The kept length of its standard error, from the end.
const WORDS: usize = 1 << 16;
/// The time that its streams may stay open after it exits: its children may hold them.
const GRACE: Duration = Duration::from_secs(2);
/// The interval of checks for interruption.
const TICK: Duration = Duration::from_millis(50);

/// Runs the reader on a file with a time limit. Returns None if told to stop.
pub fn run(command: &[OsString], file: Vec<u8>, limit: &Limit<'_>) -> Result<Option<Output>, Unusable> {
    let most = file.len().saturating_mul(OUTPUT_PER_BYTE).saturating_add(OUTPUT).min(MOST_OUTPUT);
    let mut running = Running::start(command)?;
    let streams = running.connect(file, most);
    let begun = Instant::now();
    let mut left = None;
    let end = loop {
        if limit.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let news = streams.news.recv_timeout(TICK);
        if let Ok(StreamEvent::Flooded) = news {
            break End::Flooded(most as u64);
        }
        let are_closed = matches!(news, Err(RecvTimeoutError::Disconnected));
        match running.status()? {
            Some(status) if are_closed => break end(status),
            Some(status) if left.get_or_insert_with(Instant::now).elapsed() > GRACE => {
                running.kill();
                break end(status);
            }
            None if begun.elapsed().as_secs() >= limit.seconds => break End::TimedOut(limit.seconds),
            _ if are_closed => sleep(Duration::from_millis(1)),
            _ => {}
        }
    };
    Ok(Some(Output { end, stdout: streams.out.take(), stderr: streams.err.take() }))
}

/// The limits of a run.
pub struct Limit<'s> {
    pub seconds: u64,
    pub stop: &'s AtomicBool,
}

/// The output received so far.
struct Streams {
    /// Disconnected when all three streams are closed.
    news: Receiver<StreamEvent>,
    out: Received,
    err: Received,
}

enum StreamEvent {
    End,
    Flooded,
}

/// The bytes received from a stream.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<u8>>>);

impl Received {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<u8> {
        mem::take(&mut self.bytes())
    }

    /// Adds bytes if there is space; returns whether there was.
    fn add(&self, piece: &[u8], most: usize) -> bool {
        let mut bytes = self.bytes();
        let is_room = piece.len() <= most.saturating_sub(bytes.len());
        bytes.extend_from_slice(if is_room { piece } else { &[] });
        is_room
    }

    fn add_last(&self, piece: &[u8], most: usize) {
        let mut bytes = self.bytes();
        bytes.extend_from_slice(piece);
        let old = bytes.len().saturating_sub(most);
        bytes.drain(..old);
    }
}

/// A process that is killed on drop.
struct Running {
    child: Child,
    ended: bool,
}

impl Running {
    fn start(command: &[OsString]) -> Result<Self, Unusable> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| Unusable::Reader("no reader command given".into()))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        system::set_process_group(&mut command);
        match command.spawn() {
            Ok(child) => Ok(Self { child, ended: false }),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
                Err(Unusable::Reader(format!("reader {program:?} {}", why_not(program, error.kind()))))
            }
            Err(error) => {
                Err(Unusable::Reader(format!("reader {program:?} cannot be run: {}", sentence(&error))))
            }
        }
    }

    /// Feeds the process and reads its output. Each stream has a thread: the process may use them in any
    /// order.
    fn connect(&mut self, file: Vec<u8>, most: usize) -> Streams {
        let (sender, news) = channel();
        let (out, err) = (Received::default(), Received::default());
        if let Some(mut pipe) = self.child.stdin.take() {
            let sender = sender.clone();
            spawn(move || {
                // A reader may decide before the end and close the pipe.
                let _ = pipe.write_all(&file);
                drop(pipe);
                let _ = sender.send(StreamEvent::End);
            });
        }
        if let Some(pipe) = self.child.stdout.take() {
            let said = out.clone();
            listen(pipe, sender.clone(), move |piece| said.add(piece, most));
        }
        if let Some(pipe) = self.child.stderr.take() {
            let said = err.clone();
            listen(pipe, sender, move |piece| {
                said.add_last(piece, WORDS);
                true
            });
        }
        Streams { news, out, err }
    }

    fn status(&mut self) -> Result<Option<ExitStatus>, Unusable> {
        let status = self.child.try_wait();
        let status = status
            .map_err(|error| Unusable::Reader(format!("cannot wait for the reader: {}", sentence(&error))))?;
        self.ended = status.is_some();
        Ok(status)
    }

    /// Kills the process and its children.
    fn kill(&mut self) {
        system::kill(&mut self.child);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

/// Passes the bytes of a stream to `take` until it returns false.
fn listen(
    mut pipe: impl Read + Send + 'static,
    sender: Sender<StreamEvent>,
    take: impl Fn(&[u8]) -> bool + Send + 'static,
) {
    spawn(move || {
        let mut piece = vec![0; 1 << 16];
        let news = loop {
            match pipe.read(&mut piece) {
                Ok(0) => break StreamEvent::End,
                Ok(len) if take(&piece[..len]) => {}
                Ok(_) => break StreamEvent::Flooded,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break StreamEvent::End,
            }
        };
        let _ = sender.send(news);
    });
}

/// Why a program is not found, or may not be run.
fn why_not(program: &OsStr, kind: ErrorKind) -> &'static str {
    let path = Path::new(program);
    let is_bare_name = path.components().count() == 1;
    match kind == ErrorKind::NotFound && path.is_file() {
        true if is_bare_name => "is not in PATH; write ./ before it for a file of this directory",
        true => "cannot be run: its interpreter or its loader does not exist",
        false => "is not an executable program",
    }
}

fn end(status: ExitStatus) -> End {
    status.code().map_or_else(|| End::Signal(system::signal(status)), End::Code)
}

#[cfg(unix)]
mod system {
    use rustix::process::{Pid, Signal, kill_process_group};
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, ExitStatus};

    /// Starts it in its own process group, so that its children are killed with it.
    pub fn set_process_group(command: &mut Command) {
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

    pub fn set_process_group(_: &mut Command) {}

    pub fn kill(child: &mut Child) {
        let _ = child.kill();
    }

    pub fn signal(_: ExitStatus) -> i32 {
        0
    }
}
