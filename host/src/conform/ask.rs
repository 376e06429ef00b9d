//! Runs a reader command on many files, several at a time.

use crate::conform::Unusable;
use crate::conform::child::{Limit, run};
use crate::conform::store::Store;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::scope;
use std::time::Duration;
use vectors::{Answer, Score, Vector};

/// The interval at which `tick` is called while no file is finished.
const TICK: Duration = Duration::from_millis(100);

/// If none of so many files is answered in time, the others are not tried.
const HANGS: usize = 10;

/// The reader and its options.
pub struct Job<'a> {
    pub store: &'a Store,
    /// The program and its arguments.
    pub command: &'a [OsString],
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

/// Returns the scores in vector order. Calls `tick` with the length of every finished file, and now and
/// then with 0; stops when it fails.
pub fn run_all<'v, E>(
    job: &Job<'_>,
    vectors: &[&'v Vector],
    mut tick: impl FnMut(u64) -> Result<(), E>,
) -> Result<Vec<Score<'v>>, Break<E>> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, done) = channel();
    scope(|threads| {
        for _ in 0..job.jobs.min(vectors.len()) {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            threads.spawn(move || {
                while let Some((index, vector)) = following(next, vectors) {
                    if stop.load(Ordering::Relaxed) || sender.send((index, ask(job, vector, stop))).is_err() {
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

fn ask<'v>(job: &Job<'_>, vector: &'v Vector, stop: &AtomicBool) -> Result<Option<Score<'v>>, Unusable> {
    let file = job.store.content(vector)?;
    let limit = Limit { seconds: job.seconds, stop };
    let output = run(job.command, file, &limit)?;
    Ok(output.map(|output| Score::new(vector, Answer::of(&output), job.strict)))
}

fn gather<'v, E>(
    done: &Receiver<Done<'v>>,
    vectors: &[&'v Vector],
    seconds: u64,
    tick: &mut impl FnMut(u64) -> Result<(), E>,
) -> Result<Vec<Score<'v>>, Break<E>> {
    let mut scores: Vec<Option<Score<'v>>> = vectors.iter().map(|_| None).collect();
    let (mut count, mut hangs) = (0, 0);
    loop {
        let len = match done.recv_timeout(TICK) {
            Ok((index, score)) => {
                scores[index] = score?;
                count += 1;
                hangs += usize::from(scores[index].as_ref().is_some_and(|score| score.answer.hangs));
                if hangs == HANGS && count == HANGS {
                    return Err(Unusable::Reader(format!(
                        "the reader answered none of {HANGS} files in {seconds} seconds; see --timeout"
                    ))
                    .into());
                }
                vectors[index].length
            }
            Err(RecvTimeoutError::Timeout) => 0,
            Err(RecvTimeoutError::Disconnected) => return Ok(scores.into_iter().flatten().collect()),
        };
        tick(len as u64).map_err(Break::Stopped)?;
    }
}
