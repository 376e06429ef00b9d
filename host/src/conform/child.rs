//! A reader as a process: in a group of its own, so that its children end with it, and in an empty directory.

use crate::conform::Unusable;
use crate::conform::store::Input;
use crate::failure::sentence;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::path::{self, Path};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use vectors::protocol::{End, Output};

/// The limit for a reader's standard output: for an empty file, and per byte of the file.
const OUTPUT: usize = 16 << 20;
const OUTPUT_PER_BYTE: usize = 4;
/// The limit for any file. The output for the largest vector needs a third of it.
const MOST_OUTPUT: usize = 256 << 20;
/// The kept length of its standard error, from the end.
const LONGEST_STDERR: usize = 1 << 16;
/// The time that its streams may stay open after it exits, since its children may hold them; and that it may
/// run after it has closed its output.
pub const GRACE: Duration = Duration::from_millis(500);
/// The interval of checks for interruption.
pub const TICK: Duration = Duration::from_millis(50);

/// Sanitizers end with exit code 1 or none of their own, unless they are told another.
const SANITIZER_OPTIONS: [(&str, &str); 5] = [
    ("ASAN_OPTIONS", "exitcode=99"),
    ("LSAN_OPTIONS", "exitcode=99"),
    ("MSAN_OPTIONS", "exitcode=99"),
    ("TSAN_OPTIONS", "exitcode=99"),
    ("UBSAN_OPTIONS", "halt_on_error=1:exitcode=99"),
];

/// The limits of a run.
#[derive(Clone, Copy)]
pub struct Limit<'s> {
    pub time: Duration,
    pub stop: &'s AtomicBool,
}

impl Limit<'_> {
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How much a reader may print about a file of this length.
pub fn most_output(len: usize) -> usize {
    len.saturating_mul(OUTPUT_PER_BYTE).saturating_add(OUTPUT).min(MOST_OUTPUT)
}

/// Runs the reader on a file with a time limit. Returns None if told to stop.
pub fn run(
    command: &[OsString],
    input: Input,
    most: usize,
    limit: Limit<'_>,
) -> Result<Option<Output>, Unusable> {
    let mut running = match input {
        Input::Bytes(bytes) => {
            let mut running = Running::start(command, Stdio::piped(), most)?;
            running.feed(bytes);
            running
        }
        Input::File(file) => {
            let again = file.reopen().map_err(|error| Unusable::Reader(sentence(&error)))?;
            let mut running = Running::start(command, again.into(), most)?;
            running.feed(Vec::new());
            running
        }
    };
    let begun = Instant::now();
    let mut left = None;
    let end = loop {
        if limit.is_stopped() {
            return Ok(None);
        }
        let news = running.news.recv_timeout(TICK);
        if let Ok(StreamEvent::Flooded) = news {
            break End::Flooded(most as u64);
        }
        let are_closed = matches!(news, Err(RecvTimeoutError::Disconnected));
        match running.status()? {
            Some(status) if are_closed => break end(status),
            Some(status) if left.get_or_insert_with(Instant::now).elapsed() > GRACE => break end(status),
            None if begun.elapsed() >= limit.time => break End::TimedOut(limit.time.as_secs()),
            _ if are_closed => sleep(Duration::from_millis(1)),
            _ => {}
        }
    };
    Ok(Some(Output { end, stdout: running.out.take(), stderr: running.err.take() }))
}

pub enum StreamEvent {
    /// A stream is closed.
    End,
    /// There is more on standard output.
    More,
    /// There is more than the limit.
    Flooded,
}

/// The bytes received from a stream.
#[derive(Clone, Default)]
pub struct Received(Arc<Mutex<Bytes>>);

#[derive(Default)]
struct Bytes {
    bytes: Vec<u8>,
    /// The number of bytes already searched for the end of a line.
    searched: usize,
    is_closed: bool,
}

impl Received {
    fn lock(&self) -> MutexGuard<'_, Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn take(&self) -> Vec<u8> {
        mem::take(&mut self.lock().bytes)
    }

    /// Takes a line with its end, or the rest of a closed stream.
    pub fn take_line(&self) -> Option<Vec<u8>> {
        let mut this = self.lock();
        let found = this.bytes[this.searched..].iter().position(|byte| *byte == b'\n');
        let end = found.map(|at| this.searched + at + 1);
        this.searched = this.bytes.len();
        let end = end.or((this.is_closed && this.searched > 0).then_some(this.searched))?;
        this.searched = 0;
        let after = this.bytes.split_off(end);
        Some(mem::replace(&mut this.bytes, after))
    }

    pub fn len(&self) -> usize {
        self.lock().bytes.len()
    }

    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Adds bytes if there is space; returns whether there was.
    fn add(&self, piece: &[u8], most: usize) -> bool {
        let bytes = &mut self.lock().bytes;
        let is_room = piece.len() <= most.saturating_sub(bytes.len());
        bytes.extend_from_slice(if is_room { piece } else { &[] });
        is_room
    }

    fn add_last(&self, piece: &[u8], most: usize) {
        let bytes = &mut self.lock().bytes;
        bytes.extend_from_slice(piece);
        let old = bytes.len().saturating_sub(most);
        bytes.drain(..old);
    }
}

/// A running reader. At its end its group is killed and its directory is removed.
pub struct Running {
    child: Child,
    pub stdin: Option<ChildStdin>,
    pub out: Received,
    pub err: Received,
    /// Disconnected when all streams that are listened to are closed.
    pub news: Receiver<StreamEvent>,
    sender: Option<Sender<StreamEvent>>,
    ended: bool,
    /// Removed last.
    _directory: TempDir,
}

