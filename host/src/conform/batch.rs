//! A reader that is started once: it gets a path per line, and prints a line of JSON for each.

use crate::conform::Unusable;
use crate::conform::child::{GRACE, Limit, Running, TICK, most_output};
use crate::conform::store::Input;
use crate::failure::sentence;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use vectors::protocol::{End, Outcome};
use vectors::{Answer, Vector};

/// A reader, which is started again after it has crashed or its next line may belong to an earlier file.
pub struct Batch<'a> {
    command: &'a [OsString],
    limit: Limit<'a>,
    /// The files.
    directory: TempDir,
    reader: Option<Lines>,
}

impl<'a> Batch<'a> {
    pub fn new(command: &'a [OsString], limit: Limit<'a>) -> Result<Self, Unusable> {
        let directory = TempDir::with_prefix("vectors-").map_err(|error| {
            Unusable::Reader(format!("no directory for the files can be made: {}", sentence(&error)))
        })?;
        Ok(Self { command, limit, directory, reader: None })
    }

    /// Asks about a file, which exists until the answer. Returns None if told to stop.
    pub fn ask(&mut self, vector: &Vector, input: Input) -> Result<Option<Answer>, Unusable> {
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "-.".contains(character);
        let name = vector.id.replace(|character| !is_plain(character), "_");
        let path = self.directory.path().join(format!("{name}.safetensors"));
        let most = most_output(input.len(vector));
        let written = match input {
            Input::Bytes(bytes) => fs::write(&path, bytes),
            Input::File(file) => file.persist(&path).map(drop).map_err(|error| error.error),
        };
        written.map_err(|error| {
            Unusable::Reader(format!("{} cannot be written: {}", path.display(), sentence(&error)))
        })?;
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => Lines::start(self.command)?,
        };
        let answer = reader.ask(&path, most, self.limit);
        // The reader may have removed it.
        let _ = fs::remove_file(&path);
        let answer = answer?;
        let says = |outcome| answer.as_ref().is_some_and(|answer| answer.outcome == outcome);
        self.reader = (says(Outcome::Accept) || says(Outcome::Reject)).then_some(reader);
        Ok(answer)
    }
}

/// A running reader that answers line by line.
struct Lines {
    running: Running,
    is_first: bool,
}

impl Lines {
    fn start(command: &[OsString]) -> Result<Self, Unusable> {
        Ok(Self {
            running: Running::start(command, Stdio::piped(), most_output(usize::MAX))?,
            is_first: true,
        })
    }

    fn ask(&mut self, path: &Path, most: usize, limit: Limit<'_>) -> Result<Option<Answer>, Unusable> {
        let path = path.to_string_lossy();
        if let Some(pipe) = &mut self.running.stdin {
            // A reader that has ended is noticed below. The pipe has room: no other path waits in it.
            let _ = pipe.write_all(format!("{path}\n").as_bytes());
        }
        let begun = Instant::now();
        loop {
            if limit.is_stopped() {
                return Ok(None);
            }
            // In this order, or the last line could be missed.
            let is_closed = self.running.out.is_closed();
            let end = match self.running.out.take_line() {
                Some(line) if line.len() <= most => {
                    self.is_first = false;
                    return Ok(Some(Answer::of_line(&line, &path)));
                }
                Some(_) => End::Flooded(most as u64),
                None if self.running.out.len() > most => End::Flooded(most as u64),
                None if is_closed => self.running.wait()?,
                None if begun.elapsed().as_secs() >= limit.seconds => {
                    self.check_flushing()?;
                    End::TimedOut(limit.seconds)
                }
                None => {
                    self.pause(TICK);
                    continue;
                }
            };
            let words = String::from_utf8_lossy(&self.running.err.take()).trim().to_owned();
            return Ok(Some(Answer::of_end(end, &words)));
        }
    }

    /// Waits for more output, not longer than this.
    fn pause(&self, most: Duration) {
        // Without listeners it returns at once.
        if self.running.news.recv_timeout(most).is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Reports a reader that answers when its input ends, and not before.
    fn check_flushing(&mut self) -> Result<(), Unusable> {
        let begun = Instant::now();
        self.running.stdin = None;
        while self.is_first && begun.elapsed() < GRACE {
            if self.running.out.take_line().is_some() {
                let why =
                    "the reader answers only when its input ends: it must flush its output after each line";
                return Err(Unusable::Reader(why.to_owned()));
            }
            self.pause(TICK);
        }
        Ok(())
    }
}
