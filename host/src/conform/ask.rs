//! Runs a reader command on many files, several at a time.

use crate::conform::Unusable;
use crate::conform::batch::Batch;
use crate::conform::child::{Limit, most_output, run};
use crate::conform::store::Store;
use crate::conform::summary::cut;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::scope;
use std::time::Duration;
use vectors::protocol::Outcome;
use vectors::{Answer, Score, Vector, Verdict};

/// The interval at which `tick` is called while no file is finished.
const TICK: Duration = Duration::from_millis(100);

/// If none of so many files is answered in time, the others are not tried.
const HANGS: usize = 10;

/// The reader and its options.
pub struct Job<'a> {
    pub store: &'a Store,
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// It is started once, and gets paths.
    pub is_batch: bool,
    /// The number of files at a time.
    pub jobs: usize,
    /// The time limit per file.
    pub seconds: u64,
    /// Codes, offsets and the listed deviations count too.
    pub strict: bool,
}

/// The reason why not all files were tested.
pub enum Break<E> {
    Unusable(Unusable),
    Stopped(E),
}

impl<E> From<Unusable> for Break<E> {
    fn from(reason: Unusable) -> Self {
        Self::Unusable(reason)
    }
}

/// The index of a vector, and its result.
type Done<'v> = (usize, Result<Option<Score<'v>>, Unusable>);

/// Returns the scores of these vectors, in their order, without regard to twins. Calls `tick` with the length
/// of every finished file, and now and then with 0; stops when it fails.
pub fn run_all<'v, E>(
    job: &Job<'_>,
    vectors: &[&'v Vector],
    mut tick: impl FnMut(u64) -> Result<(), E>,
) -> Result<Vec<Score<'v>>, Break<E>> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, done) = channel();
    let workers = if job.is_batch { 1 } else { job.jobs.min(vectors.len()) };
    scope(|threads| {
        for _ in 0..workers {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            threads.spawn(move || {
                let mut worker = Worker { job, limit: Limit { seconds: job.seconds, stop }, batch: None };
                while let Some((index, vector)) = following(next, vectors) {
                    if worker.limit.is_stopped() || sender.send((index, worker.ask(vector))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let scores = gather(&done, vectors, job.seconds, &mut tick);
        stop.store(true, Ordering::Relaxed);
        scores
    })
}

fn following<'v>(next: &AtomicUsize, vectors: &[&'v Vector]) -> Option<(usize, &'v Vector)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    vectors.get(index).map(|vector| (index, *vector))
}

/// Asks about one file after the other.
struct Worker<'a> {
    job: &'a Job<'a>,
    limit: Limit<'a>,
    batch: Option<Batch<'a>>,
}

impl Worker<'_> {
    fn ask<'v>(&mut self, vector: &'v Vector) -> Result<Option<Score<'v>>, Unusable> {
        let (input, command) = (self.job.store.input(vector)?, self.job.command);
        let answer = match &mut self.batch {
            Some(batch) => batch.ask(vector, input)?,
            None if self.job.is_batch => {
                self.batch.insert(Batch::new(command, self.limit)?).ask(vector, input)?
            }
            None => {
                let most = most_output(input.len(vector));
                run(command, input, most, self.limit)?.map(|output| Answer::of_process(&output))
            }
        };
        Ok(answer.map(|answer| Score::new(vector, answer, self.job.strict)))
    }
}

/// Receives the scores until all are there, or the reader cannot be scored.
fn gather<'v, E>(
    done: &Receiver<Done<'v>>,
    vectors: &[&'v Vector],
    seconds: u64,
    tick: &mut impl FnMut(u64) -> Result<(), E>,
) -> Result<Vec<Score<'v>>, Break<E>> {
    let mut scores: Vec<Option<Score<'v>>> = vectors.iter().map(|_| None).collect();
    let valid = vectors.iter().filter(|vector| vector.verdict == Verdict::Valid).count();
    let (mut count, mut hangs, mut valid_left) = (0, 0, valid);
    loop {
        let len = match done.recv_timeout(TICK) {
            Ok((index, score)) => {
                scores[index] = score?;
                count += 1;
                let hung = |score: &Score<'_>| score.answer.outcome == Outcome::Hang;
                hangs += usize::from(scores[index].as_ref().is_some_and(hung));
                if hangs == HANGS && count == HANGS {
                    return Err(Unusable::Reader(format!(
                        "the reader answered none of {HANGS} files in {seconds} seconds; see --timeout"
                    ))
                    .into());
                }
                if vectors[index].verdict == Verdict::Valid {
                    valid_left -= 1;
                    if valid_left == 0 {
                        check_accepting(&scores[..valid])?;
                    }
                }
                vectors[index].length
            }
            Err(RecvTimeoutError::Timeout) => 0,
            Err(RecvTimeoutError::Disconnected) => return Ok(scores.into_iter().flatten().collect()),
        };
        tick(len as u64).map_err(Break::Stopped)?;
    }
}

/// Reports a reader that accepts none of the valid files: it was not asked properly.
fn check_accepting(valid: &[Option<Score<'_>>]) -> Result<(), Unusable> {
    let mut scores = valid.iter().flatten();
    let first = scores.clone().next();
    match first {
        Some(first) if scores.all(|score| score.answer.outcome != Outcome::Accept) => {
            Err(Unusable::Reader(format!(
                "the reader accepts none of the {} valid files, so nothing is scored; {}: {}",
                valid.len(),
                first.vector.id,
                cut(first.problem.as_deref().unwrap_or_default())
            )))
        }
        _ => Ok(()),
    }
}