impl Running {
    /// Starts a reader that may have so many bytes of output waiting.
    pub fn start(command: &[OsString], stdin: Stdio, most: usize) -> Result<Self, Unusable> {
        let directory = TempDir::with_prefix("reader-").map_err(|error| {
            Unusable::Reader(format!("no directory for the reader can be made: {}", sentence(&error)))
        })?;
        let mut child = spawn_in(command, stdin, directory.path())?;
        let (sender, news) = channel();
        let (out, err) = (Received::default(), Received::default());
        let stdin = child.stdin.take();
        if let Some(pipe) = child.stdout.take() {
            let (said, more) = (out.clone(), sender.clone());
            listen(pipe, out.clone(), sender.clone(), move |piece| {
                let is_room = said.add(piece, most);
                let _ = more.send(StreamEvent::More);
                is_room
            });
        }
        if let Some(pipe) = child.stderr.take() {
            let said = err.clone();
            listen(pipe, err.clone(), sender.clone(), move |piece| {
                said.add_last(piece, LONGEST_STDERR);
                true
            });
        }
        let sender = Some(sender);
        Ok(Self { child, stdin, out, err, news, sender, ended: false, _directory: directory })
    }

    /// Writes these bytes to standard input, if it is a pipe, and closes it. The reader may use its streams
    /// in any order.
    fn feed(&mut self, bytes: Vec<u8>) {
        let sender = self.sender.take();
        if let Some(mut pipe) = self.stdin.take() {
            spawn(move || {
                // A reader may decide before the end and close the pipe.
                let _ = pipe.write_all(&bytes);
                drop(pipe);
                drop(sender);
            });
        }
    }

    pub fn status(&mut self) -> Result<Option<ExitStatus>, Unusable> {
        let status = self.child.try_wait();
        let status = status
            .map_err(|error| Unusable::Reader(format!("cannot wait for the reader: {}", sentence(&error))))?;
        self.ended = status.is_some();
        Ok(status)
    }

    /// Waits for the end of a reader that has closed its output, and for its messages.
    pub fn wait(&mut self) -> Result<End, Unusable> {
        let begun = Instant::now();
        let is_late = || begun.elapsed() > GRACE;
        loop {
            match self.status()? {
                Some(status) if self.err.is_closed() || is_late() => return Ok(end(status)),
                None if is_late() => return Ok(End::Closed),
                _ => sleep(Duration::from_millis(1)),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The group may have processes even when its first has ended.
        system::kill(&mut self.child);
        if !self.ended {
            let _ = self.child.wait();
        }
    }
}

fn spawn_in(command: &[OsString], stdin: Stdio, directory: &Path) -> Result<Child, Unusable> {
    let (program, _) =
        command.split_first().ok_or_else(|| Unusable::Reader("no reader command given".into()))?;
    let mut words = command.iter().map(|word| absolute(word));
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).current_dir(directory).env("TMPDIR", directory);
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in SANITIZER_OPTIONS {
        let mut options = env::var_os(name).unwrap_or_default();
        options.push(if options.is_empty() { "" } else { ":" });
        options.push(value);
        command.env(name, options);
    }
    system::set_process_group(&mut command);
    command.spawn().map_err(|error| Unusable::Reader(cannot_run(program, &error)))
}

/// The word for another directory: one that names an existing file becomes an absolute path. A word without a
/// slash or a dot, such as a subcommand, stays as it is.
fn absolute(word: &OsStr) -> OsString {
    let is_path =
        word.as_encoded_bytes().iter().any(|byte| *byte == b'.' || path::is_separator((*byte).into()));
    let path = (is_path && Path::new(word).exists()).then(|| path::absolute(word).ok()).flatten();
    path.map_or_else(|| word.to_owned(), Into::into)
}

/// Passes the bytes of a stream to `take` until it returns false.
fn listen(
    mut pipe: impl Read + Send + 'static,
    received: Received,
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
        received.lock().is_closed = true;
        let _ = sender.send(news);
    });
}

/// Why a program is not started.
fn cannot_run(program: &OsStr, error: &io::Error) -> String {
    let path = Path::new(program);
    let is_bare_name = path.components().count() == 1 && !path.starts_with(".");
    let is_bare_name = is_bare_name && !program.as_encoded_bytes().contains(&b'/');
    let why = match error.kind() {
        ErrorKind::NotFound if path.is_file() && is_bare_name => {
            "is not in PATH; write ./ before it for a file of this directory"
        }
        ErrorKind::NotFound if path.is_file() => {
            "cannot be run: its interpreter or its loader does not exist"
        }
        ErrorKind::NotFound | ErrorKind::PermissionDenied => "is not an executable program",
        _ => return format!("reader {program:?} cannot be run: {}", sentence(error)),
    };
    format!("reader {program:?} {why}")
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

#[cfg(test)]
mod tests {
    use super::Received;

    #[test]
    fn lines_are_taken_one_by_one() {
        let received = Received::default();
        assert!(received.add(b"a", 9) && received.take_line().is_none());
        assert!(received.add(b"b\ncd\n\ne", 9));
        let lines = std::iter::from_fn(|| received.take_line());
        assert_eq!(lines.collect::<Vec<_>>(), [&b"ab\n"[..], b"cd\n", b"\n"]);
        assert!(!received.add(&[b'x'; 9], 9));
        received.lock().is_closed = true;
        assert_eq!((received.take_line().as_deref(), received.take_line()), (Some(&b"e"[..]), None));
    }
}
