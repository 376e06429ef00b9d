//! A reader that is started once: it gets a path per line, and prints a line of JSON for each.

use crate::conform::Unusable;
use crate::conform::child::{GRACE, Limit, Running, TICK, most_output};
use crate::conform::store::Input;
use crate::failure::sentence;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::mem;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;
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
    is_first: bool,
}

impl<'a> Batch<'a> {
    pub fn new(command: &'a [OsString], limit: Limit<'a>) -> Result<Self, Unusable> {
        let directory = TempDir::with_prefix("vectors-").map_err(|error| {
            Unusable::Reader(format!("no directory for the files can be made: {}", sentence(&error)))
        })?;
        Ok(Self { command, limit, directory, reader: None, is_first: true })
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
        let answer = reader.ask(&path, most, self.limit, false)?;
        if mem::take(&mut self.is_first) && says(&answer, &[Outcome::Hang]) {
            self.check_flushing(&path, most)?;
        }
        // The reader may have removed it.
        let _ = fs::remove_file(&path);
        if !says(&answer, &ANSWERS) {
            return Ok(answer);
        }
        if reader.running.out.len() > 0 {
            return Ok(Some(Answer::of_lines()));
        }
        self.reader = Some(reader);
        Ok(answer)
    }

    /// Reports a reader that answers in half of the time when its input ends, and does not otherwise.
    fn check_flushing(&self, path: &Path, most: usize) -> Result<(), Unusable> {
        let limit = Limit { time: self.limit.time / 2, ..self.limit };
        let is_answered = |is_closed| {
            let answer = Lines::start(self.command)?.ask(path, most, limit, is_closed)?;
            Ok(says(&answer, &ANSWERS))
        };
        if is_answered(true)? && !is_answered(false)? {
            let why = "the reader answers only when its input ends: it must flush its output after each line";
            return Err(Unusable::Reader(why.to_owned()));
        }
        Ok(())
    }
}

/// The outcomes after which a process is asked again: after another, its next line may belong to an earlier
/// file.
const ANSWERS: [Outcome; 2] = [Outcome::Accept, Outcome::Reject];

fn says(answer: &Option<Answer>, outcomes: &[Outcome]) -> bool {
    answer.as_ref().is_some_and(|answer| outcomes.contains(&answer.outcome))
}

/// A running reader that answers line by line.
struct Lines {
    running: Running,
    is_asked: bool,
}

impl Lines {
    fn start(command: &[OsString]) -> Result<Self, Unusable> {
        let running = Running::start(command, Stdio::piped(), most_output(usize::MAX))?;
        Ok(Self { running, is_asked: false })
    }

    /// Asks about a path, after which the input may be closed. Returns None if told to stop.
    fn ask(
        &mut self,
        path: &Path,
        most: usize,
        limit: Limit<'_>,
        is_closed: bool,
    ) -> Result<Option<Answer>, Unusable> {
        if mem::replace(&mut self.is_asked, true) && self.running.out.len() > 0 {
            return Ok(Some(Answer::of_lines()));
        }
        let path = path.to_string_lossy();
        if let Some(pipe) = &mut self.running.stdin {
            // A reader that has ended is noticed below. The pipe has room: no other path waits in it.
            let _ = pipe.write_all(format!("{path}\n").as_bytes());
        }
        if is_closed {
            self.running.stdin = None;
        }
        self.answer(&path, most, limit)
    }

    /// Waits for the answer about a path.
    fn answer(&mut self, path: &str, most: usize, limit: Limit<'_>) -> Result<Option<Answer>, Unusable> {
        let begun = Instant::now();
        let mut left = None;
        loop {
            if limit.is_stopped() {
                return Ok(None);
            }
            // In this order, or the last line could be missed.
            let is_closed = self.running.out.is_closed();
            let is_late = begun.elapsed() >= limit.time;
            if left.is_none() && self.running.status()?.is_some() {
                left = Some(Instant::now());
            }
            // Its children may hold the output open.
            let is_left = left.is_some_and(|left| is_late || left.elapsed() >= GRACE);
            let end = match self.running.out.take_line() {
                Some(line) if line.len() <= most => return Ok(Some(Answer::of_line(&line, path))),
                Some(_) => End::Flooded(most as u64),
                None if self.running.out.len() > most => End::Flooded(most as u64),
                None if is_closed || is_left => self.running.wait()?,
                None if is_late => End::TimedOut(limit.time.as_secs()),
                None => {
                    // The loop itself looks for what is new.
                    let _ = self.running.news.recv_timeout(TICK);
                    continue;
                }
            };
            let words = String::from_utf8_lossy(&self.running.err.take()).trim().to_owned();
            return Ok(Some(Answer::of_end(end, &words)));
        }
    }
}
