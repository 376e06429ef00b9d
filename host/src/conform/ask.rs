//! A reader that is a command, asked about many files, several at a time.

use crate::conform::Unusable;
use crate::conform::child::{Limit, run};
use crate::conform::store::Store;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::scope;
use std::time::Duration;
use vectors::{Answer, Score, Vector};

/// How often the caller is asked whether to go on while nothing is finished.
const TICK: Duration = Duration::from_millis(100);

/// Whom to ask, and how.
pub struct Asking<'a> {
    pub store: &'a Store,
    /// The program, and what it is given.
    pub command: &'a [OsString],
    /// How many files at once.
    pub jobs: usize,
    /// How long an answer may take.
    pub seconds: u64,
    /// Codes, offsets and the listed deviations count too.
    pub strict: bool,
}

/// Why not all were asked.
pub enum Break<E> {
    Unusable(Unusable),
    Stopped(E),
}

impl<E> From<Unusable> for Break<E> {
    fn from(reason: Unusable) -> Self {
        Self::Unusable(reason)
    }
}

/// One vector's place in the list, and what became of it.
type Done<'v> = (usize, Result<Option<Score<'v>>, Unusable>);

/// The scores, in the order of the vectors. `tick` hears of every file that is done by its length, and now and then of
/// none; when it fails all is broken off.
pub fn ask_all<'v, E>(
    asking: &Asking<'_>,
    vectors: &[&'v Vector],
    mut tick: impl FnMut(u64) -> Result<(), E>,
) -> Result<Vec<Score<'v>>, Break<E>> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, done) = channel();
    scope(|threads| {
        for _ in 0..asking.jobs.min(vectors.len()) {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            threads.spawn(move || {
                while let Some((index, vector)) = following(next, vectors) {
                    if stop.load(Ordering::Relaxed)
                        || sender.send((index, ask(asking, vector, stop))).is_err()
                    {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let scores = gather(&done, vectors, &mut tick);
        stop.store(true, Ordering::Relaxed);
        scores
    })
}

fn following<'v>(next: &AtomicUsize, vectors: &[&'v Vector]) -> Option<(usize, &'v Vector)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    vectors.get(index).map(|vector| (index, *vector))
}

fn ask<'v>(
    asking: &Asking<'_>,
    vector: &'v Vector,
    stop: &AtomicBool,
) -> Result<Option<Score<'v>>, Unusable> {
    let file = asking.store.content(vector)?;
    let limit = Limit { seconds: asking.seconds, stop };
    let output = run(asking.command, file, &limit)?;
    Ok(output.map(|output| Score::new(vector, Answer::of(&output), asking.strict)))
}

fn gather<'v, E>(
    done: &Receiver<Done<'v>>,
    vectors: &[&'v Vector],
    tick: &mut impl FnMut(u64) -> Result<(), E>,
) -> Result<Vec<Score<'v>>, Break<E>> {
    let mut scores: Vec<Option<Score<'v>>> = vectors.iter().map(|_| None).collect();
    loop {
        let len = match done.recv_timeout(TICK) {
            Ok((index, score)) => {
                scores[index] = score?;
                vectors[index].length
            }
            Err(RecvTimeoutError::Timeout) => 0,
            Err(RecvTimeoutError::Disconnected) => return Ok(scores.into_iter().flatten().collect()),
        };
        tick(len as u64).map_err(Break::Stopped)?;
    }
}
