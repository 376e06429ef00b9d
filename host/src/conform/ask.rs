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

/// If the reader answers none of so many first files, the others are not tried.
const FIRST: usize = 10;

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
    pub time: Duration,
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

/// Returns the scores of these vectors, in their order, without regard to twins. Calls `tick` with 1 for
/// every finished file, and now and then with 0; stops when it fails.
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
                let mut worker = Worker { job, limit: Limit { time: job.time, stop }, batch: None };
                while let Some((index, vector)) = following(next, vectors) {
                    if worker.limit.is_stopped() || sender.send((index, worker.ask(vector))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let scores = gather(job, &done, vectors, &mut tick);
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
    job: &Job<'_>,
    done: &Receiver<Done<'v>>,
    vectors: &[&'v Vector],
    tick: &mut impl FnMut(u64) -> Result<(), E>,
) -> Result<Vec<Score<'v>>, Break<E>> {
    let mut scores: Vec<Option<Score<'v>>> = vectors.iter().map(|_| None).collect();
    let valid = vectors.iter().filter(|vector| vector.verdict == Verdict::Valid).count();
    let mut known = 0;
    loop {
        let finished = match done.recv_timeout(TICK) {
            Ok((index, score)) => {
                scores[index] = score?;
                // In their order, so that chance does not decide.
                while scores.get(known).is_some_and(Option::is_some) {
                    known += 1;
                    check_useful(job, &scores[..known], valid)?;
                }
                1
            }
            Err(RecvTimeoutError::Timeout) => 0,
            Err(RecvTimeoutError::Disconnected) => return Ok(scores.into_iter().flatten().collect()),
        };
        tick(finished).map_err(Break::Stopped)?;
    }
}

/// Reports a reader that is not scored: it answers none of the first files, or accepts no valid one.
fn check_useful(job: &Job<'_>, scores: &[Option<Score<'_>>], valid: usize) -> Result<(), Unusable> {
    let count = scores.len();
    let mut scores = scores.iter().flatten();
    let Some(first) = scores.clone().next() else { return Ok(()) };
    let said = |score: &Score<'_>, outcome| score.answer.outcome == outcome;
    // An accepted file without a table has a text.
    let accepts = |score: &Score<'_>| said(score, Outcome::Accept) && score.answer.text.is_empty();
    let answers = |score: &Score<'_>| accepts(score) || said(score, Outcome::Reject);
    let why = if count == FIRST && !scores.clone().any(answers) {
        format!("the reader answers none of the first {FIRST} files")
    } else if count == valid && !scores.any(accepts) {
        format!("the reader accepts none of the {valid} valid files, so nothing is scored")
    } else {
        return Ok(());
    };
    // It may have been written for the other way.
    let way = match job.is_batch {
        true => "it gets a path per line, and without --batch each file on its standard input",
        false => "it gets each file on its standard input, and with --batch a path per line",
    };
    let problem = cut(first.problem.as_deref().unwrap_or_default());
    Err(Unusable::Reader(format!("{why}; {way}; {}: {problem}", first.vector.id)))
}
